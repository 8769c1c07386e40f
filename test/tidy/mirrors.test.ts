/** test/README.md says for each room of the code where its tests are, and nothing that is not there. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { listPaths, readSource, root } from "./source-files.ts";

/** Rows of the table headed `| Room |`: the room, and the folders and files of its tests. */
const rows = readSource("test/README.md")
  .text.split("\n")
  .filter((line) => /^\| `/.test(line))
  .map((line) => line.split("|").map((cell) => cell.match(/`[^`]+`/g)?.map((name) => name.slice(1, -1)) ?? []))
  .map(([, rooms = [], tests = []]) => ({ rooms, tests }));

/** Folders whose own folders are rooms. */
const circles = ["src/tiers", "src/faces", "src/observers", "src/packages"];

const tests = listPaths("test").filter((path) => path.endsWith(".test.ts"));

const foldersIn = (path: string): readonly string[] =>
  readdirSync(join(root, path), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `${path}/${name}`);

describe("test/README.md", () => {
  it("names every room of src, and the machines, once", () => {
    const rooms = [
      "machines",
      "src/*.ts",
      ...foldersIn("src").filter((room) => !circles.includes(room)),
      ...circles.flatMap(foldersIn),
    ];
    expect(rows.flatMap((row) => row.rooms).sort()).toEqual(rooms.sort());
  });

  it("names for each of them where tests are, and there are some", () => {
    const named = rows.flatMap((row) => (row.tests.length === 0 ? row.rooms : row.tests));
    const empty = named.filter((path) => !tests.some((file) => `${file}/`.startsWith(`test/${path}/`)));
    expect(empty).toEqual([]);
  });

  it("names every folder of tests somewhere", () => {
    const text = readSource("test/README.md").text;
    const unnamed = foldersIn("test").filter(
      (folder) => !new RegExp(`\`${folder.slice("test/".length)}[/\`]`).test(text),
    );
    expect(unnamed).toEqual([]);
  });
});
