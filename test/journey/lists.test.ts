/** What the kernel lists: summaries from the indexes, newest first, by every filter, bounded whatever they tell of. */
import { describe, expect, it } from "vitest";
import { lists } from "../../src/api/lists.ts";
import type { Caller } from "../../src/contract/auth-context.ts";
import { maxListedGateChars } from "../../src/contract/listed-gate.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { counted, decide, gatedSteps, gateOf, intent, publishing, refusalOf, step, story } from "../gates/story.ts";
import { countingLedger } from "../streams/counting-ledger.ts";

const day = 86_400_000;
const as = (id: string | number, role = "user"): Caller => ({ tenant_id: 1, principal: { type: "user", id, role } });
const idsOf = (listed: readonly { readonly workflow_id: string }[]) => listed.map(({ workflow_id }) => workflow_id);

/** Three workflows a day apart: one done, two that wait. */
async function threeDays(t: TestKernel): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const text of ["Tell the board", "Tell the Press", "Tell nobody"]) {
    const more = { input: { text }, ...(ids.length === 2 && as("bo")) };
    ids.push((await t.run(intent, {}, more)).workflow_id);
    if (ids.length === 1) await t.reject(ids[0] as string);
    await t.clock.advance(day);
    await t.rest(ids.at(-1) as string);
  }
  return ids;
}

describe("[LED-01] the list of workflows", () => {
  it("is of summaries, newest first, which tell what the index knows", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const [first, second, third] = await threeDays(t);
    const listed = await t.kernel.workflows({}, testCaller);
    expect(idsOf(listed)).toEqual([third, second, first]);
    const state = await t.kernel.workflow(second as string);
    expect(listed[1]).toEqual({
      workflow_id: second,
      tenant_id: 1,
      thread_id: null,
      correlation_id: state.correlation_id,
      intent_id: state.intent.intent_id,
      intent_type: intent,
      state: "waiting_for_user",
      progress: { percent: state.progress.percent },
      title: "Tell the Press",
      principal: { type: "user", id: 1 },
      created_at: state.accepted_at,
      updated_at: state.updated_at,
      due_at: null,
      open_gates: 1,
      paused: false,
      queued: false,
      compensated: null,
      held_by: [],
    });
    expect(listed[2]).toMatchObject({ state: "cancelled", open_gates: 0 });
  });

  it("answers every filter, alone and joined, and the total where it is asked for", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const [first, second, third] = (await threeDays(t)) as [string, string, string];
    const { created_at } = (await t.kernel.workflows())[1] as { readonly created_at: string };
    const list = async (filter: Parameters<TestKernel["kernel"]["workflows"]>[0]) =>
      idsOf(await t.kernel.workflows(filter, testCaller));
    expect(await list({ states: ["waiting_for_user"] })).toEqual([third, second]);
    expect(await list({ states: ["cancelled", "waiting_for_user"] })).toEqual([third, second, first]);
    expect(await list({ principal: "bo" })).toEqual([third]);
    expect(await list({ text: "press" })).toEqual([second]);
    expect(await list({ text: "TELL", states: ["cancelled"] })).toEqual([first]);
    expect(await list({ text: first.toLowerCase() })).toEqual([first]);
    expect(await list({ since: created_at })).toEqual([third, second]);
    expect(await list({ until: created_at })).toEqual([first]);
    expect(await list({ since: created_at.slice(0, 10), until: "2999-01-01" })).toEqual([third, second]);
    expect(await list({ intent_type: "other" })).toEqual([]);
    expect(await list({ after: third, limit: 1 })).toEqual([second]);
    expect(await list({ before: first, limit: 1 })).toEqual([second]);
    expect(await list({ before: first, text: "tell", limit: 1 })).toEqual([second]);
    expect(await list({ sort: "oldest" })).toEqual([first, second, third]);
    expect(await list({ sort: "oldest", text: "tell", after: first, limit: 1 })).toEqual([second]);
    expect((await t.kernel.workflows({ limit: 1, total: true })).total).toBe(3);
    expect((await t.kernel.workflows({ limit: 1, total: true, text: "tell the" })).total).toBe(2);
    expect((await t.kernel.workflows({ limit: 1 })).total).toBeUndefined();
  });

  it("finds the one workflow of a key of the caller, and nobody else's", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const request = { ...testCaller, intent_hint: { intent_type: intent }, idempotency_key: "order-7" };
    const { workflow_id } = await t.kernel.submit(request);
    await t.kernel.submit({ ...request, ...as("bo") });
    const list = async (filter: object, caller: Caller = testCaller) =>
      idsOf(await t.kernel.workflows({ idempotency_key: "order-7", ...filter }, caller));
    expect(await list({})).toEqual([workflow_id]);
    expect(await list({}, as("bo"))).not.toContain(workflow_id);
    for (const more of [{ idempotency_key: "order-8" }, { intent_type: "other" }, { text: "nothing" }])
      expect(await list(more)).toEqual([]);
    expect(await list({}, { ...testCaller, tenant_id: 2 })).toEqual([]);
    const none = await t.kernel.workflows({ idempotency_key: "order-8", total: true }, testCaller);
    expect(none.total).toBe(0);
    const refused = await refusalOf(t.kernel.workflows({ idempotency_key: "order-7" }));
    expect(refused.code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await refusalOf(list({ idempotency_key: "é" }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("refuses a filter that is none, and a cursor of another list", async () => {
    await using t = await createTestKernel({ capabilities: [publishing().capability] });
    const { workflow_id } = await t.run(intent);
    const foreign: Caller = { tenant_id: 2, principal: testCaller.principal };
    for (const filter of [{ state: "running" }, { since: "yesterday" }, { after: "wf_1" }, { text: "x".repeat(201) }])
      expect((await refusalOf(t.kernel.workflows(filter as never, testCaller))).code).toBe(
        "T0_VALIDATION_SCHEMA_MISMATCH",
      );
    expect((await refusalOf(t.kernel.workflows({ after: workflow_id }, foreign))).code).toBe(
      "T0_VALIDATION_SCHEMA_MISMATCH",
    );
    for (const after of ["gate-publish", `${workflow_id}/publish`, `${workflow_id}/gate-a/b`])
      expect((await refusalOf(t.kernel.gates({ after }, testCaller))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("reads no log, and of gates at most limits.maxListedLog: 48 large workflows fill several pages", async () => {
    const { store: ledger, counts } = countingLedger(memoryLedger());
    const draft = counted("Note.Draft", {}, () => ({ text: "x".repeat(100_000) }));
    const send = counted("Note.Send", { effect: "write_draft", preview: () => ({ preview: "y".repeat(100_000) }) });
    const sent = { gate: {}, depends_on: ["draft"], params: { text: "{{draft.output.text}}" } };
    const steps = [step("draft", draft), step("send", send, sent)];
    await using t = await createTestKernel({ ledger, capabilities: [story([draft, send], steps)] });
    for (let i = 0; i < 48; i += 1) await t.run(intent, { text: "z".repeat(10_000) });
    const before = { ...counts };
    const workflows = await t.kernel.workflows({ total: true }, testCaller);
    expect(counts).toEqual(before);
    const gates = await t.kernel.gates({ total: true }, testCaller);
    expect([workflows.length, workflows.total, gates.length, gates.total]).toEqual([48, 48, 48, 48]);
    const checked = gates.filter((gate) => gate.checked);
    expect(checked.length).toBeGreaterThan(0);
    expect(checked.length).toBeLessThan(10);
    expect(gates.slice(0, checked.length)).toEqual(checked);
    for (const gate of gates) expect(gate.payload_digest).toMatch(gate.checked ? /^[0-9a-f]{64}$/ : /^$/);
    expect(counts["read"]).toBeLessThanOrEqual((before["read"] ?? 0) + 48);
    expect(JSON.stringify(workflows).length).toBeLessThan(48 * 1_000);
    expect(JSON.stringify(gates).length).toBeLessThan(48 * 5_000);
    expect(5_000).toBeLessThan(maxListedGateChars);
    expect(gates.every(({ truncated }) => truncated)).toBe(true);
    const [{ workflow_id, gate_id, payload_digest } = { workflow_id: "", gate_id: "", payload_digest: "" }] = gates;
    const [whole] = await t.kernel.gates({ workflow_id }, testCaller);
    expect(whole).toMatchObject({ truncated: false, payload_digest, payload: { text: "x".repeat(100_000) } });
    const alone = await t.kernel.gate(workflow_id, gate_id, testCaller);
    expect({ ...alone, truncated: false, checked: true, intent_type: intent }).toEqual(whole);
  });

  it("looks for a text in no more than limits.maxListScanned of them", async () => {
    const capabilities = [publishing().capability];
    await using t = await createTestKernel({ capabilities, limits: { maxListScanned: 20 } });
    for (let i = 0; i < 21; i += 1) await t.submit(intent, {}, { input: { text: i === 0 ? "needle" : "hay" } });
    expect((await refusalOf(t.kernel.workflows({ text: "needle" }, testCaller))).code).toBe("T0_LIST_TOO_WIDE");
    expect(await t.kernel.workflows({ text: "hay", limit: 2 }, testCaller)).toHaveLength(2);
  });
});

describe("[GAT-01] the list of gates", () => {
  it("is of at most limits.maxListScanned sets of people; a selection with fewer is answered", async () => {
    const operators = ["a", "b", "c"].map((name) => counted(`Note.${name}`, { effect: "write_draft" }));
    const steps = operators.map((operator) =>
      step(operator.name.slice(5), operator, { gate: { roles: [operator.name] } }),
    );
    const limits = { maxListScanned: 2 };
    await using t = await createTestKernel({ capabilities: [story(operators, steps)], limits });
    await t.run(intent);
    const role = "Note.b";
    expect((await refusalOf(t.kernel.gates({ role }, testCaller))).code).toBe("T0_LIST_TOO_WIDE");
    expect(await t.kernel.gates({ role, operator: role }, testCaller)).toHaveLength(1);
    expect(await t.kernel.gates({ role, operator: "Note.a" }, testCaller)).toHaveLength(0);
  });

  it("is by operator, role and due date, in pages that lose and repeat nothing", async () => {
    const day = { after_ms: 86_400_000, action: "deny" } as const;
    const pay = counted("Note.Pay", { effect: "write_draft" });
    const send = counted("Note.Send", { effect: "write_draft" });
    const steps = [step("pay", pay, { gate: { roles: ["admin"], expiry: day } }), step("send", send, { gate: {} })];
    await using t = await createTestKernel({ capabilities: [story([pay, send], steps)] });
    const one = (await t.run(intent)).workflow_id;
    const two = (await t.run(intent)).workflow_id;
    const list = async (filter: Parameters<TestKernel["kernel"]["gates"]>[0]) =>
      (await t.kernel.gates(filter, testCaller)).map(({ workflow_id, gate_id }) => `${workflow_id}/${gate_id}`);
    const all = [`${two}/gate-pay`, `${two}/gate-send`, `${one}/gate-pay`, `${one}/gate-send`];
    expect(await list({})).toEqual(all);
    expect(await list({ operator: "Note.Pay" })).toEqual([all[0], all[2]]);
    expect(await list({ role: "admin" })).toEqual([all[0], all[2]]);
    expect(await list({ role: "user" })).toEqual([]);
    const due = (await gateOf(t, one, "gate-pay")).due_at as string;
    expect(await list({ due_before: due })).toEqual([]);
    expect(await list({ due_before: new Date(Date.parse(due) + day.after_ms).toISOString() })).toEqual([
      all[0],
      all[2],
    ]);
    expect(await list({ limit: 1, after: all[0] as string })).toEqual([all[1]]);
    expect(await list({ limit: 1, before: all[3] as string })).toEqual([all[2]]);
    expect(await list({ after: two })).toEqual(all.slice(2));
    expect(await list({ role: "admin", before: all[3] as string, limit: 1 })).toEqual([all[2]]);
    expect(await t.kernel.gates({ role: "admin", limit: 1, total: true }, testCaller)).toMatchObject({ total: 2 });
  });

  it("mine: those that the caller has a seat at, by role, by name or lent, and nobody else's", async () => {
    const capability = (gate: object) => gatedSteps(1, { gate }).capability;
    const approvers = [{ id: "ann" }, { id: "dan" }];
    await using t = await createTestKernel({ capabilities: [capability({ approvers, separation: true })] });
    const { workflow_id } = await t.run(intent, {}, as("ann"));
    const other = (await t.run(intent, {}, as("bo"))).workflow_id;
    const mine = async (caller: Caller) => idsOf(await t.kernel.gates({ mine: true }, caller));
    expect(await mine(as("ann"))).toEqual([other]);
    expect(await mine(as("bo"))).toEqual([]);
    expect(await mine({ tenant_id: 2, principal: as("ann").principal })).toEqual([]);
    const expires_at = new Date(t.clock.now() + day).toISOString();
    await t.kernel.delegateGate(other, { ...as("ann"), gate_id: "gate-s1", to: { id: "cy" }, expires_at });
    expect(await mine(as("cy"))).toEqual([other]);
    await t.clock.advance(2 * day);
    expect(await mine(as("cy"))).toEqual([]);
    await decide(t, other, { gate_id: "gate-s1", decision: "approve", ...as("ann") } as never);
    expect(await mine(as("ann"))).toEqual([]);
    expect((await t.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    expect((await refusalOf(t.kernel.gates({ mine: true }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await refusalOf(t.kernel.gates({ mine: true }, as("ann", "nobody")))).code).toMatch(/^T5_AUTH/);
  });

  it("by who voted, and in every order: each gate is reached by the cursor of the page before", async () => {
    const { capability } = gatedSteps(1, { gate: { quorum: { approvals: 2 } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) {
      ids.push(
        (await t.run(intent, {}, { ...as(n % 2 === 0 ? "ann" : "bo"), input: { text: `Order ${n}` } })).workflow_id,
      );
      await t.clock.advance(1000);
    }
    const [first = "", , third = ""] = ids;
    await decide(t, first, { gate_id: "gate-s1", decision: "approve", ...as("cy") } as never);
    const list = async (filter: Parameters<TestKernel["kernel"]["gates"]>[0]) =>
      idsOf(await t.kernel.gates(filter, as("cy")));
    expect(await list({ voted: true })).toEqual([first]);
    expect(await list({ voted: false, sort: "oldest" })).toEqual(ids.slice(1));
    expect((await t.kernel.gates({ mine: true, limit: 1, total: true }, as("cy"))).total).toBe(3);
    const until = new Date(t.clock.now() + 60_000).toISOString();
    await t.kernel.noteGate(third, { ...as("cy"), gate_id: "gate-s1", assign: { id: "cy" }, snooze: until });
    expect(await list({ assigned: "me" })).toEqual([third]);
    expect(await list({ assigned: "nobody", mine: true })).toEqual([ids[3], ids[1]]);
    expect(await list({ snoozed: true })).toEqual([third]);
    expect(await list({ snoozed: false, mine: true })).toEqual([ids[3], ids[1]]);
    expect(idsOf(await t.kernel.gates({ snoozed: true }, as("bo")))).toEqual([]);
    await t.clock.advance(60_000);
    expect(await list({ snoozed: true })).toEqual([]);
    expect(await list({ principal: "bo", sort: "newest" })).toEqual([ids[3], ids[1]]);
    expect(await list({ text: "ORDER 2" })).toEqual([third]);
    expect(await list({ intent_type: "other", risk: "low" })).toEqual([]);
    const opened = (await gateOf(t, third, "gate-s1")).opened_at;
    expect(await list({ since: opened, sort: "oldest" })).toEqual(ids.slice(2));
    expect(await list({ until: opened, sort: "oldest" })).toEqual(ids.slice(0, 2));
    for (const sort of ["newest", "oldest", "due"] as const) {
      const reached: string[] = [];
      let after: string | undefined;
      do {
        const page = await lists.gates.read(
          t.kernel,
          { sort, limit: 1, total: false, ...(after && { after }) },
          as("cy"),
        );
        reached.push(...idsOf(page.gates));
        after = page.next ?? undefined;
      } while (after !== undefined);
      expect(reached.toSorted()).toEqual(ids.toSorted());
    }
    for (const filter of [{ sort: "due", after: `${first}/gate-s1` }, { sort: "up" }, { after: `1/${first}/gate-s1` }])
      expect((await refusalOf(t.kernel.gates(filter as never, as("cy")))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await refusalOf(t.kernel.gates({ voted: true }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    for (const filter of [{ snoozed: false }, { assigned: "me" as const }])
      expect((await refusalOf(t.kernel.gates(filter))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("one gate is read whole by its id, decided or not; one that is not there is T5_GATE_NOT_FOUND", async () => {
    await using t = await createTestKernel({ capabilities: [gatedSteps(1).capability] });
    const { workflow_id } = await t.run(intent);
    expect((await t.kernel.gate(workflow_id, "gate-s1", testCaller)).status).toBe("open");
    await t.approve(workflow_id);
    expect((await t.kernel.gate(workflow_id, "gate-s1", testCaller)).status).toBe("approved");
    expect((await refusalOf(t.kernel.gate(workflow_id, "gate-s2", testCaller))).code).toBe("T5_GATE_NOT_FOUND");
    const foreign: Caller = { tenant_id: 2, principal: testCaller.principal };
    expect((await refusalOf(t.kernel.gate(workflow_id, "gate-s1", foreign))).code).toBe("T4_WORKFLOW_NOT_FOUND");
  });
});
