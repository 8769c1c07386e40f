/**
 * From a step's written params to the payload its operator will get: templates, validateParams, schema (seed 002 4.1).
 *
 * Q1  After an approval the payload is the one the person saw, to the digest; nothing is resolved anew. What was made again
 *     since is not what they saw; a call that is made again is the one that they approved, whatever was made since.
 * Q2  Whatever changes the payload (a policy's transform, an edit) passes validateParams and the schema again.
 */
import { z } from "zod";
import { canonicalJson, digest, sha256 } from "../../../contract/digest.ts";
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import type { Gate } from "../../../contract/gate.ts";
import { deepFreeze, type Json } from "../../../contract/json.ts";
import { isHarmless, type Operator } from "../../../contract/operator.ts";
import type { PlanStep } from "../../../contract/plan.ts";
import { refuseAt } from "./refuse-at-gate.ts";
import { resolveParams } from "./resolve-templates.ts";
import { approvedGate, ask, nameAsked, oodaRef, outputsOf, type Run, stepOf } from "./run.ts";

export interface Prepared {
  readonly step: PlanStep;
  readonly operator: Operator;
  /** Resolved params before any policy transform, as canonical JSON: what the key derives from. */
  readonly inputs: string;
  readonly payload: Json;
  /** The payload's digest. */
  readonly hash: string;
  readonly input: unknown;
  /** The approved gate of this step, if a person has approved it. */
  readonly gate: Gate | null;
  /** Of the call that was begun, where the step's params would make another by now. */
  readonly key?: string;
}

type Checked = Pick<Prepared, "operator" | "payload" | "hash">;

const paramsRef = oodaRef("prepare_step");

/** @throws KernelErrorException T4_OPERATOR_UNKNOWN, T4_PARAMS_REFUSED, T4_PARAMS_INVALID, T5_GATE_CONFLICT. */
export function prepareStep(run: Run, stepId: string): Prepared {
  const { step } = stepOf(run, stepId);
  // Of a step that cannot run here nothing is noted.
  findOperator(run, step);
  const inputs = resolveInputs(run, step);
  const gate = approvedGate(run, stepId);
  if (gate === null) return prepareShown(run, { step_id: stepId, payload: inputs });
  const shown = prepareShown(run, checkApproved(gate));
  if (gate.edited && gate.target === null) return { ...shown, gate };
  return { ...shown, gate, inputs: canonicalJson(inputs) };
}

/** The call with this payload, as a gate shows it before anybody has approved it. @throws as `prepareStep`. */
export function prepareShown(run: Run, { step_id, payload }: Pick<Gate, "step_id" | "payload">): Prepared {
  const { step } = stepOf(run, step_id);
  const operator = findOperator(run, step);
  const inputs = canonicalJson(payload);
  const hash = sha256(inputs);
  const input = checkPayload(run, { operator, payload, hash });
  return { step, operator, inputs, payload, hash, input, gate: null };
}

export const findKnownOperator = (run: Run, step: PlanStep): Operator | null =>
  run.settings.registry.findOperator(step.operator, step.operator_version);

/** @throws KernelErrorException T4_OPERATOR_UNKNOWN. */
export function findOperator(run: Run, step: PlanStep): Operator {
  const operator = findKnownOperator(run, step);
  if (operator !== null) return operator;
  return raise(
    kernelError(
      "T4_OPERATOR_UNKNOWN",
      `operator ${step.operator}@${step.operator_version} is not registered in this process`,
      paramsRef,
      { detail: { operator: step.operator } },
    ),
  );
}

/** Whether a lost call may be made again without asking. Of an operator that is not known here nobody can say so. */
export const isRepeatable = (operator: Operator | null): boolean =>
  operator !== null && (operator.metadata.idempotent || isHarmless(operator.metadata.effect));

/** Whether a call may have an effect outside. Of an operator that is not known here nobody can rule it out. */
export const mayChange = (operator: Operator | null): boolean =>
  operator === null || !isHarmless(operator.metadata.effect);

function resolveInputs(run: Run, step: PlanStep): Json {
  const { value, unresolved } = resolveParams(step, outputsOf(run.log.record, step));
  if (unresolved.length > 0 && !stepOf(run, step.step_id).unresolved)
    run.log.note(draft("TEMPLATE_UNRESOLVED", { references: unresolved }, step.step_id));
  return deepFreeze(value);
}

/** What was approved is what runs: the stored payload must still have the digest that the person approved. */
function checkApproved(gate: Gate): Gate {
  if (digest(gate.payload) === gate.payload_digest) return gate;
  const message = `the payload of ${gate.gate_id} is not the one that was approved`;
  return refuseAt(gate.gate_id, message, { fn: "prepare_step" });
}

/** Passes a payload through validateParams and the operator's schema; gives the parsed input. `key` names it in its pass. */
export function checkPayload(run: Run, { operator, payload, hash }: Checked, key = "check"): unknown {
  run.mark?.("security.validate_params", { operator: operator.metadata.name });
  const verdict = ask<Verdict>(run, nameAsked(run, key, hash), { ask: "check", payload });
  run.mark?.("schema.validate", { operator: operator.metadata.name });
  return readVerdict(operator, payload, verdict);
}

export type Verdict = { readonly ok: boolean; readonly reason?: string } | null;

/** @throws KernelErrorException T4_PARAMS_REFUSED, T4_PARAMS_INVALID. */
export function readVerdict({ metadata, input }: Operator, payload: Json, verdict: Verdict): unknown {
  const detail = { operator: metadata.name };
  if (verdict?.ok !== true)
    raise(
      kernelError("T4_PARAMS_REFUSED", `params refused: ${verdict?.reason ?? "no verdict"}`, paramsRef, { detail }),
    );
  const parsed = input.safeParse(payload);
  if (parsed.success) return parsed.data;
  const message = `params of ${metadata.name}: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T4_PARAMS_INVALID", message, paramsRef, { detail }));
}
