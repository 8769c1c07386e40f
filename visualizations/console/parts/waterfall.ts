/**
 * Where the time of a step went: spans between the events of its ledger.
 *
 * Owns: which event begins a span, by its name. An event that is not named here ends nothing.
 */
import type { LedgerEvent } from "../../../src/contract/event.ts";

export type SpanKind = "queued" | "deciding" | "person" | "call" | "pause";

export interface Span {
  readonly kind: SpanKind;
  readonly from: number;
  readonly to: number;
}

export interface StepSpans {
  readonly step_id: string;
  readonly spans: readonly Span[];
}

/** Null: nothing goes on after it. */
const begins: Readonly<Record<string, SpanKind | null>> = {
  STEP_QUEUED: "queued",
  STEP_STARTED: "deciding",
  GATE_OPENED: "person",
  USER_APPROVED: "deciding",
  GATE_EXPIRED: "deciding",
  ACTION_STARTED: "call",
  ACTION_SUCCEEDED: "deciding",
  ACTION_FAILED: "deciding",
  ACTION_SETTLED: "deciding",
  ACTION_IN_DOUBT: "person",
  ACTION_RETRY_SCHEDULED: "pause",
  USER_REJECTED: null,
  STEP_SUCCEEDED: null,
  STEP_FAILED: null,
  STEP_SKIPPED: null,
};

/** What is not over yet goes on until `now` (epoch ms). */
export function spansOf(events: readonly LedgerEvent[], now: number): readonly StepSpans[] {
  const steps = Map.groupBy(
    events.filter(({ step_id, event_type }) => step_id !== null && Object.hasOwn(begins, event_type)),
    ({ step_id }) => step_id as string,
  );
  return [...steps].map(([step_id, own]) => ({
    step_id,
    spans: own.flatMap(({ event_type, timestamp }, i): readonly Span[] => {
      const kind = begins[event_type] ?? null;
      const next = own[i + 1];
      const to = next === undefined ? now : Date.parse(next.timestamp);
      return kind === null ? [] : [{ kind, from: Date.parse(timestamp), to }];
    }),
  }));
}
