// Checking an export without a ledger: sound chains, and each way to break one is found at its first entry.

import { describe, expect, it } from "vitest";
import { genesisHash } from "../../src/contract/chain.ts";
import { sealTurn, type TurnRow } from "../../src/contract/turn.ts";
import { renderVerdict } from "../../src/faces/cli/verify.ts";
import { verifyEvidence } from "../../src/index.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";

const workflow = "wf_01ARZ3NDEKTSV4RRFFQ69G5FAV";
const other = "wf_01BX5ZZKBKACTAV9WEVGEMMVRZ";

function chain(stream: string, turns: number): readonly TurnRow[] {
  const rows: TurnRow[] = [];
  for (let i = 0; i < turns; i += 1) {
    const envelope = {
      v: 1,
      stream,
      tenant_id: 1,
      workflow_id: stream,
      thread_id: null,
      intent_id: null,
      plan_id: null,
      correlation_id: "cor_x",
      actor: { type: "user", id: "a" },
      now: i,
      first: i + 1,
      count: 1,
    };
    rows.push(
      sealTurn(
        envelope,
        [{ id: `evt_${i}`, type: "WORKFLOW_STARTED", step: null, payload: { i } }],
        rows.at(-1)?.hash ?? genesisHash,
      ),
    );
  }
  return rows;
}

async function* linesOf(rows: readonly unknown[]): AsyncGenerator<string> {
  for (const row of rows) yield typeof row === "string" ? row : JSON.stringify(row);
}

/** As `export` writes them: the rows of each stream, and the closing line that names its end. */
const exported = (...streams: readonly (readonly TurnRow[])[]): readonly string[] =>
  streams.flatMap((rows) => composeEvidence(rows, []));
const closingOf = (rows: readonly TurnRow[]): string => exported(rows).at(-1) as string;

const check = (rows: readonly unknown[], only?: string) =>
  verifyEvidence(linesOf(rows), only === undefined ? {} : { stream: only });
const change = (index: number, with_: Partial<TurnRow>) =>
  chain(workflow, 4).map((row, i) => (i === index ? { ...row, ...with_ } : row));

describe("verify --import", () => {
  it("finds sound chains sound, mixed and with blank lines, and names their heads", async () => {
    const [a, b] = [chain(workflow, 2), chain(other, 1)];
    const verdict = await check([a[0], b[0], "", a[1], closingOf(b), closingOf(a)]);
    expect(verdict).toMatchObject({ ok: true, checked: 3, broken: [] });
    expect(verdict.heads).toEqual([
      { stream: workflow, sequence: 2, hash: a[1]?.hash },
      { stream: other, sequence: 1, hash: b[0]?.hash },
    ]);
  });

  it.each([
    ["a changed body", change(2, { body: "[]" }), 3, "body"],
    ["a changed envelope", change(1, { envelope: '{"first":2}' }), 2, "hash"],
    ["a changed hash", change(0, { hash: "0".repeat(64) }), 1, "hash"],
    ["a row left out", chain(workflow, 4).toSpliced(1, 1), 3, "link"],
    ["rows in another order", chain(workflow, 3).toReversed(), 3, "link"],
  ])("finds %s", async (_name, rows, sequence, reason) => {
    const verdict = await check(rows);
    expect(verdict).toMatchObject({ ok: false, broken: [{ stream: workflow, sequence, reason }] });
  });

  it("finds a body that is missing, at its own row", async () => {
    const rows = change(1, { body: null });
    const verdict = await check([...rows, closingOf(chain(workflow, 4))]);
    expect(verdict.broken).toEqual([{ line: 2, stream: workflow, sequence: 2, reason: "missing" }]);
    expect(renderVerdict(verdict, { paint: (_style, line) => line })).toContain("the body is missing");
  });

  it("finds a row without one of its fields, and the row that no longer follows on it", async () => {
    const { broken } = await check(change(1, { envelope: undefined as never }));
    expect(broken.map(({ line, reason }) => [line, reason])).toEqual([
      [2, "format"],
      [3, "link"],
    ]);
  });

  it("finds lines that are no rows", async () => {
    const verdict = await check([...exported(chain(workflow, 1)), "{half", "3"]);
    expect(verdict.ok).toBe(false);
    expect(verdict.broken.map(({ reason }) => reason)).toEqual(["format", "format"]);
  });

  it("looks at one workflow where asked", async () => {
    const broken = chain(other, 2).map((row) => ({ ...row, body: "[]" }));
    expect(await check([...exported(chain(workflow, 2)), ...broken], workflow)).toMatchObject({ ok: true, checked: 2 });
  });

  it("says in words what is broken where", async () => {
    const text = renderVerdict(await check(change(2, { body: "[]" })), { paint: (_style, line) => line });
    expect(text).toContain(`${workflow} at sequence 3: body, the body is not the one that was hashed`);
  });
});
