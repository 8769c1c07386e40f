/**
 * A tier: a live actor whose inbox is guarded.
 *
 * Owns: the door (what is let in, what may come out) and the static route of what comes out. Never: the work behind it.
 * T1  A handler sees branded, valid Signals of a kind its tier declares; anything else is answered with an error.
 * T2  Whatever a handler does, exactly one valid Result leaves: returned, or made from what was thrown.
 * T3  A raw throw is a crash: the Result is T0_TIER_CRASHED and the supervisor restarts the tier.
 * T4  A dormant tier answers SKIP to all but `activate`.
 */
import { type AnyActorRef, createActor, fromCallback } from "xstate";
import { tierMachine } from "../../machines/tier.ts";
import { isKernelError, type KernelError, KernelErrorException } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { isPromise } from "../contract/maybe-promise.ts";
import { type ModuleRef, moduleRef } from "../contract/module-ref.ts";
import { fail, metricsOf, ok, type Result, skip, validateResult } from "../contract/result.ts";
import { type Signal, validateSignal } from "../contract/signal.ts";
import type { Bus, Delivery, Tier } from "./bus.ts";
import type { Runtime } from "./runtime.ts";
import { stopActor } from "./stop-actor.ts";
import { messageOf } from "./within.ts";

/** One kind of Signal that a tier answers. `next` is the static route of its result; without it the asker gets it. */
export interface Door {
  readonly module: string;
  readonly function: string;
  readonly next?: Tier;
  /** What it answers is for the asker alone until the asker has checked it. */
  readonly held?: boolean;
  /** A cheap look at the body; a text says what is wrong with it. */
  readonly check?: (body: Signal["body"]) => string | null;
  readonly handle: (signal: Signal, runtime: Runtime) => Result | Promise<Result>;
}

/** Doors by key: `text`, `stream`, `data:<schema>` or `command:<action>`. */
export interface TierDefinition {
  readonly tier: Tier;
  readonly name: string;
  /** Called when the tier's actor starts, first and after a crash. */
  readonly start?: () => void;
  readonly doors: Readonly<Record<string, Door>>;
}

export interface TierActor {
  readonly ref: AnyActorRef;
  readonly lifecycle: AnyActorRef;
  readonly stop: () => void;
}

export interface TierHost {
  readonly parent: AnyActorRef;
  readonly bus: Bus;
  readonly runtime: Runtime;
  readonly onCrash: (tier: Tier, error: KernelError) => void;
}

/** A body that is no object gets a key like any other; validation refuses it afterwards. */
const keyOf = ({ kind, body }: { readonly kind: string; readonly body: Signal["body"] | null }): string => {
  if (kind === "data") return `data:${String(body?.["schema"])}`;
  return kind === "command" ? `command:${String(body?.["action"])}` : kind;
};

/** Starts a tier's actor (system id `t<n>`) with its lifecycle chart (`t<n>.lifecycle`) beside it. */
export function startTier(definition: TierDefinition, host: TierHost): TierActor {
  const logic = fromCallback<{ type: "DELIVER"; item: Delivery }>(({ receive }) => {
    definition.start?.();
    receive(({ type, item }) => {
      // Children that end report to their parent as well; only deliveries are work.
      if (type === "DELIVER") admit(definition, host, lifecycle, item);
    });
  });
  const systemId = `t${definition.tier}`;
  // Names are what an inspector shows.
  const id = `T${definition.tier} ${definition.name}`;
  const ref = createActor(logic, { parent: host.parent, systemId, id } as object);
  const lifecycle = createActor(tierMachine, {
    parent: ref,
    systemId: `${systemId}.lifecycle`,
    id: `T${definition.tier} lifecycle`,
  } as object);
  ref.subscribe({ error: (error) => host.onCrash(definition.tier, crashed(definition, error)) });
  lifecycle.start();
  ref.start();
  return {
    ref,
    lifecycle,
    stop() {
      lifecycle.send({ type: "STOP" });
      stopActor(lifecycle);
      stopActor(ref);
    },
  };
}

function admit(definition: TierDefinition, host: TierHost, lifecycle: AnyActorRef, item: Delivery): void {
  const { signal } = item;
  const key = keyOf(signal);
  const door = definition.doors[key];
  const ref = refOf(definition, door);
  const at = host.runtime.clock.now();
  const leave = (result: Result): void =>
    release({ definition, host, item, door, result: timed(result, host.runtime.clock.now() - at) });
  const valid = validateSignal(signal);
  if (isKernelError(valid)) return leave(fail(valid, metricsOf(ref)));
  if (toggles(definition, key, signal.body)) return leave(toggle(lifecycle, key, ref));
  const { value: state } = lifecycle.getSnapshot();
  if (state === "dormant") return leave(skip(`tier ${definition.tier} is dormant`, metricsOf(ref)));
  if (state === "failed") return leave(fail(crashed(definition, "too often; it stays down"), metricsOf(ref)));
  const problem = inspectAtDoor(signal, door, definition);
  if (problem !== null) return leave(fail(problem, metricsOf(ref)));
  run(door as Door, signal, host.runtime, (outcome) => {
    if ("result" in outcome) return leave(outcome.result);
    leave(failWith(outcome.thrown, { definition, host, ref }));
  });
}

/** `activate` and `sleep` address the tier itself where it has no door for them, and where they name no work. */
function toggles({ tier, doors }: TierDefinition, key: string, body: Signal["body"]): boolean {
  if (key !== "command:activate" && key !== "command:sleep") return false;
  const target = body["target"] as ModuleRef | undefined;
  return doors[key] === undefined || (target?.tier === tier && Object.keys(body).length === 2);
}

function toggle(lifecycle: AnyActorRef, key: string, ref: ModuleRef): Result {
  lifecycle.send({ type: key === "command:sleep" ? "SLEEP" : "ACTIVATE" });
  return ok([], metricsOf(ref));
}

const refs = new WeakMap<Door, ModuleRef>();

function refOf(definition: TierDefinition, door: Door | undefined): ModuleRef {
  if (door === undefined) return moduleRef(definition.tier, definition.name, "door");
  const known = refs.get(door) ?? Object.freeze(moduleRef(definition.tier, door.module, door.function));
  refs.set(door, known);
  return known;
}

const doorRef = moduleRef(0, "validation", "validate_signal");

function inspectAtDoor(signal: Signal, door: Door | undefined, definition: TierDefinition): KernelError | null {
  if (door === undefined)
    return kernelError(
      "T0_VALIDATION_SCHEMA_MISMATCH",
      `tier ${definition.tier} has no door for ${keyOf(signal)}`,
      doorRef,
    );
  const problem = door.check?.(signal.body) ?? null;
  return problem === null
    ? null
    : kernelError("T0_VALIDATION_SCHEMA_MISMATCH", problem, doorRef, { detail: { schema: keyOf(signal) } });
}

type Outcome = { readonly result: Result } | { readonly thrown: unknown };

function run(door: Door, signal: Signal, runtime: Runtime, done: (outcome: Outcome) => void): void {
  let answer: Result | Promise<Result>;
  try {
    answer = door.handle(signal, runtime);
  } catch (thrown) {
    return done({ thrown });
  }
  if (!isPromise(answer)) return done({ result: answer });
  answer.then(
    (result) => done({ result }),
    (thrown: unknown) => done({ thrown }),
  );
}

function failWith(
  thrown: unknown,
  at: { readonly definition: TierDefinition; readonly host: TierHost; readonly ref: ModuleRef },
): Result {
  if (thrown instanceof KernelErrorException) return fail(thrown.error, metricsOf(at.ref));
  const error = crashed(at.definition, thrown);
  at.host.onCrash(at.definition.tier, error);
  return fail(error, metricsOf(at.ref));
}

function crashed(definition: TierDefinition, thrown: unknown): KernelError {
  const message = `tier ${definition.tier} (${definition.name}) crashed: ${messageOf(thrown)}`;
  return kernelError("T0_TIER_CRASHED", message, moduleRef(definition.tier, definition.name, "door"), {
    detail: { tier: definition.tier, thrown: messageOf(thrown) },
  });
}

function timed(result: Result, elapsed: number): Result {
  if (elapsed === 0 || result?.metrics === undefined || result.metrics.duration_ms !== 0) return result;
  return Object.freeze({ ...result, metrics: Object.freeze({ ...result.metrics, duration_ms: elapsed }) });
}

interface Leaving {
  readonly definition: TierDefinition;
  readonly host: TierHost;
  readonly item: Delivery;
  readonly door: Door | undefined;
  readonly result: Result;
}

/** Checks what leaves and sends it on its way: to the next tier of the route, where the last one asks, or back. */
function release({ definition, host, item, door, result }: Leaving): void {
  const checked = validateResult(result);
  const sound = isKernelError(checked) ? fail(checked, metricsOf(refOf(definition, door))) : checked;
  if (sound.status === "partial" && sound.error !== null)
    host.runtime.logger.warn({ error: sound.error }, "partial result");
  const { next } = door ?? {};
  const last = sound.signals.at(-1);
  if (next !== undefined && last !== undefined) {
    for (const signal of sound.signals)
      host.bus.publish({ to: next, signal, reply: signal === last ? item.reply : null });
    return;
  }
  if (item.reply !== null) {
    const held = door?.held === true ? { held: true } : {};
    host.bus.publish({ from: definition.tier, in_reply_to: item.reply, result: sound, ...held });
  }
}
