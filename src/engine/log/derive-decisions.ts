/**
 * The decisions that the events of a row record: who approved, rejected, edited or withdrew a vote at which gate.
 *
 * Never: tells of what no person did, such as a gate that expired.
 * 1.  A decision of a quorum is told by its votes alone: the event that closes the gate repeats the last of them.
 */
import { cutText } from "../../contract/cut-text.ts";
import type { EventDraft } from "../../contract/event.ts";
import type { GateDecided, GateVoted } from "../../contract/events/gate-events.ts";
import type { Gate } from "../../contract/gate.ts";
import { refOf } from "../../contract/gate-vote.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import { titleOf } from "../../contract/workflow-summary.ts";
import type { IndexedDecision } from "../../ports/decision-index.ts";

type Told = Pick<IndexedDecision["decision"], "gate_id" | "act" | "principal" | "closes" | "comment"> &
  Partial<Pick<IndexedDecision["decision"], "on_behalf_of" | "advisory" | "grant_id">> & {
    /** The digest that was decided on; that of the gate if the event names none. */
    readonly payload_digest?: string;
  };

/** The most that is kept of a comment and of a title. */
const maxComment = 1000;
const maxTitle = 200;

/** Returns the decisions of a row. @param record the workflow as it stands after them. */
export function decisionsOf(record: WorkflowRecord, drafts: readonly EventDraft[]): readonly IndexedDecision[] {
  if (record.gates.size === 0) return [];
  return drafts.flatMap((draft, ordinal) => {
    const told = actOf(draft, drafts);
    const gate = told === null ? undefined : record.gates.get(told.gate_id);
    return told === null || gate === undefined ? [] : [{ ordinal, decision: describe(record, gate, told) }];
  });
}

/** Returns what an event tells of an act of a person; null for an event of another kind. */
function actOf(draft: EventDraft, drafts: readonly EventDraft[]): Told | null {
  switch (draft.type) {
    case "USER_APPROVED":
      return closingAct("approve", draft.payload);
    case "USER_REJECTED":
      return closingAct("reject", draft.payload);
    case "GATE_VOTED":
      return voteOf(draft.payload, drafts);
    case "GATE_VOTE_WITHDRAWN": {
      const { gate_id, principal } = draft.payload;
      return { gate_id, act: "withdraw", principal, closes: false, comment: null };
    }
    case "GATE_REVISED": {
      const { gate, cause, principal, comment = null } = draft.payload;
      if (cause !== "edit" || principal === null) return null;
      return { gate_id: gate.gate_id, act: "edit", principal, closes: false, comment };
    }
    default:
      return null;
  }
}

function closingAct(act: "approve" | "reject", decided: GateDecided): Told | null {
  const { gate_id, principal, comment, payload_digest, carried_by, grant, on_behalf_of: away } = decided;
  if (principal === null || carried_by !== undefined) return null;
  const by = {
    ...(grant !== undefined && { grant_id: grant.grant_id }),
    ...(away !== undefined && { on_behalf_of: refOf(away) }),
  };
  return { gate_id, act, principal, closes: true, comment, payload_digest, ...by };
}

function voteOf(vote: GateVoted, drafts: readonly EventDraft[]): Told {
  const { gate_id, decision: act, principal, on_behalf_of, advisory, comment, payload_digest } = vote;
  const closes = !advisory && drafts.some((one) => isEndOf(one, gate_id));
  return {
    ...{ gate_id, act, principal, closes, comment, payload_digest },
    ...(on_behalf_of !== null && { on_behalf_of: refOf(on_behalf_of) }),
    ...(advisory && { advisory }),
  };
}

const isEndOf = ({ type, payload }: EventDraft, gateId: string): boolean =>
  (type === "USER_APPROVED" || type === "USER_REJECTED") && payload.gate_id === gateId;

/** Returns a principal without what a host may have added to it. */
const withRole = ({ type, id, role }: Told["principal"]): Told["principal"] => ({
  ...{ type, id },
  ...(role !== undefined && { role }),
});

function describe(record: WorkflowRecord, gate: Gate, told: Told): IndexedDecision["decision"] {
  const { intent } = record;
  const requester = gate.requester ?? gate.requesters?.[0] ?? null;
  const { comment } = told;
  return {
    payload_digest: gate.payload_digest,
    ...told,
    principal: withRole(told.principal),
    comment: comment === null ? null : cutText(comment, maxComment),
    title: cutText(gate.title, maxTitle),
    work: cutText(titleOf(intent), maxTitle),
    intent_type: intent.type,
    operator: gate.operator,
    risk_level: gate.risk_level,
    estimated_cost: gate.estimated_cost,
    requester: requester === null ? null : refOf(requester),
  };
}
