/**
 * The gate lifecycle: declared by a plan, opened by the step that needs it, decided once.
 *
 * Owns: which ledger events a gate accepts. Never: who may decide (T5 does), the shown payload (the gate record).
 * 1.  rejected, expired and voided are final, and so is approved once the call has begun: a later decision is answered
 *     from the record, never applied. Before that an approved gate is opened again if its basis or its policy has
 *     changed, or if its payload was made again.
 * 2.  A revision (an edit, a new draft, another policy, another basis) keeps the gate open and binds it to the new
 *     version.
 * 3.  Expiry does what the gate declares: deny ends it, allow approves it, suspend parks it until a person decides,
 *     escalate keeps it open for another role as well, or instead of those who were asked.
 * 4.  Votes, filled stages, withdrawals, delegations, reminders and notes move nothing: a decision is an event of its
 *     own (the count is in quorum.ts).
 * 5.  A gate whose step fails otherwise (policy denies what it now shows), or is skipped, is void.
 */
import { setup } from "xstate";

/** The events that move a gate. */
export type GateEvent =
  | { readonly type: "GATE_DECISION_KEPT" }
  | { readonly type: "GATE_OPENED" }
  | { readonly type: "GATE_REVISED"; readonly cause: "edit" | "regenerate" | "policy" | "basis" }
  | { readonly type: "GATE_EXPIRED"; readonly action: "deny" | "allow" }
  | { readonly type: "GATE_ESCALATED" }
  | { readonly type: "GATE_REMINDED" }
  | { readonly type: "GATE_SUSPENDED" }
  | { readonly type: "GATE_VOTED" }
  | { readonly type: "GATE_STAGE_FILLED" }
  | { readonly type: "GATE_VOTE_WITHDRAWN" }
  | { readonly type: "GATE_DELEGATED" }
  | { readonly type: "GATE_COMMENTED" }
  | { readonly type: "GATE_ASSIGNED" }
  | { readonly type: "GATE_SNOOZED" }
  | { readonly type: "GATE_WATCHED" }
  | { readonly type: "USER_APPROVED" }
  | { readonly type: "USER_REJECTED" }
  | { readonly type: "STEP_FAILED" }
  | { readonly type: "STEP_SKIPPED" }
  | { readonly type: "WORKFLOW_CANCELLED" }
  | { readonly type: "WORKFLOW_FAILED" };

const decisions = { USER_APPROVED: "approved", USER_REJECTED: "rejected" } as const;
/** The events of an undecided gate; the decision follows the last vote of a quorum. */
const votes = {
  GATE_VOTED: {},
  GATE_STAGE_FILLED: {},
  GATE_VOTE_WITHDRAWN: {},
  GATE_DELEGATED: {},
  GATE_REMINDED: {},
  GATE_COMMENTED: {},
  GATE_ASSIGNED: {},
  GATE_SNOOZED: {},
  GATE_WATCHED: {},
} as const;
const stepEnds = { STEP_FAILED: "voided", STEP_SKIPPED: "voided" } as const;
const ends = { WORKFLOW_CANCELLED: "voided", WORKFLOW_FAILED: "voided" } as const;

/** The lifecycle of a gate. */
export const gateMachine = setup({
  types: { events: {} as GateEvent },
  guards: {
    allows: ({ event }) => event.type === "GATE_EXPIRED" && event.action === "allow",
    hasMoved: ({ event }) => event.type === "GATE_REVISED" && ["basis", "policy", "regenerate"].includes(event.cause),
  },
}).createMachine({
  id: "gate",
  initial: "declared",
  states: {
    declared: {
      description: "The plan names it; nobody is asked yet.",
      on: { GATE_DECISION_KEPT: {}, GATE_OPENED: "open", ...ends },
    },
    open: {
      description: "A person is asked.",
      on: {
        GATE_REVISED: {},
        ...votes,
        GATE_ESCALATED: {},
        GATE_SUSPENDED: "suspended",
        GATE_EXPIRED: [{ guard: "allows", target: "approved" }, { target: "expired" }],
        ...stepEnds,
        ...decisions,
      },
    },
    suspended: {
      description: "Its time is over; it waits for a person all the same.",
      on: { GATE_REVISED: "open", ...votes, ...stepEnds, ...decisions },
    },
    approved: {
      description: "A person has agreed to what was shown.",
      on: { GATE_REVISED: { guard: "hasMoved", target: "open" } },
    },
    rejected: { description: "A person has refused.", type: "final" },
    expired: { description: "Its time is over, which denies it.", type: "final" },
    voided: { description: "There is nothing left to decide.", type: "final" },
  },
});
