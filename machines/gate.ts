/**
 * The gate lifecycle: declared by a plan, opened by the step that needs it, decided once.
 *
 * Owns: which ledger events a gate accepts. Never: who may decide (T5 does), what was shown (the gate record).
 * G1  approved, rejected, expired and voided are final: a later decision is answered from the record, never applied.
 * G2  A revision (an edit or a new draft) keeps the gate open and binds it to the new version.
 * G3  Expiry does what the gate says: deny ends it, allow approves it, suspend parks it until a person decides,
 *     escalate keeps it open for another role.
 */
import { setup } from "xstate";

export type GateEvent =
  | { readonly type: "GATE_DECISION_KEPT" }
  | { readonly type: "GATE_OPENED" }
  | { readonly type: "GATE_REVISED" }
  | { readonly type: "GATE_EXPIRED"; readonly action: "deny" | "allow" }
  | { readonly type: "GATE_ESCALATED" }
  | { readonly type: "GATE_SUSPENDED" }
  | { readonly type: "USER_APPROVED" }
  | { readonly type: "USER_REJECTED" }
  | { readonly type: "WORKFLOW_CANCELLED" }
  | { readonly type: "WORKFLOW_FAILED" };

const decisions = { USER_APPROVED: "approved", USER_REJECTED: "rejected" } as const;
const ends = { WORKFLOW_CANCELLED: "voided", WORKFLOW_FAILED: "voided" } as const;

export const gateMachine = setup({
  types: { events: {} as GateEvent },
  guards: {
    allows: ({ event }) => event.type === "GATE_EXPIRED" && event.action === "allow",
  },
}).createMachine({
  id: "gate",
  initial: "declared",
  states: {
    declared: { on: { GATE_DECISION_KEPT: {}, GATE_OPENED: "open", ...ends } },
    open: {
      on: {
        GATE_REVISED: {},
        GATE_ESCALATED: {},
        GATE_SUSPENDED: "suspended",
        GATE_EXPIRED: [{ guard: "allows", target: "approved" }, { target: "expired" }],
        ...decisions,
        ...ends,
      },
    },
    suspended: { on: { GATE_REVISED: "open", ...decisions, ...ends } },
    approved: { type: "final" },
    rejected: { type: "final" },
    expired: { type: "final" },
    voided: { type: "final" },
  },
});
