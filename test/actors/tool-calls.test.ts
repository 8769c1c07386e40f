/** What a tool's client is handed of the call it serves, and what its failures become. */
import { describe, expect, it } from "vitest";
import { type KernelError, raise } from "../../src/contract/error.ts";
import { type ErrorCode, kernelError } from "../../src/contract/error-codes.ts";
import type { ToolCallContext, ToolClient } from "../../src/contract/tool.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { codesOf, errand, eventsOf, intentType, operator, rpcError, step, testRef, tool } from "./fixture.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const answering = (request: (call: ToolCallContext) => unknown): ToolClient => ({
  request: async (_method, _params, call) => request(call as ToolCallContext),
});
const failing = (code: ErrorCode, options: { readonly retry?: boolean } = {}) =>
  answering(() => raise(kernelError(code, "as the client says", testRef, options)));
const one = (client: ToolClient, more: Parameters<typeof tool>[2] = {}) =>
  errand([step("s1", "Test.Get")], [tool("Test.Get", client, more)]);

describe("the call that a request is made for", () => {
  it("is told to the client: its key is the action's, and progress and text are the step's", async () => {
    const keys: string[] = [];
    const client = answering((call) => {
      keys.push(call.idempotencyKey);
      call.report(40);
      call.stream("half way");
      return text("done");
    });
    await using t = await createTestKernel({ capabilities: [one(client)] });
    const { workflow_id } = await t.run(intentType);
    expect(keys).toEqual((await t.kernel.actions(workflow_id)).map(({ idempotency_key }) => idempotency_key));
    const streamed = (await eventsOf(t, workflow_id)).filter(({ event_type }) => event_type === "STEP_STREAMED");
    expect(streamed.map(({ payload }) => payload)).toMatchObject([{ chunks: ["half way"], percent: 40 }]);
  });

  it("is each request's own, side by side", async () => {
    const client: ToolClient = {
      request: async (_m, { arguments: args }, call) => text(`${call?.idempotencyKey} ${JSON.stringify(args)}`),
    };
    const steps = [1, 2, 3].map((n) => step(`s${n}`, "Test.Get", { params: { n }, depends_on: [] }));
    await using t = await createTestKernel({ capabilities: [errand(steps, [tool("Test.Get", client)])] });
    const { workflow_id } = await t.run(intentType);
    for (const { idempotency_key, input_payload, result_payload } of await t.kernel.actions(workflow_id))
      expect(result_payload).toBe(`${idempotency_key} ${JSON.stringify(input_payload)}`);
  });

  it("has a signal that fires when the workflow is cancelled, and when the operator's time is up", async () => {
    const signals: AbortSignal[] = [];
    const client = answering((call) => {
      signals.push(call.signal);
      return new Promise(() => undefined);
    });
    await using t = await createTestKernel({ capabilities: [one(client, { timeoutSec: 5 })] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    expect(signals[0]?.aborted).toBe(false);
    await t.kernel.cancel(id, testCaller);
    expect(signals[0]?.aborted).toBe(true);
    await t.run(intentType);
    expect(signals.slice(1).every(({ aborted }) => aborted)).toBe(true);
    expect(signals.length).toBeGreaterThan(1);
  });

  it("goes to the client of the version that the step was planned with", async () => {
    const asked: string[] = [];
    const version = (name: string) =>
      tool(
        "Test.Get",
        answering(() => text(String(asked.push(name)))),
        { version: name },
      );
    const late = operator("Test.Late", () => t.kernel.registerOperator(version("2.0")).version);
    const steps = [step("s1", "Test.Late"), step("s2", "Test.Get", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [errand(steps, [late, version("1.0")])] });
    expect((await t.run(intentType)).state).toBe("completed");
    expect(asked).toEqual(["1.0"]);
  });
});

describe("a client's failure", () => {
  const errorOf = async (client: ToolClient, more: Parameters<typeof tool>[2] = {}, maxReplans = 0) => {
    const limits = { maxReplans };
    await using t = await createTestKernel({ capabilities: [one(client, { retry: "STANDARD", ...more })], limits });
    const { workflow_id, error } = await t.run(intentType);
    const starts = (await t.types(workflow_id)).filter((type) => type === "ACTION_STARTED").length;
    return { error: error as KernelError, starts };
  };

  it("that is a KernelError keeps its code and its word on another attempt, and is formatted by T1", async () => {
    const gone = await errorOf(failing("T4_OPERATOR_UNKNOWN"));
    expect(gone).toMatchObject({ error: { code: "T4_OPERATOR_UNKNOWN", detail: { rpc_code: -32003 } }, starts: 1 });
    const final = await errorOf(failing("T4_TOOL_EXECUTION_FAILED", { retry: false }));
    expect([codesOf(final.error), final.starts]).toEqual([["T4_TOOL_EXECUTION_FAILED"], 1]);
    expect((await errorOf(failing("T4_TOOL_EXECUTION_FAILED"))).starts).toBe(3);
  });

  it.each([-32600, -32601, -32602])("of code %i says the request is wrong: it is not tried again", async (code) => {
    expect((await errorOf(answering(() => Promise.reject(rpcError(code, "wrong"))))).starts).toBe(1);
  });

  it("that says isError is final for a tool that may have done half of it", async () => {
    const client = answering(() => ({ ...text("no"), isError: true }));
    expect((await errorOf(client)).starts).toBe(3);
    expect((await errorOf(client, { effect: "write_draft", idempotent: true })).starts).toBe(3);
    expect((await errorOf(client, { effect: "write_draft" })).starts).toBe(1);
  });

  it("that says isError is not planned again under another key, where it may have done half of it", async () => {
    const client = answering(() => ({ ...text("no"), isError: true }));
    expect((await errorOf(client, { effect: "write_draft" }, 2)).starts).toBe(1);
    expect((await errorOf(client, { effect: "read", retry: "NONE" }, 2)).starts).toBe(3);
  });
});

describe("an operator that says nobody knows whether its call took effect", () => {
  let made = 0;
  const doubt = () => {
    made += 1;
    return raise(kernelError("T4_ACTION_IN_DOUBT", "the line went dead", testRef));
  };
  const packages = [
    ["a tool", one(answering(doubt), { effect: "write_draft", retry: "AGGRESSIVE" })],
    ["a skill", errand([step("s1", "Test.Do")], [operator("Test.Do", doubt, { effect: "write_draft" })])],
  ] as const;

  it.each(packages)("%s: its action is in doubt, a person is asked, and the run replays", async (_kind, capability) => {
    await using t = await createTestKernel({ capabilities: [capability] });
    made = 0;
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("waiting_for_user");
    expect(await t.kernel.gates()).toMatchObject([{ gate_id: "gate-s1_doubt1", kind: "in_doubt" }]);
    expect(await t.kernel.actions(workflow_id)).toMatchObject([{ status: "in_doubt" }]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
    await t.approve(workflow_id, "gate-s1_doubt1", { resolution: "done", result: "seen" });
    expect(await t.rest(workflow_id)).toMatchObject({ state: "completed", steps: [{ output_text: "seen" }] });
    expect(made).toBe(1);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });

  it("says so on its timeout, too", async () => {
    const client = answering(({ signal }) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve(null))).then(doubt),
    );
    await using t = await createTestKernel({ capabilities: [one(client, { effect: "write_draft", timeoutSec: 5 })] });
    const { state, workflow_id } = await t.run(intentType);
    expect(state).toBe("waiting_for_user");
    const failed = (await eventsOf(t, workflow_id)).filter(({ event_type }) => event_type === "ACTION_FAILED");
    expect(failed.map(({ payload }) => payload)).toMatchObject([
      { pending: true, error: { code: "T4_ACTION_IN_DOUBT" } },
    ]);
    expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
  });
});
