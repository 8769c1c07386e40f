/** Where the time of a run went, step by step: a bar for each, along one scale of time since the first event. */
import type { LedgerEvent } from "../../../src/contract/event.ts";
import { now } from "../loaded.tsx";
import { tellDuration } from "../words.ts";
import { Line } from "./shown.tsx";
import { type Span, type SpanKind, spansOf } from "./waterfall.ts";

const kinds: Readonly<Record<SpanKind, string>> = {
  queued: "waits for its turn",
  deciding: "is judged",
  person: "waits for a person",
  call: "the call",
  pause: "waits to try again",
};

interface TimeSpentProps {
  readonly events: readonly LedgerEvent[];
  /** The instant at which the run ended; null while it goes on. */
  readonly end: string | null;
  /** The names of steps, by their ids. */
  readonly names: ReadonlyMap<string, string>;
}

/** The places of the marks of the scale, as parts of the whole. */
const marks = [0, 0.25, 0.5, 0.75, 1] as const;

export function TimeSpent({ events, end, names }: TimeSpentProps) {
  const [first] = events;
  if (first === undefined) return null;
  const from = Date.parse(first.timestamp);
  const to = end === null ? now.value : Date.parse(end);
  const whole = Math.max(1, to - from);
  return (
    <section class="card" aria-labelledby="waterfall">
      <h2 id="waterfall">Where the time went: {tellDuration(to - from)} in all</h2>
      <p class="legend">
        {Object.entries(kinds).map(([kind, words]) => (
          <span key={kind}>
            <span class={`swatch ${kind}`} aria-hidden="true" /> {words}
          </span>
        ))}
      </p>
      <p class="scale" aria-hidden="true">
        {marks.map((part) => (
          <small key={part}>+{tellDuration(part * whole)}</small>
        ))}
      </p>
      <ol class="plain waterfall">
        {spansOf(events, to).map(({ step_id, spans }) => (
          <li key={step_id}>
            <span class="waterfall-name">
              <Line text={names.get(step_id) ?? step_id} />
              <small>
                {tellStart(spans, from)}
                {tellSpans(spans)}
              </small>
            </span>
            <span class="waterfall-bar" aria-hidden="true">
              {spans.map((span) => (
                <span
                  key={`${span.kind}${span.from}`}
                  class={`swatch ${span.kind}`}
                  style={{
                    left: `${(100 * (span.from - from)) / whole}%`,
                    width: `${(100 * (span.to - span.from)) / whole}%`,
                  }}
                />
              ))}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

const tellStart = ([first]: readonly Span[], from: number): string =>
  first === undefined ? "" : `+${tellDuration(first.from - from)}: `;

/** Returns spans in words, the same kinds together. */
function tellSpans(spans: readonly Span[]): string {
  const sums = Map.groupBy(spans, ({ kind }) => kind);
  const reported = [...sums].map(
    ([kind, own]) => [kind, own.reduce((sum, { from, to }) => sum + to - from, 0)] as const,
  );
  const long = reported.filter(([, ms]) => ms >= 1).map(([kind, ms]) => `${kinds[kind]} ${tellDuration(ms)}`);
  return long.length === 0 ? "at once" : long.join(", ");
}
