/**
 * The opening of a gate: the record on which a person decides, complete before it is shown.
 *
 * 1.  A step has one gate; further triggers add reasons, not gates.
 * 2.  A kept decision for this gate applies if it names the digest of the gate and its author may decide the gate;
 *     otherwise it is void. The opening uses it up: no later version revives it. Since a kept decision names no basis,
 *     it is void at a gate with a basis.
 * 3.  A gate that opens, and that no kept decision closes, is approved by a grant that covers its call (use-grant.ts).
 * 4.  No gate opens on a call that this process could not run.
 */

import { agreesWithVotes, seatsOf, standingVote } from "../../../../../machines/quorum.ts";
import { bindBasis } from "../../../../contract/basis.ts";
import { digest } from "../../../../contract/digest.ts";
import { KernelErrorException } from "../../../../contract/error.ts";
import { draft, type EventPayloads } from "../../../../contract/event.ts";
import { plainGate } from "../../../../contract/events.ts";
import { type Gate, type GateReason, gateIdOf, isOpenGate } from "../../../../contract/gate.ts";
import { completeQuorum, type GateExpiry, type GateSpec, rolesOf, stagesOf } from "../../../../contract/gate-spec.ts";
import { strictestConfirm } from "../../../../contract/gate-status.ts";
import { type PrincipalRef, refOf } from "../../../../contract/gate-vote.ts";
import { instantText } from "../../../../contract/instant.ts";
import type { Principal } from "../../../../contract/intent.ts";
import type { Json } from "../../../../contract/json.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import type { Added } from "../../../../contract/step-group.ts";
import type { AskParams } from "../../../../contract/step-kinds.ts";
import { type KeptDecision, plannedSteps } from "../../../../contract/workflow.ts";
import type { Prepared } from "../payload/prepare-step.ts";
import { type PresentedCall, presentCall, showCallOrPayload } from "../payload/show-call.ts";
import type { Shown } from "../run/intention.ts";
import { baseIdOf, capabilityOf, draftOfStep, gateNow, nameAsked, notify, type Run, stepOf } from "../run/run.ts";
import { type Ballot, castVote } from "./cast-vote.ts";
import { checkRunnable, requireRegistered } from "./check-runnable.ts";
import { judgeDecision } from "./judge-decision.ts";
import { ballotOfGrant } from "./use-grant.ts";

/** Parts of a gate that are known before it is described. */
interface GateFacts {
  readonly shown?: Shown;
  /** The outcome version that would be applied, if the ledger does not hold it yet. */
  readonly outcome?: Outcome | null;
}

/**
 * Builds the gate of a step that waits for approval of exactly this payload.
 * @throws KernelErrorException if this process could not make the call, so that nobody is asked about it.
 */
export function describeGate(
  run: Run,
  prepared: Prepared,
  reasons: readonly GateReason[],
  known: GateFacts = {},
): Gate {
  const { step, operator, payload } = prepared;
  checkRunnable(run, prepared);
  const target = known.outcome ?? draftOfStep(run.log.record, step.applies);
  const { preview, diff, basis } = known.shown ?? showCallOrPayload(run, prepared);
  const presented = presentedOf(step, presentCall(run, prepared));
  const base = baseGate(run, step, payload);
  const gate_id = gateIdOf(step.step_id);
  const rested = run.log.record.gates.get(gate_id)?.basis_digest !== undefined;
  return {
    ...base,
    gate_id,
    kind: "approval",
    title: step.name,
    ...presented.named,
    reasons: [...reasons],
    target:
      target === null ? null : { type: target.outcome_type, outcome_id: target.outcome_id, version: target.version },
    preview: `${preview}${presented.note}`,
    diff,
    ...bindBasis(basis, rested),
    risk_level: step.risk_level,
    effect: operator.metadata.effect,
    consequences: consequencesOf(run, step),
    ui_actions: [...(capabilityOf(run).uiActions[baseIdOf(step.step_id)] ?? [])],
    ...whoDecides(run, step.gate ?? {}),
    ...careOf(step.gate, reasons),
    ...timesOf(step.gate, base.opened_at),
  };
}

/** Returns the care that faces take before they send an approval: the strictest that the plan or a rule asks for. */
function careOf(spec: GateSpec | null, reasons: readonly GateReason[]): Pick<Gate, "confirm"> {
  const confirm = strictestConfirm([spec?.confirm, ...reasons.map((reason) => reason.confirm)]);
  return confirm === undefined ? {} : { confirm };
}

/** Returns the members of a gate that its operator presents, and a note for the preview if that failed. */
function presentedOf(step: PlanStep, presented: PresentedCall | null) {
  if (presented === null) return { named: {}, note: "" };
  if ("problem" in presented) return { named: {}, note: `\n\n(no facts: ${presented.problem})` };
  const { title, summary, facts } = presented;
  const planned = title === undefined ? {} : { title, planned_title: step.name };
  return {
    named: { ...planned, ...(summary !== undefined && { summary }), ...(facts.length > 0 && { facts }) },
    note: "",
  };
}

/**
 * Builds the gate of a step that asks people. An answer is bound to its payload: the question, the text shown with it,
 * the form, and the default answer.
 */
export function describeQuestion(run: Run, step: PlanStep, payload: AskParams): Gate {
  requireRegistered(run);
  const base = baseGate(run, step, payload as unknown as Json);
  return {
    ...base,
    gate_id: gateIdOf(step.step_id),
    kind: "ask",
    title: step.name,
    reasons: [{ source: "plan", rule: "question", reason: step.gate?.reason ?? "" }],
    target: null,
    preview: payload.question,
    diff: null,
    risk_level: step.risk_level,
    effect: "none",
    consequences: {
      approve: "Your answer is checked by the form and becomes the result of the step; the work goes on with it.",
      reject: `No answer is given${endsWith(run, step)}`,
      edit: "A question is not edited: answer it, or reject it.",
    },
    ui_actions: [...(capabilityOf(run).uiActions[baseIdOf(step.step_id)] ?? [])],
    ...whoDecides(run, step.gate ?? {}),
    ...careOf(step.gate, []),
    ...timesOf(step.gate, base.opened_at),
  };
}

/** Returns the people who may decide and the number that it takes; the kernel knows the requesters. */
function whoDecides(run: Run, spec: Partial<GateSpec>) {
  const { requesters, intent } = run.log.record;
  const seats = seatsOf(spec, requesters, run.settings.same);
  const stages = stagesOf(spec);
  const asked = { roles: rolesOf(spec), quorum: completeQuorum(spec, seats?.length ?? null) };
  return {
    ...(stages[0] === undefined ? asked : { ...stages[0], stages, stage: 1 }),
    approvers: spec.approvers ?? null,
    advisors: spec.advisors ?? [],
    separation: spec.separation ?? false,
    delegation: spec.delegation ?? true,
    signed: spec.signed ?? false,
    requester: refOf(intent.actor),
    ...(spec.principal_types === undefined ? {} : { principal_types: spec.principal_types }),
  };
}

/** Returns the times of a gate without a decision: the rungs of the ladder, the expiry, the reminders. */
function timesOf(spec: GateSpec | null, openedAt: string) {
  const opened = Date.parse(openedAt);
  const { escalation = [], expiry, remind } = spec ?? {};
  const rungs = escalation.map((rung) => ({ ...rung, action: "escalate" as const }));
  const expires_at = expiry === undefined || rungs.length === 0 ? undefined : dueAfter(opened, expiry);
  const ahead = climb(expiry === undefined ? rungs : [...rungs, expiry], opened, expires_at);
  const [first] = ahead.ladder;
  return {
    ...ahead,
    expiry_action: first?.action ?? null,
    escalate_to: first?.role ?? null,
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(remind === undefined ? {} : { reminder: { ...remind, due_at: instantText(opened + remind.every) } }),
  };
}

/**
 * Returns the rest of a ladder and its next instant. A late rung does not move the expiry, which may then come before
 * the next rung.
 */
export function climb(ladder: readonly GateExpiry[], from: number, expiresAt: string | undefined) {
  const [next] = ladder;
  if (next === undefined) return { ladder: [], due_at: null };
  const due_at = dueAfter(from, next);
  const isExpiry = expiresAt !== undefined && (ladder.length === 1 || Date.parse(due_at) >= Date.parse(expiresAt));
  return isExpiry ? { ladder: ladder.slice(-1), due_at: expiresAt } : { ladder: [...ladder], due_at };
}

const dueAfter = (from: number, { after_ms }: GateExpiry): string => instantText(from + after_ms);

/**
 * Returns a gate on a new version. Its deciders and times stay; votes on the version before are void. A gate with
 * stages goes back to its first.
 */
export function reviseGate(standing: Gate, shown: Gate): Gate {
  const { expires_at: _expires, reminder: _reminder, ...rest } = shown;
  const { roles } = shown.stages === undefined ? standing : shown;
  const { approvers, ladder, due_at, expiry_action, escalate_to } = standing;
  const { delegations, spent_signatures, opened_at, edited, expires_at, added_roles, reminder } = standing;
  return {
    ...rest,
    ...{ roles, approvers, ladder, due_at, expiry_action, escalate_to },
    ...{ delegations, spent_signatures, opened_at, edited },
    ...(expires_at === undefined ? {} : { expires_at }),
    ...(added_roles === undefined ? {} : { added_roles }),
    ...(reminder === undefined ? {} : { reminder }),
  };
}

type Cause = EventPayloads["GATE_REVISED"]["cause"];

export const noteRevised = (run: Run, cause: Cause, gate: Gate): void =>
  run.log.note(draft("GATE_REVISED", { gate, cause, principal: null }, gate.step_id));

/** Returns the reasons for which a person must decide before this step may run, each with its source. */
export function approvalReasons(run: Run, { step, operator }: Pick<Prepared, "step" | "operator">): GateReason[] {
  const decision = stepOf(run, step.step_id).decision;
  const reasons: GateReason[] = [];
  if (decision?.decision === "REQUIRE_HUMAN_APPROVAL")
    reasons.push({
      source: "policy",
      rule: decision.policies.join(", "),
      reason: decision.reason,
      ...(decision.confirm !== undefined && { confirm: decision.confirm }),
    });
  if (step.gate !== null) reasons.push({ source: "plan", rule: "declared gate", reason: step.gate.reason });
  if (operator.metadata.policy_tags.includes("human_approval"))
    reasons.push({ source: "operator", rule: "human_approval", reason: `${step.operator} asks for a person` });
  return reasons;
}

/** Returns the members that every gate of a step has when it opens. */
export function baseGate(run: Run, step: PlanStep, payload: Json) {
  const { tenant_id, workflow_id } = run.log.record;
  return {
    ...plainGate,
    tenant_id,
    workflow_id,
    step_id: step.step_id,
    status: "open",
    operator: step.operator,
    payload,
    payload_digest: digest(payload),
    policy_version: run.settings.policyVersion,
    estimated_cost: step.estimated_cost,
    opened_at: instantText(run.now),
  } as const;
}

const consequencesOfItem = ({ operator }: PlanStep, { of }: Added): Gate["consequences"] => ({
  approve: `${operator} runs once with exactly this payload, for one item of step ${of}.`,
  reject: `${operator} is not called for this item, which counts as a failure in step ${of}.`,
  edit: "Your payload replaces this one and is checked like any other.",
});

function consequencesOf(run: Run, step: PlanStep): Gate["consequences"] {
  const added = stepOf(run, step.step_id).added;
  if (added !== null) return consequencesOfItem(step, added);
  const makesFinal = step.applies === null ? "" : `, and the outcome that step ${step.applies} drafted becomes final`;
  return {
    approve: `${step.operator} runs once with exactly this payload${makesFinal}.`,
    reject: `${step.operator} is not called${endsWith(run, step)}`,
    edit:
      step.applies === null
        ? "Your payload replaces this one and is checked like any other."
        : [
            `Your content becomes a new version of the outcome that step ${step.applies} drafted;`,
            "earlier votes are void.",
          ].join(" "),
  };
}

/** Describes the further effects of a rejection, as the end of a sentence. */
function endsWith(run: Run, step: PlanStep): string {
  if (step.on_reject === "end_all")
    return "; the workflow ends as cancelled: its other steps are not begun, and their gates close.";
  if (step.on_reject === "continue")
    return "; the step is skipped, your comment becomes its result, and the plan goes on.";
  const dependents = [...plannedSteps(run.log.record)].filter((s) => s.step.depends_on.includes(step.step_id)).length;
  const skipped = dependents === 0 ? "" : `, ${dependents} dependent step(s) are skipped,`;
  if (step.on_reject === "replan")
    return (
      `${skipped} and the planner is asked for another plan, with your comment; ` +
      "if it may make none, the workflow ends as cancelled."
    );
  return `${skipped} and the workflow ends as cancelled once its other branches have ended.`;
}

/**
 * Opens a gate, or opens it again on a new version, and applies the decisions that were kept for it. Returns true if
 * they decided it. The caller ends the step of a gate that was rejected in this way.
 */
export function openGate(run: Run, shown: Gate): boolean {
  const { gate_id, step_id } = shown;
  const standing = run.log.record.gates.get(gate_id);
  run.mark?.("gate.open", { gate_id });
  const ballots = standing === undefined && shown.kind !== "ask" ? ballotsAhead(run, shown) : [];
  const granted = standing === undefined && ballots.length === 0 ? ballotOfGrant(run, shown) : null;
  if (standing === undefined) run.log.note(draft("GATE_OPENED", { gate: shown }, step_id));
  else
    noteRevised(run, "regenerate", {
      ...reviseGate(standing, shown),
      opened_at: shown.opened_at,
      edited: shown.edited,
    });
  if (granted !== null) castVote(run, shown, granted);
  for (const ballot of ballots) if (isStillFree(run, gate_id, ballot)) castVote(run, shown, ballot);
  return !isOpenGate(gateNow(run, gate_id));
}

/**
 * Returns whether a kept decision still counts after the others: they may have closed the gate, taken the seat, or
 * named other targets.
 */
function isStillFree(run: Run, gateId: string, ballot: Ballot): boolean {
  const gate = gateNow(run, gateId);
  const { advisory, stage } = ballot.seat;
  const agrees = advisory || (agreesWithVotes(gate, ballot) && stage === gate.stage);
  const { on_behalf_of } = ballot.seat;
  const people = on_behalf_of === null ? [ballot.principal] : [ballot.principal, on_behalf_of];
  return isOpenGate(gate) && agrees && people.every((one) => isNobodys(run, gate, one));
}

/** Returns whether the principal has no vote at the gate. If people cannot be told apart, the kept decision is void. */
function isNobodys(run: Run, gate: Gate, principal: PrincipalRef): boolean {
  try {
    return standingVote(gate, principal, run.settings.same) === null;
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    run.warn({ gate_id: gate.gate_id, error: thrown.error }, "a decision given early is void");
    return false;
  }
}

/**
 * Returns the kept decisions that bind to the gate's payload and come from people who may decide it: not from
 * requesters.
 */
function ballotsAhead(run: Run, shown: Gate): readonly Ballot[] {
  const ballots: Ballot[] = [];
  const gate = { ...shown, requesters: [...run.log.record.requesters] };
  // A decision that is kept while another is judged is judged as well, by the pass that reads that answer.
  for (const kept of run.log.record.kept.get(gate.gate_id) ?? []) {
    const judged = judgeKept(run, gate, kept);
    if (judged === null) continue;
    const { principal, apply_targets, comment } = kept.decided;
    ballots.push({ decision: kept.decision, principal: principal as Principal, apply_targets, comment, ...judged });
  }
  return ballots;
}

function judgeKept(run: Run, gate: Gate, kept: KeptDecision): Pick<Ballot, "seat" | "signature"> | null {
  const { decision, payload_digest, decided, auth } = kept;
  const { principal } = decided;
  if (payload_digest !== gate.payload_digest || principal === null || gate.basis_digest !== undefined) return null;
  try {
    // A person who becomes a requester while the decision is judged is judged as one.
    const key = nameAsked(run, `kept:${principal.type}:${principal.id}`, String(gate.requesters?.length));
    const { policy, ...judged } = judgeDecision(run, gate, { decision, principal, auth }, { key });
    return policy.decision === "DENY" ? null : judged;
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    run.warn({ gate_id: gate.gate_id, error: thrown.error }, "a decision given early is void");
    return null;
  }
}

/** Notifies subscribers outside, through T6's artifact bus, that a gate is open. */
export function notifyGate(run: Run, stepId: string, reasons: readonly GateReason[]): void {
  const { workflow_id } = run.log.record;
  notify(run, "gate", { type: "gate_opened", workflow_id, gate_id: gateIdOf(stepId), reasons });
}
