/** An export names its own end: wherever it is cut, whoever reads it is told where it stops. */
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { sealEvidence } from "../../src/contract/evidence.ts";
import { readLines } from "../../src/faces/cli/read-lines.ts";
import { type TurnRow, verifyEvidence } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { runHere } from "../cli/command-line.ts";
import { keepAs } from "../cli/workplace.ts";
import { intent, publishing } from "../gates/story.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";

interface Exported {
  readonly id: string;
  readonly lines: readonly string[];
  readonly rows: readonly TurnRow[];
}

let [one, other]: readonly [Exported, Exported] = [null as never, null as never];
beforeAll(async () => {
  const { capability } = publishing();
  await using t = await createTestKernel({ capabilities: [capability] });
  const exported = async (): Promise<Exported> => {
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id, "gate-publish");
    await t.rest(id);
    await t.kernel.attachReport(id, { suite: "tone" });
    return {
      id,
      lines: await Array.fromAsync(t.kernel.evidence(id)),
      rows: await Array.fromAsync(t.kernel.export(id)),
    };
  };
  [one, other] = [await exported(), await exported()];
});

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");
const verifyText = (text: string, stream?: string) =>
  verifyEvidence(readLines(Readable.from([Buffer.from(text)])), { stream });

/** What is told of the first `left` lines of an export. */
const cutAfter = ({ id, rows }: Exported, left: number) => ({
  line: left,
  stream: id,
  sequence: rows[Math.min(left, rows.length) - 1]?.last_sequence,
  reason: "cut",
});

describe("an export that was cut", () => {
  it("[RLH-05] after any of its lines is refused, with the line and the sequence where it stops", async () => {
    for (let left = 1; left < one.lines.length; left += 1) {
      const { ok, broken } = await verifyText(textOf(one.lines.slice(0, left)));
      expect({ ok, broken }).toEqual({ ok: false, broken: [cutAfter(one, left)] });
    }
    expect(await verifyText(textOf(one.lines))).toMatchObject({ ok: true, broken: [] });
  });

  it("[RLH-05] within any of its lines is refused, with the last whole line", async () => {
    for (const [left, line] of one.lines.entries())
      for (const size of [1, Math.floor(line.length / 2), line.length - 1]) {
        const { ok, broken } = await verifyText(textOf(one.lines.slice(0, left)) + line.slice(0, size));
        expect([left, size, ok]).toEqual([left, size, false]);
        const torn = { line: left + 1, stream: "(unreadable)", sequence: left + 1, reason: "format" };
        const end = left === 0 ? { line: 2, stream: "", sequence: 0, reason: "cut" } : cutAfter(one, left);
        expect(broken).toEqual([end, torn].toSorted((a, b) => a.line - b.line));
      }
  });

  it("[RLH-05] is whole without the last line end", async () => {
    expect((await verifyText(textOf(one.lines).trimEnd())).ok).toBe(true);
  });

  it.each(["", "\n", "\n\n\n"])("[RLH-05] to %j holds no row, and is refused", async (text) => {
    const { ok, checked, broken } = await verifyText(text);
    expect({ ok, checked }).toEqual({ ok: false, checked: 0 });
    expect(broken).toMatchObject([{ stream: "", sequence: 0, reason: "cut" }]);
  });

  it("[RLH-05] in front loses its first row, or all of them", async () => {
    const { lines, rows } = one;
    expect((await verifyText(textOf(lines.slice(1)))).broken).toMatchObject([{ line: 1, reason: "link" }]);
    const evidence = lines.slice(rows.length);
    expect((await verifyText(textOf(evidence))).ok).toBe(false);
    const head = { sequence: 0, hash: "0".repeat(64) };
    const counts = { rows: 0, audit_entries: 0, reports: 0, head };
    const nothing = sealEvidence(head.hash, { evidence: "closing", stream: one.id, ...counts });
    expect((await verifyText(JSON.stringify(nothing))).broken).toEqual([
      { line: 1, stream: one.id, sequence: 0, reason: "cut" },
    ]);
  });
});

describe("exports of several workflows in one file", () => {
  it("[RLH-05] are sound one after another and mixed, each with its own end", async () => {
    const mixed = one.lines.flatMap((line, i) => [line, other.lines[i] ?? ""]);
    for (const text of [textOf([...one.lines, ...other.lines]), textOf(mixed)])
      expect(await verifyText(text)).toMatchObject({ ok: true, evidence: [{ stream: one.id }, { stream: other.id }] });
  });

  it("[RLH-05] are refused where any of them lacks its end, which is named", async () => {
    const cut = { ...cutAfter(one, 2) };
    const first = textOf([...one.lines.slice(0, 2), ...other.lines]);
    expect((await verifyText(first)).broken).toEqual([cut]);
    const last = textOf([...other.lines, ...one.lines.slice(0, 2)]);
    expect((await verifyText(last)).broken).toEqual([{ ...cut, line: other.lines.length + 2 }]);
    expect((await verifyText(last, other.id)).ok).toBe(true);
  });

  it("[RLH-05] are refused where the one that is asked for is not there at all", async () => {
    const { ok, broken } = await verifyText(textOf(one.lines), other.id);
    const place = { line: one.lines.length + 2, stream: other.id, sequence: 0 };
    expect({ ok, broken }).toEqual({ ok: false, broken: [{ ...place, reason: "cut" }] });
  });

  it("[RLH-05] are refused where a line lacks its end, and the next file begins in it", async () => {
    const torn = textOf(one.lines).trimEnd().slice(0, -5) + textOf(other.lines);
    const { broken } = await verifyText(torn);
    expect(broken.map(({ reason, stream }) => [reason, stream])).toContainEqual(["cut", one.id]);
  });
});

describe("the command line", () => {
  it.each([
    ["verify", ["--import"]],
    ["replay", ["WF", "--import"]],
    ["inspect", ["--json", "--import"]],
    ["inspect", ["WF", "--json", "--import"]],
  ])(
    "[RLH-05] %s %j refuses an export that was cut, with the line and the sequence where it stops",
    async (...given) => {
      using folder = makeTempFolder();
      const [command, words] = given;
      const file = keepAs(folder, "cut.jsonl", textOf(one.lines.slice(0, 2)));
      const ran = await runHere(command, ...words.map((word) => (word === "WF" ? one.id : word)), file);
      expect(ran.code).toBe(1);
      expect(`${ran.out}${ran.err}`).toContain("T0_LEDGER_CORRUPT");
      expect(ran.err).toMatch(/line 2, |line 2: /);
      expect(ran.err).toContain(`${one.id} at sequence ${one.rows[1]?.last_sequence}`);
    },
  );
});
