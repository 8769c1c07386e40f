/**
 * The inventory package: merging and rendering on made-up digests, its plan on a real folder. Laws: the shards make
 * the whole; neither their number nor their order shows in the report.
 *
 * Never: runs a kernel; run-plan.ts stands in for it.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  buildInventory,
  findGaps,
  renderJson,
  renderMarkdown,
} from "../../src/packages/capabilities/folder-inventory/inventory.ts";
import { mergeOperator } from "../../src/packages/capabilities/folder-inventory/operators.ts";
import { FolderInventoryInput, folderInventory } from "../../src/packages/capabilities/index.ts";
import { callOperator } from "../../src/testing/call-operator.ts";
import { operatorContract } from "../../src/testing/operator-contract.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { planOf, runPlan } from "./run-plan.ts";

const digested = (path: string, parts: object = {}) => ({
  path,
  bytes: 2,
  sha256: `hash of ${path}`,
  lines: 1,
  words: 1,
  problem: null,
  ...parts,
});

function fill(folder: string): void {
  mkdirSync(join(folder, "sub"));
  for (const name of ["a.ts", "b.ts", "sub/c.md", "sub/copy.md"]) writeFileSync(join(folder, name), "one two\n");
  writeFileSync(join(folder, "a.ts"), "other words here\n");
  writeFileSync(join(folder, "empty"), "");
}

describe("the inventory", () => {
  it("does not depend on the order of the digests", () => {
    const paths = fc.uniqueArray(fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }), { maxLength: 20 });
    fc.assert(
      fc.property(paths, fc.infiniteStream(fc.nat()), (list, ranks) => {
        const files = list.map((path) => digested(path));
        const shuffled = files
          .map((file) => ({ file, rank: ranks.next().value as number }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ file }) => file);
        const question = { title: "t", complete: true };
        const inventory = buildInventory({ ...question, files });
        expect(buildInventory({ ...question, files: shuffled })).toEqual(inventory);
        expect(inventory.totals.files).toBe(list.length);
        expect(inventory.by_extension.reduce((sum, row) => sum + row.files, 0)).toBe(list.length);
      }),
    );
  });

  it("names the files that no part, or more than one part, has digested", () => {
    const listed = ["a", "b", "c"].map((path) => ({ path, bytes: 1 }));
    expect(findGaps(listed, [digested("a"), digested("c"), digested("c")])).toEqual(["b", "c"]);
    expect(
      findGaps(
        listed,
        ["a", "b", "c"].map((path) => digested(path)),
      ),
    ).toEqual([]);
  });

  it("renders totals, extensions, equal contents and problems, with names that are only text", () => {
    const unread = { bytes: null, sha256: null, lines: null, words: null, problem: "FILE_FORBIDDEN" };
    const files = [digested("<b>|x.md", { sha256: "s" }), digested("y.md", { sha256: "s" }), digested("z", unread)];
    const inventory = buildInventory({ title: "T", files, complete: false });
    expect(renderMarkdown(inventory)).toBe(
      "# T\n\n3 files, 4 bytes, 2 lines, 2 words.\n" +
        "\nThe listing is not complete: a bound was met or something could not be listed.\n" +
        "\n## By extension\n\n| Extension | Files | Bytes | Lines | Words |\n| --- | --- | --- | --- | --- |\n" +
        "| (none) | 1 | 0 | 0 | 0 |\n| .md | 2 | 4 | 2 | 2 |\n" +
        "\n## Same content\n\n- &lt;b&gt;\\|x.md, y.md\n" +
        "\n## Files\n\n| Path | Bytes | Lines | SHA-256 or problem |\n| --- | --- | --- | --- |\n" +
        "| &lt;b&gt;\\|x.md | 2 | 1 | s |\n| y.md | 2 | 1 | s |\n| z |  |  | FILE_FORBIDDEN |\n",
    );
    expect(JSON.parse(renderJson(inventory))).toEqual(inventory);
  });

  it("parts that do not make the whole are refused", async () => {
    const listed = { files: [{ path: "a", bytes: 1 }], truncated: false, skipped: 0 };
    const input = { title: "t", format: "json", listed, parts: [{ files: [] }] };
    await expect(callOperator({ operator: mergeOperator, input })).rejects.toMatchObject({
      executorError: { code: "INVENTORY_INCOMPLETE", details: { gaps: ["a"] } },
    });
  });

  operatorContract({
    it,
    expect,
    operator: mergeOperator,
    input: {
      title: "t",
      format: "markdown",
      listed: { files: [{ path: "a", bytes: 2 }], truncated: false, skipped: 0 },
      parts: [{ files: [digested("a")] }, { files: [] }],
    },
  });
});

describe("Folder.Inventory.Build", () => {
  it("fans out into as many steps as asked for, all of which wait for the list alone", async () => {
    for (const shards of [2, 7]) {
      const { steps } = await planOf(folderInventory, { input: { folder: ".", shards } });
      expect(steps).toHaveLength(shards + 3);
      const fan = steps.filter((step) => step.operator === "File.Digest");
      expect(fan.map((step) => step.depends_on)).toEqual(Array(shards).fill(["list"]));
    }
    for (const shards of [1, 8, 2.5]) {
      expect(FolderInventoryInput.safeParse({ folder: ".", shards }).success).toBe(false);
    }
  });

  it("writes the same inventory whatever the number of shards, and does not list its own report", async () => {
    using folder = makeTempFolder();
    fill(folder.path);
    const reports = [];
    for (const shards of [2, 3, 7]) {
      const run = await runPlan(folderInventory, { input: { folder: folder.path, shards } });
      expect(run.failed).toEqual([]);
      expect(run.outputs["merge"]).toMatchObject({ files: 5, lines: 4, words: 9 });
      reports.push(readFileSync(join(folder.path, "INVENTORY.md"), "utf8"));
    }
    expect(new Set(reports).size).toBe(1);
    expect(reports[0]).toContain("- b.ts, sub/c.md, sub/copy.md\n");
  });

  it("writes JSON on request, of the wanted extensions", async () => {
    using folder = makeTempFolder();
    fill(folder.path);
    const input = { folder: folder.path, format: "json", extensions: [".ts"], out: "reports/inventory.json" };
    expect((await runPlan(folderInventory, { input })).failed).toEqual([]);
    const report = JSON.parse(readFileSync(join(folder.path, "reports/inventory.json"), "utf8"));
    expect(report).toMatchObject({ complete: true, totals: { files: 2 }, files: [{ path: "a.ts" }, { path: "b.ts" }] });
  });

  it("an empty folder gives an empty inventory", async () => {
    using folder = makeTempFolder();
    const run = await runPlan(folderInventory, { input: { folder: folder.path } });
    expect(run.outputs["merge"]).toMatchObject({ files: 0, content: expect.stringContaining("0 files") });
  });
});
