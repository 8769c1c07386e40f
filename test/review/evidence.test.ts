/**
 * Evidence: rows, audit and reports in one export, each of which leads to the others, and nothing of which can be
 * altered.
 */
import { Readable } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readLines } from "../../src/faces/cli/read-lines.ts";
import {
  type AuditEntry,
  type EvidenceCheck,
  type EvidenceVerdict,
  openTurns,
  type TurnRow,
  verifyEvidence,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { counted, intent, publishing, step, story } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";

type Line = Readonly<Record<string, unknown>> & { readonly evidence?: string; readonly entry?: AuditEntry };

/** Text that is hard to keep: separators that some readers take for line ends, a replacement character, an emoji. */
const hard = "one\u2028two\u0085three \ufffd \u{1f980} \\u0041 \u0001";

async function gathered(t: TestKernel, id: string, reports: readonly unknown[] = []): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of t.kernel.evidence(id, testCaller, { reports })) lines.push(line);
  return lines;
}

/** A published note, with an evaluation report kept in the ledger and one brought along. */
async function published(): Promise<{ t: TestKernel; id: string; lines: readonly string[] }> {
  const { capability } = publishing();
  const t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id: id } = await t.run(intent, { note: hard });
  await t.approve(id, "gate-publish", { comment: hard });
  await t.rest(id);
  await t.kernel.attachReport(id, { suite: "tone", score: 0.9, said: hard });
  return { t, id, lines: await gathered(t, id, [{ "10": 1, "2": hard }]) };
}

const check = (lines: readonly string[]): Promise<EvidenceVerdict> => verifyEvidence(lines);
const checkBytes = (bytes: Buffer): Promise<EvidenceVerdict> => verifyEvidence(readLines(Readable.from([bytes])));
const parse = (lines: readonly string[]): readonly Line[] => lines.map((line) => JSON.parse(line) as Line);

describe("kernel.evidence", () => {
  it("[RLH-05] holds the unchanged rows, an audit entry for each decision with an event, and the reports", async () => {
    const { t, id, lines } = await published();
    await using _closing = t;
    const rows: TurnRow[] = [];
    for await (const row of t.kernel.export(id)) rows.push(row);
    expect(lines.slice(0, rows.length)).toEqual(rows.map((row) => JSON.stringify(row)));
    const told = parse(lines).slice(rows.length);
    const entries = told.flatMap((line) => (line.entry === undefined ? [] : [line.entry]));
    expect(entries).toEqual(await t.kernel.audit(id));
    const events = new Set(openTurns(rows).map((event) => event.event_id));
    for (const entry of entries) expect(events.has(entry.interaction_id)).toBe(true);
    expect(told.filter((line) => line.evidence === "evaluation_report")).toMatchObject([
      { report_id: `evaluation:${id}:1`, report: { suite: "tone", score: 0.9, said: hard } },
      { report_id: "given:1", report: { "2": hard } },
    ]);
    expect(told.at(-1)).toMatchObject({
      evidence: "closing",
      rows: rows.length,
      audit_entries: entries.length,
      reports: 2,
      head: { hash: rows.at(-1)?.hash, sequence: rows.at(-1)?.last_sequence },
    });
    expect(await check(lines)).toMatchObject({
      ok: true,
      checked: rows.length,
      broken: [],
      evidence: [{ stream: id, audit_entries: entries.length, reports: 2 }],
    });
  });

  it("[RLH-05] reports share the ledger with the events, are numbered, and belong to their tenant", async () => {
    const { t, id } = await published();
    await using _closing = t;
    expect(await t.kernel.attachReport(id, "second")).toBe(`evaluation:${id}:2`);
    expect((await t.kernel.verify()).ok).toBe(true);
    const foreign = t.kernel.attachReport(id, "third", { ...testCaller, tenant_id: 2 });
    await expect(foreign).rejects.toMatchObject({ error: { code: "T5_AUTHZ_FORBIDDEN" } });
    await expect(t.kernel.attachReport(id, () => 1)).rejects.toMatchObject({
      error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" },
    });
    const reports = parse(await gathered(t, id)).filter((line) => line.evidence === "evaluation_report");
    expect(reports.map((line) => line["report_id"])).toEqual([`evaluation:${id}:1`, `evaluation:${id}:2`]);
    const asked = t.kernel.evidence(id, { ...testCaller, tenant_id: 2 }).next();
    await expect(asked).rejects.toMatchObject({ error: { code: "T4_WORKFLOW_NOT_FOUND" } });
  });
});

describe("verifyEvidence", () => {
  it("[RLH-05] finds any one altered byte, and names a line no later than the one it is in", async () => {
    const { t, lines } = await published();
    await using _closing = t;
    const whole = Buffer.from(`${lines.join("\n")}\n`);
    expect(await checkBytes(whole)).toMatchObject({ ok: true, broken: [] });
    const alter = fc.tuple(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }));
    await fc.assert(
      fc.asyncProperty(alter, async ([at, by]) => {
        const altered = Buffer.from(whole);
        altered[at] = (altered[at] as number) ^ by;
        const line = whole.subarray(0, at).toString("latin1").split("\n").length;
        const { ok, broken } = await checkBytes(altered);
        expect(ok).toBe(false);
        expect(broken[0]?.line).toBeLessThanOrEqual(line);
      }),
      { numRuns: runs(400) },
    );
  });

  it("[RLH-05] a replacement character is not taken for the broken bytes that read like one", async () => {
    const { t, lines } = await published();
    await using _closing = t;
    const whole = Buffer.from(lines.join("\n"));
    const at = whole.indexOf(Buffer.from("\ufffd"));
    whole[at] = 0xf0;
    expect((await checkBytes(whole)).ok).toBe(false);
  });

  it("[RLH-05] finds lines that are missing, repeated or moved", async () => {
    const { t, lines } = await published();
    await using _closing = t;
    const rows = lines.filter((line) => !line.startsWith('{"evidence"')).length;
    for (const [i, line] of lines.entries()) {
      const without = lines.toSpliced(i, 1);
      expect([i, (await check(without)).ok]).toEqual([i, false]);
      expect([i, (await check(lines.toSpliced(i, 0, line))).ok]).toEqual([i, false]);
      expect([i, (await check(lines.slice(0, i))).ok]).toEqual([i, false]);
    }
    expect((await check([...lines.slice(rows), ...lines.slice(0, rows)])).ok).toBe(false);
  });

  it("[RLH-05] finds a line with a field more or less, or with its fields in another order", async () => {
    const { t, lines } = await published();
    await using _closing = t;
    for (const [i, line] of lines.entries()) {
      const fields = Object.entries(JSON.parse(line) as object);
      const spelled = [
        [...fields, ["note", "nothing"]],
        fields.toReversed(),
        [...fields.slice(-1), ...fields.slice(0, -1)],
      ];
      for (const other of [...spelled, fields.slice(0, -1)]) {
        const changed = JSON.stringify(Object.fromEntries(other));
        const { ok, broken } = await check(lines.with(i, changed));
        expect([changed.slice(0, 40), ok]).toEqual([changed.slice(0, 40), false]);
        expect(broken[0]?.line).toBeLessThanOrEqual(i + 1);
      }
    }
  });

  it("[RLH-05] an export verifies whatever roles a gate asks for", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const roles = Array.from({ length: 40 }, (_, i) => `${"auditor".repeat(3)} ${i}`);
    const capability = story([send], [step("s1", send, { gate: { roles } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect(await check(await gathered(t, workflow_id))).toMatchObject({ ok: true, broken: [] });
  });

  it("[RLH-05] a missing body is damage, whether it was taken from the export or from the ledger", async () => {
    const { t, id, lines } = await published();
    await using _closing = t;
    const rows = parse(lines).filter((line) => line.evidence === undefined) as unknown as readonly TurnRow[];
    const evidence = lines.slice(rows.length);
    for (const [i, row] of rows.entries()) {
      const emptied = rows.with(i, { ...row, body: null }).map((one) => JSON.stringify(one));
      const place = { line: i + 1, stream: id, sequence: row.first_sequence, reason: "missing" };
      expect((await check([...emptied, ...evidence])).broken).toEqual([place]);
    }
  });

  it("[RLH-05] line ends of another system, and the same export twice, are told", async () => {
    const { t, lines } = await published();
    await using _closing = t;
    expect((await checkBytes(Buffer.from(lines.join("\r\n")))).broken[0]).toMatchObject({ line: 1, reason: "format" });
    expect((await check([...lines, ...lines])).ok).toBe(false);
  });

  it("[RLH-05] an audit that was written anew, links and all, is not what the events say", async () => {
    const { t, id } = await published();
    await using _closing = t;
    const rows: TurnRow[] = [];
    for await (const row of t.kernel.export(id)) rows.push(row);
    const { composeEvidence } = await import("../../src/tiers/t6-metacognition/compose-evidence.ts");
    const { sealEvidence } = await import("../../src/contract/evidence.ts");
    const forged = parse(composeEvidence(rows, [])).slice(rows.length);
    let prev = rows.at(-1)?.hash ?? "";
    const lied = forged.map(({ hash: _hash, ...content }) => {
      const entry = content.entry && { ...content.entry, outcome: { type: "AutoApproved" } };
      const sealed = sealEvidence(prev, { ...content, ...(entry === undefined ? {} : { entry }) } as never);
      prev = sealed.hash;
      return JSON.stringify(sealed);
    });
    const first = forged.findIndex((line) => line.entry !== undefined && line.entry.outcome.type !== "AutoApproved");
    const { ok, broken } = await check([...rows.map((row) => JSON.stringify(row)), ...lied]);
    expect({ ok, broken }).toMatchObject({ ok: false, broken: [{ line: rows.length + first + 1, reason: "audit" }] });
  });

  it("[RLH-05] exports of several workflows may follow one another; rows alone were cut from theirs", async () => {
    const [a, b] = [await published(), await published()];
    await using _first = a.t;
    await using _second = b.t;
    const other = await a.t.run(intent);
    const both = [...a.lines, ...(await gathered(a.t, other.workflow_id))];
    expect(await check(both)).toMatchObject({ ok: true, evidence: [{ stream: a.id }, { stream: other.workflow_id }] });
    const rows = b.lines.filter((line) => !line.startsWith('{"evidence"'));
    const { last_sequence: sequence } = JSON.parse(rows.at(-1) as string) as TurnRow;
    expect((await check(rows)).broken).toEqual([{ line: rows.length, stream: b.id, sequence, reason: "cut" }]);
  });

  it("[RLH-05] further checks run on what is otherwise sound, and speak for the stream", async () => {
    const { t, id, lines } = await published();
    await using _closing = t;
    const unsigned: EvidenceCheck = ({ stream, rows }) => {
      const last = rows.at(-1);
      return [{ line: last?.line ?? 0, stream, sequence: last?.content.last_sequence ?? 0, reason: "unsigned" }];
    };
    expect(await verifyEvidence(lines, { checks: [unsigned] })).toMatchObject({
      ok: false,
      broken: [{ stream: id, reason: "unsigned" }],
    });
    const cut = lines.slice(0, -1);
    expect((await verifyEvidence(cut, { checks: [unsigned] })).broken).toMatchObject([{ reason: "cut" }]);
  });

  it.each(["{half", "3", "null", "[]", '{"evidence":"other"}', '{"a":1}', ' {"stream":"x"}'])(
    "[RLH-05] a line such as %s is named and not read further",
    async (line) => {
      expect((await check([line])).broken[0]).toMatchObject({ line: 1, reason: "format" });
    },
  );

  it("[RLH-05] rows whose hashes fit but that no kernel wrote are refused, not thrown at", async () => {
    const { chainHash, genesisHash } = await import("../../src/contract/chain.ts");
    const { sha256 } = await import("../../src/contract/digest.ts");
    const envelope = JSON.stringify({ v: 2, stream: "wf_x", tenant_id: 1, now: 1, first: 1, count: 1, id: "evt_1" });
    const [body, prev_hash] = ["[nonsense]", genesisHash];
    const body_hash = sha256(body);
    const hash = chainHash(prev_hash, envelope, body_hash);
    const place = { stream: "wf_x", first_sequence: 1, last_sequence: 1 };
    const row = JSON.stringify({ ...place, envelope, body, body_hash, prev_hash, hash });
    const capability = story([counted("Note.One")], [step("s1", counted("Note.One"))]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const closing = (await gathered(t, workflow_id)).at(-1) as string;
    const { ok, broken } = await check([row, closing.replace(workflow_id, "wf_x")]);
    expect(ok).toBe(false);
    expect(broken.length).toBeGreaterThan(0);
  });
});
