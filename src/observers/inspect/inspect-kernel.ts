/**
 * inspectKernel: a kernel's workflows as viewers see them, live.
 *
 * Owns: what is subscribed to, and for how long. Never: stores anything; who comes late reads the ledger.
 * 1.  Nothing is subscribed while nobody views, and nothing again once the last has left.
 * 2.  A viewer gets the kernel and its tiers, then each workflow from its first event on, then what comes.
 * 3.  What is read is read for the caller, with the scope that every read needs. Signals carry what belongs to other
 *     tenants: they are for the host alone.
 * 4.  A sample keeps whole workflows. One that would make too many actors is told when there is room again, as a whole.
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
import type { BusItem, Kernel, ToldItem } from "../../index.ts";
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
    /** Whether the Signals between tiers are told; for the host alone, and then by default. */
    tiers: z.boolean().optional(),
    /** Of all that have not ended, the share that is told: from 0 to 1. */
    sample: z
      .number("is a share from 0 to 1")
      .min(0, "is a share from 0 to 1")
      .max(1, "is a share from 0 to 1")
      .default(1),
    /** Actors that are told at once; 500 by default. */
    maxActors: z.int().positive().default(500),
    /** Ledger events and Signals that are told in a second; 5 000 by default. */
    maxPerSecond: z.int().positive().default(5_000),
    /** Who views; the host itself where nobody is named. */
    caller: objectWith<Caller>().optional(),
  })
  .refine(({ tiers, caller }) => tiers !== true || caller === undefined, {
    path: ["tiers"],
    error: "Signals are for the host itself: leave tiers or caller out",
  });
/** Which workflows are inspected, and what of them is shown. */
export interface InspectOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/** A kernel's workflows, for as many viewers as look. */
export interface Inspector extends AsyncIterable<Inspection> {
  /** What one viewer is told, from the beginning; it ends with the workflows that were named, or with the signal. */
  readonly watch: (signal?: AbortSignal) => Viewing<Inspection>;
  readonly viewers: () => number;
  /** Ends what viewers are told. */
  readonly close: () => void;
}

const reading = { what: "inspectKernel", source: moduleRef(6, "inspect", "inspect_kernel") };
/** Signals that wait for a slow viewer; further ones are counted. */
const maxWaitingSignals = 1_000;

/**
 * A kernel's workflows live, as Stately's inspector sees them; nothing is read while nobody views.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for options that are none.
 */
export function inspectKernel(kernel: Kernel, given: InspectOptions = {}): Inspector {
  requireKernel(kernel, reading);
  const options = readStrictly(Options, given, reading);
  const viewers = new Set<AbortController>();
  const watch: Inspector["watch"] = (signal) => {
    const close = new AbortController();
    const signals = [close.signal, signal, options.signal].filter((one) => one !== undefined);
    const open = (ended: AbortSignal) => {
      async function* told() {
        viewers.add(close);
        yield* view({ kernel, options, signal: ended });
      }
      return told();
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

/** Signals of the workflows that are told; of all where all are. */
function tracesOf({ workflows, sample }: Read) {
  const isAll = workflows === "awake" && sample === 1;
  /** By workflow: those that have ended are let go. */
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

/** That not all is told is told as well. */
function emitLimit(player: Player, limit: "full" | { readonly skipped: number }, ms: number): readonly Inspection[] {
  player.actors.at(`limit-${ms}`, ms);
  const event = limit === "full" ? { type: "INSPECTOR_FULL" } : { type: "SIGNALS_SKIPPED", count: limit.skipped };
  player.actors.hear("kernel", "t6", event);
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

/** Of all that have not ended: the feed tells the news, and the ledger what lies before. */
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
    // Nothing but a restart or a fact that came late is told of it now, and then from the beginning.
    read.delete(id);
    yield { ended: id };
  }
}

/** The events of a turn that are not known yet; null where others lie between, which the ledger tells. */
function updatesOf({ events }: ToldItem & { type: "workflow" }, after: number): readonly LedgerEvent[] | null {
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

/** Where the kernel and its tiers stand now, as their own charts say. */
function hostStates({ system }: Kernel): HostStates {
  const stateOf = (systemId: string): string => String(system.get(systemId)?.getSnapshot().value);
  const tiers = tierNames.map((_, tier) => [`t${tier}`, stateOf(`t${tier}.lifecycle`)]);
  return { kernel: stateOf("kernel"), ...Object.fromEntries(tiers) };
}
