/**
 * A machine as the drawings see it: states in the order they are written, and who leads where on what.
 *
 * Owns: the reading of a machine. Never: a drawing (each render-*.ts has one).
 * V1  Order is the source's order: the same machine always gives the same drawings, byte for byte.
 * V2  Transitions between the same two states are one arrow with several labels.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";

export interface ChartState {
  readonly name: string;
  /** Dotted from the root: `running.executing`. */
  readonly path: string;
  readonly isFinal: boolean;
  /** The path of the child that is entered, or null for a state without children. */
  readonly initial: string | null;
  readonly children: readonly ChartState[];
  /** Events that are accepted and move nothing. */
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

export function readChart(machine: AnyStateMachine): ChartModel {
  const nodes = nodesBelow(machine.root);
  return {
    id: machine.id,
    initial: initialOf(machine.root) ?? "",
    states: childrenOf(machine.root).map(readState),
    arrows: mergeArrows(nodes.flatMap(movesOf)),
  };
}

const pathOf = (node: AnyStateNode): string => node.path.join(".");
const childrenOf = (node: AnyStateNode): AnyStateNode[] => Object.values(node.states);
const nodesBelow = (node: AnyStateNode): AnyStateNode[] =>
  childrenOf(node).flatMap((child) => [child, ...nodesBelow(child)]);

function initialOf(node: AnyStateNode): string | null {
  const [target] = childrenOf(node).length === 0 ? [] : (node.initial.target ?? []);
  return target === undefined ? null : pathOf(target);
}

function readState(node: AnyStateNode): ChartState {
  return {
    name: node.key,
    path: pathOf(node),
    isFinal: node.type === "final",
    initial: initialOf(node),
    children: childrenOf(node).map(readState),
    stays: transitionsOf(node).flatMap(({ target, label }) => (isMove(node, target) ? [] : [label])),
  };
}

interface Transition {
  readonly target: string | null;
  readonly label: string;
}

function transitionsOf(node: AnyStateNode): Transition[] {
  return [...node.transitions].flatMap(([event, candidates]) =>
    candidates.map(({ target, guard }) => {
      const [first] = target ?? [];
      return { target: first === undefined ? null : pathOf(first), label: labelOf(event, guard) };
    }),
  );
}

function labelOf(event: string, guard: unknown): string {
  if (guard === undefined) return event;
  const name = typeof guard === "string" ? guard : (guard as { readonly type: string }).type;
  return `${event} [${name}]`;
}

const movesOf = (node: AnyStateNode): Arrow[] =>
  transitionsOf(node).flatMap(({ target, label }) =>
    isMove(node, target) ? [{ from: pathOf(node), to: target, labels: [label] }] : [],
  );

const isMove = (node: AnyStateNode, target: string | null): target is string =>
  target !== null && target !== pathOf(node);

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
  readonly initial?: string;
  readonly states?: Readonly<Record<string, StateDefinition>>;
  readonly on?: Readonly<Record<string, Candidate | readonly Candidate[]>>;
}

type Candidate = string | { readonly target?: string; readonly guard?: unknown };

/** The same of a machine that is told as data (`definitionOf`), without XState: for pages. */
export function readDefinition(definition: object): ChartModel {
  const { id, initial, states } = definition as Definition;
  const read = readLevel(id, "", states);
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

const readLevel = (
  id: string,
  above: string,
  states: Readonly<Record<string, StateDefinition>>,
): readonly ReadState[] => Object.entries(states).map(([name, state]) => readStateOf({ id, above, name }, state));

interface StatePlace {
  readonly id: string;
  /** The path of the state around it, with a dot at its end; empty at the top. */
  readonly above: string;
  readonly name: string;
}

function readStateOf(
  { id, above, name }: StatePlace,
  { type, initial, states = {}, on = {} }: StateDefinition,
): ReadState {
  const path = above + name;
  const children = readLevel(id, `${path}.`, states);
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
    stays,
  };
  return { state, moves: [...moves, ...children.flatMap((child) => child.moves)] };
}

/** A target is a sibling's name, or `#<machine>.<path>`. */
function takenOn(event: string, candidate: Candidate, { id, above }: Pick<StatePlace, "id" | "above">) {
  const { target, guard } = typeof candidate === "string" ? { target: candidate, guard: undefined } : candidate;
  const to = target === undefined ? null : target.startsWith("#") ? target.slice(id.length + 2) : above + target;
  return { to, label: labelOf(event, guard) };
}
