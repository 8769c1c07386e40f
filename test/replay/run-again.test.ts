/**
 * The second and third way to run again: with effects under the same keys, and with new ones. (The first is replay.)
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Budgets } from "../../src/contract/budget.ts";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { definePolicy, digest, operatorError } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { counted, gateOf, held, intent, Note, refusalOf, step, steps, story } from "../gates/story.ts";

const again = (t: TestKernel, id: string) => t.kernel.retry(id, { ...testCaller, mode: "replay" });
const keysOf = async (t: TestKernel, id: string): Promise<readonly string[]> =>
  (await t.kernel.actions(id)).map((action) => action.idempotency_key);

const never = (): Promise<never> => new Promise(() => undefined);

/**
 * A workflow that was cancelled while its call was under way, on a ledger that stays: its release took the call for one
 * that may be repeated, so that nobody was asked about it, and it is in doubt.
 */
async function leaveInDoubt(effect: "final_write" | "write_draft", row: Parameters<typeof step>[2] = {}) {
  const memory = memoryLedger();
  await memory.open();
  const ledger: LedgerStore = { ...memory, open: async () => undefined, close: async () => undefined };
  const work = counted("Note.Work", { effect, timeoutSec: 1, idempotent: true }, never);
  await using t = await createTestKernel({ ledger, capabilities: [story([work], [step("a", work, row)])], seed: 7 });
  const first = await t.submit(intent);
  await t.clock.settle();
  if ((await t.kernel.workflow(first)).state === "waiting_for_user") await t.approve(first);
  await t.clock.settle();
  expect([work.calls.length, (await t.kernel.cancel(first, testCaller)).status]).toEqual([1, "cancelled"]);
  expect((await t.kernel.actions(first)).map(({ status }) => status)).toEqual(["in_doubt"]);
  return { first, ledger };
}

type Ruling = Awaited<ReturnType<PolicyRule["evaluate"]>>;

describe("retry in mode replay", () => {
  it("begins a linked workflow with the same keys: what had succeeded is answered, only the rest runs", async () => {
    let works = false;
    const one = counted("Note.One", { effect: "write_draft" }, () => ({ n: 1 }));
    const two = counted("Note.Two", { effect: "write_draft" }, () => {
      if (!works) throw operatorError({ code: "NOT_YET", message: "not yet" });
      return { n: 2 };
    });
    const steps = [step("one", one), step("two", two, { depends_on: ["one"], params: { of: "{{one.output.n}}" } })];
    const limits = { maxReplans: 0 };
    await using t = await createTestKernel({
      capabilities: [story([one, two], steps)],
      defaultPolicies: false,
      limits,
    });
    const failed = await t.run(intent);
    expect(failed.state).toBe("failed");
    works = true;
    const { workflow_id } = await again(t, failed.workflow_id);
    expect(workflow_id).not.toBe(failed.workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect([one.calls.length, two.calls.length]).toEqual([1, 2]);
    expect(await keysOf(t, workflow_id)).toEqual(await keysOf(t, failed.workflow_id));
    expect((await t.kernel.workflow(workflow_id)).regenerated_from).toBe(failed.workflow_id);
    const third = await again(t, workflow_id);
    expect((await t.rest(third.workflow_id)).state).toBe("completed");
    expect([one.calls.length, two.calls.length]).toEqual([1, 2]);
    expect((await t.kernel.replay(third.workflow_id)).difference).toBeNull();
  });

  it("[INV-12] replays if a call of its first run is in doubt and a kept decision approves its gate", async () => {
    const look = held<null>();
    let looks = false;
    const rule = definePolicy({ name: "look", stages: ["action"], evaluate: () => (looks ? look.promise : null) });
    const row = { params: { n: 1 }, gate: {} };
    const { first, ledger } = await leaveInDoubt("final_write", row);
    const work = counted("Note.Work", { effect: "final_write", timeoutSec: 1 }, never);
    const capabilities = [story([work], [step("a", work, row)])];
    await using t = await createTestKernel({ ledger, capabilities, policies: [rule], limits: { maxReplans: 0 } });
    looks = true;
    const { workflow_id } = await again(t, first);
    await t.clock.settle();
    const payload = { payload_digest: digest({ n: 1 }) };
    await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id: "gate-a", decision: "approve", payload });
    look.release(null);
    const { steps } = await t.rest(workflow_id);
    expect([steps[0]?.error?.code, work.calls.length]).toEqual(["T4_ACTION_IN_DOUBT", 0]);
    expect(await t.types(workflow_id)).toContain("USER_APPROVED");
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it.each(["is cancelled", "goes on"])(
    "[INV-12] replays where a call is in doubt in its first run, and it %s while a hook on the way back is asked",
    async (how) => {
      const hook = held<undefined>();
      const { first, ledger } = await leaveInDoubt("write_draft");
      const work = counted("Note.Work", { effect: "write_draft", timeoutSec: 1 }, never);
      const capabilities = [story([work], [step("a", work)])];
      const middleware = [{ name: "log", onError: () => hook.promise }];
      await using t = await createTestKernel({ ledger, capabilities, middleware, limits: { maxReplans: 0 } });
      const { workflow_id: second } = await again(t, first);
      await t.clock.settle();
      if (how === "is cancelled") await t.kernel.cancel(second, testCaller);
      hook.release(undefined);
      const { state } = await t.rest(second);
      expect([state, work.calls.length]).toEqual([how === "is cancelled" ? "cancelled" : "failed", 0]);
      expect(await t.kernel.replay(second)).toMatchObject({ identical: true });
    },
  );

  it("[INV-12] replays if a hook refuses the first run's work and a cancellation comes meanwhile", async () => {
    const hook = held<undefined>();
    let refuses = false;
    const before = (): void => {
      if (refuses) throw operatorError({ code: "NO", message: "not this one", category: "dependency" });
    };
    const work = counted("Note.Work", { effect: "write_draft" });
    const capabilities = [story([work], [step("a", work, { gate: {} })])];
    const middleware = [{ name: "guard", before, onError: () => (refuses ? hook.promise : undefined) }];
    await using t = await createTestKernel({ capabilities, middleware, limits: { maxReplans: 0 } });
    const { workflow_id: first } = await t.run(intent);
    await t.approve(first);
    await t.rest(first);
    refuses = true;
    const { workflow_id: second } = await again(t, first);
    await t.clock.settle();
    await t.kernel.cancel(second, testCaller);
    hook.release(undefined);
    const { state, gates } = await t.rest(second);
    expect([state, gates, work.calls.length]).toEqual(["cancelled", [], 1]);
    expect(await t.kernel.replay(second)).toMatchObject({ identical: true });
  });

  it.each([
    ["throws", 0],
    ["has no answer", 10_000],
  ])(
    "answers with nothing that is of no use here: its screening %s, nothing is called, and it replays",
    async (_, ms) => {
      let screened = 0;
      const validateOutput = () => {
        screened += 1;
        if (screened > 1 && ms === 0) throw new Error("the validator is broken");
        return screened > 1 ? new Promise<never>(() => undefined) : ({ ok: true } as const);
      };
      const work = counted("Note.Work", { effect: "write_draft" });
      const capabilities = [story([work], [step("one", work)])];
      await using t = await createTestKernel({ capabilities, security: { validateOutput }, limits: { maxReplans: 0 } });
      const { workflow_id } = await again(t, (await t.run(intent)).workflow_id);
      await t.clock.settle();
      await t.clock.advance(ms);
      const end = await t.rest(workflow_id);
      expect([end.state, end.steps[0]?.error?.code, work.calls.length]).toEqual(["failed", "T4_OUTPUT_INVALID", 1]);
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it("applies nothing twice: an effect that a person approved on a version is answered, nobody is asked", async () => {
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "first" }));
    const apply = counted("Note.Apply", { effect: "final_write" });
    const steps = [
      step("d", draft, { outcome: "Note" }),
      step("a", apply, { applies: "d", depends_on: ["d"], params: { text: "{{d.output.text}}" } }),
    ];
    await using t = await createTestKernel({ capabilities: [story([draft, apply], steps)] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-a", { edit: { text: "edited" } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const { workflow_id: second } = await again(t, workflow_id);
    const { state, gates, outcomes } = await t.rest(second);
    expect([state, gates]).toEqual(["completed", []]);
    expect([draft.calls.length, apply.calls.length]).toEqual([1, 1]);
    expect(await keysOf(t, second)).toEqual(await keysOf(t, workflow_id));
    expect(outcomes.map((o) => [o.status, o.content])).toEqual([
      ["draft", { text: "edited" }],
      ["final", { text: "edited" }],
    ]);
    expect((await t.kernel.replay(second)).difference).toBeNull();
    const regenerated = await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate", step_ids: ["d"] });
    expect((await t.rest(regenerated.workflow_id)).gates.map((g) => g.status)).toEqual(["open"]);
    expect([draft.calls.length, apply.calls.length]).toEqual([2, 1]);
  });

  it.each<[string, Ruling]>([
    ["masks", { decision: "ALLOW_WITH_REDACTION", redactions: ["text"] }],
    ["replaces", { decision: "TRANSFORM", transform: { text: "replaced" } }],
  ])("drafts what its first run had called and not drafted, and replays where policy %s it", async (_, ruling) => {
    let now: Ruling = { decision: "DENY", reason: "not yet" };
    const rule = definePolicy({ name: "outcome", stages: ["outcome"], evaluate: () => now });
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "first" }));
    const capabilities = [story([draft], [step("d", draft, { outcome: "Note" })])];
    await using t = await createTestKernel({ capabilities, policies: [rule], limits: { maxReplans: 0 } });
    const first = await t.run(intent);
    expect([first.state, first.outcomes]).toEqual(["failed", []]);
    now = ruling;
    const { workflow_id } = await again(t, first.workflow_id);
    const { state, outcomes } = await t.rest(workflow_id);
    expect([state, outcomes[0]?.workflow_id, draft.calls.length]).toEqual(["completed", workflow_id, 1]);
    expect(outcomes[0]?.content).not.toEqual({ text: "first" });
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("takes a draft as policy left it, masked where its schema wants something else, and replays", async () => {
    const masks: Ruling = { decision: "ALLOW_WITH_REDACTION", redactions: ["iban"] };
    const rule = definePolicy({ name: "outcome", stages: ["outcome"], evaluate: () => masks });
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ iban: 1234 }));
    const outcomes = { Note: z.object({ iban: z.number() }) };
    const capability = story([draft], [step("d", draft, { outcome: "Note" })], { outcomes });
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const first = await t.run(intent);
    const { workflow_id } = await again(t, first.workflow_id);
    const { state, outcomes: taken } = await t.rest(workflow_id);
    expect([first.state, state, taken]).toEqual(["completed", "completed", first.outcomes]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it.each<[string, Ruling]>([
    ["masks some of it", { decision: "ALLOW_WITH_REDACTION", redactions: ["by"] }],
    ["replaces it", { decision: "TRANSFORM", transform: { text: "replaced", by: "policy" } }],
    ["denies it", { decision: "DENY", reason: "not any more" }],
  ])("takes a draft as a person left it, and replays where policy now %s", async (_, ruling) => {
    let now: Ruling = null;
    const rule = definePolicy({ name: "outcome", stages: ["outcome"], evaluate: () => now });
    const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "first", by: "the model" }));
    const apply = counted("Note.Apply", { effect: "final_write" });
    const params = { text: "{{d.output.text}}", by: "{{d.output.by}}" };
    const steps = [
      step("d", draft, { outcome: "Note" }),
      step("a", apply, { applies: "d", depends_on: ["d"], params }),
    ];
    const capabilities = [story([draft, apply], steps)];
    await using t = await createTestKernel({ capabilities, policies: [rule], limits: { maxReplans: 0 } });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-a", { edit: { text: "edited" } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    now = ruling;
    const second = (await again(t, workflow_id)).workflow_id;
    const { state } = await t.rest(second);
    const isDenied = ruling !== null && "decision" in ruling && ruling.decision === "DENY";
    expect([state, draft.calls.length]).toEqual([isDenied ? "failed" : "waiting_for_user", 1]);
    expect((await t.kernel.replay(second)).difference).toBeNull();
  });

  it("is for what has ended", async () => {
    const wait = counted("Note.Wait");
    const capability = story([wait], [step("w", wait, { gate: {} })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await refusalOf(again(t, workflow_id))).code).toBe("T4_WORKFLOW_CONFLICT");
  });
});

it.each(["plainly", "for good"])(
  "[INV-12] a call that threw %s, and failed another step with its key, behind a gate with a basis",
  async (how) => {
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const preview = () => ({ preview: "a note", basis: [{ name: "board", digest: "1" }] });
    const lost =
      how === "plainly" ? new Error("lost") : operatorError({ code: "NO", message: "never", category: "dependency" });
    const publish = counted("Note.Publish", { effect: "none", retry: "NONE", preview }, () => Promise.reject(lost));
    const applying = (id: string) => step(id, publish, { applies: "draft", gate: {} });
    const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
    const capabilities = [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })];
    await using t = await createTestKernel({ capabilities, limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run(intent);
    for (const gate of ["gate-a", "gate-b"]) {
      const { basis_digest } = await gateOf(t, id, gate);
      await t.approve(id, gate, { ...(basis_digest !== undefined && { basis_digest }) });
      await t.rest(id);
    }
    const { steps } = await t.kernel.workflow(id);
    expect([publish.calls.length, steps.map(({ state }) => state)]).toEqual([1, ["succeeded", "failed", "failed"]]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  },
);

it.each(["succeeded", "failed"])(
  "[INV-12] a step that joined a call which %s, though a budget had been asked for a call of its own",
  async (how) => {
    const draft = counted("Note.Draft", {}, () => ({ text: "a draft" }));
    const work = held<void>();
    const publish = counted("Note.Publish", { effect: "final_write" }, async () => {
      await work.promise; // until both have begun
      if (how === "failed") throw operatorError({ code: "GONE", message: "no board", category: "validation" });
      return {};
    });
    const applying = (id: string) => step(id, publish, { applies: "draft" });
    const rows = [step("draft", draft, { outcome: "Draft.Note" }), applying("a"), applying("b")];
    const capabilities = [story([draft, publish], rows, { outcomes: { "Draft.Note": Note } })];
    const budgets: Budgets = { limits: [{ scope: "tenant", invocations: 9 }] };
    const limits = { maxReplans: 0 };
    await using t = await createTestKernel({ capabilities, defaultPolicies: false, budgets, limits });
    const id = await t.submit(intent);
    await t.clock.settle();
    work.release();
    await t.rest(id);
    const calls = ["BUDGET_RESERVED", "ACTION_STARTED", "ACTION_SUCCEEDED", "ACTION_FAILED"];
    const told = (await steps(t, id, calls)).slice(3);
    // Which of the two asks the budget first is the store's to say.
    const [maker, joiner] = told[0]?.endsWith(":a") ? ["a", "b"] : ["b", "a"];
    const made = [`BUDGET_RESERVED:${maker}`, `ACTION_STARTED:${maker}`, `ACTION_STARTED:${joiner}`];
    expect(told).toEqual([...made, ...[maker, joiner].map((step) => `ACTION_${how.toUpperCase()}:${step}`)]);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  },
);
