/**
 * Kernels that share one ledger file, as processes do: each has a connection, a clock and ids of its own. A cut store
 * stands for a process that froze or died: from then on nothing of it reaches the file.
 */
import { z } from "zod";
import type { Operator, OperatorCall } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, type OperatorOptions } from "../../src/define/define-operator.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";

export { freshPaths as ledgerPaths } from "../fixtures.ts";

export const start = Date.UTC(2026, 0, 1);
export const minute = 60_000;

export interface Process extends TestKernel {
  /** Nothing of this process reaches the file any more. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export interface ProcessOptions extends Omit<TestKernelOptions, "ledger" | "clock"> {
  /** How long after the beginning this process begins, in ms. */
  readonly at?: number;
}

let processes = 0;

/** A kernel of its own on the file. */
export async function openProcess(path: string, { at = 0, ...options }: ProcessOptions): Promise<Process> {
  processes += 1;
  const gate = createGate();
  const t = await createTestKernel({
    seed: 100 + processes,
    ...options,
    ledger: freezable(sqliteLedger({ path, busyTimeoutMs: 50 }), gate),
    clock: createVirtualClock(start + at),
  });
  return {
    ...t,
    ...gate,
    async [Symbol.asyncDispose]() {
      if (!gate.isFrozen()) await t.kernel.stop({ drainMs: 0 });
    },
  };
}

interface FreezeGate {
  readonly freeze: () => void;
  readonly thaw: () => void;
  readonly isFrozen: () => boolean;
  readonly pass: () => Promise<void>;
}

function createGate(): FreezeGate {
  let thawed: Promise<void> | null = null;
  let open: () => void = () => undefined;
  return {
    freeze: () => {
      thawed ??= new Promise((resolve) => {
        open = resolve;
      });
    },
    thaw: () => {
      thawed = null;
      open();
    },
    isFrozen: () => thawed !== null,
    pass: () => thawed ?? Promise.resolve(),
  };
}

/** Writes wait while the process is frozen; a read of a frozen process does nobody any harm. */
function freezable(store: LedgerStore, gate: FreezeGate): LedgerStore {
  const held =
    <A extends readonly unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (gate.isFrozen()) await gate.pass();
      return call(...args);
    };
  return {
    ...store,
    append: held(store.append),
    claim: held(store.claim),
    heartbeat: held(store.heartbeat),
    takeUp: held(store.takeUp),
    release: held(store.release),
  };
}

export interface Called {
  readonly step: string;
  readonly key: string;
  readonly attempt: number;
}

/** Counts calls over all processes of a test: the outside world, which outlives each of them. */
export interface World {
  readonly calls: Called[];
  readonly stepsCalled: () => readonly string[];
}

export function createWorld(): World {
  const calls: Called[] = [];
  return { calls, stepsCalled: () => calls.map((c) => c.step) };
}

type WorkOptions = Partial<Omit<OperatorOptions<z.ZodType, z.ZodType>, "input" | "run">> & {
  readonly run?: (call: OperatorCall<unknown>) => unknown;
};

/** An operator that counts its calls in the world and then does what it is told. */
export const work = (world: World, name: string, { run = () => ({ ok: true }), ...options }: WorkOptions = {}) =>
  defineOperator({
    effect: "write_draft",
    retry: "NONE",
    timeoutSec: 3600,
    ...options,
    name,
    input: z.record(z.string(), z.unknown()),
    run(call) {
      world.calls.push({ step: call.context.step_id, key: call.idempotencyKey, attempt: call.attempt });
      return run(call);
    },
  });

export const step = (
  id: string,
  operator: string,
  rest: Omit<Partial<PlanStepDraft>, "step_id" | "operator"> = {},
): PlanStepDraft => ({ step_id: id, name: `step ${id}`, operator, ...rest });

/** A capability with one fixed plan. */
export const job = (steps: readonly PlanStepDraft[], operators: readonly Operator[]) =>
  defineCapability({
    intentType: "Test.Job",
    version: "1.0",
    input: z.object({}),
    operators,
    plan: { reasoning: "as told", steps: [...steps] },
  });

export const never = (): Promise<never> => new Promise(() => undefined);
