/**
 * A tier: a live actor whose inbox is guarded.
 *
 * Owns: the door (the Signals and Results that may pass) and the static route of Results. Never: the work behind it.
 * 1.  A handler sees branded, valid Signals of a kind its tier declares; anything else is answered with an error.
 * 2.  Every handler yields exactly one valid Result: its return value, or one made of the error that it throws.
 * 3.  A raw throw is a crash: the Result is T0_TIER_CRASHED and the supervisor restarts the tier.
 * 4.  A dormant tier answers SKIP to all but `activate`.
 */
import { type AnyActorLogic, type AnyActorRef, createActor } from "xstate";
import { tierMachine } from "../../../machines/tier.ts";
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isPromise } from "../../contract/maybe-promise.ts";
import { type ModuleRef, moduleRef } from "../../contract/module-ref.ts";
import { fail, metricsOf, ok, type Result, skip, validateResult } from "../../contract/result.ts";
import { type Signal, validateSignal } from "../../contract/signal.ts";
import type { Bus, Delivery, Tier } from "./bus.ts";
import type { Runtime } from "./runtime.ts";
import { stopActor } from "./stop-actor.ts";
import { messageOf } from "./within.ts";

/** One kind of Signal that a tier answers. `next` is the static route of its result; without it the asker gets it. */
export interface Door {
  readonly module: string;
  readonly function: string;
  readonly next?: Tier;
  /** Whether the answer is for the asker alone until the asker has checked it. */
  readonly held?: boolean;
  /** Checks the body cheaply; a text describes the problem. */
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

/** Returns the name of a Signal's door beside its kind. A body that is no object has none; validation refuses it. */
function nameOf({ kind, body }: { readonly kind: string; readonly body: Signal["body"] | null }): unknown {
  if (kind === "data") return body?.["schema"];
  return kind === "command" ? body?.["action"] : undefined;
}

const keyOf = (signal: Signal): string => {
  const name = nameOf(signal);
  return name === undefined ? signal.kind : `${signal.kind}:${String(name)}`;
};

/** A tier that has been started. */
interface Open extends TierHost {
  readonly definition: TierDefinition;
  /** The doors by kind, then by name, so that no key has to be composed for each Signal. */
  readonly doors: ReadonlyMap<string, ReadonlyMap<unknown, OpenDoor>>;
  readonly lifecycle: AnyActorRef;
}

interface OpenDoor extends Door {
  readonly ref: ModuleRef;
}

function openDoors({ tier, doors }: TierDefinition): Open["doors"] {
  const opened = new Map<string, Map<unknown, OpenDoor>>();
  for (const [key, door] of Object.entries(doors)) {
    const [kind = key, name] = key.split(":", 2);
    const ofKind = opened.get(kind) ?? new Map<unknown, OpenDoor>();
    opened.set(kind, ofKind.set(name, { ...door, ref: moduleRef(tier, door.module, door.function) }));
  }
  return opened;
}

const active = { status: "active", output: undefined, error: undefined };
const stopped = { ...active, status: "stopped" };

/** Makes the logic of a tier's actor. Children that end also report to their parent; only deliveries are work. */
const tierLogic = (start: () => void, deliver: (item: Delivery) => void) => ({
  start,
  transition(snapshot: typeof active, event: { readonly type: string; readonly item: Delivery }): typeof active {
    if (event.type === "DELIVER") deliver(event.item);
    return event.type === "xstate.stop" ? stopped : snapshot;
  },
  getInitialSnapshot: () => active,
  getPersistedSnapshot: (snapshot: typeof active) => snapshot,
});

/** Starts a tier's actor (system id `t<n>`) with its lifecycle chart (`t<n>.lifecycle`) beside it. */
export function startTier(definition: TierDefinition, host: TierHost): TierActor {
  const { tier, name } = definition;
  const logic = tierLogic(
    () => definition.start?.(),
    (item) => admit(open, item),
  );
  const systemId = `t${tier}`;
  // An inspector shows these names.
  const ref = createActor(logic as AnyActorLogic, { parent: host.parent, systemId, id: `T${tier} ${name}` } as object);
  const lifecycle = createActor(tierMachine, {
    parent: ref,
    systemId: `${systemId}.lifecycle`,
    id: `T${tier} lifecycle`,
  } as object);
  const open: Open = { ...host, definition, doors: openDoors(definition), lifecycle };
  ref.subscribe({ error: (error) => host.onCrash(tier, crashed(definition, error)) });
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

/** A delivery at its door, and since when. */
interface Visit {
  readonly tier: Open;
  readonly door: OpenDoor | undefined;
  readonly item: Delivery;
  readonly at: number;
}

const refOf = ({ tier: { definition }, door }: Visit): ModuleRef =>
  door?.ref ?? moduleRef(definition.tier, definition.name, "door");

function admit(tier: Open, item: Delivery): void {
  const { signal } = item;
  const door = tier.doors.get(signal.kind)?.get(nameOf(signal));
  const visit: Visit = { tier, door, item, at: tier.runtime.clock.now() };
  const answer = refuse(visit) ?? work(visit);
  if (isPromise(answer))
    answer.then(
      (result) => release(visit, result),
      (thrown: unknown) => release(visit, failWith(visit, thrown)),
    );
  else release(visit, answer);
}

function refuse(visit: Visit): Result | null {
  const { tier, door, item } = visit;
  const { signal } = item;
  const valid = validateSignal(signal);
  if (valid !== signal) return fail(valid as KernelError, metricsOf(refOf(visit)));
  if (signal.kind === "command" && toggles(visit)) return toggle(visit);
  const { value: state } = tier.lifecycle.getSnapshot();
  if (state === "dormant") return skip(`tier ${tier.definition.tier} is dormant`, metricsOf(refOf(visit)));
  if (state === "failed") return fail(crashed(tier.definition, "too often; it stays down"), metricsOf(refOf(visit)));
  const problem = inspectAtDoor(signal, door, tier.definition);
  return problem === null ? null : fail(problem, metricsOf(refOf(visit)));
}

/**
 * Handles `activate` and `sleep`, which address the tier itself if it has no door for them and if they name no work.
 */
function toggles({ tier: { definition }, door, item }: Visit): boolean {
  const { body } = item.signal;
  if (body["action"] !== "activate" && body["action"] !== "sleep") return false;
  const target = body["target"] as ModuleRef | undefined;
  return door === undefined || (target?.tier === definition.tier && Object.keys(body).length === 2);
}

function toggle(visit: Visit): Result {
  visit.tier.lifecycle.send({ type: visit.item.signal.body["action"] === "sleep" ? "SLEEP" : "ACTIVATE" });
  return ok([], metricsOf(refOf(visit)));
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

function work(visit: Visit): Result | Promise<Result> {
  try {
    return (visit.door as Door).handle(visit.item.signal, visit.tier.runtime);
  } catch (thrown) {
    return failWith(visit, thrown);
  }
}

function failWith(visit: Visit, thrown: unknown): Result {
  if (thrown instanceof KernelErrorException) return fail(thrown.error, metricsOf(refOf(visit)));
  const { definition, onCrash } = visit.tier;
  const error = crashed(definition, thrown);
  onCrash(definition.tier, error);
  return fail(error, metricsOf(refOf(visit)));
}

function crashed({ tier, name }: TierDefinition, thrown: unknown): KernelError {
  const message = `tier ${tier} (${name}) crashed: ${messageOf(thrown)}`;
  return kernelError("T0_TIER_CRASHED", message, moduleRef(tier, name, "door"), {
    detail: { tier, thrown: messageOf(thrown) },
  });
}

function timed(result: Result, elapsed: number): Result {
  if (elapsed === 0 || result?.metrics === undefined || result.metrics.duration_ms !== 0) return result;
  return Object.freeze({ ...result, metrics: Object.freeze({ ...result.metrics, duration_ms: elapsed }) });
}

/** Checks a Result and sends it on: to the next tier of the route if the previous tier asks, or back. */
function release(visit: Visit, answer: Result): void {
  const { tier, door, item, at } = visit;
  const { bus, runtime } = tier;
  const result = timed(answer, runtime.clock.now() - at);
  const checked = validateResult(result);
  const sound = checked === result ? result : fail(checked as KernelError, metricsOf(refOf(visit)));
  if (sound.status === "partial" && sound.error !== null) runtime.logger.warn({ error: sound.error }, "partial result");
  const next = door?.next;
  const last = sound.signals.at(-1);
  if (next !== undefined && last !== undefined) {
    for (const signal of sound.signals) bus.publish({ to: next, signal, reply: signal === last ? item.reply : null });
  } else if (item.reply !== null)
    bus.publish({
      from: tier.definition.tier,
      in_reply_to: item.reply,
      result: sound,
      held: door?.held === true,
    });
}
