/**
 * The ledger of a run, event by event: everything beside it is shown as it was then.
 *
 * 1.  Where nothing is chosen the run is shown as it is, and goes on showing what comes.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import { goTo } from "../route.ts";
import { tellInstant } from "./marks.tsx";

interface SliderProps {
  readonly events: readonly LedgerEvent[];
  /** Null: as it is now. */
  readonly at: number | null;
  /** The address of this view without a sequence. */
  readonly href: string;
}

const stepMs = 700;

export function Slider({ events, at, href }: SliderProps) {
  const speed = useSignal(0);
  const last = events.length;
  const shown = Math.min(at ?? last, last);
  const show = (sequence: number | null) => goTo(sequence === null ? href : `${href}?at=${sequence}`);
  useEffect(() => {
    if (speed.value === 0) return;
    if (shown >= last) {
      speed.value = 0;
      return;
    }
    const timer = window.setTimeout(() => show(shown + 1), stepMs / speed.value);
    return () => window.clearTimeout(timer);
  }, [speed.value, shown, last]);
  if (last === 0) return null;
  const event = events[shown - 1];
  const words = event === undefined ? "" : tellEvent(event);
  const play = (times: number) => {
    if (shown >= last) show(1);
    speed.value = speed.value === times ? 0 : times;
  };
  return (
    <section class="card slider" aria-label="Replay">
      <label class="field">
        <span>
          Event {shown} of {last}: <strong>{words}</strong>{" "}
          {event !== undefined && <small>{tellInstant(event.timestamp)}</small>}
        </span>
        <input
          type="range"
          min={1}
          max={last}
          value={shown}
          aria-valuetext={`event ${shown} of ${last}: ${words}`}
          onInput={(e) => {
            speed.value = 0;
            show(Number(e.currentTarget.value));
          }}
        />
      </label>
      <p class="row">
        <button type="button" disabled={shown <= 1} onClick={() => show(shown - 1)}>
          Step back
        </button>
        <button type="button" disabled={shown >= last} onClick={() => show(shown + 1)}>
          Step on
        </button>
        {[1, 10].map((times) => (
          <button key={times} type="button" aria-pressed={speed.value === times} onClick={() => play(times)}>
            Play {times}×
          </button>
        ))}
        <button type="button" disabled={at === null} onClick={() => show(null)}>
          As it is now
        </button>
      </p>
    </section>
  );
}

const tellEvent = ({ event_type, step_id }: LedgerEvent): string =>
  step_id === null ? event_type : `${event_type} ${step_id}`;
