/** Equal uses of a tool in frameworks that name each use anew: each is found, judged and taken by itself. */

import type { HookInput } from "@anthropic-ai/claude-agent-sdk";
import fc from "fast-check";
import { expect, it } from "vitest";
import { countersigned } from "../../src/faces/agents/claude-agent/index.ts";
import { findLast } from "../../src/faces/agents/find-last.ts";
import type { Kernel } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { allowing, type DeskOptions, openDesk } from "./agents-fixture.ts";

const use = (use_id: string, tool = "refund") => ({ use_id, tool, arguments: { order: "A7" } });
const letting = (options: DeskOptions = {}) => openDesk({ policies: [allowing("refund")], ...options });

/** Wraps a kernel so that its reads of lists and its requests are counted. */
function counted(kernel: Kernel) {
  const calls = { workflows: 0, submit: 0 };
  const count = (name: keyof typeof calls) => (given: never, more: never) => {
    calls[name] += 1;
    return kernel[name](given, more);
  };
  const get = (target: Kernel, name: string) =>
    name === "workflows" || name === "submit" ? count(name) : Reflect.get(target, name);
  return { calls, kernel: new Proxy(kernel, { get } as ProxyHandler<Kernel>) };
}

it("finds the last of any number of things by about twice as many reads as the number has binary digits", async () => {
  const numbers = fc.integer({ min: 0, max: 5_000 });
  await fc.assert(
    fc.asyncProperty(numbers, async (count) => {
      let reads = 0;
      const exists = async (nth: number) => {
        reads += 1;
        return nth < count;
      };
      expect(await findLast(exists)).toBe(count - 1);
      expect(reads).toBeLessThanOrEqual(2 * Math.ceil(Math.log2(count + 1)) + 1);
    }),
  );
});

it("finds the next of equal uses without asking for the earlier ones", async () => {
  await using desk = await letting();
  const thread = desk.support.thread("t");
  for (let n = 0; n < 30; n += 1) {
    expect((await thread.takeNext(use(`use-${n}`))).status).toBe("allowed");
    await thread.report(`use-${n}`, { output: n });
  }
  const { kernel, calls } = counted(desk.kernel);
  const elsewhere = desk.agents.open(kernel, { agent: "support", caller: testCaller }).thread("t");
  expect((await elsewhere.takeNext(use("use-30"))).status).toBe("allowed");
  // The last one, which is taken, and the next: each is looked for, and its permit is asked for.
  expect(calls.submit).toBeLessThanOrEqual(3);
  expect(calls.workflows).toBeLessThanOrEqual(2 * 5 + 1 + 4);
});

it("asks a person about a use if nobody reported the end of the equal one before it, whatever rules let", async () => {
  await using desk = await letting();
  const thread = desk.support.thread("t");
  expect((await thread.takeNext(use("died"))).status).toBe("allowed");
  expect((await thread.takeNext(use("again"))).status).toBe("waiting");
  const [run] = await desk.kernel.workflows({ intent_type: "Agent.Run" });
  const [gate] = await desk.gates();
  expect(gate?.reasons).toMatchObject([{ source: "plan", reason: expect.stringContaining(run?.workflow_id ?? "-") }]);
  // A report that comes late changes nothing for the use that was asked about.
  expect(await thread.report("died", { output: 1 })).toEqual({ status: "reported" });
  expect(await thread.takeNext(use("once more"))).toMatchObject({ status: "waiting", workflow_id: gate?.workflow_id });
  await desk.decide("approve");
  expect((await thread.takeNext(use("asked"))).status).toBe("allowed");
  expect((await thread.takeNext({ ...use("other"), arguments: { order: "B1" } })).status).toBe("allowed");
});

it("asks nobody where the end of the use before is reported, or where the tool only reads", async () => {
  await using desk = await letting({ agent: { reads: ["lookup"] } });
  const thread = desk.support.thread("t");
  for (const answer of [{ output: "done" }, { error: "no such order" }, { output: 2 }]) {
    const id = JSON.stringify(answer);
    expect((await thread.takeNext(use(id))).status).toBe("allowed");
    await thread.report(id, answer);
  }
  for (const id of ["a", "b"]) expect((await thread.takeNext(use(id, "lookup"))).status).toBe("allowed");
  expect(await desk.gates()).toEqual([]);
});

it.each([
  [
    "of a use that was not reported within a day",
    (desk: Awaited<ReturnType<typeof letting>>) => desk.clock.advance(86_400_000),
  ],
  [
    "of a use whose record was cancelled",
    async ({ kernel, rest }: Awaited<ReturnType<typeof letting>>) => {
      const [run] = await kernel.workflows({ intent_type: "Agent.Run" });
      await kernel.cancel(run?.workflow_id ?? "", testCaller);
      await rest(run?.workflow_id ?? "");
    },
  ],
] as const)("does not know the end %s", async (_case, happen) => {
  await using desk = await letting();
  const thread = desk.support.thread("t");
  await thread.takeNext(use("a"));
  await expect.poll(async () => (await desk.kernel.workflows({ intent_type: "Agent.Run" }))[0]?.state).toBe("waiting");
  await happen(desk);
  expect((await thread.takeNext(use("b"))).status).toBe("waiting");
});

it("gives the hook and the permission prompt of one use the same permit, also beside an equal use", async () => {
  await using desk = await letting({ agent: { reads: ["refund"] } });
  const { hooks, canUseTool } = countersigned(desk.support.thread("t"));
  const options = { signal: new AbortController().signal };
  const hook = (tool_use_id: string) => {
    const given = { hook_event_name: "PreToolUse", tool_name: "refund", tool_input: { order: "A7" }, tool_use_id };
    return hooks.PreToolUse[0]?.hooks[0]?.(given as HookInput, tool_use_id, options);
  };
  await Promise.all([hook("a"), hook("b")]);
  for (const toolUseID of ["a", "b"])
    expect(await canUseTool("refund", { order: "A7" }, { ...options, toolUseID, requestId: toolUseID })).toMatchObject({
      behavior: "allow",
    });
  expect(await desk.kernel.workflows({ intent_type: "Agent.Call" })).toHaveLength(2);
});
