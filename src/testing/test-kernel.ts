/**
 * A kernel to test with: time stands still until moved, ids and randomness come from a seed, the ledger is in memory
 * unless one is given, and everything the kernel tells about itself is kept for looking at.
 */
import { z } from "zod";
import { seededRandom } from "../adapters/seeded-random.ts";
import { type KernelError, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { hostFunction } from "../contract/host-object.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { isPromise } from "../contract/maybe-promise.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Signal } from "../contract/signal.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { assembleKernel } from "../create-kernel.ts";
import type { BusItem } from "../engine/actors/bus.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";
import type { KernelOptions, TierPatch } from "../kernel/options.ts";
import { createVirtualClock, type VirtualClock } from "./virtual-clock.ts";

/** A report of a kernel to its telemetry. */
export interface Mark {
  readonly stage: string;
  readonly workflow_id?: string;
  readonly [key: string]: unknown;
}

/** A kernel on a virtual clock, with short ways to run and to look. */
export interface TestKernel extends AsyncDisposable {
  /** The kernel itself. */
  readonly kernel: Kernel;
  /** The kernel's clock, which stands still until it is moved. */
  readonly clock: VirtualClock;
  /** The reports to its telemetry, in order. */
  readonly marks: readonly Mark[];
  /** The Signals between its tiers. */
  readonly signals: readonly Signal[];
  /** The same with the answers. */
  readonly items: readonly BusItem[];
  /** The lines of its log. */
  readonly logged: readonly { readonly level: string; readonly detail: object; readonly message?: string }[];
  /** Submits and gives the workflow id; the caller is user 1 of tenant 1 unless said otherwise. */
  readonly submit: (
    intentType: string,
    inputs?: Readonly<Record<string, unknown>>,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<string>;
  /** Submits, moves time as far as needed, and gives the state in which the workflow rests. */
  readonly run: (
    intentType: string,
    inputs?: Readonly<Record<string, unknown>>,
    more?: Readonly<Record<string, unknown>>,
  ) => Promise<WorkflowState>;
  /** Moves time until the workflow rests. */
  readonly rest: (workflowId: string) => Promise<WorkflowState>;
  /** Approves the one open gate, or the one named. */
  readonly approve: (workflowId: string, gateId?: string, payload?: object) => ReturnType<Kernel["decideGate"]>;
  /** Rejects the one open gate, or the one named. */
  readonly reject: (workflowId: string, gateId?: string) => ReturnType<Kernel["decideGate"]>;
  /** The types of the workflow's events, in order. */
  readonly types: (workflowId: string) => Promise<readonly string[]>;
}

/** The default caller of a test kernel's requests. */
export const testCaller = Object.freeze({
  tenant_id: 1,
  principal: Object.freeze({ type: "user", id: 1, role: "user" }),
});

const Own = z.strictObject({
  /** The seed of ids and randomness; 1 by default. */
  seed: z.number().default(1),
  /** Replaces a tier's definition, for tests of supervision. */
  patchTier: hostFunction<TierPatch>().optional(),
});
/** Options of `createKernel`, and a seed. */
export interface TestKernelOptions extends KernelOptions, Readonly<z.input<typeof Own>> {}

const reading = { what: "createTestKernel", source: moduleRef(0, "testing", "createTestKernel") };

/** Opens a kernel to test with; its ledger is in memory where none is given. */
export async function createTestKernel(given: TestKernelOptions = {}): Promise<TestKernel> {
  const { seed, patchTier, ...others } = readStrictly(Own.loose(), given, reading);
  const options: KernelOptions = others;
  const { ledger } = options;
  const clock = (options.clock as VirtualClock | undefined) ?? createVirtualClock();
  const marks: Mark[] = [];
  const signals: Signal[] = [];
  const items: BusItem[] = [];
  const logged: { level: string; detail: object; message?: string }[] = [];
  const log =
    (level: string) =>
    (detail: object, message?: string): void =>
      void logged.push({ level, detail, ...(message === undefined ? {} : { message }) });
  const kernel = await assembleKernel(
    {
      clock,
      random: seededRandom(seed),
      logger: { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") },
      telemetry: { mark: (stage, detail) => void marks.push({ stage, ...detail }) },
      ...options,
      ...(isObject(ledger) && { ledger: countCalls(ledger, clock) }),
    },
    patchTier,
  );
  kernel.bus.items.subscribe((item) => {
    items.push(item);
    if ("to" in item) signals.push(item.signal);
  });

  const rest = (workflowId: string): Promise<WorkflowState> => letRest(kernel, clock, workflowId);

  const submit: TestKernel["submit"] = async (intentType, inputs = {}, more = {}) => {
    const accepted = await kernel.submit({
      ...testCaller,
      intent_hint: { intent_type: intentType, inputs },
      ...more,
    } as Parameters<Kernel["submit"]>[0]);
    return accepted.workflow_id;
  };
  const decide = (decision: "approve" | "reject") => (workflowId: string, gateId?: string, payload?: object) =>
    kernel.decideGate(workflowId, {
      ...testCaller,
      decision,
      ...(gateId === undefined ? {} : { gate_id: gateId }),
      ...(payload === undefined ? {} : { payload }),
    } as Parameters<Kernel["decideGate"]>[1]);

  return {
    kernel,
    clock,
    marks,
    signals,
    items,
    logged,
    submit,
    rest,
    run: async (intentType, inputs, more) => rest(await submit(intentType, inputs, more)),
    approve: decide("approve"),
    reject: decide("reject"),
    types: (workflowId) => typesOf(kernel, workflowId),
    async [Symbol.asyncDispose]() {
      await kernel.stop({ drainMs: 0 });
    },
  };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Counts each call of a store, and of what it keeps beside its log, as under way until it is answered. */
function countCalls<T extends object>(store: T, clock: VirtualClock): T {
  const count = (member: unknown): unknown => {
    if (typeof member === "object" && member !== null) return countCalls(member, clock);
    if (typeof member !== "function") return member;
    return (...given: readonly unknown[]): unknown => {
      const answer: unknown = Reflect.apply(member, store, given);
      return isPromise(answer) && "during" in clock ? clock.during(answer) : answer;
    };
  };
  // Not a proxy of the store itself: of what is frozen a proxy may show nothing else.
  return new Proxy({} as T, {
    get: (_, name) => count(Reflect.get(store, name)),
    has: (_, name) => Reflect.has(store, name),
  });
}

/** More moves of time than a workflow that comes to rest has use for. */
const mostMoves = 10_000;
/** Rounds without a timer in which another process, or what no call is counted for, may go on. */
const mostIdleRounds = 500;

/** Moves time, timer by timer, until the workflow rests. @throws KernelErrorException T0_TEST_NEVER_RESTS. */
async function letRest(kernel: Kernel, clock: VirtualClock, workflowId: string): Promise<WorkflowState> {
  let state: WorkflowState | null = null;
  const seen = (rested: WorkflowState): void => {
    state = rested;
  };
  kernel.settled(workflowId).then(seen, () => undefined);
  for (let [moves, idle] = [0, 0]; state === null && idle < mostIdleRounds; moves += 1) {
    if (moves === mostMoves) raise(neverRests(workflowId));
    // What others wrote may be the end of it: that is seen before any time passes.
    for (const wait of [clock.settle, clock.keepUp]) if (state === null) await wait();
    if (state === null) idle = (await clock.advanceToNext()) ? 0 : idle + 1;
  }
  return state ?? kernel.workflow(workflowId);
}

const neverRests = (workflowId: string): KernelError =>
  kernelError("T0_TEST_NEVER_RESTS", `${mostMoves} timers have fired, and ${workflowId} does not rest`, reading.source);

async function typesOf(kernel: Kernel, workflowId: string): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const event of kernel.events(workflowId, { live: false })) types.push(event.event_type);
  return types;
}
