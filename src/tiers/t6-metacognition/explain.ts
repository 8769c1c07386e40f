/** Explains a workflow: its causal chain, from its ledger events and nothing else. */

import type { ParentLink } from "../../contract/child.ts";
import type { Compensated } from "../../contract/compensation.ts";
import { type EventPayloads, type LedgerEvent, payloadOf } from "../../contract/event.ts";
import type { Explanation, StepExplanation } from "../../contract/explanation.ts";
import type { ForkOrigin } from "../../contract/fork.ts";
import { gateIdOf } from "../../contract/gate.ts";
import type { PolicyStage } from "../../contract/policy.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { ParkedFor } from "../../contract/workflow-state.ts";
import { nameAsked } from "../../protocol/name-moment.ts";
import { skipWords } from "../../protocol/skip-words.ts";
import { explainEffects } from "./explain-effects.ts";
import { describeLifts, describeRevision, listed, quoted, who } from "./explain-words.ts";
import { summarize } from "./summarize.ts";

export function explainWorkflow(record: WorkflowRecord, events: readonly LedgerEvent[]): Explanation {
  return {
    workflow_id: record.workflow_id,
    state: record.state,
    summary: summarize(record, events),
    why: events.flatMap((event) => lineOf(event, record)),
    steps: [...record.steps.keys()].map((id) => explainStep(record, id, events)),
    chain: explainEffects(events),
  };
}

function explainStep(record: WorkflowRecord, stepId: string, events: readonly LedgerEvent[]): StepExplanation {
  const step = record.steps.get(stepId) as NonNullable<ReturnType<typeof record.steps.get>>;
  const own = events.filter((e) => e.step_id === stepId);
  // The end of a call in doubt is settled at a gate of its own, which approves nothing.
  const isApproval = (e: LedgerEvent): boolean =>
    (e.event_type === "USER_APPROVED" || e.event_type === "USER_REJECTED") &&
    payloadOf(e, "USER_APPROVED").gate_id === gateIdOf(stepId);
  const approval = own.findLast(isApproval);
  const isKnown = approval !== undefined && payloadOf(approval, "USER_APPROVED").principal !== null;
  return {
    step_id: stepId,
    name: step.step.name,
    operator: step.step.operator,
    state: step.state,
    allowed_by:
      step.decision === null
        ? "not decided"
        : `${decisionWords[step.decision.decision]}: ` +
          `${step.decision.reason}${step.decision.policies.length > 0 ? ` (${listed(step.decision.policies)})` : ""}`,
    approved_by: isKnown ? who(payloadOf(approval, "USER_APPROVED")) : null,
    attempts: step.attempts.length,
    effect: step.action_id === null ? "none" : `action ${step.action_id}`,
    because: own.flatMap((event) => lineOf(event, record)),
  };
}

/** Returns the gate that was approved, the grant by which that was given ahead, and the payload. */
function shownOf({ gate_id, grant, payload_digest }: EventPayloads["USER_APPROVED"]): string {
  const ahead = grant === undefined ? "" : ` ahead, by ${grant.grant_id} of ${grant.given_at}`;
  return `${gate_id}${ahead}, payload ${payload_digest.slice(0, 12)}`;
}

/** Returns whose seat a vote or a decision took, and the order by which, if it was not the voter's own. */
function placeOf({
  on_behalf_of: seat = null,
  stand_in,
}: Partial<Pick<EventPayloads["GATE_VOTED"], "on_behalf_of" | "stand_in">>): string {
  if (seat === null) return "";
  return `, in the place of ${seat.type} ${seat.id}${stand_in === undefined ? "" : ` by ${stand_in}`}`;
}

const describeFork = (fork: ForkOrigin | undefined): string =>
  fork === undefined
    ? ""
    : `, as a fork of ${fork.workflow_id} at ${fork.step_id === null ? "" : `step ${fork.step_id}, `}sequence ` +
      `${fork.sequence}: ${fork.reason}`;

const describeParent = (parent: ParentLink | undefined): string => {
  if (parent === undefined) return "";
  const { workflow_id, step_id, detached } = parent;
  return `, as a ${detached === true ? "detached " : ""}child of step ${step_id} of ${workflow_id}`;
};

/** The lines about the workflow. */
const lines: EventReaders<string> = {
  INTENT_RECEIVED: ({ intent: { actor, type, version, schedule }, complexity, pipeline, parent, fork }) =>
    `${schedule === undefined ? "" : `the schedule ${schedule.name} began it for the instant ${schedule.instant}: `}` +
    `${actor.type} ${actor.id} asked for ${type}@${version}${describeParent(parent)}${describeFork(fork)}; ` +
    `its complexity was rated ${complexity}, and the ${pipeline} pipeline runs it`,
  PLAN_CREATED: ({ plan, cause }) => `plan ${plan.plan_id} (${cause}, ${plan.steps.length} steps): ${plan.reasoning}`,
  PLAN_TRUNCATED: ({ dropped }) => `the plan was cut: ${listed(dropped)} dropped`,
  PLAN_REJECTED: ({ error }) => `there is no plan: ${error.message}`,
  BUDGET_REFUSED: ({ error }) => `budget refused: ${error.message}`,
  WORKFLOW_COMPLETED: () => "the workflow completed",
  WORKFLOW_FAILED: ({ status, error, compensated }) =>
    `the workflow failed (${status}): ${error.message}${describeUndone(compensated)}`,
  WORKFLOW_COMPENSATING: ({ steps }) => `what the workflow had done is undone: ${listed(steps)}`,
  WORKFLOW_ROLLING_BACK: ({ reason, principal: { type, id }, steps }) =>
    `${type} ${id} had the workflow rolled back: ${reason}; what it had done is undone: ${listed(steps)}`,
  WORKFLOW_CANCELLING: ({ reason, principal: { type, id } }) =>
    `${type} ${id} ended the workflow: ${reason}; it is cancelled once the end of each call is known that may ` +
    `not be repeated`,
  WORKFLOW_CANCELLED: ({ reason, compensated }) =>
    `the workflow was cancelled: ${reason}${describeUndone(compensated)}`,
  WORKFLOW_FORKED: ({ fork, sequence, step_id, reason, principal: { type, id } }) =>
    `${type} ${id} forked it as ${fork}${step_id === null ? "" : ` at step ${step_id}`}, with all up to sequence ` +
    `${sequence}: ${reason}`,
  STEP_TAKEN_OVER: ({ from }, { step_id }) => `the result of step ${step_id} was taken over from ${from}`,
  INPUT_ADDED: ({ principal: { type, id } }) => `${type} ${id} added a message, for the plan that came next`,
  WORKFLOW_PAUSED: ({ reason, principal: { type, id } }) =>
    `${type} ${id} paused the workflow: ${reason}; nothing begins until it is resumed`,
  WORKFLOW_UNPAUSED: ({ reason, principal: { type, id } }) => `${type} ${id} resumed the workflow: ${reason}`,
  WORKFLOW_QUEUED: ({ ahead, replaces = [] }) =>
    `no place was free in its queue, in which ${ahead} waited before it: nothing began until it had one` +
    (replaces.length === 0 ? "" : `; ${listed(replaces)} was cancelled to make way for it`),
  WORKFLOW_DEBOUNCED: ({ until, replaces }) =>
    `nothing began until ${until}, so that a newer request could supersede it` +
    (replaces.length === 0 ? "" : `; ${listed(replaces)} was cancelled to make way for it`),
  WORKFLOW_ADMITTED: ({ waited_ms }) =>
    `it took a place in its queue${waited_ms === 0 ? " at once" : `, after it had waited ${waited_ms / 1000} s`}`,
  WORK_HELD: ({ halt_ids }, { step_id }) =>
    `${step_id === null ? "the workflow" : `step ${step_id}`} was held by ${listed(halt_ids)} until lifted`,
  WORK_RELEASED: (_released, { step_id }) =>
    `${step_id === null ? "the workflow" : `step ${step_id}`} was held no more, and went on`,
  WORKFLOW_RESTARTED: ({ run, mode }) => `run ${run} began (${mode})`,
};

/** Returns how much was undone, as the end of a sentence. */
const describeUndone = (compensated: Compensated | undefined): string =>
  compensated === undefined
    ? ""
    : `; of what it had done, ${compensated === "partly" ? "a part" : compensated} is undone`;

const decisionWords = {
  ALLOW: "allowed",
  DENY: "denied",
  REQUIRE_HUMAN_APPROVAL: "wants a person's approval",
  TRANSFORM: "changed",
  ALLOW_WITH_REDACTION: "allowed, with values masked",
} as const;
const subjectWords: Readonly<Record<PolicyStage, string>> = {
  plan: "the plan",
  action: "the call",
  outcome: "the result",
  gate: "the decision at",
};
const childEnds = { completed: "has completed", failed: "has failed", cancelled: "was cancelled" } as const;

/** The lines about a step, or about the plan as a whole. */
const stepLines: EventReaders<string, [WorkflowRecord]> = {
  POLICY_DECIDED: (decided) => {
    const { stage, decision, reason, policies = [], changes = [], lifts = [], subject } = decided;
    const asked = nameAsked(decided);
    const changed = changes.map((one, i) => `${i + 1}. ${listed(one.policies)}`);
    const after = changed.length === 0 ? "" : `, after changes by ${listed(changed)}`;
    return (
      `policy on ${subjectWords[stage]} "${subject}"${asked && `, ${asked}`}: ${decisionWords[decision]}, because ` +
      `${reason}${policies.length > 0 ? ` [${listed(policies)}]` : ""}${after}${describeLifts(lifts)}`
    );
  },
  GATE_OPENED: ({ gate }) => `${gate.gate_id} asked a person because ${gate.reasons.map((r) => r.reason).join("; ")}`,
  GATE_REVISED: (payload, event, record) =>
    `${payload.gate.gate_id} was opened again: ${describeRevision(payload, event, record)}`,
  USER_APPROVED: (decided) =>
    (decided.answer === undefined
      ? `${who(decided)} approved ${shownOf(decided)}`
      : `${who(decided)} answered ${decided.gate_id} with ${JSON.stringify(decided.answer)}`) +
    placeOf(decided) +
    quoted(decided.comment),
  USER_REJECTED: (decided) =>
    `${who(decided)} rejected ${decided.gate_id}${placeOf(decided)}${quoted(decided.comment)}`,
  GATE_VOTED: (vote) => {
    const { gate_id, principal, decision, advisory, part, stage, signature, answer, comment } = vote;
    const place = placeOf(vote);
    const given = answer === undefined ? "" : `, with the answer ${JSON.stringify(answer)}`;
    const counts = `${part === undefined ? "" : `, for ${part}`}${stage === undefined ? "" : `, in stage ${stage}`}`;
    const how = `${counts}${signature === null ? "" : ", signed"}${advisory ? ", as advice" : ""}${given}`;
    return `${who({ principal })} voted to ${decision} ${gate_id}${place}${how}${quoted(comment)}`;
  },
  GATE_STAGE_FILLED: ({ gate_id, stage }) =>
    `stage ${stage} of ${gate_id} was filled, and stage ${stage + 1} was asked`,
  GATE_VOTE_WITHDRAWN: ({ gate_id, principal }) =>
    `the vote of ${principal.type} ${principal.id} on ${gate_id} was withdrawn`,
  GATE_DELEGATED: ({ gate_id, from, to, expires_at }) =>
    `${from.type} ${from.id} lent their seat at ${gate_id} to ${to.type} ${to.id} until ${expires_at}`,
  GATE_COMMENTED: ({ gate_id, principal, text, asks }) =>
    `${who({ principal })} ${asks === true ? "asked" : "said"} at ${gate_id}${quoted(text)}`,
  GATE_ASSIGNED: ({ gate_id, principal, to }) =>
    to === null
      ? `${who({ principal })} gave ${gate_id} back: nobody looks after it`
      : `${who({ principal })} had ${to.type} ${to.id} look after ${gate_id}`,
  GATE_ESCALATED: ({ role, replaces = true }) =>
    `nobody decided in time; now it is for ${role}${replaces ? "" : " as well"}`,
  GATE_REMINDED: ({ gate_id }) => `nobody has decided ${gate_id} yet; those who may were reminded`,
  GATE_EXPIRED: ({ action, answer }) =>
    answer === undefined
      ? `nobody decided in time, which means ${action}`
      : `nobody answered in time, so ${JSON.stringify(answer)} stands, which the plan had for that`,
  ACTION_STARTED: ({ operator_name, attempt, key }) => `${operator_name} was called, attempt ${attempt}, key ${key}`,
  ACTION_SUCCEEDED: ({ operator_name, cached }) =>
    `${operator_name} succeeded${cached ? " (answered from the record)" : ""}`,
  ACTION_FAILED: ({ attempt, error }) => `attempt ${attempt} failed: ${error.message}`,
  ACTION_IN_DOUBT: ({ reason }) => `nobody knows whether the call took effect: ${reason}`,
  ACTION_SETTLED: ({ resolution }) => `the lost call was settled as ${resolution}`,
  OUTCOME_DRAFTED: ({ outcome }) => `drafted ${outcome.outcome_type} version ${outcome.version}`,
  OUTCOME_FINALIZED: ({ outcome }) => `made ${outcome.outcome_type} final as version ${outcome.version}`,
  STEP_FAILED: ({ blocked, error }) =>
    error.code === "T4_PLAN_FAILED"
      ? `the plan chose to fail with ${error.detail["code"]}: ${error.message}`
      : `${blocked ? "blocked" : "failed"}: ${error.message}`,
  STEP_PARKED: (parked) =>
    parked.source === "workflow"
      ? `runs ${parked.name} as the child ${parked.key}`
      : `waits${waitOf(parked)}${parked.due_at === null ? "" : ` until ${parked.due_at}`}`,
  STEP_RESUMED: (resumed) => {
    if (resumed.by === "time") return "its time had come, and it went on";
    if (resumed.by === "items") return "the last of its own steps had ended, and it went on";
    if (resumed.by === "token") return "it was answered by its token, and it went on";
    if (resumed.by === "event") return `the event ${resumed.event.event_id} arrived, and it went on`;
    if (resumed.end === null) return "its child goes on by itself";
    const { workflow_id, state, error } = resumed.end;
    return `its child ${workflow_id} ${childEnds[state]}${error === null ? "" : `: ${error.message}`}`;
  },
  STEPS_ADDED: ({ as, items }) => {
    if (as === "item") return `goes through ${items.length} items`;
    if (as === "round") return `begins round ${items[0]?.key}`;
    return as === "undo" ? `is undone (call ${items[0]?.key})` : "did not undo it, so people are asked";
  },
  WAIT_REMINDED: ({ role, reminder }) => `the role ${role} was reminded of it (reminder ${reminder.sent})`,
  WAIT_ANSWERED: () => "an answer arrived at its one-time address",
  EVENT_PASSED_OVER: ({ event_id, problem }) => `did not take the event ${event_id}: ${problem}`,
  STEP_SKIPPED: ({ reason }) => `skipped: ${skipWords[reason]}`,
  ROUTE_DECIDED: ({ decision, refusal, request }) => {
    if (decision === null) return `no model: ${refusal.message}`;
    const { endpoint, reason } = decision;
    const why = reason.kind === "Primary" ? "Primary" : `BudgetFallback, no budget left: ${listed(reason.skipped)}`;
    const failed = request.avoid.length === 0 ? "" : `; failed before: ${listed(request.avoid)}`;
    return `model ${endpoint.name} chosen (${why}${failed})`;
  },
};

/** Says what a parked step waits for; nothing for one that waits for a time. */
function waitOf(parked: ParkedFor): string {
  if (parked.source === "time") return "";
  if (!("name" in parked)) return " for its own steps";
  const { source, name, key } = parked;
  return source === "event" ? ` for the event ${name} of ${key}` : ` for the workflow ${key}`;
}

function lineOf(event: LedgerEvent, record: WorkflowRecord): string[] {
  const line = readEvent(lines, event);
  if (line !== undefined) return [line];
  const ofStep = readEvent(stepLines, event, record);
  return ofStep === undefined ? [] : [`${event.step_id ?? "plan"}: ${ofStep}`];
}
