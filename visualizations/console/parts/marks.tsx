/** Small marks that several views share: a state, a time, a name with its value. */
import type { ComponentChildren } from "preact";
import type { GateEdit } from "../../../src/contract/gate-edit.ts";
import { tellClosely, tellSpan } from "../../../src/protocol/tell-span.ts";
import { now } from "../loaded.tsx";
import { spaced, tellPerson, tellState, toneOf } from "../words.ts";
import { Line } from "./shown.tsx";

interface StateProps {
  readonly state: string;
  readonly phase?: string | null;
}

const signs = { good: "✓", bad: "✕", wait: "…", held: "⏸", busy: "▶", calm: "·" } as const;

export function State({ state, phase = null }: StateProps) {
  const tone = toneOf(phase ?? state);
  return (
    <span class={`state ${tone}`}>
      <span aria-hidden="true">{signs[tone]} </span>
      {phase === null ? tellState(state) : spaced(phase)}
    </span>
  );
}

export const Risk = ({ level }: { readonly level: string }) => <span class={`risk ${level}`}>{level} risk</span>;

const exact = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" });
export const tellInstant = (iso: string): string => exact.format(new Date(iso));

const zoned = new Intl.DateTimeFormat("en", {
  ...({ year: "numeric", month: "short", day: "numeric", weekday: "short" } as const),
  ...({ hour: "numeric", minute: "2-digit", timeZoneName: "short" } as const),
});
/** Returns an instant with the zone in which it is written. */
export const tellZoned = (iso: string): string => zoned.format(new Date(iso));

const clock = new Intl.DateTimeFormat("en", { timeStyle: "short" });
const isSameDay = (a: Date, b: Date): boolean => a.toDateString() === b.toDateString();

/** Returns the time of day of an instant of today, and date and time of any other. */
export const tellMoment = (iso: string): string =>
  isSameDay(new Date(iso), new Date(now.value)) ? clock.format(new Date(iso)) : exact.format(new Date(iso));

/** When something was, or will be. */
export function Ago({ at }: { readonly at: string }) {
  const ms = now.value - Date.parse(at);
  const span = tellSpan(ms);
  return (
    <time dateTime={at} title={tellInstant(at)}>
      {Math.abs(ms) < 5000 ? "just now" : ms > 0 ? `${span} ago` : `in ${span}`}
    </time>
  );
}

export function Due({ at }: { readonly at: string }) {
  const ms = Date.parse(at) - now.value;
  return (
    <time dateTime={at} title={tellInstant(at)} class={ms < 3_600_000 ? "soon" : undefined}>
      {ms > 0 ? `due in ${tellClosely(ms)}` : `overdue for ${tellClosely(ms)}`}
    </time>
  );
}

/** The time that is left, and the exact instant with its zone. */
export const DueExactly = ({ at }: { readonly at: string }) => (
  <>
    <Due at={at} /> <small>({tellZoned(at)})</small>
  </>
);

/** Who changed what a gate shows, and when. */
export const EditedBy = ({ edit: { by, at, changes } }: { readonly edit: GateEdit }) => (
  <>
    Edited by <Line text={tellPerson(by)} /> on {tellInstant(at)} (<Ago at={at} />)
    {changes.length === 0 && "; the gate itself shows the values"}
  </>
);

export function Facts({ children }: { readonly children: ComponentChildren }) {
  return <dl class="facts">{children}</dl>;
}

interface FactProps {
  readonly name: string;
  /** The meaning of the fact. */
  readonly about?: string | undefined;
  readonly children: ComponentChildren;
}

export function Fact({ name, about, children }: FactProps) {
  return (
    <div>
      <dt>
        <Line text={name} />
      </dt>
      <dd>
        {children}
        {about !== undefined && (
          <small class="about">
            <Line text={about} />
          </small>
        )}
      </dd>
    </div>
  );
}
