/**
 * A lifecycle as a part of a larger chart: its states with the events of one workflow, step or gate.
 *
 * Owns: the names of these events. An event is called by its type in the ledger, then whom it is for, then what a guard
 * of the lifecycle reads in it: `STEP_STARTED.pay`, `GATE_EXPIRED.pay.gate-pay.allow`, `WORKFLOW_WAITING.gates`.
 * 1.  The chart needs no guards: what a guard would read is in the name of the event, so that plain data is enough.
 */
import { definitionOf } from "../../../machines/definitions.ts";
import { gateMachine } from "../../../machines/gate.ts";
import { stepMachine } from "../../../machines/step.ts";
import { workflowMachine } from "../../../machines/workflow.ts";
import type { JsonObject } from "../../contract/json.ts";

const machines = { workflow: workflowMachine, step: stepMachine, gate: gateMachine } as const;
export type LifecycleName = keyof typeof machines;

/** A state of a chart as plain data, as XState reads it. */
export interface FlowState {
  readonly id?: string;
  readonly type?: "parallel" | "final";
  readonly description?: string;
  readonly initial?: string;
  readonly meta?: JsonObject;
  readonly on?: Readonly<Record<string, FlowTransition>>;
  readonly states?: Readonly<Record<string, FlowState>>;
}

/** A transition; without a target the event is accepted and moves nothing. */
export interface FlowTransition {
  readonly target?: string;
  readonly description?: string;
}

/** A form of an event that guards tell apart: its name, and an example of what they read in it. */
interface Form {
  readonly name: string;
  readonly read: JsonObject;
  readonly fits: (payload: JsonObject) => boolean;
}

const is = (member: string, value: string | boolean): Form => ({
  name: typeof value === "string" ? value : member,
  read: { [member]: value },
  fits: (payload) => payload[member] === value,
});
const answers = { name: "answer", read: { action: "allow", answer: {} } } as const;
const isAnswered = ({ answer }: JsonObject): boolean => answer !== undefined && answer !== null;
const plain: Form = { name: "", read: { gates: [] }, fits: () => true };

/** The forms of events, by type: the first that fits. */
const formsByType: Readonly<Record<string, readonly Form[]>> = {
  GATE_EXPIRED: [
    is("action", "deny"),
    { ...answers, fits: isAnswered },
    { name: "allow", read: { action: "allow" }, fits: () => true },
  ],
  USER_APPROVED: [{ ...answers, fits: isAnswered }, plain],
  ACTION_STARTED: [is("recovered", true), plain],
  ACTION_SETTLED: [is("resolution", "done"), is("resolution", "retry"), is("resolution", "failed")],
  GATE_REVISED: [is("cause", "edit"), is("cause", "regenerate"), is("cause", "policy"), is("cause", "basis")],
  WORKFLOW_WAITING: [
    { name: "gates", read: { gates: [""] }, fits: ({ gates }) => Array.isArray(gates) && gates.length > 0 },
    plain,
  ],
  WORKFLOW_RESUMED: [is("compensating", true), plain],
};
const plainForms = [plain] as const;

/** Returns the end of the name of an event, with a dot before it; empty for one that guards do not tell apart. */
export function formOf(type: string, payload: JsonObject): string {
  const name = formsByType[type]?.find(({ fits }) => fits(payload))?.name ?? "";
  return name === "" ? "" : `.${name}`;
}

interface Definition {
  readonly description?: string;
  readonly type?: "final";
  readonly initial?: string;
  readonly on?: Readonly<Record<string, Candidate | readonly Candidate[]>>;
  readonly states?: Readonly<Record<string, Definition>>;
}
type Candidate = string | { readonly target?: string; readonly guard?: string };

/** The owner of a lifecycle. */
export interface Whose {
  readonly lifecycle: LifecycleName;
  /** Unique in the chart: the ids of its states begin with it. */
  readonly id: string;
  /** The part of an event's name that says whom it is for, with a dot before it; empty for the workflow. */
  readonly address: string;
  /** States that it never reaches, which are left out. */
  readonly without?: ReadonlySet<string>;
}

/** Returns the id of a state of a lifecycle by its dotted path. An id has no dots: XState reads them as a path. */
export const stateId = ({ id }: Pick<Whose, "id">, path: string): string => `${id}/${path.replaceAll(".", "/")}`;

/** Returns the states of a lifecycle, with the events of its owner. */
export function lifecycleStates(whose: Whose): Pick<FlowState, "initial" | "states"> {
  const { initial, states } = definitionOf(machines[whose.lifecycle]) as unknown as Required<Definition>;
  return { initial, states: statesOf(states, "", whose) };
}

function statesOf(states: Readonly<Record<string, Definition>>, above: string, whose: Whose) {
  const kept = Object.entries(states).filter(([name]) => whose.without?.has(name) !== true);
  return Object.fromEntries(kept.map(([name, state]) => [name, stateOf(state, above + name, whose)]));
}

function stateOf({ description, initial, on = {}, states }: Definition, path: string, whose: Whose): FlowState {
  const above = path.includes(".") ? path.slice(0, path.lastIndexOf(".") + 1) : "";
  const taken = Object.entries(on).flatMap(([type, candidates]) =>
    (formsByType[type] ?? plainForms).flatMap(({ name: form, read }) => {
      const event = { ...read, type };
      const chosen = [candidates].flat().find((one) => passes(one as Candidate, event, whose.lifecycle));
      if (chosen === undefined) return [];
      const target = targetOf(chosen as Candidate, above);
      if (target !== null && whose.without?.has(target.split(".").at(-1) ?? "") === true) return [];
      const name = `${type}${whose.address}${form === "" ? "" : `.${form}`}`;
      return [[name, target === null ? {} : { target: `#${stateId(whose, target)}` }] as const];
    }),
  );
  return {
    id: stateId(whose, path),
    ...(description !== undefined && { description }),
    ...(initial !== undefined && { initial }),
    ...(taken.length > 0 && { on: Object.fromEntries(taken) }),
    ...(states !== undefined && { states: statesOf(states, `${path}.`, whose) }),
  };
}

function passes(candidate: Candidate, event: JsonObject, lifecycle: LifecycleName): boolean {
  if (typeof candidate === "string" || candidate.guard === undefined) return true;
  const guards = machines[lifecycle].implementations.guards as Readonly<Record<string, (given: object) => boolean>>;
  return guards[candidate.guard]?.({ event, context: {} }) === true;
}

/** Returns the dotted path of a candidate's target, which is a sibling's name or `#<machine>.<path>`. */
function targetOf(candidate: Candidate, above: string): string | null {
  const target = typeof candidate === "string" ? candidate : candidate.target;
  if (target === undefined) return null;
  return target.startsWith("#") ? target.slice(target.indexOf(".") + 1) : above + target;
}
