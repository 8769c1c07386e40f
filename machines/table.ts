/**
 * A chart compiled to a table: the same transitions as the machine, looked up in place of interpreted. The fold and the
 * live lifecycle actors run it; a test walks both at random and finds them equal.
 *
 * Owns: the reading of a machine's configuration. Never: a transition of its own.
 * 1.  `next` gives the state an event leads to, the same state for an accepted event that moves nothing, and undefined
 *     for an event that the state does not accept.
 */
import type { AnyStateMachine, AnyStateNode } from "xstate";

/** States are dotted paths, as in `running.calling`. */
export interface Chart {
  readonly initial: string;
  readonly next: (state: string, event: ChartEvent) => string | undefined;
  readonly isFinal: (state: string) => boolean;
  readonly states: readonly string[];
}

export interface ChartEvent {
  readonly type: string;
}

interface Row {
  readonly target: string | null;
  readonly guard: ((args: { readonly event: ChartEvent; readonly context: unknown }) => boolean) | null;
}

type Table = ReadonlyMap<string, ReadonlyMap<string, readonly Row[]>>;

/** Compiles flat or nested charts without parallel states, delays or actions; anything else is refused at load. */
export function compileChart(machine: AnyStateMachine): Chart {
  const leaves = leavesOf(machine.root);
  const table: Table = new Map(leaves.map((leaf) => [pathOf(leaf), rowsOf(leaf, machine)]));
  const finals = new Set(leaves.filter((leaf) => leaf.type === "final").map(pathOf));
  return {
    initial: pathOf(enter(machine.root)),
    states: leaves.map(pathOf),
    isFinal: (state) => finals.has(state),
    next(state, event) {
      for (const { guard, target } of table.get(state)?.get(event.type) ?? none)
        if (guard === null || guard({ event, context: {} })) return target ?? state;
      return undefined;
    },
  };
}

/** Nests a path as the machine does: `running.executing` becomes `{ running: "executing" }`. */
export const nestState = (path: string): NestedState =>
  path.split(".").reduceRight<NestedState | null>((inner, key) => (inner === null ? key : { [key]: inner }), null) ??
  path;

type NestedState = string | { readonly [state: string]: NestedState };

const none: readonly Row[] = [];

const pathOf = (node: AnyStateNode): string => node.path.join(".");
const childrenOf = (node: AnyStateNode): AnyStateNode[] => Object.values(node.states);

function leavesOf(node: AnyStateNode): AnyStateNode[] {
  if (node.type === "parallel") throw new Error(`${node.id}: a parallel state cannot be compiled`);
  const children = childrenOf(node);
  return children.length === 0 ? [node] : children.flatMap(leavesOf);
}

/** Returns the leaf that entering a node leads to. */
function enter(node: AnyStateNode): AnyStateNode {
  const [target] = node.initial.target ?? [];
  return target === undefined || childrenOf(node).length === 0 ? node : enter(target);
}

/**
 * Transitions of a leaf, then those of its ancestors, which are asked when no guard of the leaf lets the event pass.
 */
function rowsOf(leaf: AnyStateNode, machine: AnyStateMachine): ReadonlyMap<string, readonly Row[]> {
  const rows = new Map<string, readonly Row[]>();
  for (let node: AnyStateNode | undefined = leaf; node !== undefined; node = node.parent) {
    for (const [type, candidates] of node.transitions) {
      rows.set(type, [...(rows.get(type) ?? []), ...candidates.map((t) => rowOf(t, machine))]);
    }
  }
  return rows;
}

function rowOf(
  transition: AnyStateNode["transitions"] extends Map<string, (infer T)[]> ? T : never,
  machine: AnyStateMachine,
): Row {
  const [target] = transition.target ?? [];
  return { target: target === undefined ? null : pathOf(enter(target)), guard: guardOf(transition.guard, machine) };
}

function guardOf(guard: unknown, machine: AnyStateMachine): Row["guard"] {
  if (guard === undefined) return null;
  const name = typeof guard === "string" ? guard : (guard as { readonly type?: string }).type;
  const found = name === undefined ? undefined : machine.implementations.guards?.[name];
  if (typeof found !== "function") throw new Error(`${machine.id}: a guard must be named and provided`);
  return found as Row["guard"];
}
