/**
 * A machine as the drawings see it: states in the order they are written, and their transitions with events.
 *
 * Owns: the reading of a machine's definition, which is plain data: pages read it too. Never: a drawing (render-*.ts).
 * 1.  Order is the source's order: the same machine always gives the same drawings, byte for byte.
 * 2.  Transitions between the same two states are one arrow with several labels.
 */
import { wrapText } from "./text-size.ts";

export interface ChartState {
  readonly name: string;
  /** Dotted from the root: `running.executing`. */
  readonly path: string;
  readonly isFinal: boolean;
  /** The path of the child that is entered, or null for a state without children. */
  readonly initial: string | null;
  readonly children: readonly ChartState[];
  /** The meaning of the state, in lines; none if notes are not requested. */
  readonly notes: readonly string[];
  /** The events that the state accepts without a transition. */
  readonly stays: readonly string[];
}

export interface Arrow {
  readonly from: string;
  readonly to: string;
  /** Events, each with its guard: `GATE_EXPIRED [allows]`. */
  readonly labels: readonly string[];
}

export interface ChartModel {
  readonly id: string;
  readonly initial: string;
  readonly states: readonly ChartState[];
  readonly arrows: readonly Arrow[];
}

function labelOf(event: string, guard: unknown): string {
  if (guard === undefined) return event;
  const name = typeof guard === "string" ? guard : (guard as { readonly type: string }).type;
  return `${event} [${name}]`;
}

function mergeArrows(arrows: readonly Arrow[]): Arrow[] {
  const groups = Map.groupBy(arrows, (arrow) => `${arrow.from} ${arrow.to}`);
  return [...groups.values()].map((group) => ({
    ...(group[0] as Arrow),
    labels: group.flatMap((arrow) => arrow.labels),
  }));
}

interface Definition {
  readonly id: string;
  readonly initial: string;
  readonly states: Readonly<Record<string, StateDefinition>>;
}

interface StateDefinition {
  readonly type?: string;
  readonly description?: string;
  readonly initial?: string;
  readonly states?: Readonly<Record<string, StateDefinition>>;
  readonly on?: Readonly<Record<string, Candidate | readonly Candidate[]>>;
}

type Candidate = string | { readonly target?: string; readonly guard?: unknown };

/** Reads the definition of a machine. `notes`: whether its states come with their meanings. */
export function readDefinition(definition: object, { notes }: { readonly notes: boolean }): ChartModel {
  const { id, initial, states } = definition as Definition;
  const read = readLevel({ id, above: "", notes }, states);
  return {
    id,
    initial,
    states: read.map(({ state }) => state),
    arrows: mergeArrows(read.flatMap(({ moves }) => moves)),
  };
}

interface ReadState {
  readonly state: ChartState;
  readonly moves: readonly Arrow[];
}

interface LevelPlace {
  readonly id: string;
  /** The path of the state around it, with a dot at its end; empty at the top. */
  readonly above: string;
  readonly notes: boolean;
}

const readLevel = (at: LevelPlace, states: Readonly<Record<string, StateDefinition>>): readonly ReadState[] =>
  Object.entries(states).map(([name, state]) => readStateOf({ ...at, name }, state));

interface StatePlace extends LevelPlace {
  readonly name: string;
}

const noteChars = 40;

function readStateOf(
  { id, above, name, notes }: StatePlace,
  { type, description = "", initial, states = {}, on = {} }: StateDefinition,
): ReadState {
  const path = above + name;
  const children = readLevel({ id, above: `${path}.`, notes }, states);
  const taken = Object.entries(on).flatMap(([event, candidates]) =>
    [candidates].flat().map((candidate) => takenOn(event, candidate as Candidate, { id, above })),
  );
  const moves = taken.flatMap(({ to, label }) =>
    to === null || to === path ? [] : [{ from: path, to, labels: [label] }],
  );
  const stays = taken.filter(({ to }) => to === null || to === path).map(({ label }) => label);
  const first = initial === undefined ? null : `${path}.${initial}`;
  const state = {
    name,
    path,
    isFinal: type === "final",
    initial: first,
    children: children.map((c) => c.state),
    notes: notes ? wrapText(description, noteChars) : [],
    stays,
  };
  return { state, moves: [...moves, ...children.flatMap((child) => child.moves)] };
}

/** Returns the transitions of a candidate; a target is a sibling's name, or `#<machine>.<path>`. */
function takenOn(event: string, candidate: Candidate, { id, above }: Pick<StatePlace, "id" | "above">) {
  const { target, guard } = typeof candidate === "string" ? { target: candidate, guard: undefined } : candidate;
  const to = target === undefined ? null : target.startsWith("#") ? target.slice(id.length + 2) : above + target;
  return { to, label: labelOf(event, guard) };
}
