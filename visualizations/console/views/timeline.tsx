/** Where the time of a run went, step by step, and below it every event of its ledger. */
import { useSignal } from "@preact/signals";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { workflowPath } from "../api.ts";
import { now, Show, useLoaded } from "../loaded.tsx";
import { LostEvents } from "../parts/lost-events.tsx";
import { tellInstant } from "../parts/marks.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { Block, Line } from "../parts/shown.tsx";
import { type Span, type SpanKind, spansOf } from "../parts/waterfall.ts";
import { useRunEvents } from "../run-events.ts";
import { count, tellDuration, tellPerson } from "../words.ts";

export function Timeline({ workflow }: { readonly workflow: string }) {
  const read = useRunEvents(workflow);
  const { events } = read;
  const loaded = useLoaded<WorkflowState>(workflowPath(workflow));
  return (
    <Show loaded={loaded}>
      {(run) => (
        <>
          <RunHead run={run} tab="time" />
          <LostEvents run={read} />
          <Waterfall events={events.value} end={run.finished_at} />
          <History events={events.value} />
        </>
      )}
    </Show>
  );
}

const kinds: Readonly<Record<SpanKind, string>> = {
  queued: "waits for its turn",
  deciding: "is judged",
  person: "waits for a person",
  call: "the call",
  pause: "waits to try again",
};

interface WaterfallProps {
  readonly events: readonly LedgerEvent[];
  readonly end: string | null;
}

function Waterfall({ events, end }: WaterfallProps) {
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
      <ol class="plain waterfall">
        {spansOf(events, to).map(({ step_id, spans }) => (
          <li key={step_id}>
            <span class="waterfall-name">
              <Line text={step_id} />
              <small>{tellSpans(spans)}</small>
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

/** Spans in words, the same kinds together. */
function tellSpans(spans: readonly Span[]): string {
  const sums = Map.groupBy(spans, ({ kind }) => kind);
  const reported = [...sums].map(
    ([kind, own]) => [kind, own.reduce((sum, { from, to }) => sum + to - from, 0)] as const,
  );
  const long = reported.filter(([, ms]) => ms >= 1).map(([kind, ms]) => `${kinds[kind]} ${tellDuration(ms)}`);
  return long.length === 0 ? "at once" : long.join(", ");
}

const shownAtOnce = 200;

function History({ events }: { readonly events: readonly LedgerEvent[] }) {
  const most = useSignal(shownAtOnce);
  const shown = events.slice(-most.value);
  const hidden = events.length - shown.length;
  return (
    <section class="card" aria-labelledby="history">
      <h2 id="history">{count(events.length, "event")}</h2>
      {hidden > 0 && (
        <button type="button" onClick={() => (most.value += 5 * shownAtOnce)}>
          Show earlier ones ({count(hidden, "event")})
        </button>
      )}
      <ol class="plain events">
        {shown.map((event) => (
          <li key={event.sequence}>
            <Event event={event} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Event({
  event: { sequence, event_type, step_id, timestamp, actor, payload, event_id },
}: {
  readonly event: LedgerEvent;
}) {
  const isOpen = useSignal(false);
  return (
    <details onToggle={(e) => (isOpen.value = e.currentTarget.open)}>
      <summary>
        <small>{sequence}</small> <code>{event_type}</code> {step_id !== null && <Line text={step_id} />}
        <small>
          {" "}
          {tellInstant(timestamp)}, {tellPerson(actor)}
        </small>
      </summary>
      {isOpen.value && (
        <>
          <p class="quiet">
            <code>{event_id}</code>
          </p>
          <Block text={JSON.stringify(payload, null, 2)} />
        </>
      )}
    </details>
  );
}
