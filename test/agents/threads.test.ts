/** The shared part of the adapters, without a framework: what is judged, run once, taken once, and refused. */
import { expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import type { AgentCall } from "../../src/faces/agents/agent-call.ts";
import { createAgents } from "../../src/faces/agents/create-agents.ts";
import { createKernel, type Kernel, operatorError } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { allowing, boss, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";

const refund = (more: Partial<AgentCall> = {}): AgentCall => ({
  call_id: "call-1",
  tool: "refund",
  arguments: { order: "A7", cents: 900 },
  ...more,
});

/** A tool that keeps the arguments of its calls. */
function countedTool(answer: unknown = "done") {
  const calls: unknown[] = [];
  return {
    calls,
    run: (args: unknown) => {
      calls.push(args);
      if (answer instanceof Error) throw answer;
      return answer;
    },
  };
}

it("asks a person about a tool that may write, and names the gate, its page and its digest", async () => {
  await using desk = await openDesk();
  const asked = await desk.support.thread("t").ask(refund());
  expect(asked).toMatchObject({
    status: "waiting",
    gates: [{ title: "support: refund", payload_digest: expect.stringMatching(/^[0-9a-f]{64}$/), due_at: null }],
    words: expect.stringContaining(
      "T0_AGENT_WAITING: the call of refund waits for a person's decision at https://desk",
    ),
  });
  const [gate] = await desk.gates();
  expect(gate?.operator).toBe("Agent.Write");
});

it("runs a tool that only reads without a person, once, with the recorded answer for whoever asks again", async () => {
  await using desk = await openDesk({ agent: { reads: ["lookup"] } });
  const tool = countedTool({ found: new Date(0) });
  const call = refund({ tool: "lookup" });
  for (const _ of [1, 2])
    expect(await desk.support.thread("t").run(call, tool.run)).toMatchObject({
      status: "made",
      output: { found: "1970-01-01T00:00:00.000Z" },
      note: null,
    });
  expect(tool.calls).toEqual([{ order: "A7", cents: 900 }]);
  expect(await desk.support.thread("other").run(call, tool.run)).toMatchObject({ status: "made" });
  expect(tool.calls).toHaveLength(2);
});

it("runs the approved payload after a restart of both sides and an approval elsewhere, to the digest", async () => {
  const path = ledgerPath();
  const tool = countedTool();
  {
    await using desk = await openDesk({ path });
    expect((await desk.support.thread("t").run(refund(), tool.run)).status).toBe("waiting");
  }
  const gate = await decideElsewhere(path, "approve");
  await using desk = await openDesk({ path, seed: 3 });
  const runs = [1, 2].map(() => desk.support.thread("t").run(refund(), tool.run));
  for (const run of await Promise.all(runs)) expect(run).toMatchObject({ status: "made", output: "done", note: null });
  expect(tool.calls).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  const permit = await desk.kernel.actions(gate.workflow_id);
  expect(permit.map(({ input_payload }) => digest(input_payload))).toEqual([gate.payload_digest]);
  expect((await desk.kernel.verify()).ok).toBe(true);
});

it("gives a rejection's words, and runs nothing", async () => {
  await using desk = await openDesk();
  const tool = countedTool();
  await desk.support.thread("t").ask(refund());
  await desk.decide("reject", { comment: "ask the customer first" });
  expect(await desk.support.thread("t").run(refund(), tool.run)).toMatchObject({
    status: "refused",
    code: "T5_HUMAN_DENIED",
    words: "user ann rejected the call: ask the customer first",
  });
  expect(tool.calls).toEqual([]);
});

it("runs edited arguments, and says so to the model", async () => {
  await using desk = await openDesk();
  const tool = countedTool();
  await desk.support.thread("t").ask(refund());
  await desk.decide("approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const run = await desk.support.thread("t").run(refund(), tool.run);
  expect(run).toMatchObject({ status: "made", note: expect.stringContaining("user ann changed the arguments") });
  expect("note" in run && run.note).toContain('They were {"order":"A7","cents":100} and not');
  expect(tool.calls).toEqual([{ order: "A7", cents: 100 }]);
});

it("refuses an approval that a person has turned into one for another tool", async () => {
  await using desk = await openDesk();
  const tool = countedTool();
  await desk.support.thread("t").ask(refund());
  await desk.decide("approve", { edit: { tool: "close_account" } });
  const run = await desk.support.thread("t").run(refund(), tool.run);
  expect(run).toMatchObject({ status: "refused", code: "T0_AGENT_CALL_CHANGED" });
  expect(tool.calls).toEqual([]);
});

it("refuses what a rule denies, what a budget has no room for, and other arguments under the same id", async () => {
  const tool = countedTool();
  await using denied = await openDesk({ policies: [denying("refund")] });
  expect(await denied.support.thread("t").run(refund(), tool.run)).toMatchObject({
    status: "refused",
    code: "T5_POLICY_DENIED",
    words: expect.stringContaining("refunds are closed in November"),
  });
  await using desk = await openDesk({
    policies: [allowing("refund")],
    agents: { estimate: ({ arguments: { cents } }) => ({ money: Number(cents) / 100 }) },
    budgets: { limits: [{ scope: "operator", id: "Agent.Write", money: 10 }] },
  });
  const thread = desk.support.thread("t");
  expect((await thread.run(refund(), tool.run)).status).toBe("made");
  const over = await thread.run(refund({ call_id: "call-2" }), tool.run);
  expect(over).toMatchObject({ status: "refused", code: "T5_BUDGET_EXHAUSTED" });
  const other = await thread.run(refund({ arguments: { order: "B1" } }), tool.run);
  expect(other).toMatchObject({ status: "refused", code: "T4_IDEMPOTENCY_PAYLOAD_MISMATCH" });
  expect(tool.calls).toHaveLength(1);
});

it("records what a tool throws, and what it returns that is no JSON, as its answer", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const thread = desk.support.thread("t");
  const thrown = await thread.run(refund(), countedTool(new Error("no such order")).run);
  expect(thrown).toMatchObject({ status: "failed", message: "no such order" });
  const meant = operatorError({ code: "BANK_CLOSED", category: "transient", message: "the bank is closed" });
  const closed = await thread.run(refund({ call_id: "call-3" }), countedTool(meant).run);
  expect(closed).toMatchObject({ status: "refused", code: "T4_OPERATOR_BANK_CLOSED" });
  const odd = await thread.run(refund({ call_id: "call-2" }), countedTool({ big: 1n }).run);
  expect(odd).toMatchObject({ status: "failed", message: expect.stringContaining("T0_AGENT_RESULT_INVALID") });
  expect(await desk.gates()).toEqual([]);
});

it.each([[""], [undefined]])("refuses a call whose id is %j, and runs nothing", async (call_id) => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const tool = countedTool();
  const call = { ...refund(), call_id } as AgentCall;
  const thread = desk.support.thread("t");
  for (const judged of [await thread.ask(call), await thread.run(call, tool.run), await thread.take(call, "a")])
    expect(judged).toMatchObject({
      code: "T0_VALIDATION_SCHEMA_MISMATCH",
      words: expect.stringContaining("the id of the tool call"),
    });
  expect(tool.calls).toEqual([]);
});

it("hands a permit to one taker, who then cannot have it run as well", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const thread = desk.support.thread("t");
  expect(await thread.take(refund(), "a")).toMatchObject({ status: "allowed", arguments: { order: "A7", cents: 900 } });
  expect(await thread.take(refund(), "a")).toMatchObject({ status: "allowed" });
  expect(await thread.take(refund(), "b")).toMatchObject({ status: "refused", code: "T0_AGENT_TAKEN" });
  const tool = countedTool();
  expect(await thread.run(refund(), tool.run)).toMatchObject({ status: "refused", code: "T0_AGENT_TAKEN" });
  expect(tool.calls).toEqual([]);
});

/** Returns the outcomes of the one use of a permit, once it is in this state. */
async function outcomesOfRun({ kernel }: Awaited<ReturnType<typeof openDesk>>, state: "waiting" | "completed") {
  const find = async () => (await kernel.workflows({ intent_type: "Agent.Run" })).map((run) => run.state);
  await expect.poll(find).toEqual([state]);
  const [run] = await kernel.workflows({ intent_type: "Agent.Run" });
  const { outcomes } = await kernel.workflow(run?.workflow_id ?? "", testCaller);
  return outcomes.map(({ content }) => content);
}

it("records the result that a taker reports, once, for the use that took the permit", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const thread = desk.support.thread("t");
  await thread.take(refund(), "a");
  expect(await outcomesOfRun(desk, "waiting")).toEqual([]);
  for (const _ of [1, 2]) expect(await thread.report("a", { output: { paid: 9 } })).toEqual({ status: "reported" });
  await thread.report("b", { output: "of another use" });
  expect(await outcomesOfRun(desk, "completed")).toEqual([{ output: { paid: 9 } }]);
});

it.each([
  ["a long output", { output: "é".repeat(30_000) }, { output: `"${"é".repeat(19_999)}`, cut_from: 30_002 }],
  ["a long error", { error: "x".repeat(30_000) }, { error: "x".repeat(20_000), cut_from: 30_000 }],
  [
    "a character that the bound divides",
    { error: `${"x".repeat(19_999)}😀` },
    { error: `${"x".repeat(19_999)}\ufffd`, cut_from: 20_001 },
  ],
  ["no output", { output: undefined }, { output: null }],
  ["an output that is no JSON", { output: 1n }, { output: expect.stringContaining("the output is not JSON") }],
] as const)("keeps %s within its bound", async (_case, reported, kept) => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const thread = desk.support.thread("t");
  await thread.take(refund(), "a");
  expect(await thread.report("a", reported)).toEqual({ status: "reported" });
  expect(await outcomesOfRun(desk, "completed")).toEqual([kept]);
});

it("states of a use whose result is not reported within a day that nobody knows its end", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  await desk.support.thread("t").take(refund(), "a");
  expect(await outcomesOfRun(desk, "waiting")).toEqual([]);
  await desk.clock.advance(86_400_000);
  expect(await outcomesOfRun(desk, "completed")).toEqual([{ unreported: true }]);
});

it("refuses with a code where the kernel is stopped, throws, or lacks the packages", async () => {
  const desk = await openDesk({ policies: [allowing("refund")] });
  const tool = countedTool();
  const thread = desk.support.thread("t");
  await desk[Symbol.asyncDispose]();
  for (const refused of [await thread.run(refund(), tool.run), await thread.report("a", { output: 1 })])
    expect(refused).toMatchObject({ status: "refused", code: "T0_KERNEL_STOPPED" });
  const broken = new Proxy(desk.kernel, {
    get: (target, name) =>
      name === "submit" ? () => Promise.reject(new Error("connect ECONNREFUSED")) : Reflect.get(target, name),
  });
  const cut = desk.agents.open(broken, { agent: "support", caller: testCaller }).thread("t");
  expect(await cut.run(refund(), tool.run)).toMatchObject({
    status: "refused",
    code: "T0_AGENT_UNJUDGED",
    words: expect.stringContaining("ECONNREFUSED"),
  });
  expect(tool.calls).toEqual([]);
  await using bare = await createKernel({});
  const open = (kernel: unknown) => createAgents().open(kernel as Kernel, { agent: "support", caller: testCaller });
  expect(() => open(bare)).toThrow("T0_AGENT_PACKAGE_MISSING");
  expect(() => open({})).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(() => createAgents({ wait: 1 } as never)).toThrow("wait");
});

it("waits for a decision up to waitMs, and ends with the agent's own abort", async () => {
  await using desk = await openDesk({ agents: { waitMs: 60_000 } });
  const tool = countedTool();
  const running = desk.support.thread("t").run(refund(), tool.run);
  await expect.poll(() => desk.gates()).toHaveLength(1);
  await desk.decide("approve");
  expect((await running).status).toBe("made");
  const stop = new AbortController();
  const waiting = desk.support.thread("t").run(refund({ call_id: "call-2" }), tool.run, stop.signal);
  await expect.poll(() => desk.gates()).toHaveLength(1);
  stop.abort(new Error("the user left"));
  await expect(waiting).rejects.toThrow("the user left");
  const late = desk.support.thread("t").ask(refund({ call_id: "call-2" }));
  await expect.poll(async () => (await desk.gates()).length).toBe(1);
  await desk.clock.advance(60_000);
  expect((await late).status).toBe("waiting");
  expect(tool.calls).toHaveLength(1);
});

it("cancels a run whose agent is stopped, through the signal of the tool", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")] });
  const stop = new AbortController();
  const began = Promise.withResolvers<AbortSignal>();
  const running = desk.support.thread("t").run(
    refund(),
    (_args, signal) => {
      began.resolve(signal);
      return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    },
    stop.signal,
  );
  const signal = await began.promise;
  stop.abort(new Error("stopped"));
  await expect(running).rejects.toThrow("stopped");
  await expect.poll(() => signal.aborted).toBe(true);
  const [run] = (await desk.kernel.workflows()).filter(({ intent_type }) => intent_type === "Agent.Run");
  const ended = await desk.rest(run?.workflow_id ?? "");
  expect([ended.state, ended.outcomes]).toEqual([expect.stringMatching(/^cancell/), []]);
});

it("asks a person about a run whose time is over, whatever its tool then throws", async () => {
  await using desk = await openDesk({ policies: [allowing("refund")], agents: { timeoutSec: 1 } });
  const began = Promise.withResolvers<void>();
  const running = desk.support.thread("t").run(refund(), (_args, signal) => {
    began.resolve();
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("cut off"))));
  });
  await began.promise;
  await desk.clock.advance(1_000);
  expect(await running).toMatchObject({ status: "waiting", gates: [{ gate_id: expect.stringContaining("doubt") }] });
  await desk.clock.advance(1_000);
  expect((await desk.gates()).map(({ kind }) => kind)).toEqual(["in_doubt"]);
});

it("asks a person about a run whose process died, and runs it again only on their word", async () => {
  const path = ledgerPath();
  const tool = countedTool();
  const never = new Promise<never>(() => undefined);
  const dying = await openDesk({ path, policies: [allowing("refund")] });
  const began = Promise.withResolvers<void>();
  void dying.support.thread("t").run(refund(), () => {
    began.resolve();
    return never;
  });
  await began.promise;
  await dying.kernel.stop({ drainMs: 0 });
  await using desk = await openDesk({ path, policies: [allowing("refund")], seed: 5 });
  const found = await desk.support.thread("t").run(refund(), tool.run);
  expect(found).toMatchObject({ status: "waiting", gates: [{ gate_id: expect.stringContaining("doubt") }] });
  expect(tool.calls).toEqual([]);
  const [gate] = await desk.gates();
  await desk.kernel.decideGate(gate?.workflow_id ?? "", {
    ...boss,
    decision: "approve",
    gate_id: gate?.gate_id ?? "",
    payload: { resolution: "retry" },
  });
  expect(await desk.support.thread("t").run(refund(), tool.run)).toMatchObject({ status: "made", output: "done" });
  expect(tool.calls).toHaveLength(1);
});
