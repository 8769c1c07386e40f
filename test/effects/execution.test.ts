/**
 * The executor: it takes a workflow up from the ledger alone, follows the one spine, and leaves no step without a word.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import { createCommandSignal, operatorError } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import {
  asShown,
  type Counted,
  counted,
  eventsOf,
  held,
  intent,
  payloads,
  publishing,
  step,
  story,
} from "../gates/story.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-execution-"));
const ref = { tier: 4, module: "ooda_loop", function: "act" } as const;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Four steps in a row: the second never ends in a process that stops, the last waits for a person. */
function fourSteps() {
  let hangs = true;
  const work = counted("Note.Work", { idempotent: true }, ({ context, signal }) =>
    hangs && context.step_id === "s2"
      ? new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))))
      : { from: context.step_id },
  );
  const rows = ["s1", "s2", "s3", "s4"].map((id, i) =>
    step(id, work, { depends_on: i === 0 ? [] : [`s${i}`], ...(id === "s4" ? { gate: {} } : {}) }),
  );
  const ran = (): readonly string[] => work.calls.map((c) => c.context.step_id);
  return {
    capability: story([work], rows),
    ran,
    mend: () => {
      hangs = false;
      work.calls.length = 0;
    },
  };
}

/** Leaves a workflow in the file as a process leaves it that stopped during its second step. */
async function leave(path: string, capability: CapabilityDefinition): Promise<string> {
  const t = await createTestKernel({ capabilities: [capability], ledger: sqliteLedger({ path }) });
  const id = await t.submit(intent);
  await t.clock.settle();
  await t.kernel.stop({ drainMs: 0 });
  return id;
}

describe("the executor", () => {
  it("[EXE-04] [EXE-09] execute needs an id and the ledger: it continues, and pauses at the gate", async () => {
    const { capability, ran, mend } = fourSteps();
    const path = join(folder, "execute.db");
    const id = await leave(path, capability);
    expect(ran()).toEqual(["s1", "s2"]);
    mend();
    await using t = await createTestKernel({
      capabilities: [capability],
      ledger: sqliteLedger({ path }),
      recover: false,
      seed: 2,
    });
    await t.clock.settle();
    expect(ran()).toEqual([]);
    const state = await t.kernel.execute(id);
    expect(state).toMatchObject({ workflow_id: id, state: "waiting_for_user" });
    expect(ran()).toEqual(["s2", "s3"]);
    expect(state.gates.map((g) => [g.gate_id, g.status])).toEqual([["gate-s4", "open"]]);
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(ran()).toEqual(["s2", "s3", "s4"]);
  });

  it("[EXE-09] one step alone runs while its workflow is held back, and returns its result as COMPLETED", async () => {
    const end = held<object>();
    const ran: string[] = [];
    const work = counted("Note.Work", {}, ({ context }) => {
      ran.push(context.step_id);
      return context.step_id === "s1" ? end.promise : {};
    });
    const capability = story([work], [step("s1", work), step("s2", work, { depends_on: ["s1"] })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const id = await t.submit(intent);
    await t.clock.settle();
    await t.kernel.ask(4, createCommandSignal("sleep", ref, ref, id, { workflow_id: id }));
    end.release({ from: "s1" });
    await t.clock.settle();
    expect(await payloads(t, id, "STEP_SUCCEEDED")).toMatchObject([{ status: "COMPLETED", output: { from: "s1" } }]);
    const { steps } = await t.kernel.workflow(id);
    expect([steps.map((s) => s.state), ran]).toEqual([["succeeded", "queued"], ["s1"]]);
  });
});

describe("no step is without a word", () => {
  const ok = () => counted("Note.Ok");
  const no = () =>
    counted("Note.No", {}, () => {
      throw operatorError({ code: "NO", message: "no", category: "validation" });
    });

  /** What the ledger says of every step that any plan of the workflow had, the dropped ones included. */
  async function expectAccounted(t: TestKernel, id: string, wanted: number): Promise<void> {
    const events = await eventsOf(t, id);
    const planned = events.flatMap(({ event_type, payload }) => {
      if (event_type === "PLAN_CREATED")
        return (payload["plan"] as unknown as { steps: { step_id: string }[] }).steps.map((s) => s.step_id);
      return event_type === "PLAN_TRUNCATED" ? (payload["dropped"] as unknown as string[]) : [];
    });
    const steps = new Set(planned);
    expect(steps.size).toBe(wanted);
    for (const stepId of steps) {
      const words = events.filter((e) => e.step_id === stepId).map((e) => e.event_type);
      const told = words.filter((w) => /^STEP_(STARTED|SUCCEEDED|FAILED|SKIPPED)$/.test(w)).join(" ");
      expect(told, stepId).toMatch(/^(STEP_SKIPPED|STEP_STARTED STEP_(SUCCEEDED|FAILED|SKIPPED))$/);
    }
  }

  const chain = (w: Counted, n: number, first: Counted = w) =>
    Array.from({ length: n }, (_, i) =>
      step(`s${i + 1}`, i === 0 ? first : w, i === 0 ? {} : { depends_on: [`s${i}`] }),
    );

  it("[EXE-07] when all goes well, when the plan was cut, and when a step fails in every round", async () => {
    const [a, b] = [ok(), no()];
    const long = { reasoning: "too long", steps: chain(a, 14) };
    const planner = { plan: async () => ({ plan: long, usage: { total_cost: 0 } }) };
    const cases: readonly (readonly [TestKernelOptions, number, string])[] = [
      [{ capabilities: [story([a], chain(a, 3))] }, 3, "completed"],
      [{ capabilities: [story([a], [])], planner }, 14, "completed"],
      [{ capabilities: [story([a, b], chain(a, 3, b))] }, 9, "failed"],
    ];
    for (const [options, wanted, state] of cases) {
      await using t = await createTestKernel(options);
      const end = await t.run(intent);
      expect(end.state).toBe(state);
      await expectAccounted(t, end.workflow_id, wanted);
    }
  });

  it("[EXE-07] when a person rejects, when the budget ends, and when the workflow is cancelled", async () => {
    const a = counted("Note.Ok", { estimatedCost: 1 });
    const gated = story(
      [a],
      chain(a, 4).map((s, i) => (i === 1 ? { ...s, gate: {} } : s)),
    );
    await using rejected = await createTestKernel({ capabilities: [gated] });
    const { workflow_id } = await rejected.run(intent);
    await rejected.reject(workflow_id);
    await rejected.rest(workflow_id);
    await expectAccounted(rejected, workflow_id, 4);

    const cancelled = await rejected.run(intent);
    await rejected.kernel.cancel(cancelled.workflow_id, { ...testCaller });
    await rejected.clock.settle();
    await expectAccounted(rejected, cancelled.workflow_id, 4);

    await using spent = await createTestKernel({ capabilities: [story([a], chain(a, 4))], budgets: { maxCost: 2 } });
    const end = await spent.run(intent);
    expect(end.response.status).toBe("blocked");
    await expectAccounted(spent, end.workflow_id, 4);
  });

  it("[EXE-07] when it was regenerated", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate" });
    await t.rest(workflow_id);
    await t.approve(workflow_id, "gate-publish", await asShown(t, workflow_id));
    expect((await t.rest(workflow_id)).state).toBe("completed");
    await expectAccounted(t, workflow_id, 3);
  });
});
