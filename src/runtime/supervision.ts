/**
 * Supervision: the root actor, the eight tiers under it, and what happens when one of them crashes.
 *
 * Owns: starting, restarting and stopping tier actors. Never: what a tier does.
 * S1  Every actor's error is observed; none takes the process down.
 * S2  A crashed tier is replaced by a fresh actor before the next Signal is delivered to it; after
 *     `limits.maxTierRestarts` restarts the tier stays down and says so.
 * S3  An actor cannot be stopped from within its own delivery: the replacement waits for the end of it, and what arrives
 *     meanwhile is held in order.
 */
import { type ActorRefFrom, type AnyActorRef, createActor, type InspectionEvent, type Observer } from "xstate";
import { kernelMachine } from "../../machines/kernel.ts";
import type { KernelError } from "../contract/error.ts";
import type { Result } from "../contract/result.ts";
import type { Bus, Delivery, Tier } from "./bus.ts";
import { startTier, type TierActor, type TierDefinition } from "./define-tier.ts";
import type { Kit } from "./kit.ts";

export type Inspect = ((event: InspectionEvent) => void) | Observer<InspectionEvent>;

export interface SupervisionOptions {
  readonly definitions: readonly TierDefinition[];
  readonly bus: Bus;
  readonly kit: Kit;
  readonly inspect?: Inspect;
  /** After a tier was restarted; what it held in memory is gone. */
  readonly onRestart?: (tier: Tier, error: KernelError) => void;
  readonly onResult?: (tier: Tier, result: Result) => void;
}

export interface Supervision {
  readonly root: ActorRefFrom<typeof kernelMachine>;
  readonly tier: (tier: Tier) => AnyActorRef;
  readonly restarts: (tier: Tier) => number;
  readonly stop: () => void;
}

export function superviseTiers({
  definitions,
  bus,
  kit,
  inspect,
  onRestart,
  onResult,
}: SupervisionOptions): Supervision {
  const root = createActor(kernelMachine, {
    systemId: "kernel",
    id: "kernel",
    ...(inspect === undefined ? {} : { inspect }),
  });
  root.subscribe({ error: (error) => kit.logger.error({ error }, "kernel actor failed") });
  root.start();
  const actors = new Map<Tier, TierActor>();
  const restarts = new Map<Tier, number>();
  const held = new Map<Tier, Delivery[]>();
  let stopped = false;

  const start = (definition: TierDefinition): void => {
    const host = { parent: root, bus, kit, onCrash: recover, ...(onResult === undefined ? {} : { onResult }) };
    actors.set(definition.tier, startTier(definition, host));
  };

  const recover = (tier: Tier, error: KernelError): void => {
    if (held.has(tier)) return;
    const count = (restarts.get(tier) ?? 0) + 1;
    restarts.set(tier, count);
    kit.logger.error({ tier, error, restarts: count }, "tier crashed");
    const crashed = actors.get(tier);
    crashed?.lifecycle.send({ type: "CRASHED" });
    if (count > kit.limits.maxTierRestarts) {
      crashed?.lifecycle.send({ type: "GAVE_UP" });
      return;
    }
    held.set(tier, []);
    queueMicrotask(() => replace(tier, error));
  };

  const replace = (tier: Tier, error: KernelError): void => {
    const waiting = held.get(tier) ?? [];
    held.delete(tier);
    if (stopped) return;
    const crashed = actors.get(tier);
    crashed?.lifecycle.send({ type: "RESTARTED" });
    crashed?.stop();
    const definition = definitions.find((d) => d.tier === tier);
    if (definition !== undefined) start(definition);
    onRestart?.(tier, error);
    for (const item of waiting) deliver(item);
  };

  const deliver = (item: Delivery): void => {
    const waiting = held.get(item.to);
    if (waiting === undefined) actors.get(item.to)?.ref.send({ type: "DELIVER", item });
    else waiting.push(item);
  };

  for (const definition of definitions) {
    bus.connect(definition.tier, deliver);
    start(definition);
  }

  return {
    root,
    tier: (tier) => (actors.get(tier) as TierActor).ref,
    restarts: (tier) => restarts.get(tier) ?? 0,
    stop() {
      stopped = true;
      for (const actor of actors.values()) actor.stop();
      root.send({ type: "DRAINED" });
      root.stop();
    },
  };
}
