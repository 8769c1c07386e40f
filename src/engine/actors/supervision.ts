/**
 * Supervision: the root actor, the eight tiers under it, and the restart of a tier that crashes.
 *
 * Owns: starting, restarting and stopping tier actors. Never: the work of a tier.
 * 1.  Every actor's error is observed; none stops the process.
 * 2.  A crashed tier is replaced by a fresh actor before the next Signal is delivered to it; after
 *     `limits.maxTierRestarts` restarts the tier stays down and reports it.
 * 3.  An actor cannot be stopped during its own delivery: the replacement waits for its end, and Signals that arrive
 *     meanwhile are held in order.
 */
import { type ActorRefFrom, type AnyActorRef, createActor, type InspectionEvent, type Observer } from "xstate";
import { kernelMachine } from "../../../machines/kernel.ts";
import type { KernelError } from "../../contract/error.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import type { Bus, Delivery, Tier } from "./bus.ts";
import { startTier, type TierActor, type TierDefinition } from "./define-tier.ts";
import type { Runtime } from "./runtime.ts";

export type Inspect = ((event: InspectionEvent) => void) | Observer<InspectionEvent>;

export interface SupervisionOptions {
  readonly definitions: readonly TierDefinition[];
  readonly bus: Bus;
  readonly runtime: Runtime;
  readonly inspect?: Inspect;
  /** Called after a tier was restarted and lost its state in memory. */
  readonly onRestart: (tier: Tier) => void;
}

export class Supervision {
  readonly root: ActorRefFrom<typeof kernelMachine>;
  readonly #options: SupervisionOptions;
  readonly #actors = new Map<Tier, TierActor>();
  readonly #restarts = new Map<Tier, number>();
  /** Deliveries that wait for a tier that is being replaced. */
  readonly #held = new Map<Tier, Delivery[]>();
  #stopped = false;

  constructor(options: SupervisionOptions) {
    this.#options = options;
    const { definitions, bus, runtime, inspect } = options;
    const inspector = inspect === undefined ? {} : { inspect: guardInspector(inspect, runtime) };
    this.root = createActor(kernelMachine, { systemId: "kernel", id: "kernel", ...inspector });
    this.root.subscribe({ error: (error) => runtime.logger.error({ error }, "kernel actor failed") });
    this.root.start();
    for (const definition of definitions) {
      bus.connect(definition.tier, (item) => this.#deliver(item));
      this.#start(definition);
    }
  }

  tier(tier: Tier): AnyActorRef {
    return (this.#actors.get(tier) as TierActor).ref;
  }

  restarts(tier: Tier): number {
    return this.#restarts.get(tier) ?? 0;
  }

  stop(): void {
    this.#stopped = true;
    for (const actor of this.#actors.values()) actor.stop();
    // A supervisor that never opened has ended already.
    if (this.root.getSnapshot().status === "active") this.root.send({ type: "DRAINED" });
    this.root.stop();
  }

  #start(definition: TierDefinition): void {
    const { bus, runtime } = this.#options;
    const onCrash = (tier: Tier, error: KernelError): void => this.#recover(tier, error);
    this.#actors.set(definition.tier, startTier(definition, { parent: this.root, bus, runtime, onCrash }));
  }

  #recover(tier: Tier, error: KernelError): void {
    if (this.#held.has(tier)) return;
    const { runtime } = this.#options;
    const count = this.restarts(tier) + 1;
    this.#restarts.set(tier, count);
    runtime.logger.error({ tier, error, restarts: count }, "tier crashed");
    if (count > runtime.limits.maxTierRestarts) return this.#giveUp(tier);
    this.#held.set(tier, []);
    queueMicrotask(() => this.#replace(tier));
  }

  #giveUp(tier: Tier): void {
    const { lifecycle } = this.#actors.get(tier) as TierActor;
    lifecycle.send({ type: "CRASHED" });
    lifecycle.send({ type: "GAVE_UP" });
  }

  #replace(tier: Tier): void {
    const waiting = this.#held.get(tier) ?? [];
    this.#held.delete(tier);
    if (this.#stopped) return;
    const crashed = this.#actors.get(tier);
    crashed?.lifecycle.send({ type: "CRASHED" });
    crashed?.lifecycle.send({ type: "RESTARTED" });
    crashed?.stop();
    const definition = this.#options.definitions.find((d) => d.tier === tier);
    if (definition !== undefined) this.#start(definition);
    this.#options.onRestart(tier);
    for (const item of waiting) this.#deliver(item);
  }

  #deliver(item: Delivery): void {
    const waiting = this.#held.get(item.to);
    if (waiting === undefined) this.#actors.get(item.to)?.ref.send({ type: "DELIVER", item });
    else waiting.push(item);
  }
}

/** Guards an inspector: if it throws, at once or later, the error is logged and no actor is affected. */
function guardInspector(inspect: Inspect, runtime: Runtime): (event: InspectionEvent) => void {
  const report = (error: unknown): void => runtime.logger.error({ error }, "an inspector threw");
  return (event) => callAside(() => (typeof inspect === "function" ? inspect(event) : inspect.next?.(event)), report);
}
