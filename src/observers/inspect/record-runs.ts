/**
 * recordRuns: runs as a recording, which a player shows without a kernel: events, the state after each, and who sent
 * what to whom.
 *
 * Owns: the limits. Never: hides anything; whoever may read a run may read its recording.
 * 1.  A recording is bounded, and says what was left out: further runs, events at the end, and the ends of long texts.
 * 2.  The same events give the same recording, from a ledger and from an export.
 */
import { z } from "zod";
import { definitionOf } from "../../../machines/definitions.ts";
import { gateMachine } from "../../../machines/gate.ts";
import { stepMachine } from "../../../machines/step.ts";
import { workflowMachine } from "../../../machines/workflow.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import type { Json } from "../../contract/json.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { RecordedMessage, RecordedRun, Recording } from "../../contract/recording.ts";
import { statesOfRun, type WorkflowState } from "../../index.ts";
import { nameRun } from "../../protocol/name-run.ts";
import { changesBetween } from "../../protocol/state-changes.ts";
import { emitEvent } from "./play-events.ts";
import { Player } from "./player.ts";
import { showPayload } from "./redact.ts";

const count = z.int("is a whole number above 0").positive("is a whole number above 0");
const Limits = z.strictObject({
  /** Runs that are recorded; 100 by default. */
  maxRuns: count.default(100),
  /** Events of all runs together; 5 000 by default. */
  maxEvents: count.default(5_000),
  /** The size of the recording as JSON, in characters; 16 000 000 by default. */
  maxChars: count.default(16_000_000),
  /** The instant at which it is made, ISO. */
  madeAt: z.iso.datetime(),
});
/** The limits of a recording. */
export interface RecordOptions extends Readonly<z.input<typeof Limits>> {}
type Read = z.output<typeof Limits>;

const recordRef = moduleRef(6, "inspect", "record_runs");

/** The greatest lengths of texts that are tried, until the recording is as small as it has to be. */
const textLimits = [20_000, 2_000, 200] as const;

/**
 * Makes a recording of runs, the first of which is the one that was asked for.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for invalid limits, T0_LEDGER_CORRUPT for events that
 * cannot be played.
 */
export function recordRuns(runs: readonly (readonly LedgerEvent[])[], given: RecordOptions): Recording {
  const limits = readStrictly(Limits, given, { what: "recordRuns", source: recordRef });
  for (let { maxEvents } = limits; ; maxEvents = Math.ceil(maxEvents / 2))
    for (const chars of textLimits) {
      const recording = record(runs, { ...limits, maxEvents }, chars);
      const isSmallest = maxEvents === 1 && chars === textLimits.at(-1);
      if (isSmallest || JSON.stringify(recording).length <= limits.maxChars) return recording;
    }
}

function record(runs: readonly (readonly LedgerEvent[])[], limits: Read, chars: number): Recording {
  const texts = { cut: 0, chars };
  const recorded: RecordedRun[] = [];
  let room = limits.maxEvents;
  let left = 0;
  for (const events of runs.slice(0, limits.maxRuns)) {
    const shown = events.slice(0, room);
    left += events.length - shown.length;
    room -= shown.length;
    if (shown.length > 0) recorded.push(recordRun(shown, texts));
  }
  return {
    made_at: limits.madeAt,
    runs: recorded,
    machines: [workflowMachine, stepMachine, gateMachine].map((machine) => definitionOf(machine)),
    cut: { runs: runs.length - recorded.length, events: left, texts: texts.cut, chars },
  };
}

interface Texts {
  /** The texts that were cut. */
  cut: number;
  readonly chars: number;
}

function recordRun(events: readonly LedgerEvent[], texts: Texts): RecordedRun {
  const shorten = shortenerOf(texts);
  let before: Json = null;
  let last: WorkflowState | null = null;
  const changes = [...statesOfRun(events)].map(({ state }) => {
    last = state;
    const after = shorten(state) as Json;
    const changed = changesBetween(before, after);
    before = after;
    return changed;
  });
  const { intent, workflow_id } = (last ?? {}) as Partial<WorkflowState>;
  return {
    workflow_id: workflow_id ?? events[0]?.workflow_id ?? "",
    title: intent === undefined ? "A request that was refused" : nameRun(intent),
    events: events.map((event) => shorten(event) as LedgerEvent),
    changes,
    ...messagesOf(events),
  };
}

/** Returns a function that cuts long texts in plain data, each of which is counted once for each place. */
function shortenerOf(texts: Texts): (value: unknown) => unknown {
  const shorten = (value: unknown): unknown => {
    if (typeof value === "string") {
      if (value.length <= texts.chars) return value;
      texts.cut += 1;
      return `${value.slice(0, texts.chars)}… (${value.length - texts.chars} more characters are left out)`;
    }
    if (Array.isArray(value)) return value.map(shorten);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, one]) => (one === undefined ? [] : [[key, shorten(one)]])),
    );
  };
  return shorten;
}

function messagesOf(events: readonly LedgerEvent[]): Pick<RecordedRun, "messages" | "names"> {
  const player = new Player({ redact: showPayload, names: true });
  const messages: RecordedMessage[] = [];
  const names: Record<string, string> = {};
  for (const event of events)
    for (const one of emitEvent(player, event)) {
      if (one.type === "@xstate.actor") names[one.sessionId] = one.name;
      if (one.type !== "@xstate.event") continue;
      const { id, sourceId: from, sessionId: to } = one;
      messages.push({ id, sequence: event.sequence, from, to, type: one.event.type });
    }
  return { messages, names };
}
