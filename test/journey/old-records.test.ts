/**
 * Records of schema version 1.0, as a kernel wrote them that knew none of the optional fields that came later. The
 * fixture is never edited: newer code must go on reading it.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/fold.ts";
import { genesisHash } from "../../src/contract/chain.ts";
import { openTurn, sealTurn, type TurnEvent } from "../../src/contract/turn.ts";
import { AuthContext, Gate, Intent, LedgerEvent, Outcome, Plan, PolicyDecision } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { listOf } from "./parts.ts";

interface Kept extends TurnEvent {
  readonly at: string;
}

const kept = readFileSync(new URL("./fixtures/workflow-v1.jsonl", import.meta.url), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Kept);

const identity = {
  tenant_id: 1,
  workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  thread_id: "t",
  intent_id: "int_01KDVDNA0047C4FEZDQK8YZG0P",
  plan_id: "pln_01KDVDNA0047C4FEZDQK8YZG0Q",
  correlation_id: "cor_01KDVDNA0047C4FEZDQK8YZG0R",
};
const now = Date.UTC(2026, 0, 1);

/** The fixture's events as one row of version 1. */
function oldRow() {
  const actor = { type: "system", id: "kernel" };
  const at = { v: 1, stream: identity.workflow_id, actor, now, first: 1, count: kept.length };
  return sealTurn(
    { ...identity, ...at },
    kept.map(({ at: _at, ...event }) => event),
    genesisHash,
  );
}

async function oldLedger(): Promise<LedgerStore> {
  const ledger = memoryLedger();
  await ledger.open();
  const head = { principal_id: 1, intent_type: "Notes.Draft", state: "completed" as const, created_at: now };
  const later = { principal_type: "user", title: "topic rain", percent: 100, schedule: null, compensated: null };
  const create = { ...identity, ...head, ...later, updated_at: now, due_at: null };
  expect(await ledger.append([{ tenant_id: 1, row: oldRow(), now, indexes: { create } }])).toMatchObject([
    { ok: true },
  ]);
  return ledger;
}

const payloadsOf = (type: string, field?: string): readonly unknown[] =>
  kept.filter((e) => e.type === type).map(({ payload }) => (field === undefined ? payload : payload[field]));

describe("records of version 1.0", () => {
  it("[SCH-06] lack the later fields, and parse", () => {
    const text = JSON.stringify(kept);
    for (const later of [
      "draft_version",
      "escalate_to",
      "regenerated_from",
      'policy_version":"default',
      'source":"api',
    ])
      expect(text).not.toContain(`"${later}"`);
    const schemas = [
      [Intent, payloadsOf("INTENT_RECEIVED", "intent")],
      [AuthContext, payloadsOf("INTENT_RECEIVED", "auth")],
      [Plan, payloadsOf("PLAN_CREATED", "plan")],
      [Gate, payloadsOf("GATE_OPENED", "gate")],
      [Outcome, [...payloadsOf("OUTCOME_DRAFTED", "outcome"), ...payloadsOf("OUTCOME_FINALIZED", "outcome")]],
      [PolicyDecision, payloadsOf("POLICY_DECIDED")],
      [LedgerEvent, openTurn(oldRow())],
    ] as const;
    for (const [schema, records] of schemas) {
      expect(records.length).toBeGreaterThan(0);
      for (const record of records) expect(schema.safeParse(record).error).toBeUndefined();
    }
  });

  it("[SCH-06] fold into the state of the workflow", () => {
    const { intent_id, ...known } = identity;
    const record = foldEvents(openTurn(oldRow()));
    expect(record?.intent.intent_id).toBe(intent_id);
    expect(record).toMatchObject({ ...known, state: "completed", status: "completed", run: 1, draft_version: 1 });
    expect([...(record?.steps.values() ?? [])].map((s) => [s.step.step_id, s.state])).toEqual([
      ["s1", "succeeded"],
      ["s2", "succeeded"],
    ]);
    expect(record?.gates.get("gate-s2")).toMatchObject({ status: "approved", decision: { decision: "approve" } });
    expect(record?.actions.size).toBe(2);
    expect([...(record?.outcomes.values() ?? [])].flat().map((o) => o.status)).toEqual(["draft", "final"]);
  });

  it("[SCH-06] are read by this kernel in every view", async () => {
    await using t = await createTestKernel({ ledger: await oldLedger() });
    const { workflow_id } = identity;
    const state = await t.kernel.workflow(workflow_id);
    expect(state).toMatchObject({ state: "completed", progress: { percent: 100 }, warnings: [], error: null });
    expect(await t.kernel.workflows()).toMatchObject([
      { workflow_id, title: "topic rain", progress: { percent: 100 } },
    ]);
    expect((await t.kernel.trace(workflow_id)).steps.map((s) => s.status)).toEqual(["COMPLETED", "COMPLETED"]);
    expect((await t.kernel.actions(workflow_id)).map((a) => a.status)).toEqual(["succeeded", "succeeded"]);
    expect((await t.kernel.outcomes(workflow_id)).outcomes).toHaveLength(2);
    expect((await listOf(t.kernel.progress(workflow_id, { live: false }))).at(-1)?.percent).toBe(100);
    expect((await t.kernel.explain(workflow_id)) !== null).toBe(true);
    expect((await t.kernel.verify(workflow_id)).ok).toBe(true);
  });
});
