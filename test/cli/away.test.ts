/** Stand-ins on the command line: who is away is named, listed and ended; a wrong mix of options is refused. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { readHere, runHere } from "./command-line.ts";

let folder: TempFolder;
let at: readonly string[] = [];
const until = new Date(Date.now() + 86_400_000).toISOString();

beforeAll(async () => {
  folder = makeTempFolder();
  const path = join(folder.path, "away.db");
  await using kernel = await createKernel({ ledger: sqliteLedger({ path }) });
  await kernel.halts(0);
  at = ["--db", path];
});
afterAll(() => folder[Symbol.dispose]());

describe("away", () => {
  it("names a stand-in once, lists them without control characters, and ends the order", async () => {
    const order = ["away", "--to", "bo", "--until", until, "--reason", "on leave\u001b[2J"];
    const { stand_in_id } = await readHere<{ readonly stand_in_id: string }>(...order, ...at);
    expect((await runHere(...order, ...at)).out.trim()).toBe(`${stand_in_id} named`);
    const { out } = await runHere("away", "--list", "--mine", ...at);
    expect(out).toContain(stand_in_id);
    expect(out).toContain("on leave");
    expect(out).not.toContain("\u001b[2J");
    const listed = await readHere<{ stand_ins: readonly unknown[] }>("away", "--list", ...at);
    expect(listed).toEqual({
      stand_ins: [expect.objectContaining({ stand_in_id, to: { type: "user", id: "bo" }, until, votes: 0 })],
      next: null,
    });
    expect(await readHere("away", "--end", stand_in_id, ...at)).toEqual({ stand_in_id, status: "ended" });
    expect((await runHere("away", "--list", ...at)).out).toBe("nobody is away\n");
  });

  it.each<readonly [readonly string[], string]>([
    [["--to", "bo", "--until", until], "reason"],
    [["--until", until, "--reason", "leave"], "to"],
    [["--to", "bo", "--until", "2020-01-01", "--reason", "leave"], "T5_STAND_IN_REFUSED"],
    [["--end", "stn_01JZ0000000000000000000000"], "T5_STAND_IN_NOT_FOUND"],
    [["--list", "--to", "bo"], "cannot be used with"],
    [["--to", "bo", "--until", "soon", "--reason", "leave"], "must be an instant"],
  ])("refuses %j", async (options, why) => {
    const refused = await runHere("away", ...options, ...at);
    expect([refused.code === 0, refused.err]).toEqual([false, expect.stringContaining(why)]);
  });
});
