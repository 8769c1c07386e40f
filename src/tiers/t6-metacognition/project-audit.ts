/**
 * The audit log of a workflow, projected from its ledger events and nothing else (RLH-01 to RLH-04).
 *
 * 1.  Each decision of policy and each end of a gate is one entry, in ledger order, with the event's id. Votes have no
 *     entries: the decision that they carried names them all.
 * 2.  A gate that no policy asked for is queued when it opens; one that a policy asked for, at the policy's decision.
 * 3.  An expired gate has no person: it is Blocked or AutoApproved by the gate's own expiry.
 * 4.  A decision that a service or an agent gave, or for which it voted, is not a person's: it is AutoApproved, or
 *     Blocked by "gate decision". Each decision has the type of the principal who gave it.
 * 5.  An approval that a grant gave is AutoApproved, in the name of the grant's author and with its id: nobody looked
 *     at the call.
 * 6.  An entry has the requirements of its gate when it was queued, whatever changed later.
 */
import { type AuditEntry, type AuditOutcome, unassigned } from "../../contract/audit.ts";
import { type EventPayloads, type GateDecided, type LedgerEvent, payloadOf } from "../../contract/event.ts";
import { type Gate, gateIdOf } from "../../contract/gate.ts";
import { isMachine } from "../../contract/gate-vote.ts";
import { deepFreeze } from "../../contract/json.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";

/** The known facts of a workflow's gates and rules, from all of its events. */
interface AuditFacts {
  /** Ids of gates that policy queued. */
  readonly asked: Set<string>;
  /** Step id → the policies of its latest decision at stage action. */
  readonly policies: Map<string, readonly string[]>;
  readonly events: readonly LedgerEvent[];
}

export function projectAudit(events: readonly LedgerEvent[]): readonly AuditEntry[] {
  const known: AuditFacts = { asked: new Set(), policies: new Map(), events };
  const entries = events.flatMap((event) => {
    const entry = readEvent(readers, event, known);
    return entry === undefined || entry === null ? [] : [{ interaction_id: event.event_id, ...entry }];
  });
  return deepFreeze(entries);
}

type Entry = Omit<AuditEntry, "interaction_id">;

const readers: EventReaders<Entry | null, [known: AuditFacts]> = {
  POLICY_DECIDED(decided, event, known) {
    const { stage, policies = [], moment } = decided;
    if (stage === "action" && event.step_id !== null) known.policies.set(event.step_id, policies);
    const asked = { stage, ...(moment !== undefined && { moment }) };
    return { outcome: outcomeOf(decided, event, known), policies: [...policies], ...asked };
  },
  GATE_OPENED: ({ gate }, _event, { asked }) =>
    asked.has(gate.gate_id) ? null : { outcome: queued(gate.gate_id, gate), policies: [] },
  USER_APPROVED: (decision, event, known) => decided(decision, event, known),
  USER_REJECTED: (decision, event, known) => decided(decision, event, known),
  GATE_EXPIRED: ({ action }, event, known) => ({
    outcome: action === "allow" ? { type: "AutoApproved" } : { type: "Blocked", policy: "gate expiry" },
    policies: policiesOf(event, known),
  }),
};

function decided({ principal, carried_by, grant }: GateDecided, event: LedgerEvent, known: AuditFacts): Entry {
  const voters = carried_by?.map((vote) => vote.principal);
  const isByMachine = [principal, ...(voters ?? [])].some((one) => one !== null && isMachine(one));
  const type = event.event_type === "USER_APPROVED" ? ("HumanApproved" as const) : ("HumanRejected" as const);
  return {
    outcome: isByMachine || grant !== undefined ? unseen[type] : { type },
    policies: policiesOf(event, known),
    ...(principal === null ? {} : { decided_by: principal.id, decided_by_type: principal.type }),
    ...(grant !== undefined && { grant_id: grant.grant_id }),
    ...(voters === undefined
      ? {}
      : { carried_by: voters.map(({ id }) => id), carried_by_types: voters.map((voter) => voter.type) }),
  };
}

/** The outcomes of decisions that no person made about what the gate showed. */
const unseen = {
  HumanApproved: { type: "AutoApproved" },
  HumanRejected: { type: "Blocked", policy: "gate decision" },
} as const satisfies Readonly<Record<string, AuditOutcome>>;

/** Returns the policies that matched the question to a person. */
const policiesOf = ({ step_id }: LedgerEvent, { policies }: AuditFacts): string[] => [
  ...(policies.get(step_id ?? "") ?? []),
];

function outcomeOf(
  { decision, policies = [], decided_by }: EventPayloads["POLICY_DECIDED"],
  event: LedgerEvent,
  known: AuditFacts,
): AuditOutcome {
  if (decision === "DENY") return { type: "Blocked", policy: decided_by ?? policies[0] ?? "unnamed" };
  if (decision !== "REQUIRE_HUMAN_APPROVAL") return { type: "AutoApproved" };
  const id = reviewOf(event, known);
  known.asked.add(id);
  return queued(id, gateAfter(event, id, known.events));
}

/** Returns the gate that a decision asks for: the step's; for a plan that of the first step it gates. */
function reviewOf({ sequence, step_id }: LedgerEvent, { events }: AuditFacts): string {
  if (step_id !== null) return gateIdOf(step_id);
  const created = events.find((e) => e.event_type === "PLAN_CREATED" && e.sequence > sequence);
  const planned = created === undefined ? undefined : payloadOf(created, "PLAN_CREATED").plan.gates[0];
  return planned ?? "gate-plan";
}

/** Returns the gate as it opens, or opens again, after the decision; else as it was before. */
function gateAfter({ sequence }: LedgerEvent, id: string, events: readonly LedgerEvent[]): Gate | undefined {
  const shown = events.filter(
    (e) =>
      (e.event_type === "GATE_OPENED" || e.event_type === "GATE_REVISED") &&
      payloadOf(e, "GATE_OPENED").gate.gate_id === id,
  );
  const found = shown.find((e) => e.sequence > sequence) ?? shown.at(-1);
  return found && payloadOf(found, "GATE_OPENED").gate;
}

function queued(reviewId: string, gate: Gate | undefined): AuditOutcome {
  const asked = gate?.roles ?? gate?.approvers?.map(({ id }) => String(id)) ?? [];
  return { type: "QueuedForReview", review_id: reviewId, reviewer: asked.join(", ") || unassigned };
}
