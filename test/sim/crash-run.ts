/**
 * One process of the simulation: opens a kernel on the file, submits the job if it is not there yet, answers the gates
 * as a person would, and sees the job to its end, or dies at the commit it is told to die at.
 */
import type { Gate } from "../../src/contract/gate.ts";
import type { WorkflowState } from "../../src/contract/workflow-state.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { simCapability, simIntent } from "./crash-scenario.ts";
import { countEffects, readEffects } from "./effects-file.ts";

export interface Place {
  readonly db: string;
  readonly effects: string;
  /** Which scenario. */
  readonly scenario: number;
}

export interface Lifetime {
  /** How many processes have been on this file before; sets ids and the time at which this one begins. */
  readonly life: number;
  readonly wrap?: (store: LedgerStore) => LedgerStore;
}

/** What must be the same, however often the process died. */
export interface Ending {
  readonly state: string;
  readonly status: string;
  readonly text: string;
  readonly outcomes: readonly unknown[];
  readonly effects: Readonly<Record<string, number>>;
  readonly intact: boolean;
}

/** How a life ended, and what a person answered about calls whose end nobody had recorded. */
export interface Lived {
  readonly ending: Ending;
  readonly settled: readonly ("done" | "retry")[];
}

const start = Date.UTC(2026, 0, 1);
const betweenLives = 3_600_000;
const maxDecisions = 100;

export async function liveToTheEnd(
  { db, effects, scenario }: Place,
  { life, wrap = (s) => s }: Lifetime,
): Promise<Lived> {
  await using t = await createTestKernel({
    ledger: wrap(sqliteLedger({ path: db })),
    capabilities: [simCapability(effects, scenario)],
    clock: createVirtualClock(start + life * betweenLives),
    seed: 1000 + life,
  });
  const [known] = await t.kernel.workflows();
  const id = known?.workflow_id ?? (await t.submit(simIntent));
  const settled: ("done" | "retry")[] = [];
  let state = await t.rest(id);
  for (let i = 0; i < maxDecisions && state.state === "waiting_for_user"; i += 1) {
    const [gate] = await t.kernel.gates({ workflow_id: id });
    if (gate?.kind === "approval") await t.approve(id, gate.gate_id);
    if (gate?.kind === "in_doubt") settled.push(await settleDoubt(t, gate, effects));
    state = await t.rest(id);
  }
  const { ok } = await t.kernel.verify();
  return { ending: endingOf(state, effects, ok), settled };
}

/** Asked what became of a lost call, a person looks whether its effect is there. */
async function settleDoubt(t: TestKernel, gate: Gate, effects: string): Promise<"done" | "retry"> {
  const found = readEffects(effects).find((e) => e.operator === gate.operator && e.step === gate.step_id);
  const resolution = found === undefined ? "retry" : "done";
  await t.approve(gate.workflow_id, gate.gate_id, {
    resolution,
    ...(found === undefined ? {} : { result: found.result }),
  });
  return resolution;
}

function endingOf(state: WorkflowState, effects: string, intact: boolean): Ending {
  const outcomes = state.outcomes.map(({ outcome_type, step_id, status, version, content }) => ({
    outcome_type,
    step_id,
    status,
    version,
    content,
  }));
  return {
    state: state.state,
    status: state.status,
    text: state.response.text,
    outcomes,
    effects: countEffects(effects),
    intact,
  };
}

/** Counts what is committed. */
export function counting(store: LedgerStore, count: { appends: number }): LedgerStore {
  return {
    ...store,
    append(batch) {
      count.appends += 1;
      return store.append(batch);
    },
  };
}

export type Side = "before" | "after";

/** Dies at the n-th commit of this process: on the one side of it nothing of it is there, on the other all of it. */
export function dying(store: LedgerStore, at: { readonly n: number; readonly side: Side }): LedgerStore {
  let appends = 0;
  const die = (): void => void process.kill(process.pid, "SIGKILL");
  return {
    ...store,
    async append(batch) {
      appends += 1;
      if (appends === at.n && at.side === "before") die();
      const receipts = await store.append(batch);
      if (appends === at.n && at.side === "after") die();
      return receipts;
    },
  };
}
