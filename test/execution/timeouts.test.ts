// Timeouts: one source, one writer, one fallback, and what becomes of a call that outlives its time (seed 002 section
// 7).

import { describe, expect, it } from "vitest";
import type { Middleware } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { intent, oneStep, payloads, type SkillCall, skill } from "./flow.ts";

const noReplans = { limits: { maxReplans: 0 } };
const forever = () => new Promise<never>(() => undefined);

/** A clock, and a skill's way to say when each of its calls began and to answer after a time. */
function timeline() {
  const clock = createVirtualClock();
  const start = clock.now();
  const calls: number[] = [];
  return {
    clock,
    calls,
    began: () => void calls.push(clock.now() - start),
    now: () => clock.now() - start,
    answerAt: <T>(ms: number, answer: T) =>
      new Promise<T>((resolve) => void clock.setTimer(start + ms, () => resolve(answer))),
  };
}

describe("the source of a timeout", () => {
  it.each([undefined, 1, 99])(
    "[TMO-01] params, intent and limits cannot set it (they say %s): metadata does",
    async (said) => {
      const { clock, now } = timeline();
      const saying = said === undefined ? {} : { timeout: said, timeout_sec: said, timeoutSec: said };
      const act = skill("Probe.Act", forever, { timeoutSec: 5, retry: "NONE" });
      const capability = oneStep(act, { params: saying });
      await using t = await createTestKernel({ capabilities: [capability], clock, ...noReplans });
      const { workflow_id } = await t.run(intent, saying, { constraints: saying, context_refs: saying });
      expect(now()).toBe(5_000);
      expect((await payloads(t, workflow_id, "ACTION_STARTED")).map((p) => p.timeout_ms)).toEqual([5_000]);
    },
  );

  it.each([0.5, 2, 90])("[TMO-01] metadata of %s s cuts the call at exactly that time", async (timeoutSec) => {
    const { clock, now } = timeline();
    const act = skill("Probe.Act", forever, { timeoutSec, retry: "NONE" });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], clock, ...noReplans });
    await t.run(intent);
    expect(now()).toBe(timeoutSec * 1_000);
  });

  it("[TMO-02] a custom middleware that writes ctx.timeout is refused, and the call does not happen", async () => {
    const seen: number[] = [];
    const greedy: Middleware = {
      name: "greedy",
      before: (context) => {
        (context as { timeout: number }).timeout = 600;
      },
      onError: ({ timeout }) => void seen.push(timeout),
    };
    const act = skill("Probe.Act", () => void seen.push(-1), { timeoutSec: 5 });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], middleware: [greedy], ...noReplans });
    const state = await t.run(intent);
    expect(seen).toEqual([0]);
    expect(state.steps[0]?.error).toMatchObject({ code: "T4_MIDDLEWARE_VIOLATION", detail: { field: "timeout" } });
  });

  it("[TMO-02] a skill and a late middleware that write it change nothing, and each is reported", async () => {
    const seen: number[] = [];
    const late: Middleware = {
      name: "late",
      after: (context) => {
        seen.push(context.timeout);
        (context as { timeout: number }).timeout = 600;
      },
    };
    const act = skill(
      "Probe.Act",
      (call) => {
        for (const target of [call, call.context]) {
          const refused = () => Object.assign(target, { timeout: 600 });
          expect(refused).toThrow(TypeError);
        }
        return "done";
      },
      { timeoutSec: 5 },
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act)], middleware: [late] });
    expect((await t.run(intent)).state).toBe("completed");
    expect(seen).toEqual([5]);
    const told = t.logged.filter((l) => JSON.stringify(l.detail).includes("T4_MIDDLEWARE_VIOLATION"));
    expect(told).toHaveLength(1);
  });

  it.each([undefined, 0])(
    "[TMO-03] without a timeout in metadata (%s) a call is cut at 60 s, and ctx.timeout reads 0",
    async (timeoutSec) => {
      const { clock, now } = timeline();
      const seen: number[] = [];
      const act = skill("Probe.Act", forever, { retry: "NONE", ...(timeoutSec === undefined ? {} : { timeoutSec }) });
      const watch: Middleware = { name: "watch", onError: ({ timeout }) => void seen.push(timeout) };
      await using t = await createTestKernel({
        capabilities: [oneStep(act)],
        middleware: [watch],
        clock,
        ...noReplans,
      });
      const workflowId = await t.submit(intent);
      await clock.advance(59_999);
      expect((await t.kernel.workflow(workflowId)).state).toBe("running");
      await clock.advance(1);
      expect((await t.kernel.workflow(workflowId)).state).toBe("failed");
      expect(now()).toBe(60_000);
      expect(seen).toEqual([0]);
    },
  );
});

describe("a call that outlives its time", () => {
  it("[TMO-04] ends as a retryable T4_TOOL_TIMEOUT, and its late answer cannot complete the step", async () => {
    const { clock, began, answerAt, calls } = timeline();
    const act = skill(
      "Probe.Act",
      ({ attempt }) => {
        began();
        return attempt === 1 ? answerAt(4_500, "late") : answerAt(5_000, "second");
      },
      { timeoutSec: 2, effect: "read" },
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act)], clock });
    const state = await t.run(intent);
    expect(calls).toEqual([0, 4_000]);
    expect(state.response.text).toBe("second");
    const [failed] = await payloads(t, state.workflow_id, "ACTION_FAILED");
    expect(failed).toMatchObject({ retryable: true, category: "timeout", error: { code: "T4_TOOL_TIMEOUT" } });
    const [{ attempts } = { attempts: [] }] = (await t.kernel.trace(state.workflow_id)).steps;
    expect(attempts.map((a) => a.outcome)).toEqual(["timed_out", "succeeded"]);
  });

  it("[TMO-04] an operator that honours the abort is called again at 4 s", async () => {
    const { clock, began, calls } = timeline();
    const aborts: unknown[] = [];
    const act = skill(
      "Probe.Act",
      ({ attempt, signal }: SkillCall) => {
        began();
        if (attempt > 1) return "second";
        return new Promise((_, reject) => {
          signal.addEventListener("abort", () => {
            aborts.push(clock.now());
            reject(signal.reason);
          });
        });
      },
      { timeoutSec: 2, effect: "write_draft", honoursAbort: true },
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act)], clock });
    const { workflow_id, response } = await t.run(intent);
    expect(calls).toEqual([0, 4_000]);
    expect(aborts).toHaveLength(1);
    expect(response.text).toBe("second");
    const [traced] = (await t.kernel.trace(workflow_id)).steps;
    expect(traced?.attempts.map((a) => a.outcome)).toEqual(["timed_out", "succeeded"]);
  });

  it("[TMO-04] one that ignores it and answers at 3 s is not called again: its answer counts (B-01)", async () => {
    const { clock, began, answerAt, calls, now } = timeline();
    const act = skill(
      "Probe.Act",
      () => {
        began();
        return answerAt(3_000, "stored");
      },
      { timeoutSec: 2, effect: "write_draft" },
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act)], clock });
    const { workflow_id, response, state } = await t.run(intent);
    expect(state).toBe("completed");
    expect(calls).toEqual([0]);
    expect(now()).toBe(3_000);
    expect(response.text).toBe("stored");
    const [traced] = (await t.kernel.trace(workflow_id)).steps;
    expect(traced?.attempts).toMatchObject([{ attempt: 1, outcome: "timed_out", duration_ms: 2_000 }]);
  });

  it("[TMO-04] one that ignores it and never answers is in doubt after its last attempt, called once", async () => {
    const { clock, began, calls } = timeline();
    const act = skill(
      "Probe.Act",
      () => {
        began();
        return forever();
      },
      { timeoutSec: 2, effect: "write_draft" },
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act)], clock });
    const state = await t.run(intent);
    expect(calls).toEqual([0]);
    expect(state).toMatchObject({ state: "waiting_for_user", gates: [{ kind: "in_doubt", step_id: "s1" }] });
    expect(state.steps[0]).toMatchObject({ phase: "in_doubt", attempts: 3 });
  });
});
