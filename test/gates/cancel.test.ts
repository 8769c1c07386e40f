/** Cancelling: from every state a workflow can be in, with nothing left running, open or unsaid. */
import { describe, expect, it } from "vitest";
import type { Planner } from "../../src/index.ts";
import { operatorError } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import {
  count,
  counted,
  eventsOf,
  gateOf,
  held,
  intent,
  payloads,
  publishing,
  refusalOf,
  step,
  story,
} from "./story.ts";

const cancel = (t: TestKernel, id: string, reason?: string) =>
  t.kernel.cancel(id, { ...testCaller, ...(reason === undefined ? {} : { reason }) });

async function expectCancelled(t: TestKernel, id: string): Promise<void> {
  const { correlation_id } = await t.kernel.workflow(id);
  const answer = await cancel(t, id, "no longer needed");
  expect(answer).toEqual({ workflow_id: id, status: "cancelled", correlation_id });
  await t.clock.advance(60_000);
  const end = await t.kernel.workflow(id);
  expect(end.state).toBe("cancelled");
  expect(end.steps.filter((s) => s.state === "queued" || s.state === "running")).toEqual([]);
  expect(end.gates.filter((g) => g.status === "open" || g.status === "suspended")).toEqual([]);
  expect((await eventsOf(t, id)).at(-1)?.event_type).toBe("WORKFLOW_CANCELLED");
  expect(await payloads(t, id, "WORKFLOW_CANCELLED")).toMatchObject([
    { reason: "no longer needed", principal: testCaller.principal },
  ]);
  expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0 });
  expect(await cancel(t, id)).toEqual(answer);
  expect(count(await t.types(id), "WORKFLOW_CANCELLED")).toBe(1);
}

const simple = () => {
  const work = counted("Note.Work");
  return { work, capability: story([work], [step("s1", work), step("s2", work, { depends_on: ["s1"] })]) };
};

describe("a workflow is cancelled", () => {
  it("while it is accepted: no plan comes of it", async () => {
    const { work, capability } = simple();
    const answer = held<Awaited<ReturnType<Planner["plan"]>>>();
    await using t = await createTestKernel({ capabilities: [capability], planner: { plan: () => answer.promise } });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("accepted");
    await expectCancelled(t, id);
    answer.release({ plan: { reasoning: "late", steps: [step("s1", work)] }, usage: { total_cost: 0 } });
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("cancelled");
    expect(await t.types(id)).not.toContain("PLAN_CREATED");
    expect(work.calls).toHaveLength(0);
  });

  it("while a step runs: the call is told to stop, its end is on record, what is left is skipped by name", async () => {
    const end = held<object>();
    const slow = counted("Note.Slow", { effect: "write_draft" }, () => end.promise);
    const rows = [step("s1", slow), step("s2", slow, { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [story([slow], rows)] });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).state).toBe("running");
    const cancelled = cancel(t, id, "no longer needed");
    await t.clock.settle();
    expect(slow.calls[0]?.signal.aborted).toBe(true);
    end.release({});
    await cancelled;
    await t.clock.settle();
    const state = await t.kernel.workflow(id);
    expect(state.state).toBe("cancelled");
    expect(state.steps.map((s) => [s.state, s.skip_reason])).toEqual([
      ["skipped", "cancelled"],
      ["skipped", "cancelled"],
    ]);
    expect((await eventsOf(t, id)).at(-1)?.event_type).toBe("WORKFLOW_CANCELLED");
    expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["succeeded"]);
    expect(slow.calls).toHaveLength(1);
  });

  it("while it waits to try again: there is no further attempt", async () => {
    const flaky = counted("Note.Flaky", { retry: "STANDARD" }, () => {
      throw operatorError({ code: "BUSY", message: "busy", category: "transient" });
    });
    await using t = await createTestKernel({ capabilities: [story([flaky], [step("s1", flaky)])] });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect((await t.kernel.workflow(id)).steps[0]?.phase).toBe("backing_off");
    await expectCancelled(t, id);
    expect(flaky.calls).toHaveLength(1);
  });

  it("while it waits for a person: the gate is void and what it guarded is never called", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await expectCancelled(t, workflow_id);
    expect((await gateOf(t, workflow_id)).status).toBe("voided");
    expect((await refusalOf(t.approve(workflow_id, "gate-publish"))).code).toBe("T5_GATE_CONFLICT");
    expect(await t.kernel.gates()).toEqual([]);
    expect(publish.calls).toHaveLength(0);
  });

  it("while a lost call waits for a person: once that person has said what became of it", async () => {
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () => new Promise(() => undefined));
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send)])] });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("waiting_for_user");
    expect(await cancel(t, workflow_id)).toMatchObject({ status: "cancelling" });
    await t.clock.settle();
    expect((await t.kernel.workflow(workflow_id)).state).toBe("cancelling");
    await t.reject(workflow_id, "gate-send_doubt1");
    await t.clock.settle();
    expect((await t.kernel.workflow(workflow_id)).state).toBe("cancelled");
    expect((await t.kernel.actions(workflow_id)).map((a) => a.status)).toEqual(["failed"]);
    expect(send.calls).toHaveLength(1);
  });

  it("by its reason and in the name of whoever did it", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await cancel(t, workflow_id);
    expect(await payloads(t, workflow_id, "WORKFLOW_CANCELLED")).toMatchObject([
      { reason: "cancelled by request", principal: testCaller.principal },
    ]);
  });
});

describe("a workflow is not cancelled", () => {
  it("when it has completed", async () => {
    const { capability } = simple();
    await using t = await createTestKernel({ capabilities: [capability] });
    const done = await t.run(intent);
    expect(done.state).toBe("completed");
    expect((await refusalOf(cancel(t, done.workflow_id))).code).toBe("T4_WORKFLOW_CONFLICT");
    expect(await t.kernel.workflow(done.workflow_id)).toEqual(done);
  });

  it("when it has failed; it can still be taken up again", async () => {
    const work = counted("Note.Work", {}, () => {
      if (work.calls.length === 1) throw new Error("no");
      return {};
    });
    const capability = story([work], [step("s1", work)]);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 0 } });
    const failed = await t.run(intent);
    expect(failed.state).toBe("failed");
    expect((await refusalOf(cancel(t, failed.workflow_id))).code).toBe("T4_WORKFLOW_CONFLICT");
    expect(await t.kernel.workflow(failed.workflow_id)).toEqual(failed);
    await t.kernel.retry(failed.workflow_id, { ...testCaller });
    expect((await t.rest(failed.workflow_id)).state).toBe("completed");
  });

  it("by another tenant, or by who may not run workflows, or when there is none", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, sequence } = await t.run(intent);
    const support = { type: "user", id: 4, role: "support" };
    const refusals = [
      await refusalOf(t.kernel.cancel(workflow_id, { ...testCaller, tenant_id: 2 })),
      await refusalOf(t.kernel.cancel(workflow_id, { tenant_id: 1, principal: support })),
      await refusalOf(cancel(t, `wf_${"0".repeat(26)}`)),
    ];
    expect(refusals.map((e) => e.code)).toEqual([
      "T4_WORKFLOW_NOT_FOUND",
      "T5_AUTHZ_FORBIDDEN",
      "T4_WORKFLOW_NOT_FOUND",
    ]);
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "waiting_for_user", sequence });
  });
});
