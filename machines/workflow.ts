/**
 * The workflow lifecycle: accepted → planned → running ⇄ waiting_for_user | waiting → completed | failed | cancelled,
 * the last by way of cancelling where a call was under way that may not be repeated, and the last two by way of
 * compensating where something that was done is undone first. A person may roll back one that has ended: it goes
 * through compensating to cancelled.
 *
 * Owns: which ledger events a workflow accepts in which state. Never: clock, randomness, IO, data (the fold keeps
 * that).
 * 1.  completed and cancelled are left only by WORKFLOW_ROLLING_BACK, failed also by WORKFLOW_RESTARTED.
 * 2.  waiting_for_user is left only in a turn that a person, a cancel or a configured expiry caused: USER_ and GATE_
 *     events are accepted there, and WORKFLOW_RESUMED follows them.
 * 3.  A replan is a PLAN_CREATED while running; the state stays.
 * 4.  waiting is the state of a workflow whose open steps are parked, and which asks nobody; one that asks a person as
 *     well is waiting_for_user.
 * 5.  A workflow that is cancelling begins nothing. It is left for cancelled, once the end of each such call is known.
 * 6.  A workflow that is compensating works on what undoes its steps alone. It may wait like one that is running, and
 *     then goes on compensating; it ends as failed or cancelled.
 */
import { setup } from "xstate";

/** The events that move a workflow. */
export type WorkflowEvent =
  | { readonly type: "PLAN_CREATED" }
  | { readonly type: "PLAN_REJECTED" }
  | { readonly type: "WORKFLOW_STARTED" }
  | { readonly type: "WORKFLOW_WAITING"; readonly gates: readonly string[] }
  | { readonly type: "WORKFLOW_RESUMED"; readonly compensating?: boolean }
  | { readonly type: "WORKFLOW_RESTARTED" }
  | { readonly type: "WORKFLOW_COMPLETED" }
  | { readonly type: "WORKFLOW_FAILED" }
  | { readonly type: "WORKFLOW_CANCELLING" }
  | { readonly type: "WORKFLOW_COMPENSATING" }
  | { readonly type: "WORKFLOW_ROLLING_BACK" }
  | { readonly type: "WORKFLOW_CANCELLED" }
  | { readonly type: "USER_APPROVED" }
  | { readonly type: "USER_REJECTED" }
  | { readonly type: "GATE_EXPIRED" };

/** Named as transitions to the state itself, because XState takes an empty transition for a refusal. */
const decisions = {
  USER_APPROVED: "waiting_for_user",
  USER_REJECTED: "waiting_for_user",
  GATE_EXPIRED: "waiting_for_user",
} as const;
const cancelled = { WORKFLOW_CANCELLING: "cancelling" } as const;
const undone = { WORKFLOW_COMPENSATING: "compensating" } as const;
const waits = [{ guard: "asks", target: "waiting_for_user" }, { target: "waiting" }] as const;
const goesOn = [{ guard: "undoes", target: "compensating" }, { target: "running" }] as const;
const rolledBack = { WORKFLOW_ROLLING_BACK: "compensating" } as const;
const ends = { WORKFLOW_FAILED: "failed", WORKFLOW_CANCELLED: "cancelled" } as const;

/** The lifecycle of a workflow. */
export const workflowMachine = setup({
  types: { events: {} as WorkflowEvent },
  guards: {
    asks: ({ event }) => event.type === "WORKFLOW_WAITING" && event.gates.length > 0,
    undoes: ({ event }) => event.type === "WORKFLOW_RESUMED" && event.compensating === true,
  },
}).createMachine({
  id: "workflow",
  initial: "accepted",
  states: {
    accepted: {
      description: "The request is on record; its plan is being made.",
      on: { PLAN_CREATED: "planned", PLAN_REJECTED: {}, ...ends },
    },
    planned: { description: "The plan is on record and has not begun.", on: { WORKFLOW_STARTED: "running", ...ends } },
    running: {
      description: "Steps are being worked on.",
      on: {
        PLAN_CREATED: {},
        PLAN_REJECTED: {},
        USER_APPROVED: {},
        USER_REJECTED: {},
        GATE_EXPIRED: {},
        WORKFLOW_WAITING: waits,
        WORKFLOW_COMPLETED: "completed",
        ...cancelled,
        ...undone,
        ...ends,
      },
    },
    waiting_for_user: {
      description: "Nothing can go on before a person has decided.",
      on: { ...decisions, WORKFLOW_RESUMED: goesOn, ...cancelled, ...undone, ...ends },
    },
    waiting: {
      description: "Nothing can go on before a time, an event or another workflow has come.",
      on: { WORKFLOW_RESUMED: goesOn, ...cancelled, ...undone, ...ends },
    },
    cancelling: {
      description: "A person has ended it; what became of a call is not known yet, or a child has not ended.",
      // A second order may ask for the undo. It is named as a transition to the state itself, because XState takes an
      // empty transition for a refusal.
      on: { USER_APPROVED: {}, USER_REJECTED: {}, ...cancelled, ...undone, WORKFLOW_CANCELLED: "cancelled" },
    },
    compensating: {
      description: "It has failed, was cancelled or is rolled back; what it has done is being undone.",
      on: { WORKFLOW_WAITING: waits, ...ends },
    },
    completed: { description: "All is done.", on: rolledBack },
    failed: {
      description: "An error nobody handled; a retry goes on from here.",
      on: { WORKFLOW_RESTARTED: "running", ...rolledBack },
    },
    cancelled: { description: "Ended by a person, or by a rejection.", on: rolledBack },
  },
});
