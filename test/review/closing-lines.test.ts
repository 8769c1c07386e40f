/**
 * The evidence of an export, written anew by somebody who can compute hashes: each word of it is compared with the
 * rows.
 */
import { createHash } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { type EvidenceContent, type EvidenceLine, sealEvidence } from "../../src/contract/evidence.ts";
import { type EvidenceBreak, type TurnRow, verifyEvidence } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { intent, publishing } from "../gates/story.ts";

let [id, rows, evidence]: [string, readonly TurnRow[], readonly EvidenceLine[]] = ["", [], []];
beforeAll(async () => {
  const { capability } = publishing();
  await using t = await createTestKernel({ capabilities: [capability] });
  ({ workflow_id: id } = await t.run(intent));
  await t.approve(id, "gate-publish");
  await t.rest(id);
  for (const suite of ["tone", "facts"]) await t.kernel.attachReport(id, { suite });
  rows = await Array.fromAsync(t.kernel.export(id));
  const lines = await Array.fromAsync(t.kernel.evidence(id));
  evidence = lines.slice(rows.length).map((line) => JSON.parse(line) as EvidenceLine);
});

type Line = Record<string, unknown> & { readonly evidence: string };
const contents = (): readonly Line[] => evidence.map(({ hash: _, ...content }) => content as unknown as Line);

/** An export whose evidence says this, its links computed anew. */
function exportSaying(said: readonly Line[]): readonly string[] {
  let prev = rows.at(-1)?.hash as string;
  const sealed = said.map((content) => {
    const line = sealEvidence(prev, content as unknown as EvidenceContent);
    prev = line.hash;
    return JSON.stringify(line);
  });
  return [...rows.map((row) => JSON.stringify(row)), ...sealed];
}

const found = async (lines: readonly string[]): Promise<readonly EvidenceBreak[]> =>
  (await verifyEvidence(lines)).broken;
const last = () => ({ stream: id, sequence: rows.at(-1)?.last_sequence });
const closingSaying = (change: (closing: Line & { head: Record<string, unknown> }) => object): readonly Line[] =>
  contents().map((line) => (line.evidence === "closing" ? ({ ...line, ...change(line as never) } as Line) : line));

describe("a closing line whose links fit", () => {
  it("[RLH-05] has the SHA-256 of the hash before it and of its own text, as anybody can compute it", () => {
    let prev = rows.at(-1)?.hash as string;
    for (const { hash, ...content } of evidence) {
      expect(hash).toBe(
        createHash("sha256")
          .update(`${prev}${JSON.stringify(content)}`)
          .digest("hex"),
      );
      prev = hash;
    }
  });

  it("[RLH-05] is sound where it says what there is", async () => {
    expect(await found(exportSaying(contents()))).toEqual([]);
  });

  const more = (name: string, by: number) => (closing: Line) => ({ [name]: (closing[name] as number) + by });
  it.each([
    ["one row more", more("rows", 1)],
    ["one row fewer", more("rows", -1)],
    ["one audit entry more", more("audit_entries", 1)],
    ["one audit entry fewer", more("audit_entries", -1)],
    ["one report more", more("reports", 1)],
    ["one report fewer", more("reports", -1)],
    ["a later head", ({ head }: { head: Record<string, unknown> }) => ({ head: { ...head, sequence: 99 } })],
    ["an earlier head", ({ head }: { head: Record<string, unknown> }) => ({ head: { ...head, sequence: 1 } })],
    ["another head", ({ head }: { head: Record<string, unknown> }) => ({ head: { ...head, hash: "f".repeat(64) } })],
    ["the head of no row", () => ({ head: { sequence: 0, hash: "0".repeat(64) } })],
  ])("[RLH-05] is damage where it says %s", async (_what, change) => {
    const lines = exportSaying(closingSaying(change as never));
    expect(await found(lines)).toEqual([{ ...last(), line: lines.length, reason: "closing" }]);
  });

  it("[RLH-05] is damage where something follows it, another closing line too", async () => {
    const told = contents();
    const closing = told.at(-1) as Line;
    const at = rows.length + told.length;
    for (const said of [
      [...told, closing],
      [...told, told[0] as Line],
      [closing, ...told],
    ]) {
      const line = said[0] === closing ? rows.length + 1 : at;
      expect(await found(exportSaying(said))).toEqual([{ ...last(), line, reason: "closing" }]);
    }
  });
});

describe("the evidence between rows and closing line", () => {
  const entries = () => contents().filter((line) => line.evidence === "audit_entry");
  const reports = () => contents().filter((line) => line.evidence === "evaluation_report");
  /** All of it counted by its closing line. */
  const counted = (audit: readonly Line[], kept = reports()): readonly Line[] => [
    ...audit,
    ...kept,
    { ...(contents().at(-1) as Line), audit_entries: audit.length, reports: kept.length },
  ];

  it("[RLH-05] is damage where an audit entry is missing, added, moved or another, and is counted", async () => {
    const whole = entries();
    expect(whole.length).toBeGreaterThan(1);
    const [first, second] = whole as [Line, Line];
    const other = { ...first, entry: { ...(first["entry"] as object), policies: ["another rule"] } };
    const changed: readonly (readonly Line[])[] = [
      whole.slice(0, -1),
      whole.slice(1),
      [...whole, first],
      [second, first, ...whole.slice(2)],
      [other, ...whole.slice(1)],
      [],
    ];
    for (const audit of changed)
      expect(await found(exportSaying(counted(audit)))).toMatchObject([{ stream: id, reason: "audit" }]);
  });

  it("[RLH-05] names the entry that differs, and the event that it is about", async () => {
    const [first, ...rest] = entries() as [Line, ...Line[]];
    const other = { ...first, entry: { ...(first["entry"] as object), policies: ["another rule"] } };
    const [{ line, sequence } = { line: 0, sequence: 0 }] = await found(exportSaying(counted([other, ...rest])));
    expect(line).toBe(rows.length + 1);
    expect(sequence).toBeGreaterThan(0);
    const lines = exportSaying(counted(entries().slice(0, -1)));
    const [missing] = await found(lines);
    expect(missing?.line).toBe(lines.length);
    expect(missing?.sequence).toBeGreaterThan(sequence);
  });

  it("[RLH-05] is damage at the first line whose link does not fit", async () => {
    const lines = exportSaying(contents());
    for (let at = rows.length; at < lines.length; at += 1) {
      const line = JSON.parse(lines[at] as string) as Line;
      const broken = lines.with(at, JSON.stringify({ ...line, hash: "a".repeat(64) }));
      expect(await found(broken)).toEqual([{ ...last(), line: at + 1, reason: "hash" }]);
    }
  });

  it("[RLH-05] belongs to its own stream: a line of another one is cut from its rows", async () => {
    const strange = contents().map((line) => ({ ...line, stream: "wf_other" }));
    const broken = await found(exportSaying(strange));
    expect(broken.map(({ stream }) => stream).toSorted()).toEqual([id, "wf_other"].toSorted());
  });
});
