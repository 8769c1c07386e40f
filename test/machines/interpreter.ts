/**
 * XState's own interpreter, asked the questions that a compiled chart answers, and events to ask with.
 *
 * Owns: what the tests of this folder take for true. Never: a compiled table.
 */
import fc from "fast-check";
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  getInitialSnapshot,
  getNextSnapshot,
  type StateValue,
} from "xstate";
import {
  actionMachine,
  gateMachine,
  kernelMachine,
  stepMachine,
  tierMachine,
  tokenMachine,
  workflowMachine,
} from "../../machines/index.ts";

export const allMachines: readonly (readonly [string, AnyStateMachine])[] = [
  ["workflow", workflowMachine],
  ["step", stepMachine],
  ["gate", gateMachine],
  ["action", actionMachine],
  ["tier", tierMachine],
  ["kernel", kernelMachine],
  ["token", tokenMachine],
];

/** Every event that a machine names; its own list leaves out those that move nothing. */
export function eventsOf(machine: AnyStateMachine): readonly string[] {
  const eventsBelow = (node: AnyStateNode): readonly string[] => [
    ...node.transitions.keys(),
    ...Object.values(node.states).flatMap(eventsBelow),
  ];
  return [...new Set(eventsBelow(machine.root))];
}

/** An event with every field that any guard reads, so that each guard is walked both ways. */
export interface ProbeEvent {
  readonly type: string;
  readonly action: "deny" | "allow";
  readonly pending: boolean;
  readonly final: boolean;
  readonly resolution: "done" | "retry" | "failed";
  readonly status: string | null;
  readonly cause: string | null;
  readonly label: string | null;
  readonly recovered: boolean;
  readonly gates: readonly string[];
  readonly compensating: boolean;
  readonly answer: object | null;
}

export const guardFields = {
  action: fc.constantFrom("deny" as const, "allow" as const),
  pending: fc.boolean(),
  final: fc.boolean(),
  resolution: fc.constantFrom("done" as const, "retry" as const, "failed" as const),
  status: fc.constantFrom("failed", null),
  cause: fc.constantFrom(null, "edit", "basis"),
  label: fc.constantFrom("dependency_cancelled", null),
  recovered: fc.boolean(),
  gates: fc.constantFrom<readonly string[]>([], ["gate-one"]),
  compensating: fc.boolean(),
  answer: fc.constantFrom(null, { ok: true }),
};

export const anyEventOf = (machine: AnyStateMachine): fc.Arbitrary<ProbeEvent> =>
  fc.record({ type: fc.constantFrom(...eventsOf(machine), "NO_SUCH_EVENT"), ...guardFields });

export const event = (type: string, fields: Partial<ProbeEvent> = {}): ProbeEvent => ({
  action: "deny",
  pending: false,
  final: false,
  resolution: "failed",
  status: null,
  cause: null,
  label: null,
  recovered: false,
  gates: ["gate-one"],
  compensating: false,
  answer: null,
  ...fields,
  type,
});

/** `running.calling` for `{ running: "calling" }`. */
export function pathOf(value: StateValue): string {
  if (typeof value === "string") return value;
  const [[parent, child] = ["", ""]] = Object.entries(value);
  return child === undefined ? parent : `${parent}.${pathOf(child)}`;
}

export const begin = (machine: AnyStateMachine): AnyMachineSnapshot => getInitialSnapshot(machine);

export const send = (machine: AnyStateMachine, snapshot: AnyMachineSnapshot, probe: ProbeEvent): AnyMachineSnapshot =>
  getNextSnapshot(machine, snapshot, probe);

/** Whether the interpreter has a transition for the event here, be it one that moves nothing. */
export const accepts = (machine: AnyStateMachine, snapshot: AnyMachineSnapshot, probe: ProbeEvent): boolean =>
  snapshot.status === "active" && machine.getTransitionData(snapshot as never, probe).length > 0;

export const walk = (machine: AnyStateMachine, events: readonly ProbeEvent[]): AnyMachineSnapshot =>
  events.reduce((snapshot, probe) => send(machine, snapshot, probe), begin(machine));
