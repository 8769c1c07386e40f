/** All that happened is in the ledger, and the ledger alone tells where a workflow is and why. Over random stories. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { foretell } from "../../machines/gate-consequences.ts";
import { foldEvents, foldWorkflow } from "../../machines/index.ts";
import { openTurns, type TurnRow } from "../../src/contract/turn.ts";
import type { WorkflowRecord } from "../../src/contract/workflow.ts";
import { isStepDone } from "../../src/contract/workflow.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";
import type { LedgerEvent } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, type TestKernel } from "../../src/testing/index.ts";
import { moreThan, runs } from "../properties/property-runs.ts";
import { bareGate, readAll } from "./read-all.ts";
import { anyStory, beginStory, holdsFor, type Play, playStory } from "./stories.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-ledger-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => {
  files += 1;
  return join(folder, `${files}.db`);
};

describe("nothing happens outside a workflow", () => {
  it("[INV-11] every call belongs to a workflow whose plan was in the ledger before it", async () => {
    let calls = 0;
    await holdsFor(anyStory(), async ({ world, events, id, t }) => {
      const told = await events();
      for (const call of world.calls) {
        expect(call.workflow_id).toBe(id);
        const started = told.findIndex((e) => e.event_type === "ACTION_STARTED" && e.step_id === call.step_id);
        const types = told.slice(0, started).map((e) => e.event_type);
        expect(types).toEqual(expect.arrayContaining(["INTENT_RECEIVED", "PLAN_CREATED", "WORKFLOW_STARTED"]));
        calls += 1;
      }
      expect(await t.kernel.workflows()).toHaveLength(1);
    });
    expect(calls).toBeGreaterThan(moreThan(25));
  });

  it.each(["direct", "one operator"])(
    "[INV-11] the smallest answer (%s) is a workflow with a plan of one step",
    async (how) => {
      const seen: string[] = [];
      const run = defineOperator({
        name: "Small.Answer",
        input: z.record(z.string(), z.unknown()),
        run: ({ context }) => {
          seen.push(context.workflow_id);
          return "done";
        },
      });
      const direct = { reasoning: "known already", steps: [], direct_response: "forty-two" };
      const single = { reasoning: "one step", steps: [{ step_id: "s1", name: "s1", operator: "Small.Answer" }] };
      const capability = defineCapability({
        intentType: "Small.Answer.Give",
        version: "1.0",
        input: z.record(z.string(), z.unknown()),
        operators: [run],
        plan: () => (how === "direct" ? direct : single),
      });
      await using t = await createTestKernel({ capabilities: [capability] });
      const state = await t.run("Small.Answer.Give");
      expect(state.plan?.steps).toHaveLength(1);
      expect(await t.types(state.workflow_id)).toEqual(
        expect.arrayContaining(["INTENT_RECEIVED", "PLAN_CREATED", "STEP_SUCCEEDED", "WORKFLOW_COMPLETED"]),
      );
      expect(seen).toEqual(how === "direct" ? [] : [state.workflow_id]);
    },
  );
});

describe("there is no hidden state", () => {
  it("[INV-12] another kernel on the same file reads, at every rest, what the one that ran it says", async () => {
    await fc.assert(
      fc.asyncProperty(anyStory(), async (story) => {
        const path = newFile();
        await using reader = await createTestKernel({ ledger: sqliteLedger({ path }), recover: false });
        const onRest = async (play: Play): Promise<void> => {
          expect(await readAll(reader.kernel, play.id)).toEqual(await readAll(play.t.kernel, play.id));
        };
        await using play = await playStory(story, { ledger: sqliteLedger({ path }), onRest });
        expect((await play.t.kernel.verify()).ok).toBe(true);
      }),
      { numRuns: runs(12) },
    );
  });

  it("[INV-12] a fresh process rebuilds the state with its gates, attempts and reasons", async () => {
    const path = newFile();
    const story = fc.sample(anyStory({ gated: fc.constant(true), choice: fc.constant("approve") }), {
      numRuns: 1,
      seed: 7,
    })[0];
    if (story === undefined) throw new Error("no story");
    await using play = await playStory(story, { ledger: sqliteLedger({ path }) });
    const script = fileURLToPath(new URL("./read-state.ts", import.meta.url));
    const told = execFileSync(process.execPath, [script, path, play.id], { encoding: "utf8" });
    expect(JSON.parse(told)).toEqual(JSON.parse(JSON.stringify(await readAll(play.t.kernel, play.id))));
  });

  it("[INV-12] folding the exported rows, a copy that knows no kernel, gives the live state", async () => {
    await holdsFor(anyStory(), async ({ t, id, state }) => {
      const rows: TurnRow[] = [];
      for await (const row of t.kernel.export(id)) rows.push(JSON.parse(JSON.stringify(row)) as TurnRow);
      const record = foldEvents(openTurns(rows)) as WorkflowRecord;
      const live = await state();
      expect({ state: record.state, sequence: record.sequence, spent: record.spent, error: record.error }).toEqual({
        state: live.state,
        sequence: live.sequence,
        spent: live.spent,
        error: live.error,
      });
      expect([...record.gates.values()].map((gate) => bareGate(foretell(gate)))).toEqual(live.gates.map(bareGate));
      expect(
        [...record.steps.values()].map((s) => [s.step.step_id, s.state, s.phase, s.run, s.attempts.length]),
      ).toEqual(live.steps.map((s) => [s.step_id, s.state, s.phase, s.run, s.attempts]));
    });
  });

  it("[INV-12] the live actors of a workflow that is awake stand where the ledger says", async () => {
    let compared = 0;
    const check = async (t: TestKernel, id: string): Promise<void> => {
      const live = t.kernel.lifecycles(id);
      if (live === null) return;
      const { state, steps, gates } = await t.kernel.workflow(id);
      const pathOf = (s: (typeof steps)[number]): string => (s.phase === null ? s.state : `${s.state}.${s.phase}`);
      expect(live.workflow).toBe(state);
      expect(live.steps).toEqual(Object.fromEntries(steps.map((s) => [s.step_id, pathOf(s)])));
      expect(live.gates).toEqual(Object.fromEntries(gates.map((g) => [g.gate_id, g.status])));
      compared += 1;
    };
    const ticks = fc.array(fc.integer({ min: 0, max: 9_000 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        anyStory({ gated: fc.constant(false), ruling: fc.constant("NONE") }),
        ticks,
        async (story, waits) => {
          const clock = createVirtualClock();
          await using play = await beginStory(story, { clock });
          for (const ms of waits) {
            await clock.advance(ms);
            await check(play.t, play.id);
          }
        },
      ),
      { numRuns: runs(15) },
    );
    expect(compared).toBeGreaterThan(moreThan(5));
  });
});

describe("the ledger of a workflow", () => {
  it("[INV-14] has a policy decision about the action before each action record, of the same step", async () => {
    await holdsFor(anyStory(), async ({ t, id, events }) => {
      const told = await events();
      const at = (is: (e: LedgerEvent) => boolean): number => told.findIndex(is);
      for (const { action_id, step_id } of await t.kernel.actions(id)) {
        const started = at((e) => e.event_type === "ACTION_STARTED" && e.payload["action_id"] === action_id);
        const asked = at(
          (e) => e.event_type === "POLICY_DECIDED" && e.step_id === step_id && e.payload["stage"] === "action",
        );
        expect(asked).toBeGreaterThanOrEqual(0);
        expect(asked).toBeLessThan(started);
      }
    });
  });

  it("[EXE-02] never changes the final state of a step within one run of it", async () => {
    await holdsFor(anyStory({}, { retries: 2 }), async ({ events }) => {
      const done = new Map<string, string>();
      let record: WorkflowRecord | null = null;
      for (const event of await events()) {
        record = foldWorkflow(record, event);
        for (const { step, run, state } of record?.steps.values() ?? []) {
          const name = `${step.step_id} run ${run}`;
          expect(state).toBe(done.get(name) ?? state);
          if (isStepDone(state)) done.set(name, state);
        }
      }
    });
  });
});
