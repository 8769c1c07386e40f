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
  readonly children: ComponentChildren;
}

export function Fact({ name, children }: FactProps) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
