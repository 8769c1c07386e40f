/**
 * Decisions that come before anybody knows whether there will be a gate: before the plan, and for gates that no plan
 * declares.
 */
import { describe, expect, it } from "vitest";
import { templatePlanner } from "../../src/adapters/template-planner.ts";
import { definePolicy, digest, type Planner } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import type { OperatorMore } from "../fixtures.ts";
import { counted, decide, held, intent, payloads, refusalOf, step, story } from "./story.ts";

const right = digest({ text: "first" });

async function started(t: TestKernel): Promise<string> {
  const id = await t.submit(intent);
  await t.clock.settle();
  expect((await t.kernel.workflow(id)).gates).toEqual([]);
  return id;
}

const early = (t: TestKernel, id: string, decision: "approve" | "reject", payload_digest: string) =>
  decide(t, id, { decision, gate_id: "gate-second", payload: { payload_digest } });

describe("a decision before a gate that no plan declares", () => {
  /** The step `second` has no gate of its own: an effect, a tag of its operator or a policy asks for one. */
  function askedOtherwise(more: OperatorMore) {
    const end = held<object>();
    const first = counted("Note.First", {}, () => end.promise);
    const send = counted("Note.Send", more);
    const rows = [
      step("first", first),
      step("second", send, { params: { text: "{{first.output.text}}" }, depends_on: ["first"] }),
    ];
    return { send, capability: story([first, send], rows), finish: () => end.release({ text: "first" }) };
  }
  const asks = definePolicy({
    name: "asks",
    stages: ["action"],
    evaluate: ({ subject }) =>
      subject.operator === "Note.Send" ? { decision: "REQUIRE_HUMAN_APPROVAL", reason: "look" } : null,
  });

  it.each([
    ["an effect", { effect: "final_write" }, []],
    ["a tag of its operator", { policyTags: ["human_approval"] }, []],
    ["a policy", {}, [asks]],
  ] as const)("[GAT-07] is kept and holds where %s asks for the gate", async (_who, more, policies) => {
    const { capability, send, finish } = askedOtherwise(more as OperatorMore);
    await using t = await createTestKernel({ capabilities: [capability], policies });
    const id = await started(t);
    expect((await early(t, id, "approve", right)).status).toBe("kept");
    finish();
    expect((await t.rest(id)).state).toBe("completed");
    expect(await payloads(t, id, "USER_APPROVED")).toMatchObject([{ gate_id: "gate-second", payload_digest: right }]);
    expect(send.calls).toHaveLength(1);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[GAT-07] is refused where its step was called without a gate, or ended so", async () => {
    const { capability, finish } = askedOtherwise({});
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const ahead = (gate_id: string) =>
      refusalOf(decide(t, id, { decision: "approve", gate_id, payload: { payload_digest: right } }));
    expect((await ahead("gate-first")).code).toBe("T5_GATE_NOT_FOUND");
    expect((await ahead("gate-third")).code).toBe("T5_GATE_NOT_FOUND");
    finish();
    await t.rest(id);
    expect((await ahead("gate-second")).code).toBe("T5_GATE_CONFLICT");
    expect(await t.types(id)).not.toContain("GATE_DECISION_KEPT");
  });

  it.each([
    ["an outcome", { target: { type: "Draft.Note", outcome_id: "out_1" } }],
    ["a basis", { basis_digest: right }],
  ])("[GAT-07] is refused where it names %s, which nobody was shown", async (_what, named) => {
    const { capability } = askedOtherwise({ effect: "final_write" });
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await started(t);
    const payload = { payload_digest: right, ...named };
    const ahead = decide(t, id, { decision: "approve", gate_id: "gate-second", payload });
    expect((await refusalOf(ahead)).code).toBe("T5_GATE_CONFLICT");
  });
});

describe("a decision before its workflow has a plan", () => {
  /** Planning waits for the test: nobody knows yet which gates there will be. */
  function planLater() {
    const planning = held<undefined>();
    const send = counted("Note.Send", { effect: "final_write" });
    const capability = story([send], [step("second", send, { params: { text: "first" } })]);
    const planner: Planner = {
      plan: async (question) => {
        await planning.promise;
        return templatePlanner.plan(question);
      },
    };
    return { send, options: { capabilities: [capability], planner }, release: () => planning.release(undefined) };
  }

  it("[GAT-07] is kept from submit on, and holds at the gate that it names", async () => {
    const { options, send, release } = planLater();
    await using t = await createTestKernel(options);
    const id = await t.submit(intent);
    expect((await early(t, id, "approve", right)).status).toBe("kept");
    expect(await t.types(id)).not.toContain("PLAN_CREATED");
    release();
    expect((await t.rest(id)).state).toBe("completed");
    expect(send.calls).toHaveLength(1);
    expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  });

  it("[GAT-07] decides nothing at a gate outside the plan, and takes no more room than one gate has", async () => {
    const { options, send, release } = planLater();
    await using t = await createTestKernel({ ...options, limits: { maxGateEntries: 2 } });
    const id = await t.submit(intent);
    const ahead = (gate_id: string) =>
      decide(t, id, { decision: "approve", gate_id, payload: { payload_digest: right } });
    await ahead("gate-one");
    await ahead("gate-two");
    expect((await refusalOf(ahead("gate-second"))).code).toBe("T5_GATE_FULL");
    release();
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(send.calls).toHaveLength(0);
  });
});
