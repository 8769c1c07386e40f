// The three security checks: of what comes in, of what a skill gets, of what leaves it (seed 002 section 10; C-36,
// What was sanitised is searched for in every place that could have kept it.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool, KernelErrorException, type Security } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { flow, intent, last, oneStep, payloads, type SkillCall, skill, step } from "./flow.ts";

const secret = "hunter2-the-secret";
const marker = "[Output sanitized]";
const noReplans = { limits: { maxReplans: 0 } };
const refusing = (reason = "refused") => ({ ok: false as const, reason });
const passing = () => ({ ok: true as const });
/** Refuses what holds the secret. */
const guard = (text: string) => (text.includes(secret) ? refusing("a secret") : passing());

/** Everything that a kernel kept or told of a workflow, as one text. */
async function everything(t: TestKernel, workflowId: string): Promise<string> {
  const { kernel } = t;
  const found: unknown[] = [
    t.items,
    t.marks,
    t.logged,
    await kernel.workflow(workflowId),
    await kernel.trace(workflowId),
    await kernel.outcomes(workflowId),
    await kernel.actions(workflowId),
    await kernel.explain(workflowId),
  ];
  for await (const row of kernel.export(workflowId)) found.push(row);
  for await (const event of kernel.events(workflowId, { live: false })) found.push(event);
  for await (const delta of kernel.assistant(workflowId, { live: false })) found.push(delta);
  for await (const progress of kernel.progress(workflowId, { live: false })) found.push(progress);
  return JSON.stringify(found);
}

/** Runs a workflow whose skill is `run`, under the guard and whatever else is asked. */
async function searched(
  run: (call: SkillCall) => unknown,
  security: Partial<Security> = {},
  more: TestKernelOptions = {},
) {
  const outcomes = { "Probe.Report": z.unknown() };
  const give = skill("Probe.Give", run);
  const echo = skill("Probe.Echo", ({ input }) => input);
  const steps = [
    step("s1", "Probe.Give", { outcome: "Probe.Report" }),
    step("s2", "Probe.Echo", { params: { got: "{{s1.output}}", inside: "x {{s1.output}}" }, depends_on: ["s1"] }),
  ];
  await using t = await createTestKernel({
    capabilities: [flow([give, echo], steps, { outcomes })],
    security: { validateOutput: guard, ...security },
    ...more,
  });
  const { workflow_id } = await t.run(intent, {}, { thread_id: "thread-1" });
  const streamed = (await payloads(t, workflow_id, "STEP_STREAMED")).flatMap((p) => p.chunks);
  return { text: await everything(t, workflow_id), streamed, state: await t.kernel.workflow(workflow_id) };
}

/** As `searched`, where the skill is a tool; what was kept apart from what passed over the bus. */
async function searchedTool() {
  const client = { request: async () => ({ content: [{ type: "text", text: secret }] }) };
  const tool = defineTool({ name: "Probe.Tool", tool: "probe", client, effect: "read" });
  await using t = await createTestKernel({ capabilities: [oneStep(tool)], security: { validateOutput: guard } });
  const { workflow_id, state } = await t.run(intent);
  return { state, kept: await everything({ ...t, items: [] }, workflow_id), items: t.items };
}

describe("where and with what the checks are called", () => {
  it("[SEC-01] input before planning, resolved params before the call, at most 5000 characters of output", async () => {
    const seen: (readonly [string, unknown])[] = [];
    const note = (phase: string, value: unknown) => ({ ok: seen.push([phase, value]) > 0 }) as { ok: true };
    const give = skill("Probe.Give", () => "y".repeat(12_000));
    const take = skill("Probe.Take", ({ input }) => {
      note("skill", input);
      return "short";
    });
    const steps = [
      step("s1", "Probe.Give"),
      step("s2", "Probe.Take", { params: { p: "{{s1.output}}" }, depends_on: ["s1"] }),
    ];
    const plan = () => {
      note("plan", null);
      return { reasoning: "two steps", steps };
    };
    await using t = await createTestKernel({
      capabilities: [flow([give, take], steps, { plan })],
      security: {
        validate: (text) => note("validate", text),
        validateParams: (params) => note("validateParams", params),
        validateOutput: (text) => note("validateOutput", text),
      },
    });
    await t.run(intent, { wish: "hello" });
    expect(seen).toEqual([
      ["validate", JSON.stringify({ wish: "hello" })],
      ["plan", null],
      ["validateParams", {}],
      ["validateOutput", "y".repeat(5_000)],
      ["validateParams", { p: "y".repeat(12_000) }],
      ["skill", { p: "y".repeat(12_000) }],
      ["validateOutput", "short"],
    ]);
  });

  it("[SEC-01] a message and the inputs beside it are both checked", async () => {
    const seen: string[] = [];
    const validate = (text: string) => ({ ok: seen.push(text) > 0 }) as { ok: true };
    await using t = await createTestKernel({
      capabilities: [oneStep(skill("Probe.Act", () => 1))],
      security: { validate },
    });
    await t.run(intent, { wish: "in the inputs" }, { input: { text: "in the text" } });
    expect(seen.join()).toContain("in the text");
    expect(seen.join()).toContain("in the inputs");
  });

  it("[SEC-01] structured output is checked in its JSON form, and output_text with it", async () => {
    const seen: string[] = [];
    const validateOutput = (text: string) => ({ ok: seen.push(text) > 0 }) as { ok: true };
    const steps = [step("s1", "Probe.Data"), step("s2", "Probe.Both", { depends_on: ["s1"] })];
    const data = skill("Probe.Data", () => ({ n: [1] }));
    const both = skill("Probe.Both", () => ({ data: { n: 2 }, output_text: "said aside", status: "COMPLETED" }));
    await using t = await createTestKernel({
      capabilities: [flow([data, both], steps)],
      security: { validateOutput },
    });
    await t.run(intent);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe('{"n":[1]}');
    expect(seen[1]).toContain('{"n":2}');
    expect(seen[1]).toContain("said aside");
  });

  it("[SEC-01] [C-36] checkAllOutput checks all of it in windows of 5000; else the ledger names the rest", async () => {
    const long = `${"y".repeat(6_000)}${secret}`;
    for (const checkAllOutput of [true, false]) {
      const { state, text } = await searched(() => long, {}, { checkAllOutput });
      expect(state.steps[0]?.output_text === (checkAllOutput ? marker : long)).toBe(true);
      expect(text.includes("OUTPUT_UNCHECKED")).toBe(!checkAllOutput);
    }
  });
});

describe("what a refusal does", () => {
  it("[SEC-02] a flagged output becomes the marker, the step completes, and an event tells why", async () => {
    await using t = await createTestKernel({
      capabilities: [oneStep(skill("Probe.Act", () => ({ leak: secret })))],
      security: { validateOutput: guard },
    });
    const { workflow_id, state, steps } = await t.run(intent);
    expect(state).toBe("completed");
    expect(steps[0]).toMatchObject({ state: "succeeded", output_text: marker, attempts: 1 });
    expect(last(await payloads(t, workflow_id, "STEP_SUCCEEDED"))).toMatchObject({
      output: marker,
      status: "COMPLETED",
    });
    expect(await payloads(t, workflow_id, "OUTPUT_SANITIZED")).toEqual([{ reason: "a secret", stage: "output" }]);
  });

  it("[SEC-03] refused input ends the request with a policy error and INTENT_REJECTED, unplanned", async () => {
    const planned: unknown[] = [];
    const capability = flow([skill("Probe.Act", () => 1)], [], {
      plan: () => {
        planned.push(1);
        return { reasoning: "one step", steps: [step("s1", "Probe.Act")] };
      },
    });
    for (const more of [{}, { input: { text: secret } }]) {
      await using t = await createTestKernel({ capabilities: [capability], security: { validate: guard } });
      const inputs = "input" in more ? {} : { wish: secret };
      const refused = await t.submit(intent, inputs, more).catch((thrown: unknown) => thrown);
      expect(refused).toBeInstanceOf(KernelErrorException);
      expect((refused as KernelErrorException).error).toMatchObject({
        code: "T1_SECURITY_INPUT_REFUSED",
        category: "policy",
      });
      expect(planned).toEqual([]);
      const rejected = t.signals.find((s) => s.body["schema"] === "IntentRejection");
      const data = rejected?.body["data"] as { readonly workflow_id: string } | undefined;
      expect(await t.types(String(data?.workflow_id))).toEqual(["INTENT_REJECTED"]);
    }
  });

  it("[SEC-03] refused params fail the step with a structured error, the skill uncalled", async () => {
    const calls: unknown[] = [];
    const act = skill("Probe.Act", (call) => void calls.push(call));
    await using t = await createTestKernel({
      capabilities: [oneStep(act, { params: { p: secret } })],
      security: { validateParams: (params) => guard(JSON.stringify(params)) },
    });
    const state = await t.run(intent);
    expect(calls).toEqual([]);
    expect(state.steps[0]).toMatchObject({
      state: "failed",
      error: { code: "T4_PARAMS_REFUSED", category: "policy", retry_eligible: false },
    });
  });

  it("[SEC-03] a check that throws refuses: nothing is let through by accident", async () => {
    const calls: unknown[] = [];
    const act = skill("Probe.Act", (call) => void calls.push(call));
    const broken = () => {
      throw new Error("validator down");
    };
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      security: { validateParams: broken },
      ...noReplans,
    });
    expect((await t.run(intent)).steps[0]?.error?.code).toBe("T4_PARAMS_REFUSED");
    expect(calls).toEqual([]);
    await using closed = await createTestKernel({ capabilities: [oneStep(act)], security: { validate: broken } });
    await expect(closed.submit(intent)).rejects.toMatchObject({ error: { code: "T1_SECURITY_INPUT_REFUSED" } });
  });
});

describe("what leaves a step", () => {
  const say = ({ stream }: SkillCall): void => {
    for (const chunk of ["first ", secret, " last"]) stream(chunk);
  };

  it("[SEC-04] the original of a sanitised output is nowhere: ledger, trace, outcomes, Signals, streams", async () => {
    const { text, state } = await searched((call) => {
      say(call);
      return { found: [secret] };
    });
    expect(state.state).toBe("completed");
    expect(text.includes(secret)).toBe(false);
    expect(text.includes(marker)).toBe(true);
  });

  it("[SEC-04] neither is what was said in output_text only", async () => {
    const { text } = await searched(() => ({ data: {}, output_text: secret, status: "COMPLETED" }));
    expect(text.includes(secret)).toBe(false);
  });

  it("[SEC-04] nor what a tool behind the bridge answered: records, streams and Signals", async () => {
    const { state, kept, items } = await searchedTool();
    expect(state).toBe("completed");
    expect(kept.includes(secret)).toBe(false);
    expect(items.filter((item) => "to" in item).some((item) => JSON.stringify(item).includes(secret))).toBe(false);
  });

  it("[SEC-04] not even in the Result that carries a tool's answer over the bus", async () => {
    const { items } = await searchedTool();
    expect(JSON.stringify(items).includes(secret)).toBe(false);
  });

  it("[SEC-04] chunks are held until the output has passed, then shown whole and in order", async () => {
    const held: string[][] = [];
    const { streamed } = await searched(
      ({ stream }) => {
        stream("one ");
        stream("two");
        return "clean";
      },
      {
        validateOutput: (text) => {
          held.push([text]);
          return passing();
        },
      },
    );
    expect(streamed.join("")).toBe("one two");
    expect(held[0]).toEqual(["clean"]);
  });

  it("[SEC-04] while the output is unchecked, no chunk is to be read anywhere", async () => {
    const checking = Promise.withResolvers<{ ok: true }>();
    const act = skill("Probe.Act", (call) => {
      call.stream("early");
      return "clean";
    });
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      security: { validateOutput: () => checking.promise },
    });
    const workflowId = await t.submit(intent);
    await t.clock.settle();
    expect(await t.types(workflowId)).toContain("ACTION_STARTED");
    expect((await everything(t, workflowId)).includes("early")).toBe(false);
    checking.resolve({ ok: true });
    expect((await t.rest(workflowId)).state).toBe("completed");
    expect((await everything(t, workflowId)).includes("early")).toBe(true);
  });

  it("[STR-07] what an operator says after its end is told to nobody", async () => {
    const checking = Promise.withResolvers<{ ok: true }>();
    const kept: SkillCall[] = [];
    const act = skill("Probe.Act", (call) => {
      kept.push(call);
      call.stream("in time");
      return "clean";
    });
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      security: { validateOutput: () => checking.promise },
    });
    const speakLate = async (): Promise<void> => {
      for (const call of kept) {
        call.stream("too late");
        call.report(70);
      }
      await t.clock.settle();
    };
    const id = await t.submit(intent);
    await t.clock.settle();
    await speakLate();
    checking.resolve({ ok: true });
    expect((await t.rest(id)).state).toBe("completed");
    await speakLate();
    const streamed = await payloads(t, id, "STEP_STREAMED");
    expect(streamed.map(({ chunks, percent }) => [chunks, percent])).toEqual([[["in time"], null]]);
    expect(kept).toHaveLength(1);
  });

  it("[SEC-04] chunks of a try that failed are dropped", async () => {
    const { streamed, text } = await searched((call) => {
      if (call.attempt > 1) return "clean";
      say(call);
      throw new Error("broke off");
    });
    expect(streamed).toEqual([]);
    expect(text.includes(secret)).toBe(false);
  });

  it.each(["at once", "later"])(
    "[SEC-04] with validateChunk, answering %s, each chunk is shown or replaced on its own",
    async (when) => {
      const validateChunk = (chunk: string) => (when === "later" ? laterBy(chunk) : guard(chunk));
      const { streamed, text } = await searched(
        (call) => {
          say(call);
          return "clean";
        },
        { validateChunk },
      );
      expect(streamed.join("")).toBe(`first ${marker} last`);
      expect(text.includes(secret)).toBe(false);
    },
  );

  it("[SEC-04] a validateChunk that throws hides the chunk and does not break the step", async () => {
    const validateChunk = () => {
      throw new Error("chunk check down");
    };
    const { streamed, state } = await searched(
      (call) => {
        say(call);
        return "clean";
      },
      { validateChunk },
    );
    expect(streamed.join("")).toBe(marker.repeat(3));
    expect(state.steps[0]).toMatchObject({ state: "succeeded", attempts: 1 });
  });
});

/** Answers after more turns for the first chunk than for the ones behind it. */
async function laterBy(chunk: string) {
  for (let i = 0; i < (chunk.startsWith("first") ? 30 : 3); i += 1) await Promise.resolve();
  return guard(chunk);
}
