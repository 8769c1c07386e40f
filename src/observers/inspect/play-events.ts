/**
 * playEvents: the messages to an inspector of a ledger's events, from any source.
 *
 * Owns: reading the options, and the handling of an event that no kernel wrote. Never: knows a kernel.
 */
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { eventTypes } from "../../contract/events.ts";
import type { Inspection } from "../../contract/inspection.ts";
import { isPlainObject } from "../../contract/json.ts";
import { KernelErrorException, raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { viewing } from "../../protocol/viewing.ts";
import { PaceOptions, paceEvents } from "./pace.ts";
import { Player, PlayerOptions } from "./player.ts";

export const PlayOptions = z.strictObject({ ...PlayerOptions.shape, ...PaceOptions.shape });
/** The options of playing: the pace and the shown content. */
export interface PlayOptions extends Readonly<z.input<typeof PlayOptions>> {}

const playRef = moduleRef(6, "inspect", "play_events");

/**
 * Yields the messages of these events, in their order, at the requested pace.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for invalid options, T0_LEDGER_CORRUPT for events that
 * cannot be those of a ledger.
 */
export function playEvents(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
  given: PlayOptions = {},
): AsyncGenerator<Inspection, void, void> {
  const options = readStrictly(PlayOptions, given, { what: "playEvents", source: playRef });
  return viewing((signal) => play(events, { ...options, signal }), options);
}

async function* play(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
  options: z.output<typeof PlayOptions>,
): AsyncGenerator<Inspection, void, void> {
  const player = new Player(options);
  for await (const event of paceEvents(soundEvents(events), options)) yield* emitEvent(player, event);
}

/** Yields the events as long as they can be those of a ledger. */
async function* soundEvents(
  events: Iterable<LedgerEvent> | AsyncIterable<LedgerEvent>,
): AsyncGenerator<LedgerEvent, void, void> {
  for await (const event of events) {
    if (!isEvent(event)) raise(kernelError("T0_LEDGER_CORRUPT", "what is played holds what is no event", playRef));
    yield event;
  }
}

const types: ReadonlySet<unknown> = new Set(eventTypes);

const isEvent = (event: unknown): event is LedgerEvent =>
  isPlainObject(event) &&
  types.has(event["event_type"]) &&
  Number.isFinite(Date.parse(String(event["timestamp"]))) &&
  isPlainObject(event["payload"]) &&
  isPlainObject(event["actor"]);

/** An item of a stream with its cursor, which the last message of an event has. */
export interface NumberedInspection {
  readonly sequence: number | null;
  readonly item: Inspection;
}

/**
 * Reads a workflow's events from the first on and yields the messages of those after `after`: earlier ones are not
 * repeated. Steps are called by their names, since it is for those who may read the run.
 */
export async function* playAfter(
  events: AsyncIterable<LedgerEvent>,
  after: number,
): AsyncGenerator<NumberedInspection, void, void> {
  const player = new Player({ names: true });
  for await (const event of events) {
    const reported = emitEvent(player, event);
    if (event.sequence <= after) continue;
    for (const [at, item] of reported.entries())
      yield { sequence: at === reported.length - 1 ? event.sequence : null, item };
  }
}

/**
 * Returns the messages of an event. @throws KernelErrorException T0_LEDGER_CORRUPT in place of any error that an
 * invalid event causes.
 */
export function emitEvent(player: Player, event: LedgerEvent): readonly Inspection[] {
  try {
    return player.tell(event);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) throw thrown;
    const message = `an event cannot be played: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
    return raise(kernelError("T0_LEDGER_CORRUPT", message, playRef));
  }
}
