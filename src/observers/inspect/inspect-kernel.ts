/**
 * inspectKernel: a kernel's workflows as viewers see them, live.
 *
 * Owns: the subscriptions, and their duration. Never: stores anything; a late viewer reads the ledger.
 * 1.  Nothing is subscribed to without viewers, before the first and after the last.
 * 2.  A viewer receives the kernel and its tiers, then each workflow from its first event on, then further events.
 * 3.  Everything is read for the caller, with the scope that every read needs. Signals contain data of other tenants:
 *     they are for the host alone.
 * 4.  A sample keeps whole workflows. One that would make too many actors is shown as a whole once there is room again.
 */
import { z } from "zod";
import type { Caller } from "../../contract/auth-context.ts";
import { sha256 } from "../../contract/digest.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { objectWith, requireKernel } from "../../contract/host-object.ts";
import type { Inspection } from "../../contract/inspection.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { BusItem, FeedUpdate, Kernel } from "../../index.ts";
import { type Viewing, viewing } from "../../protocol/viewing.ts";
import { BusEmitter } from "./emit-bus.ts";
import { createQueue, merge, type Source } from "./merge.ts";
import { limitRate, paceEvents } from "./pace.ts";
import { emitEvent, PlayOptions } from "./play-events.ts";
import { type HostStates, Player, tierNames } from "./player.ts";

const Options = z
  .strictObject({
    ...PlayOptions.shape,
    /** These, or all that have not ended, which is the default. */
    workflows: z.union([z.array(z.string()).readonly(), z.literal("awake")], 'are ids, or "awake"').default("awake"),
    /** Whether the Signals between tiers are shown; for the host alone, and then by default. */
    tiers: z.boolean().optional(),
    /** The share of unfinished workflows that is shown: from 0 to 1. */
    sample: z
      .number("is a share from 0 to 1")
      .min(0, "is a share from 0 to 1")
      .max(1, "is a share from 0 to 1")
      .default(1),
    /** The maximum number of actors at a time; 500 by default. */
    maxActors: z.int().positive().default(500),
    /** The maximum number of ledger events and Signals per second; 5 000 by default. */
    maxPerSecond: z.int().positive().default(5_000),
    /** The viewing caller; the host itself by default. */
    caller: objectWith<Caller>().optional(),
  })
  .refine(({ tiers, caller }) => tiers !== true || caller === undefined, {
    path: ["tiers"],
    error: "Signals are for the host itself: leave tiers or caller out",
  });
/** The options of an inspection: its workflows, and the shown content. */
export interface InspectOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/** A kernel's workflows, for as many viewers as look. */
export interface Inspector extends AsyncIterable<Inspection> {
  /** Yields the messages to one viewer, from the beginning; it ends with the named workflows, or with the signal. */
  readonly watch: (signal?: AbortSignal) => Viewing<Inspection>;
  readonly viewers: () => number;
  /** Ends the messages to all viewers. */
  readonly close: () => void;
}

const reading = { what: "inspectKernel", source: moduleRef(6, "inspect", "inspect_kernel") };
/** Signals that wait for a slow viewer; further ones are counted. */
const maxWaitingSignals = 1_000;

/**
 * Shows a kernel's workflows live, as Stately's inspector sees them; nothing is read without viewers.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for invalid options.
 */
export function inspectKernel(kernel: Kernel, given: InspectOptions = {}): Inspector {
  requireKernel(kernel, reading);
  const options = readStrictly(Options, given, reading);
  const viewers = new Set<AbortController>();
  const watch: Inspector["watch"] = (signal) => {
    const close = new AbortController();
    const signals = [close.signal, signal, options.signal].filter((one) => one !== undefined);
    const open = (ended: AbortSignal) => {
      async function* reported() {
        viewers.add(close);
        yield* view({ kernel, options, signal: ended });
      }
      return reported();
    };
    return viewing(open, { signal: AbortSignal.any(signals), onLeave: () => void viewers.delete(close) });
  };
  return {
    watch,
    [Symbol.asyncIterator]: () => watch(),
    viewers: () => viewers.size,
    close() {
      for (const viewer of viewers) viewer.abort();
    },
  };
}

interface View {
  readonly kernel: Kernel;
  readonly options: Read;
  readonly signal: AbortSignal;
}

type Viewed =
  | { readonly events: readonly LedgerEvent[] }
  | { readonly item: BusItem }
  | { readonly skipped: number }
  | { readonly ended: string }
  | "full";

async function* view(of: View): AsyncGenerator<Inspection, void, void> {
  const { kernel, options, signal } = of;
  const { caller, clock, maxPerSecond } = options;
  if (caller !== undefined) await kernel.authorize(caller, "outcome:read");
  const player = new Player(options, caller === undefined ? hostStates(kernel) : {});
  player.beginHosts(clock.now());
  yield* player.actors.take();
  const bus = new BusEmitter(player.actors);
  const traces = tracesOf(options);
  const viewed = merge<Viewed>(ledgersOf(of, player), signalsOf(of));
  for await (const one of limitRate(viewed, { perSecond: maxPerSecond, weigh, clock, signal })) {
    if (signal.aborted) return;
    if (one === "full" || "skipped" in one) {
      if (one !== "full") bus.forget();
      yield* emitLimit(player, one, clock.now());
    } else if ("item" in one) yield* bus.tell(one.item, traces.wants);
    else if ("ended" in one) {
      player.forget(one.ended);
      traces.forget(one.ended);
    } else
      for (const event of one.events) {
        traces.add(event);
        yield* emitEvent(player, event);
      }
  }
}

const weigh = (one: Viewed): number => (one !== "full" && "events" in one ? one.events.length : 1);

/** Returns the test for Signals of the shown workflows; all Signals pass if all workflows are shown. */
function tracesOf({ workflows, sample }: Read) {
  const isAll = workflows === "awake" && sample === 1;
  /** The traces by workflow; those of ended workflows are dropped. */
  const known = new Map<string, string>();
  const wanted = new Set<string>();
  return {
    add({ workflow_id, correlation_id }: LedgerEvent): void {
      if (isAll || workflow_id === null) return;
      known.set(workflow_id, correlation_id);
      wanted.add(correlation_id);
    },
    forget(workflowId: string): void {
      wanted.delete(known.get(workflowId) ?? "");
      known.delete(workflowId);
    },
    wants: (trace: string): boolean => isAll || wanted.has(trace),
  };
}

/** Sends the information that not everything is shown. */
function emitLimit(player: Player, limit: "full" | { readonly skipped: number }, ms: number): readonly Inspection[] {
  player.actors.at(`limit-${ms}`, ms);
  const event = limit === "full" ? { type: "INSPECTOR_FULL" } : { type: "SIGNALS_SKIPPED", count: limit.skipped };
  player.actors.receive("kernel", "t6", event);
  return player.actors.take();
}

function ledgersOf(of: View, player: Player): readonly Source<Viewed>[] {
  const { kernel, options, signal } = of;
  const { workflows, caller } = options;
  if (workflows === "awake") return [awakeEvents(of, player)];
  return workflows.map((id) => asViewed(paceEvents(kernel.events(id, { signal }, caller), { ...options, signal })));
}

async function* asViewed(events: AsyncIterable<LedgerEvent>): AsyncGenerator<Viewed, void, void> {
  for await (const event of events) yield { events: [event] };
}

/**
 * Yields the events of all unfinished workflows: the feed announces new ones, and the ledger holds the earlier ones.
 */
async function* awakeEvents({ kernel, options, signal }: View, player: Player): AsyncGenerator<Viewed, void, void> {
  const { caller, sample, maxActors } = options;
  const read = new Map<string, number>();
  let isFull = false;
  for await (const item of kernel.feed({ events: true, signal }, caller)) {
    if (item.type !== "workflow" || !isSampled(item.workflow_id, sample)) continue;
    const { workflow_id: id, state } = item;
    const isNew = !read.has(id);
    if (isNew && isTerminal(state)) continue;
    if (isNew && player.size >= maxActors) {
      if (!isFull) yield "full";
      isFull = true;
      continue;
    }
    isFull = false;
    const after = read.get(id) ?? 0;
    const updates =
      updatesOf(item, after) ?? (await Array.fromAsync(kernel.events(id, { after, live: false, signal }, caller)));
    read.set(id, updates.at(-1)?.sequence ?? after);
    yield { events: updates };
    if (!isTerminal(state)) continue;
    // Only a restart or a late fact can follow now, and is then shown from the beginning.
    read.delete(id);
    yield { ended: id };
  }
}

/**
 * Returns the events of a turn that are not known yet; null if there are others in between, which are read from the
 * ledger.
 */
function updatesOf({ events }: FeedUpdate & { type: "workflow" }, after: number): readonly LedgerEvent[] | null {
  if (events === undefined || (events[0]?.sequence ?? 0) > after + 1) return null;
  return events.filter(({ sequence }) => sequence > after);
}

const isSampled = (id: string, sample: number): boolean =>
  sample === 1 || Number.parseInt(sha256(id).slice(0, 8), 16) / 2 ** 32 < sample;

function signalsOf({ kernel, options }: View): readonly Source<Viewed>[] {
  const { caller, tiers = caller === undefined } = options;
  if (!tiers) return [];
  const queue = createQueue<Viewed>(
    maxWaitingSignals,
    (skipped) => ({ skipped }),
    () => subscription.unsubscribe(),
  );
  const subscription = kernel.bus.items.subscribe((item) => queue.push({ item }));
  return [queue];
}

/** Returns the states of the kernel and its tiers, according to their own charts. */
function hostStates({ system }: Kernel): HostStates {
  const stateOf = (systemId: string): string => String(system.get(systemId)?.getSnapshot().value);
  const tiers = tierNames.map((_, tier) => [`t${tier}`, stateOf(`t${tier}.lifecycle`)]);
  return { kernel: stateOf("kernel"), ...Object.fromEntries(tiers) };
}
