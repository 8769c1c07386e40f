/**
 * A gate on a version that nobody has seen yet: a person edited it, or the policy has changed since it opened.
 *
 * 1.  An edit is checked like any payload, and by policy, before any of it is recorded. An edit that changes no part of
 *     the call is refused: at a gate whose step applies an outcome, the call receives the outcome's new version. If
 *     policy changes the edit beyond masking it, the result is shown before it is decided on.
 * 2.  A decision under another policy than the gate's is refused. The present policy judges the gate's payload: the
 *     gate is opened again with the payload that policy allows, or its step is denied. The same happens before an
 *     expiry or earlier votes would approve the gate.
 */
import { editableValue } from "../../../../../machines/editable.ts";
import { hasSameBasis } from "../../../../contract/basis.ts";
import { digest } from "../../../../contract/digest.ts";
import { type KernelError, KernelErrorException } from "../../../../contract/error.ts";
import { draft } from "../../../../contract/event.ts";
import { type Gate, isOpenGate, type ParsedGateRequest } from "../../../../contract/gate.ts";
import { refOf } from "../../../../contract/gate-vote.ts";
import { deepFreeze, type Json, type JsonObject } from "../../../../contract/json.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { admitPayload } from "../call/admit-payload.ts";
import { checkOutcome, judgeOutcome, nextDraft } from "../payload/draft-outcome.ts";
import { findOperator, type Prepared, prepareEdited, readParams, requireResolved } from "../payload/prepare-step.ts";
import { resolveParams } from "../payload/resolve-templates.ts";
import { failStep, isBlocking } from "../run/end-step.ts";
import { isMaskedCopy } from "../run/redact.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { gateNow, isOutdated, outcomeOfStep, outputsOf, type Run, stepOf } from "../run/run.ts";
import { describeAnew } from "./check-basis.ts";
import { describeGate, noteRevised, reviseGate } from "./open-gate.ts";
import { quorumWithout } from "./separate-duties.ts";

/**
 * An edit that policy allows. `note` appends the new version and returns the revised gate; if the edit decides nothing,
 * the gate keeps its comment.
 */
export interface Edited {
  readonly shown: Gate;
  readonly note: (still: Gate, how: { readonly decides: boolean }) => Gate;
  /**
   * True if nobody was shown the basis of the new version, or the changes that policy made to the edit; such an edit
   * does not decide.
   */
  readonly isUnseen: boolean;
}

/**
 * Checks an edit before anything is recorded.
 * @throws KernelErrorException T5_EDIT_WITHOUT_EFFECT, T4_OUTCOME_INVALID, T4_PARAMS_INVALID, T4_PARAMS_UNRESOLVED,
 * T4_PARAMS_REFUSED, T5_POLICY_DENIED, or the reason for which the operator could not make the call.
 */
export function prepareEdit(run: Run, gate: Gate, request: ParsedGateRequest): Edited {
  const { gate_id, step_id } = gate;
  if (gate.kind === "in_doubt") refuseAt(gate_id, "an in-doubt call cannot be edited");
  const edit = request.payload.edit as JsonObject;
  const { step } = stepOf(run, step_id);
  const outcome = prepareOutcome(run, gate, edit);
  const written = deepFreeze(outcome === null ? merge(gate.payload, edit) : paramsOn(run, step, outcome.content));
  const parsed = prepareEdited(run, step, written);
  const prepared = admitPayload(run, parsed, { keep: "edit" });
  requireEffect(gate, prepared);
  const shown = describeGate(run, prepared, gate.reasons, { outcome });
  const note: Edited["note"] = (still, { decides }) => {
    const { principal, idempotency_key: key } = request;
    const comment = decides ? undefined : request.payload.comment;
    const quorum = quorumWithout(run, still, principal);
    const revised: Gate = { ...reviseGate(still, shown), ...quorum, edited: true };
    run.log.noteBy(
      refOf(principal),
      ...(outcome === null ? [] : [draft("OUTCOME_DRAFTED", { outcome, action_id: null }, step_id)]),
      draft(
        "GATE_REVISED",
        {
          gate: revised,
          cause: "edit",
          principal,
          ...(comment !== undefined && { comment }),
          ...(key && { idempotency_key: key }),
        },
        step_id,
      ),
    );
    return gateNow(run, gate_id);
  };
  const isCopy = run.scopes.derive("edit:copied", () =>
    outcome === null
      ? isMaskedCopy(prepared.payload, written)
      : isMaskedCopy(prepared.payload, parsed.payload) &&
        isMaskedCopy(outcome.content, merge(editableValue(gate), edit)),
  );
  const isAsEdited = isCopy && (outcome === null || isParsedAsShown(run, gate));
  return { shown: reviseGate(gate, shown), note, isUnseen: !isAsEdited || !hasSameBasis(shown, gate) };
}

/** Returns the version that an edit makes of the outcome; null if the gate concerns none. */
function prepareOutcome(run: Run, gate: Gate, edit: JsonObject): Outcome | null {
  const { editable, target } = gate;
  if (editable == null)
    return refuseEdit(gate, "nothing of it may be edited: the call takes no text of its outcome as it is");
  const content = merge(editableValue(gate), edit);
  const edited = run.scopes.derive("edit:content", () => digest(content));
  if (edited === digest(editableValue(gate))) refuseEdit(gate, "the edit says what it shows already");
  if (editable.target === "payload" || target === null) return null;
  const { step } = stepOf(run, gate.step_id);
  const checked = checkOutcome(run, target.type, content, `check_outcome:${edited}`);
  const params = run.scopes.derive("edit:reached", () => digest(paramsOn(run, step, checked)));
  if (params === digest(paramsOn(run, step, editableValue(gate))))
    refuseEdit(gate, "the call takes nothing of what the edit changes");
  const judged = judgeOutcome(run, step, { type: target.type, content: checked, edited });
  return { ...nextDraft(run, step, { type: target.type, content: judged }), confidence: 1 };
}

/** Returns the params of the step's call for this content of its outcome, before its schema reads them. */
function paramsOn(run: Run, step: PlanStep, content: Json): Json {
  const { record } = run.log;
  const applied = outcomeOfStep(record, step.applies);
  const outputs = outputsOf(record, step);
  const edited = (id: string): Json | undefined => {
    const output = outputs(id);
    const isEdited = output !== undefined && outcomeOfStep(record, id)?.outcome_id === applied?.outcome_id;
    return isEdited ? content : output;
  };
  const { value, unresolved } = resolveParams(step, edited);
  requireResolved(step, unresolved);
  return value;
}

/**
 * Returns whether the schema makes the gate's payload from the params behind it. A schema that generates new values
 * does not, and then nobody has seen the value that it generates for an edit.
 */
function isParsedAsShown(run: Run, gate: Gate): boolean {
  const { step } = stepOf(run, gate.step_id);
  const params = deepFreeze(paramsOn(run, step, editableValue(gate)));
  const reading = readParams(run, findOperator(run, step), { params, hash: digest(params) });
  return reading.ok && isMaskedCopy(gate.payload, reading.value);
}

/**
 * Requires that the operator would receive another payload than the gate shows; a member that its schema drops is no
 * change. @throws KernelErrorException T5_EDIT_WITHOUT_EFFECT.
 */
function requireEffect(gate: Gate, { hash }: Prepared): void {
  if (hash === gate.payload_digest) refuseEdit(gate, "the call takes nothing of what the edit changes");
}

function refuseEdit({ gate_id, editable }: Gate, why: string): never {
  const message = `${gate_id}: ${why}`;
  return refuseAt(gate_id, message, { code: "T5_EDIT_WITHOUT_EFFECT", detail: { editable: editable?.target ?? null } });
}

/** Returns whether the gate already shows this edit. */
export function showsEdit(run: Run, gate: Gate, edit: JsonObject): boolean {
  if (!gate.edited) return false;
  const shown = digest(editableValue(gate));
  return run.scopes.derive(`edit:shown:${shown}`, () => digest(merge(editableValue(gate), edit))) === shown;
}

const merge = (content: Json, edit: JsonObject): Json =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...content, ...(edit as Record<string, Json>) }
    : (edit as Json);

/**
 * Judges the gate's payload by the present policy, and refuses the decision. @throws KernelErrorException
 * T5_GATE_CONFLICT.
 */
export function reviseForPolicy(run: Run, gate: Gate): never {
  showAgain(run, gate, isBlocking);
  return refuseAt(gate.gate_id, `the policy is another since ${gate.gate_id} was opened; look again`);
}

/**
 * Judges by the present policy a gate whose expiry would let its step continue without a decision. Handles one gate a
 * pass; returns false if there is none left. An error denies the gate, because nothing may continue under a policy that
 * was not asked.
 */
export function reviseOutdated(run: Run): boolean {
  const isPast = (gate: Gate): boolean => isOpenGate(gate) && isOutdated(run, gate) && goesOnByItself(gate, run.now);
  const { gates } = run.log.record;
  const id = run.scopes.keep("gate", () => [...gates.values()].find(isPast)?.gate_id);
  const gate = id === undefined ? undefined : gates.get(id);
  if (gate !== undefined && isPast(gate)) showAgain(run, gate, () => true);
  return gate !== undefined;
}

/** Returns whether the gate has expired and its expiry lets the step continue. */
export const goesOnByItself = (gate: Gate, now: number): boolean =>
  gate.expiry_action === "allow" && gate.due_at !== null && Date.parse(gate.due_at) <= now;

/**
 * Opens the gate again with the payload that the present policy allows. An error for which `isDenial` holds denies its
 * step.
 */
function showAgain(run: Run, gate: Gate, isDenial: (error: KernelError) => boolean): void {
  try {
    const shown = describeAnew(run, gate);
    const still = gateNow(run, gate.gate_id);
    if (isOpenGate(still) && isOutdated(run, still)) noteRevised(run, "policy", reviseGate(still, shown));
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException) || run.log.lost !== null || !isDenial(thrown.error)) throw thrown;
    if (isOpenGate(gateNow(run, gate.gate_id))) failStep(run, gate.step_id, thrown.error);
  }
}
