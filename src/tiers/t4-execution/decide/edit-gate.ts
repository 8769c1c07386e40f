/**
 * A gate on a version that nobody has seen yet: a person changed what it shows, or policy did since it opened.
 *
 * E1  An edit is checked like any payload, and by policy, before anything of it is noted.
 * E2  A decision under another policy than the gate's is refused; what the gate shows is put to the policy of now, and the
 *     gate is opened again on what that lets through, or its step is denied. So it is where an expiry or the votes of
 *     before would approve it.
 */
import { verdictOf } from "../../../../machines/quorum.ts";
import { type KernelError, KernelErrorException, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import { type Gate, isOpenGate, type ParsedGateRequest } from "../../../contract/gate.ts";
import { deepFreeze, type Json, type JsonObject } from "../../../contract/json.ts";
import { admitPayload } from "./admit-payload.ts";
import { failStep, isBlocking } from "./end-step.ts";
import { checkOutcome, judgeOutcome, nextVersion } from "./finish-step.ts";
import { approvalReasons, describeGate, reviseGate } from "./open-gate.ts";
import { checkPayload, findOperator } from "./prepare-step.ts";
import { resolveParams } from "./resolve-templates.ts";
import { isOutdated, oodaRef, outcomeOfStep, outputsOf, type Run, stepOf } from "./run.ts";
import { quorumWithout } from "./separate-editor.ts";

/**
 * Checks an edit before anything is noted; the returned function notes the new version and gives the revised gate.
 * @throws KernelErrorException T4_OUTCOME_INVALID, T4_PARAMS_INVALID, T4_PARAMS_REFUSED, T5_POLICY_DENIED.
 */
export function prepareEdit(run: Run, gate: Gate, request: ParsedGateRequest): (still: Gate) => Gate {
  if (gate.kind === "in_doubt") refuse(gate, "an in-doubt call cannot be edited");
  const edit = request.payload.edit as JsonObject;
  const { step } = stepOf(run, gate.step_id);
  const actor = { type: request.principal.type, id: request.principal.id };
  const operator = findOperator(run, step);
  const target = gate.target === null || step.applies === null ? null : outcomeOfStep(run.log.record, step.applies);
  const content =
    target === null
      ? null
      : judgeOutcome(run, step, {
          type: target.outcome_type,
          content: checkOutcome(run, target.outcome_type, merge(target.content, edit)),
          keep: true,
        });
  const outcome =
    target === null
      ? null
      : {
          ...nextVersion(run, step, {
            type: target.outcome_type,
            content,
            status: "draft",
            draftVersion: target.draft_version,
          }),
          confidence: 1,
        };
  const outputs = new Map(outputsOf(run.log.record, step));
  if (outcome !== null && step.applies !== null)
    for (const id of outputs.keys())
      if (outcomeOfStep(run.log.record, id)?.outcome_id === outcome.outcome_id) outputs.set(id, outcome.content);
  const payload = deepFreeze(outcome === null ? merge(gate.payload, edit) : resolveParams(step, outputs).value);
  const input = checkPayload(run, operator, payload);
  const prepared = admitPayload(run, { step, operator, inputs: payload, payload, input, gate: null }, { keep: true });
  const shown = describeGate(run, prepared, gate.reasons);
  return (still) => {
    const revised: Gate = {
      ...reviseGate(still, shown),
      ...quorumWithout(run, still, request.principal),
      opened_at: still.opened_at,
      edited: true,
      target:
        outcome === null
          ? null
          : { type: outcome.outcome_type, outcome_id: outcome.outcome_id, version: outcome.version },
    };
    run.log.noteBy(
      actor,
      ...(outcome === null ? [] : [draft("OUTCOME_DRAFTED", { outcome, action_id: null }, gate.step_id)]),
      draft("GATE_REVISED", { gate: revised, cause: "edit", principal: request.principal }, gate.step_id),
    );
    return revised;
  };
}

export const merge = (content: Json, edit: JsonObject): Json =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...content, ...(edit as Record<string, Json>) }
    : (edit as Json);

/** Puts what the gate shows to the policy of now, and refuses the decision. @throws KernelErrorException T5_GATE_CONFLICT. */
export function reviseForPolicy(run: Run, gate: Gate): never {
  const denied = showAgain(run, gate);
  const still = run.log.record.gates.get(gate.gate_id) as Gate;
  if (denied !== null && isOpenGate(still)) failStep(run, gate.step_id, denied);
  return refuse(gate, `the policy is another since ${gate.gate_id} was opened; look again`);
}

/** Puts what would go on without anybody's word, by its expiry or by votes given before, to the policy of now first. */
export function reviseOutdated(run: Run): void {
  for (const gate of [...run.log.record.gates.values()]) {
    if (!isOpenGate(gate) || !isOutdated(run, gate) || !goesOnByItself(gate, run.now)) continue;
    const denied = whyDenied(run, gate);
    const still = run.log.record.gates.get(gate.gate_id) as Gate;
    if (denied !== null && isOpenGate(still)) failStep(run, gate.step_id, denied);
  }
}

/** What keeps it from being shown again denies it: nothing goes on under a policy that was not asked. */
function whyDenied(run: Run, gate: Gate): KernelError | null {
  try {
    return showAgain(run, gate);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && run.log.lost === null) return thrown.error;
    throw thrown;
  }
}

const goesOnByItself = (gate: Gate, now: number): boolean =>
  verdictOf(gate) === "approve" ||
  (gate.expiry_action === "allow" && gate.due_at !== null && Date.parse(gate.due_at) <= now);

/** The error with which the policy of now says no; null when it lets something through, which the gate then shows. */
function showAgain(run: Run, gate: Gate): KernelError | null {
  const { step } = stepOf(run, gate.step_id);
  const { payload } = gate;
  try {
    const operator = findOperator(run, step);
    const input = checkPayload(run, operator, payload);
    const shownNow = { step, operator, inputs: payload, payload, input, gate: null };
    const prepared = admitPayload(run, shownNow, { keep: true, anew: true });
    const reasons = approvalReasons(run, prepared);
    const shown = describeGate(run, prepared, reasons.length === 0 ? gate.reasons : reasons);
    const still = run.log.record.gates.get(gate.gate_id) as Gate;
    if (!isOpenGate(still) || !isOutdated(run, still)) return null;
    const revised = { ...reviseGate(still, shown), opened_at: still.opened_at, edited: still.edited };
    run.log.note(draft("GATE_REVISED", { gate: revised, cause: "policy", principal: null }, gate.step_id));
    return null;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && isBlocking(thrown.error)) return thrown.error;
    throw thrown;
  }
}

const refuse = ({ gate_id }: Gate, message: string): never =>
  raise(kernelError("T5_GATE_CONFLICT", message, oodaRef("decide_gate"), { detail: { gate_id } }));
