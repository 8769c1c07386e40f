/** Tools behind a client: requests, answers by id, failures formatted by T1, one repair by T2's curiosity. */
import { describe, expect, it } from "vitest";
import type { LedgerEvent } from "../../src/contract/event.ts";
import { idPattern } from "../../src/contract/ids.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { RpcErrorResponse, RpcRequest } from "../../src/contract/rpc.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import {
  errand,
  eventsOf,
  fakeClient,
  intentType,
  isAnswer,
  isDelivery,
  oneStep,
  operator,
  rpcError,
  step,
  tool,
} from "./fixture.ts";

const text = (said: string) => ({ content: [{ type: "text", text: said }] });
const numbers = Array.from({ length: 50 }, (_, i) => i);
const getter = (client: Parameters<typeof tool>[1], more: Parameters<typeof tool>[2] = {}) =>
  errand([step("s1", "Test.Get", { params: { city: "Linz", size: "3" } })], [tool("Test.Get", client, more)]);

describe("many requests at once", () => {
  it("[RPC-11] fifty answers in any order, good and bad, each reach the step that asked", async () => {
    const client = fakeClient();
    const steps = numbers.map((n) => step(`s${n}`, "Test.Get", { params: { n } }));
    await using t = await createTestKernel({
      capabilities: [errand(steps, [tool("Test.Get", client)])],
      limits: { maxSteps: 50, maxConcurrentSteps: 50, maxReplans: 0 },
    });
    const id = await t.submit(intentType);
    await t.clock.settle();
    expect(client.asked).toHaveLength(50);
    const shuffled = client.asked.toSorted((a, b) => orderOf(a.params) - orderOf(b.params));
    for (const { params, answer, refuse } of shuffled) {
      const n = numberOf(params);
      if (n % 3 === 0) refuse(rpcError(-32000, `no ${n}`));
      else answer(text(`yes ${n}`));
    }
    const { steps: ended } = await t.rest(id);
    const expected = numbers.map((n) => (n % 3 === 0 ? ["failed", `no ${n}`] : ["succeeded", `yes ${n}`]));
    const own = ended.map(({ state, output_text, error }) => [state, error?.message ?? output_text]);
    expect(own).toEqual(expected);
  });

  it("[RPC-12] while one answer is missing T4 takes up and ends other work, then the waiting step", async () => {
    const client = fakeClient();
    const other = { ...oneStep(), intentType: "Test.Other.Run" };
    await using t = await createTestKernel({ capabilities: [getter(client), other] });
    const waiting = await t.submit(intentType);
    await t.clock.settle();
    expect(client.asked).toHaveLength(1);
    const accepted = await t.submit("Test.Other.Run");
    await t.clock.settle();
    expect((await t.kernel.workflow(accepted)).state).toBe("completed");
    expect((await t.kernel.workflow(waiting)).state).toBe("running");
    client.asked[0]?.answer(text("at last"));
    expect((await t.rest(waiting)).response.text).toBe("at last");
  });
});

const numberOf = (params: JsonObject): number => Number((params["arguments"] as { readonly n: number }).n);
/** A fixed shuffle. */
const orderOf = (params: JsonObject): number => (numberOf(params) * 37 + 11) % 50;

describe("notifications", () => {
  const talking = oneStep(({ stream }) => {
    stream("half way");
    return "done";
  });
  const hanging = () => new Promise<void>(() => undefined);
  const rejecting = () => Promise.reject(new Error("nobody home"));
  const throwing = () => {
    throw new Error("nobody home");
  };

  it.each([
    ["nobody", undefined, 0],
    ["one that hangs", hanging, 0],
    ["one that throws", throwing, 1],
    ["one that rejects", rejecting, 1],
  ])("[RPC-13] told to %s, they hold nobody up and get no answer", async (_who, notify, logged) => {
    await using t = await createTestKernel({ capabilities: [talking], ...(notify === undefined ? {} : { notify }) });
    const { state } = await t.run(intentType);
    expect(state).toBe("completed");
    const told = t.items.filter(isDelivery).filter(({ to, signal }) => to === 6 && signal.kind === "stream");
    expect(told).toHaveLength(1);
    expect(told.map(({ reply }) => reply)).toEqual([null]);
    expect(t.items.filter(isAnswer).filter(({ in_reply_to }) => in_reply_to === told[0]?.signal.id)).toEqual([]);
    expect(t.logged.filter(({ message }) => message === "a notification listener threw")).toHaveLength(logged);
  });

  it("[OPR-06] a tool's texts, files and data are its step's output, each in its place", async () => {
    const file = (file_id: string) => ({ type: "file", file_id, file_type: "text/plain" });
    const content = [{ type: "text", text: "one" }, file("f1"), { type: "text", text: "two" }, file("f2")];
    const announced: unknown[] = [];
    const outputOf = async (result: JsonObject): Promise<unknown> => {
      await using t = await createTestKernel({ capabilities: [getter({ request: async () => result })] });
      const { workflow_id } = await t.run(intentType);
      const told = t.items.filter(isDelivery).filter(({ to, signal }) => to === 6 && signal.kind === "file");
      announced.push(told.map(({ signal }) => signal.body["file_id"]));
      const [action] = await t.kernel.actions(workflow_id);
      return action?.result_payload;
    };
    const files = ["f1", "f2"].map((id) => expect.objectContaining({ file_id: id, file_type: "text/plain" }));
    const structuredContent = { sum: 3 };
    expect(await outputOf({ content, structuredContent })).toEqual({
      text: "one\ntwo",
      files,
      data: structuredContent,
    });
    expect(await outputOf({ content })).toEqual({ text: "one\ntwo", files });
    expect(await outputOf({ content: [content[0] as JsonObject], structuredContent })).toEqual(structuredContent);
    expect(announced).toEqual([["f1", "f2"], ["f1", "f2"], []]);
  });

  it("[RPC-13] the sender goes on in the same tick, before any listener is called", async () => {
    const order: string[] = [];
    const client = { request: async () => ({ content: [{ type: "file", file_id: "f1", file_type: "text/plain" }] }) };
    await using t = await createTestKernel({
      capabilities: [getter(client)],
      notify: ({ method }) => void order.push(method),
    });
    t.kernel.bus.items.subscribe((item) => {
      if (isDelivery(item) && item.signal.kind === "file") queueMicrotask(() => order.push("the tick goes on"));
    });
    await t.run(intentType);
    expect(order).toEqual(["the tick goes on", "kernel/signal/file"]);
  });
});

const failureAnswers = (t: TestKernel) =>
  t.items
    .filter(isAnswer)
    .filter(({ from, result }) => from === 1 && result.signals[0]?.body["schema"] === "RpcErrorResponse")
    .map(({ result }) => result.signals[0]);

describe("a failing client", () => {
  it("[RPC-14] is formatted by T1 as an error response, and the workflow lives", async () => {
    let calls = 0;
    const client = {
      request: async () => {
        calls += 1;
        if (calls === 1) throw new TypeError("socket hang up");
        return text("second time lucky");
      },
    };
    await using t = await createTestKernel({ capabilities: [getter(client, { retry: "STANDARD" })] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    expect(t.kernel.lifecycles(id)?.workflow).toBe("running");
    const [response] = failureAnswers(t);
    expect(response?.origin.tier).toBe(1);
    const parsed = RpcErrorResponse.parse(response?.body["data"]);
    expect(Number.isInteger(parsed.error.code)).toBe(true);
    expect(parsed.error.message).toContain("socket hang up");
    expect((await t.rest(id)).response.text).toBe("second time lucky");
  });
});

describe("a malformed answer", () => {
  it.each([null, "sunny", 21, { content: "sunny" }, { content: [{ type: "hologram" }] }])(
    "[RPC-14] %j is formatted by T1 like a failed call; no tier crashes",
    async (answer) => {
      await using t = await createTestKernel({
        capabilities: [getter({ request: async () => answer })],
        limits: { maxReplans: 0 },
      });
      expect((await t.run(intentType)).error?.code).toBe("T4_OUTPUT_INVALID");
      expect(RpcErrorResponse.safeParse(failureAnswers(t)[0]?.body["data"]).success).toBe(true);
      expect(t.logged.filter(({ message }) => message === "tier crashed")).toEqual([]);
    },
  );
});

const refusals = (first: Error) => {
  const asked: JsonObject[] = [];
  const request = async (_method: string, params: JsonObject) => {
    asked.push(params["arguments"] as JsonObject);
    if (asked.length === 1) throw first;
    return text("mended");
  };
  return { asked, client: { request } };
};
const inputSchema = { type: "object", properties: { city: { type: "string" }, size: { type: "integer" } } };
const repairsIn = (t: TestKernel) => t.items.filter(isDelivery).filter(({ to }) => to === 2).length - 1;

describe("a refused request", () => {
  it("[RPC-15] of code -32600 is repaired once by curiosity, and the changed request succeeds", async () => {
    const { asked, client } = refusals(rpcError(-32600, "size must be an integer"));
    await using t = await createTestKernel({ capabilities: [getter(client, { inputSchema })] });
    const { workflow_id, state, response } = await t.run(intentType);
    expect([state, response.text]).toEqual(["completed", "mended"]);
    expect(asked).toEqual([
      { city: "Linz", size: "3" },
      { city: "Linz", size: 3 },
    ]);
    expect(repairsIn(t)).toBe(1);
    expect((await t.types(workflow_id)).filter((type) => type === "ACTION_STARTED")).toHaveLength(1);
    const calls = t.items.filter(isDelivery).filter(({ to }) => to === 0);
    expect(new Set(calls.map(({ signal }) => signal.id)).size).toBe(2);
  });

  it("[RPC-15] that policy denied under the same code is not repaired", async () => {
    const kernel = { code: "T5_POLICY_DENIED", category: "policy", severity: "fatal" };
    const { asked, client } = refusals(rpcError(-32600, "size must be an integer", { kernel }));
    await using t = await createTestKernel({
      capabilities: [getter(client, { inputSchema })],
      limits: { maxReplans: 0 },
    });
    expect((await t.run(intentType)).state).toBe("failed");
    expect(asked).toHaveLength(1);
    expect(repairsIn(t)).toBe(0);
  });

  it("[RPC-15] that stays refused after its repair is not repaired again in that attempt", async () => {
    const asked: unknown[] = [];
    const request = async (_method: string, params: JsonObject) => {
      asked.push(params["arguments"]);
      throw rpcError(-32602, "size must be an integer");
    };
    await using t = await createTestKernel({
      capabilities: [getter({ request }, { inputSchema })],
      limits: { maxReplans: 0 },
    });
    expect((await t.run(intentType)).state).toBe("failed");
    expect([asked.length, repairsIn(t)]).toEqual([2, 1]);
  });
});

const mixed = (client: Parameters<typeof tool>[1]) => {
  const kinds = ["skill", "llm"] as const;
  const operators = kinds.map((kind) =>
    operator(`Test.${kind}`, () => "same", { kind, effect: "read", retry: "NONE" }),
  );
  const names = ["Test.skill", "Test.llm", "Test.tool"];
  return errand(
    names.map((name, n) => step(`s${n}`, name, { depends_on: n === 0 ? [] : [`s${n - 1}`] })),
    [...operators, tool("Test.tool", client)],
  );
};

const shapeOf = ({ event_type, payload }: LedgerEvent) => `${event_type}(${Object.keys(payload).sort().join(",")})`;

describe("one path for all operators", () => {
  it("[OPR-05] a skill, a tool and a model call leave the same middleware marks and ledger records", async () => {
    const client = { request: async () => text("same") };
    await using t = await createTestKernel({ capabilities: [mixed(client)] });
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("completed");
    const ids = ["s0", "s1", "s2"];
    const marks = ids.map((id) =>
      t.marks.filter((mark) => mark["step_id"] === id).map(({ stage, ...mark }) => `${stage} ${mark["name"] ?? ""}`),
    );
    expect(marks[0]).toContain("middleware.before Policy");
    expect(marks[0]?.filter((mark) => mark.startsWith("skill.execute"))).toHaveLength(1);
    expect(marks[1]).toEqual(marks[0]);
    expect(marks[2]).toEqual(marks[0]);
    const events = await eventsOf(t, workflow_id);
    const records = ids.map((id) => events.filter(({ step_id }) => step_id === id).map(shapeOf));
    expect(records[0]?.map((shape) => shape.split("(")[0])).toEqual(
      expect.arrayContaining(["STEP_STARTED", "POLICY_DECIDED", "ACTION_STARTED", "ACTION_SUCCEEDED"]),
    );
    expect(records[1]).toEqual(records[0]);
    expect(records[2]).toEqual(records[0]);
    const keys = (await t.kernel.actions(workflow_id)).map(({ idempotency_key }) => idempotency_key);
    expect(new Set(keys).size).toBe(3);
  });

  it("[OPR-06] a tool's DATA Signal becomes one tools/call request, and its result Signals again", async () => {
    const client = fakeClient();
    await using t = await createTestKernel({ capabilities: [getter(client)] });
    const id = await t.submit(intentType);
    await t.clock.settle();
    const [asked] = client.asked;
    expect(asked?.method).toBe("tools/call");
    expect(asked?.params).toEqual({ name: "test.get", arguments: { city: "Linz", size: "3" } });
    expect(RpcRequest.safeParse({ jsonrpc: "2.0", id: "req_1", ...pick(asked) }).success).toBe(true);
    asked?.answer({
      content: [
        { type: "text", text: "sunny" },
        { type: "json", data: { degrees: 21 } },
      ],
    });
    await t.rest(id);
    const call = t.items.filter(isDelivery).find(({ to }) => to === 0)?.signal;
    const answer = t.items.filter(isAnswer).find(({ from }) => from === 0);
    expect(answer?.result.signals.map(({ kind, body }) => [kind, body["text"] ?? body["data"]])).toEqual([
      ["text", "sunny"],
      ["data", { degrees: 21 }],
    ]);
    for (const signal of answer?.result.signals ?? []) {
      expect(signal).toMatchObject({ parent_id: call?.id, trace_id: call?.trace_id, tags: { source_type: "tool" } });
    }
  });

  it("[OPR-06] an error response under the request's id becomes T4_TOOL_EXECUTION_FAILED", async () => {
    const client = fakeClient();
    await using t = await createTestKernel({ capabilities: [getter(client)], limits: { maxReplans: 0 } });
    const id = await t.submit(intentType);
    await t.clock.settle();
    client.asked[0]?.refuse(new Error("connection reset"));
    const { error } = await t.rest(id);
    expect(error).toMatchObject({ code: "T4_TOOL_EXECUTION_FAILED", source: { tier: 4 } });
    const failure = t.items.filter(isDelivery).find(({ signal }) => signal.body["schema"] === "ExternalFailure");
    const asked = failure?.signal.body["data"] as { readonly request_id: string } | undefined;
    expect(asked?.request_id).toMatch(idPattern("req"));
    expect(failureAnswers(t)[0]?.body["data"]).toMatchObject({ id: asked?.request_id });
  });

  it("[OPR-06] a result that says isError fails the step with the tool's own words", async () => {
    const client = { request: async () => ({ isError: true, ...text("no such city") }) };
    await using t = await createTestKernel({ capabilities: [getter(client)], limits: { maxReplans: 0 } });
    expect((await t.run(intentType)).error).toMatchObject({
      code: "T4_TOOL_EXECUTION_FAILED",
      message: "no such city",
    });
  });
});

const pick = (asked: { readonly method: string; readonly params: JsonObject } | undefined) => ({
  method: asked?.method,
  params: asked?.params,
});
