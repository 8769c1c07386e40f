/** Events of gates: the questions to people, and their answers. */
import type { AuthContext } from "../auth-context.ts";
import type { Gate, GateCarrier } from "../gate.ts";
import type { GateExpiry } from "../gate-spec.ts";
import type { GateDelegation, GateSignature, PrincipalRef } from "../gate-vote.ts";
import type { GrantUse } from "../grant-use.ts";
import type { Principal } from "../intent.ts";
import type { Json, JsonObject } from "../json.ts";
import { event } from "./event-row.ts";

/** A decision that closes a gate. */
export interface GateDecided {
  readonly gate_id: string;
  readonly principal: Principal | null;
  readonly payload_digest: string;
  readonly policy_version: string;
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  /** Absent if the gate named no basis. */
  readonly basis_digest?: string;
  readonly edited: boolean;
  readonly resolution: "done" | "retry" | "failed" | null;
  /** SHA-256 of the result that ACTION_SETTLED holds; only with `done`. Rows of earlier releases lack it. */
  readonly result_digest?: string;
  /** The answer to a question, as its form read it. */
  readonly answer?: JsonObject;
  readonly apply_targets: readonly string[];
  readonly comment: string | null;
  /** The votes that carried the decision of a quorum; `principal` cast the vote that completed it. */
  readonly carried_by?: readonly GateCarrier[];
  readonly signature?: GateSignature;
  /** The grant by which `principal` approved ahead; absent of a decision that was given at the gate. */
  readonly grant?: GrantUse;
  /** The principal for whom `principal` stood in, and the order; absent of a seat that was not taken by an order. */
  readonly on_behalf_of?: PrincipalRef;
  readonly stand_in?: string;
  /** The key of the decision that closed the gate, where it had one. */
  readonly idempotency_key?: string;
}

/** One person's vote, bound to what the gate showed. */
export interface GateVoted {
  readonly gate_id: string;
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly on_behalf_of: PrincipalRef | null;
  /** The role for whose part of the quorum it counts; absent at a gate without parts. */
  readonly part?: string;
  /** The number of the stage in which it counts; absent at a gate without stages, and of advice. */
  readonly stage?: number;
  /** The order by which the voter stands in for the owner of the seat; absent if none was needed. */
  readonly stand_in?: string;
  readonly advisory: boolean;
  readonly payload_digest: string;
  readonly policy_version: string;
  readonly outcome_id: string | null;
  readonly outcome_version: number | null;
  readonly basis_digest?: string;
  readonly signature: GateSignature | null;
  readonly comment: string | null;
  /** The targets, if any are named. */
  readonly apply_targets?: readonly string[];
  /** The stated end of a call in doubt, with the result if it is `done`; only in advice. */
  readonly resolution?: "done" | "retry" | "failed";
  readonly result?: Json;
  /** The answer to a question, as its form read it. */
  readonly answer?: JsonObject;
  /** The voters from whom the host has confirmed this one to be different, if it can tell. */
  readonly apart_from?: readonly PrincipalRef[];
  /** The key of the decision that this vote was, where it had one. */
  readonly idempotency_key?: string;
}

/** A decision that came before its gate. */
export interface GateDecisionKept {
  readonly gate_id: string;
  readonly decision: "approve" | "reject";
  readonly principal: Principal;
  readonly auth: AuthContext;
  readonly payload_digest: string;
  readonly apply_targets: readonly string[];
  /** There where the person wrote one. */
  readonly comment?: string;
  readonly idempotency_key?: string;
}

/** A gate that shows something else. */
export interface GateRevised {
  readonly gate: Gate;
  readonly cause: "edit" | "regenerate" | "policy" | "basis";
  readonly principal: Principal | null;
  /** The comment of an edit without a decision. */
  readonly comment?: string;
  /** The key of the decision that brought an edit. */
  readonly idempotency_key?: string;
}

/** A gate whose time is over. */
export interface GateExpired {
  readonly gate_id: string;
  readonly action: "deny" | "allow";
  /** The answer of a question that nobody answered in time; only with `allow`. */
  readonly answer?: JsonObject;
}

/** A stage that has its approvals; the gate asks the people of the next one. */
export interface GateStageFilled {
  readonly gate_id: string;
  /** The number of the stage that is filled, from 1. */
  readonly stage: number;
}

/** A comment at a gate, which decides nothing. */
export interface GateCommented {
  readonly gate_id: string;
  readonly comment_id: string;
  readonly principal: Principal;
  readonly text: string;
  /** Absent if nobody is mentioned. */
  readonly mentions?: readonly PrincipalRef[];
  /** There if it is a question to those who asked for the work. */
  readonly asks?: true;
}

/** A gate that is passed on to a role. */
export interface GateEscalated {
  readonly gate_id: string;
  readonly role: string;
  readonly due_at: string | null;
  /** Whether the role replaces those who were asked before. Rows of earlier releases lack it and meant true. */
  readonly replaces?: boolean;
  /** The actions that are still to come. Rows of earlier releases lack them: all but the first of those before. */
  readonly ladder?: readonly GateExpiry[];
}

/** The defaults of a gate: no votes yet, one decision closes it, and there is no time limit. */
export const plainGate = Object.freeze({
  roles: null,
  due_at: null,
  expiry_action: null,
  escalate_to: null,
  ladder: [],
  quorum: null,
  approvers: null,
  advisors: [],
  separation: false,
  delegation: true,
  signed: false,
  requester: null,
  votes: [],
  delegations: [],
  edited: false,
  spent_signatures: [],
  decision: null,
} satisfies Partial<Gate>);

// A row names the requester also if there is none.
const { requester: _requester, ...withoutRequester } = plainGate;

const gateDefaults = {
  values: {
    kind: "approval",
    status: "open",
    target: null,
    diff: null,
    risk_level: "low",
    estimated_cost: 0,
    ui_actions: [],
    ...withoutRequester,
  } satisfies Partial<Gate>,
};

const showsGate = { values: {}, inside: { gate: gateDefaults } };
const decisionDefaults = {
  values: {
    outcome_id: null,
    outcome_version: null,
    edited: false,
    resolution: null,
    comment: null,
    apply_targets: [],
  } satisfies Partial<GateDecided>,
};

export const gateEvents = {
  GATE_OPENED: event<{ readonly gate: Gate }>({
    from: "step",
    to: "gate",
    charts: ["gate", "step"],
    creates: "gate",
    begins: "gate",
    defaults: showsGate,
  }),
  GATE_REVISED: event<GateRevised>({
    from: "step",
    to: "gate",
    charts: ["gate", "step"],
    guards: ["cause"],
    defaults: showsGate,
  }),
  USER_APPROVED: event<GateDecided>({
    from: "person",
    to: "step",
    charts: ["gate", "step", "workflow"],
    guards: ["answer"],
    ends: "gate",
    defaults: decisionDefaults,
  }),
  USER_REJECTED: event<GateDecided>({
    from: "person",
    to: "step",
    charts: ["gate", "step", "workflow"],
    ends: "gate",
    defaults: decisionDefaults,
  }),
  GATE_DECISION_KEPT: event<GateDecisionKept>({ from: "person", to: "gate", charts: ["gate", "step"] }),
  GATE_VOTED: event<GateVoted>({ from: "person", to: "gate", charts: ["gate", "step"] }),
  GATE_STAGE_FILLED: event<GateStageFilled>({
    from: "t4",
    to: "gate",
    charts: ["gate", "step"],
    notice: "next_stage",
  }),
  GATE_VOTE_WITHDRAWN: event<{ readonly gate_id: string; readonly principal: PrincipalRef }>({
    from: "person",
    to: "gate",
    charts: ["gate", "step"],
  }),
  GATE_DELEGATED: event<GateDelegation & { readonly gate_id: string }>({
    from: "person",
    to: "gate",
    charts: ["gate", "step"],
  }),
  GATE_COMMENTED: event<GateCommented>({ from: "person", to: "gate", charts: ["gate"], notice: "commented" }),
  /** `to` is null where nobody looks after the gate any more. */
  GATE_ASSIGNED: event<{
    readonly gate_id: string;
    readonly principal: Principal;
    readonly to: PrincipalRef | null;
  }>({ from: "person", to: "gate", charts: ["gate"], notice: "assigned" }),
  /** `until` is null where the principal wants to see the gate again. */
  GATE_SNOOZED: event<{ readonly gate_id: string; readonly principal: Principal; readonly until: string | null }>({
    from: "person",
    to: "gate",
    charts: ["gate"],
  }),
  GATE_WATCHED: event<{ readonly gate_id: string; readonly principal: Principal; readonly watching: boolean }>({
    from: "person",
    to: "gate",
    charts: ["gate"],
  }),
  GATE_EXPIRED: event<GateExpired>({
    from: "t4",
    to: "gate",
    charts: ["gate", "step", "workflow"],
    guards: ["action", "answer"],
    ends: "gate",
  }),
  GATE_ESCALATED: event<GateEscalated>({ from: "t4", to: "gate", charts: ["gate", "step"], notice: "escalated" }),
  /** Nobody has decided for the reminder's interval. `due_at`: the instant of the next reminder. */
  GATE_REMINDED: event<{ readonly gate_id: string; readonly due_at: string }>({
    from: "t4",
    to: "gate",
    charts: ["gate", "step"],
    notice: "reminded",
  }),
  GATE_SUSPENDED: event<{ readonly gate_id: string }>({ from: "t4", to: "gate", charts: ["gate", "step"] }),
} as const;
