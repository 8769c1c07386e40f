/**
 * The effects of events on gates: opened, voted on, revised, escalated, decided, voided.
 *
 * Owns: the gate's part of the fold. Never: counts votes for a decision; the decision is an event of its own.
 */

import type { EventPayloads, GateDecided } from "../src/contract/event.ts";
import { plainGate } from "../src/contract/events.ts";
import type { Gate, GateStatus } from "../src/contract/gate.ts";
import type { GateConversation } from "../src/contract/gate-conversation.ts";
import type { GateDoubt } from "../src/contract/gate-doubt.ts";
import type { GateDelegation, GateSignature, GateVote, PrincipalRef } from "../src/contract/gate-vote.ts";
import type { KeptDecision, WorkflowRecord } from "../src/contract/workflow.ts";
import { chartEvent, lifecycleCharts } from "./charts.ts";
import { editableOf } from "./editable.ts";
import { addRequester, type Folded, type Handler, moveStep } from "./fold-records.ts";
import { editsAfter } from "./gate-edits.ts";
import { isSamePrincipal, signedPart } from "./quorum.ts";
import type { ChartEvent } from "./table.ts";

/** Returns the steps that lead to a workflow, the root's first; nothing if it is a root itself. */
function pathOf({ parent }: WorkflowRecord): Pick<Gate, "path"> {
  if (parent === null) return {};
  const { workflow_id, step_id, above } = parent;
  return { path: [...above, { workflow_id, step_id }] };
}

/** Adds a gate with what only the fold knows: its path, its round, its requesters, the call that it asks about. */
function putGate(record: WorkflowRecord, gate: Gate): void {
  const draft_version = record.steps.get(gate.step_id)?.step.draft_version;
  const round = draft_version === undefined ? {} : { draft_version };
  const asked = record.requesters.length === 0 ? {} : { requesters: [...record.requesters] };
  const doubt = gate.kind === "in_doubt" ? { doubt: doubtOf(record, gate) } : {};
  const path = pathOf(record);
  const folded = { ...plainGate, ...gate, ...path, ...round, ...asked, ...doubt };
  const editable = editableOf(record, folded);
  record.gates.set(gate.gate_id, editable === null ? folded : { ...folded, editable });
}

function doubtOf(record: WorkflowRecord, { step_id }: Gate): GateDoubt {
  const { action_id = null, attempts = [] } = record.steps.get(step_id) ?? {};
  const call = record.actions.get(action_id ?? "")?.record;
  // An attempt that was interrupted with its process has no error.
  const { error = null } = attempts.at(-1) ?? {};
  return { called_at: call?.timing.started_at ?? null, error };
}

function changeGate(record: WorkflowRecord, gateId: string, change: (gate: Gate) => Partial<Gate>): void {
  const gate = record.gates.get(gateId);
  if (gate !== undefined) record.gates.set(gateId, { ...gate, ...change(gate) });
}

function moveGate(record: WorkflowRecord, gateId: string, event: ChartEvent): void {
  changeGate(record, gateId, ({ status }) => ({
    status: (lifecycleCharts.gate.next(status, event) ?? status) as GateStatus,
  }));
}

/** Names a decision among those of a workflow: by its sender and the idempotency key that came with it. */
export const decisionKeyOf = ({ type, id }: PrincipalRef, key: string): string => JSON.stringify([type, id, key]);

interface Keyed {
  readonly principal: PrincipalRef | null;
  readonly idempotency_key?: string;
}

/** Records which gate a decision with an idempotency key reached. */
function keepKey(record: WorkflowRecord, gateId: string, { principal, idempotency_key: key }: Keyed): void {
  if (key !== undefined && principal !== null) record.decision_keys.set(decisionKeyOf(principal, key), gateId);
}

/** Voids gates: a workflow that ends undecided, or a step that fails, leaves nothing to decide. */
export function voidGates(record: WorkflowRecord, type: string, stepId: string | null = null): void {
  for (const [gateId, gate] of record.gates)
    if (stepId === null || gate.step_id === stepId) moveGate(record, gateId, { type });
}

/**
 * Keeps delegations, used signatures and the conversation of a gate whatever it shows, also those that another process
 * appended meanwhile.
 */
const openGate: Handler<"GATE_OPENED" | "GATE_REVISED"> = (record, payload, meta) => {
  moveStep(record, meta, payload);
  const standing = record.gates.get(payload.gate.gate_id);
  if ("cause" in payload && payload.cause === "edit") addRequester(record, payload.principal);
  if ("cause" in payload) keepKey(record, payload.gate.gate_id, payload);
  putGate(record, payload.gate);
  record.kept.delete(payload.gate.gate_id);
  if (standing === undefined) return keepEditsOfCall(record, payload.gate);
  const { delegations, spent_signatures, payload_digest, revised_from = [], conversation } = standing;
  // With another basis it shows the same payload, so there is no earlier one.
  const isMoved = "cause" in payload && payload.cause === "basis";
  const shown = isMoved ? revised_from : [...new Set([...revised_from, payload_digest])];
  const basis_changed = standing.basis_changed === true || standing.basis_digest !== payload.gate.basis_digest;
  const edits = "cause" in payload ? editsAfter(standing, payload, meta.at) : [];
  const kept = {
    ...{ delegations, spent_signatures },
    ...(conversation !== undefined && { conversation }),
    ...(basis_changed ? { basis_changed } : {}),
    ...(edits.length > 0 && { edits: [...edits] }),
  };
  changeGate(record, standing.gate_id, () => ({ ...kept, ...(shown.length > 0 && { revised_from: shown }) }));
};

/**
 * Copies the edits of the gate that allowed a call to the gate about its doubt, because the call was sent as edited.
 */
function keepEditsOfCall(record: WorkflowRecord, { gate_id, kind, step_id }: Gate): void {
  if (kind !== "in_doubt") return;
  const approved = [...record.gates.values()].find((gate) => gate.step_id === step_id && gate.kind === "approval");
  const { edits } = approved ?? {};
  if (edits !== undefined) changeGate(record, gate_id, () => ({ edits }));
}

const decideGate: Handler<"USER_APPROVED" | "USER_REJECTED"> = (record, payload, meta) => {
  const step = moveStep(record, meta, payload);
  moveGate(record, payload.gate_id, { type: meta.type });
  const decision = meta.type === "USER_APPROVED" ? "approve" : "reject";
  closeGate(record, payload, { decision, at: meta.at });
  keepKey(record, payload.gate_id, payload);
  step?.approval_events.push({
    gate_id: payload.gate_id,
    decision,
    at: meta.at,
    principal_id: payload.principal?.id ?? null,
    principal_type: payload.principal?.type ?? null,
  });
};

function closeGate(
  record: WorkflowRecord,
  decided: GateDecided,
  how: { readonly decision: "approve" | "reject"; readonly at: string },
): void {
  const { gate_id, principal, edited, resolution, result_digest, answer, apply_targets, comment } = decided;
  const { carried_by = [], signature = null, grant, on_behalf_of, stand_in } = decided;
  changeGate(record, gate_id, (gate) => ({
    spent_signatures: spend(gate, signature),
    decision: {
      ...how,
      principal,
      edited,
      resolution,
      ...(result_digest !== undefined && { result_digest }),
      ...(answer !== undefined && { answer }),
      apply_targets: [...apply_targets],
      comment,
      carried_by: [...carried_by],
      signature,
      ...(grant !== undefined && { grant: { ...grant } }),
      ...(stand_in !== undefined && on_behalf_of !== undefined && { on_behalf_of, stand_in }),
    },
  }));
  record.kept.delete(gate_id);
}

/**
 * Adds a used signature, of a vote or of a sole decision, because a gate may be opened again on what it showed then.
 */
const spend = ({ spent_signatures }: Gate, signature: GateSignature | null): string[] =>
  signature === null ? spent_signatures : [...spent_signatures, signedPart(signature.jws)];

function voteOf(payload: EventPayloads["GATE_VOTED"], { at }: Folded): GateVote {
  const { decision, principal, on_behalf_of, part, stage, advisory, payload_digest, signature, comment } = payload;
  const { apply_targets, resolution, result, answer, stand_in } = payload;
  const { type, id, role } = principal;
  return {
    decision,
    principal: { type, id },
    role,
    on_behalf_of,
    ...(stand_in !== undefined && { stand_in }),
    ...(part !== undefined && { part }),
    ...(stage !== undefined && { stage }),
    advisory,
    at,
    payload_digest,
    signature,
    comment,
    ...(apply_targets !== undefined && { apply_targets: [...apply_targets] }),
    ...(resolution !== undefined && { resolution }),
    ...(result !== undefined && { result }),
    ...(answer !== undefined && { answer }),
  };
}

const withoutVoteOf = (votes: readonly GateVote[], person: PrincipalRef): GateVote[] =>
  votes.filter((vote) => !isSamePrincipal(vote.principal, person));

const withoutSeatOf = (delegations: readonly GateDelegation[], owner: PrincipalRef): GateDelegation[] =>
  delegations.filter(({ from }) => !isSamePrincipal(from, owner));

/**
 * Returns the gate's members that ask another role instead; delegated seats of those who are no longer asked are
 * dropped.
 */
const askInstead = (role: string): Partial<Gate> => ({
  roles: [role],
  approvers: null,
  delegations: [],
  added_roles: [],
});

/** Returns the principal without the role in which they act. */
const refOf = ({ type, id }: PrincipalRef): PrincipalRef => ({ type, id });

const noConversation: GateConversation = { comments: [], assigned_to: null, snoozed: [], watchers: [] };

/** Changes the conversation at a gate. */
function converse(
  record: WorkflowRecord,
  gateId: string,
  change: (standing: GateConversation) => Partial<GateConversation>,
): void {
  changeGate(record, gateId, ({ conversation = noConversation }) => ({
    conversation: { ...conversation, ...change(conversation) },
  }));
}

const askAsWell = ({ added_roles = [] }: Gate, role: string): Partial<Gate> => ({
  added_roles: [...new Set([...added_roles, role])],
});

type Judged = EventPayloads["POLICY_DECIDED"] & { readonly at: string };

/** Returns the open gate of a step at which people approve the payload that was judged. */
export function gateShowing(
  record: WorkflowRecord,
  stepId: string,
  { payload_hash }: Pick<Judged, "payload_hash">,
): Gate | undefined {
  const isShown = ({ step_id, kind, status, payload_digest }: Gate): boolean =>
    step_id === stepId &&
    kind === "approval" &&
    (status === "open" || status === "suspended") &&
    payload_digest === payload_hash;
  return [...record.gates.values()].find(isShown);
}

/** Keeps the last judgement of the call that an open gate shows, if it is a denial. An edit is another call. */
export function keepDenial(record: WorkflowRecord, stepId: string, judged: Judged): void {
  const { decision, decided_by, policies = [], reason, asked_at, at } = judged;
  const gate = gateShowing(record, stepId, judged);
  if (gate === undefined) return;
  const { denied: _, ...without } = gate;
  const denied = { rule: decided_by ?? policies[0] ?? "unnamed", reason, at: asked_at ?? at };
  record.gates.set(gate.gate_id, decision === "DENY" ? { ...without, denied } : without);
}

export const gateHandlers = {
  GATE_OPENED: openGate,
  GATE_REVISED: openGate,
  GATE_DECISION_KEPT(record, payload) {
    const { gate_id, decision, principal, auth, payload_digest, apply_targets, comment = null } = payload;
    const decided = {
      gate_id,
      principal,
      payload_digest,
      policy_version: "",
      outcome_id: null,
      outcome_version: null,
      edited: false,
      resolution: null,
      apply_targets,
      comment,
    };
    const kept: KeptDecision = { decision, payload_digest, auth, decided };
    record.kept.set(gate_id, [...(record.kept.get(gate_id) ?? []), kept]);
    keepKey(record, gate_id, payload);
  },
  GATE_VOTED(record, payload, meta) {
    const { gate_id, signature } = payload;
    changeGate(record, gate_id, (gate) => ({
      votes: [...withoutVoteOf(gate.votes, payload.principal), voteOf(payload, meta)],
      spent_signatures: spend(gate, signature),
    }));
    keepKey(record, gate_id, payload);
  },
  GATE_STAGE_FILLED(record, { gate_id, stage }) {
    changeGate(record, gate_id, ({ stages }) => {
      const next = stages?.[stage];
      return next === undefined ? {} : { ...next, stage: stage + 1, delegations: [] };
    });
  },
  GATE_VOTE_WITHDRAWN(record, { gate_id, principal }) {
    changeGate(record, gate_id, ({ votes }) => ({ votes: withoutVoteOf(votes, principal) }));
  },
  GATE_DELEGATED(record, { gate_id, from, to, expires_at, part }) {
    const lent = { from, to, expires_at, ...(part !== undefined && { part }) };
    changeGate(record, gate_id, ({ delegations }) => ({
      delegations: [...withoutSeatOf(delegations, from), lent],
    }));
  },
  GATE_COMMENTED(record, { gate_id, comment_id, principal, text, mentions = [], asks }, { at }) {
    const comment = { comment_id, at, by: refOf(principal), text, mentions: [...mentions], ...(asks && { asks }) };
    converse(record, gate_id, ({ comments }) => ({ comments: [...comments, comment] }));
  },
  GATE_ASSIGNED(record, { gate_id, to }) {
    converse(record, gate_id, () => ({ assigned_to: to }));
  },
  GATE_SNOOZED(record, { gate_id, principal, until }) {
    const by = refOf(principal);
    converse(record, gate_id, ({ snoozed }) => ({
      snoozed: [...snoozed.filter((one) => !isSamePrincipal(one.by, by)), ...(until === null ? [] : [{ by, until }])],
    }));
  },
  GATE_WATCHED(record, { gate_id, principal, watching }) {
    const by = refOf(principal);
    converse(record, gate_id, ({ watchers }) => ({
      watchers: [...watchers.filter((one) => !isSamePrincipal(one, by)), ...(watching ? [by] : [])],
    }));
  },
  GATE_EXPIRED(record, payload, meta) {
    moveStep(record, meta, payload);
    moveGate(record, payload.gate_id, chartEvent(meta.type, payload));
  },
  GATE_ESCALATED(record, { gate_id, role, due_at, replaces = true, ladder }, { type }) {
    moveGate(record, gate_id, { type });
    changeGate(record, gate_id, (gate) => {
      const left = [...(ladder ?? gate.ladder.slice(1))];
      const [next] = left;
      const { expiry_action, escalate_to } = gate;
      const then =
        next === undefined
          ? { expiry_action, escalate_to }
          : { expiry_action: next.action, escalate_to: next.role ?? null };
      return { ...(replaces ? askInstead(role) : askAsWell(gate, role)), due_at, ladder: left, ...then };
    });
  },
  GATE_REMINDED(record, { gate_id, due_at }, { type }) {
    moveGate(record, gate_id, { type });
    changeGate(record, gate_id, ({ reminder }) =>
      reminder === undefined ? {} : { reminder: { ...reminder, due_at } },
    );
  },
  GATE_SUSPENDED(record, { gate_id }, { type }) {
    moveGate(record, gate_id, { type });
    changeGate(record, gate_id, () => ({ due_at: null, ladder: [] }));
  },
  USER_APPROVED: decideGate,
  USER_REJECTED: decideGate,
} satisfies { readonly [T in keyof EventPayloads]?: Handler<T> };
