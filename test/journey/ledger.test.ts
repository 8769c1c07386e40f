/**
 * What the ledger holds (seed 003 sections 2.7, 5.8, 7): the kinds of record, how they hang together, and what each of
 * them must say.
 */
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/fold.ts";
import type { ActionRecord } from "../../src/contract/action.ts";
import { DocumentRecord, MemoryRecord, Outcome, operatorError, toExecutorError } from "../../src/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { eventsIn } from "../ledgers/reseal.ts";
import { counted, eventsOf, intentType, listOf, ofType, oneStep, packageOf, planStep, refusalOf } from "./parts.ts";

const document = { tenant_id: 1, document_id: "d1", processed_content: { hash: "sha256-abc", bytes: 12 } };
const memory = { tenant_id: 1, key: "mood", type: "fact", value: "calm", source: "host", confidence: 0.8 };

function draftAndApply() {
  const write = counted("Notes.Write", {}, ({ context }) => ({ text: `draft of ${context.step_id}` }));
  const file = counted("Notes.File", { effect: "final_write" });
  const steps = [
    planStep("s1", write, { outcome: "Note" }),
    planStep("s2", file, { applies: "s1", params: { text: "{{s1.text}}" }, depends_on: ["s1"] }),
  ];
  return { write, file, pkg: packageOf([write, file], steps) };
}

describe("the six stores", () => {
  it("[LED-01] a run that touches all leaves a record in each, linked by its workflow id", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [draftAndApply().pkg] });
    const { workflow_id } = await t.run(intentType, {}, { thread_id: "t" });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    await t.kernel.documents.record({ ...document, workflow_id });
    const stores = {
      workflow: [await ledger.head(workflow_id)],
      event_log: await eventsOf(t, workflow_id),
      action_log: await t.kernel.actions(workflow_id),
      outcomes: (await t.kernel.outcomes(workflow_id)).outcomes,
      documents_ledger: await ledger.documents(1, ["d1"]),
      memory_ledger: await ledger.memory({ tenant_id: 1, thread_id: "t", limit: 10 }),
    };
    for (const [store, records] of Object.entries(stores)) {
      expect(records.length, store).toBeGreaterThan(0);
      for (const record of records) expect(record, store).toMatchObject({ workflow_id });
    }
  });

  it("[LED-01] the event log is primary: actions, outcomes, head and memory follow from its rows alone", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [draftAndApply().pkg] });
    const { workflow_id } = await t.run(intentType, {}, { thread_id: "t" });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const events = eventsIn(await listOf(t.kernel.export(workflow_id)));
    const record = foldEvents(events);
    const head = await ledger.head(workflow_id);
    expect([...(record?.actions.values() ?? [])].map((a) => a.record)).toEqual(await t.kernel.actions(workflow_id));
    expect([...(record?.outcomes.values() ?? [])].flat()).toEqual((await t.kernel.outcomes(workflow_id)).outcomes);
    expect(head).toMatchObject({
      state: record?.state,
      intent_type: record?.intent.type,
      tenant_id: record?.tenant_id,
      thread_id: record?.thread_id,
      principal_id: record?.intent.actor.id,
      due_at: null,
    });
    const remembered = ofType(events, "MEMORY_WRITTEN").map((e) => e.payload["record"]);
    const kept = await ledger.memory({ tenant_id: 1, thread_id: "t", limit: 10 });
    expect(kept.map(({ position: _p, ...entry }) => entry)).toEqual(remembered);
  });
});

describe("outcomes", () => {
  it("[LED-03] draft, regenerate, apply: three readable versions, the last one final", async () => {
    const { pkg, write } = draftAndApply();
    await using t = await createTestKernel({ capabilities: [pkg] });
    const { workflow_id } = await t.run(intentType);
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate" });
    const { payload_digest } = (await t.rest(workflow_id)).gates[0] ?? {};
    await t.approve(workflow_id, undefined, { payload_digest });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const { outcomes } = await t.kernel.outcomes(workflow_id);
    expect(write.calls).toHaveLength(2);
    expect(outcomes.map((o) => [o.version, o.status])).toEqual([
      [1, "draft"],
      [2, "draft"],
      [3, "final"],
    ]);
    expect(new Set(outcomes.map((o) => o.outcome_id)).size).toBe(1);
    expect(outcomes[0]?.content).toEqual({ text: "draft of s1" });
    expect(outcomes[2]?.content).toEqual(outcomes[1]?.content);
    for (const outcome of outcomes) expect(Outcome.parse(outcome)).toEqual(outcome);
    for (const confidence of [-0.1, 1.1]) expect(Outcome.safeParse({ ...outcomes[0], confidence }).success).toBe(false);
  });
});

describe("actions", () => {
  it("[LED-04] carry the hash of what was sent, and the result or the classified error", async () => {
    const write = counted("Notes.Write");
    const broken = counted("Notes.Break", {}, () => {
      throw operatorError({ code: "GONE", message: "gone", category: "dependency" });
    });
    const steps = [planStep("s1", write, { params: { text: "wet" } }), planStep("s2", broken)];
    await using t = await createTestKernel({
      capabilities: [packageOf([write, broken], steps)],
      limits: { maxReplans: 0 },
    });
    const { workflow_id } = await t.run(intentType);
    const [good, bad] = (await t.kernel.actions(workflow_id)) as [ActionRecord, ActionRecord];
    expect(good).toMatchObject({ status: "succeeded", result_payload: { text: "wet" }, error: null });
    expect(bad).toMatchObject({ status: "failed", result_payload: null });
    for (const action of [good, bad]) expect(action.payload_hash).toMatch(/[0-9a-f]{64}$/);
    expect(bad.payload_hash).not.toBe(good.payload_hash);
    expect(toExecutorError(bad.error as NonNullable<typeof bad.error>).category).toBe("dependency");
    const [failed] = ofType(await eventsOf(t, workflow_id), "ACTION_FAILED");
    expect(failed?.payload).toMatchObject({ action_id: bad.action_id, category: "dependency", retryable: false });
  });
});

describe("what holds records together", () => {
  it("[LED-05] each record has the correlation id, or a link to a record that has it", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [draftAndApply().pkg] });
    const { workflow_id, correlation_id } = await t.run(intentType, {}, { thread_id: "t" });
    const gates = await ledger.gates({});
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    await t.kernel.documents.record(document);
    const rows = (await ledger.tail(0, 1000)).map(({ row }) => row);
    const events = eventsIn(rows);
    for (const event of events) expect(event.correlation_id).toMatch(/^cor_/);
    const ofRun = events.filter((e) => e.workflow_id === workflow_id);
    expect(new Set(ofRun.map((e) => e.correlation_id))).toEqual(new Set([correlation_id]));
    const linked: readonly { readonly workflow_id: string | null }[] = [
      ...(await t.kernel.actions(workflow_id)),
      ...(await t.kernel.outcomes(workflow_id)).outcomes,
      ...gates,
      ...(await ledger.memory({ tenant_id: 1, thread_id: "t", limit: 10 })),
    ];
    expect(linked).toHaveLength(6);
    for (const record of linked) expect(record.workflow_id).toBe(workflow_id);
    const signals = t.signals.filter((s) => s.trace_id === correlation_id);
    expect(signals.length).toBeGreaterThan(10);
  });

  it("[LED-10] a thread is not tied to a scope: its workflows keep their own tenant and principal", async () => {
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [oneStep(counted("Notes.Write"))] });
    const scopes = [{ scope_type: "folder", scope_id: 1 }, { scope_type: "person", scope_id: "p" }, null];
    for (const scope of scopes) await t.run(intentType, {}, { thread_id: "t", scope });
    const listed = await t.kernel.workflows({ thread_id: "t" });
    const states = await Promise.all(listed.toReversed().map(({ workflow_id }) => t.kernel.workflow(workflow_id)));
    expect(states.map((s) => s.intent.scope)).toEqual(scopes);
    for (const state of states) expect(state).toMatchObject({ tenant_id: 1, intent: { actor: { id: 1 } } });
    for (const head of await ledger.listHeads({ tenant_id: 1, thread_id: "t", limit: 9 }))
      expect(head).toMatchObject({ tenant_id: 1, principal_id: 1, thread_id: "t" });
  });
});

describe("memory and documents", () => {
  it.each(["type", "source", "confidence"])(
    "[LED-07] a memory entry without %s is refused and not kept",
    async (field) => {
      const ledger = memoryLedger();
      await using t = await createTestKernel({ ledger });
      const entry = { ...memory, [field]: undefined };
      expect(MemoryRecord.safeParse(entry).success).toBe(false);
      expect((await refusalOf(t.kernel.memory.write(entry))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
      expect(await ledger.memory({ tenant_id: 1, limit: 10 })).toEqual([]);
      await t.kernel.memory.write(memory);
      expect(await ledger.memory({ tenant_id: 1, limit: 10 })).toMatchObject([memory]);
    },
  );

  it("[LED-07] confidence is a share of one", () => {
    for (const confidence of [-0.1, 1.1]) expect(MemoryRecord.safeParse({ ...memory, confidence }).success).toBe(false);
  });

  it("[LED-08] a document entry has the hash of its content and its gaps; the context lists both", async () => {
    const record = { ...document, missing_fields: ["author", "date"] };
    expect(DocumentRecord.parse(record)).toMatchObject(record);
    expect(DocumentRecord.safeParse({ ...record, processed_content: { bytes: 1 } }).success).toBe(false);
    expect(DocumentRecord.safeParse({ ...record, missing_fields: "author" }).success).toBe(false);
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    await t.kernel.documents.record(record);
    const { workflow_id } = await t.run(intentType, {}, { input: { attachments: { document_ids: ["d1"] } } });
    const [built] = ofType(await eventsOf(t, workflow_id), "CONTEXT_BUILT");
    expect(built?.payload["bundle"]).toMatchObject({
      documents: [{ document_id: "d1", hash: "sha256-abc", missing_fields: ["author", "date"] }],
    });
  });
});
