/**
 * The preparation of a call: a step's params are resolved and checked, and the operator's input schema parses them
 * once.
 *
 * The result is the payload: policy judges it, a gate shows it, its digest is recorded, and previews, checks and all
 * attempts of the call receive it.
 * 1.  After an approval the payload is the one that the person saw, to the digest; nothing is resolved or parsed again.
 *     An approval does not cover a draft that was made after it. A call that is repeated is the approved one, whatever
 *     was drafted since.
 * 2.  A payload that changes (by a policy's transform or an edit) passes validateParams and the schema again.
 * 3.  A schema returns JSON, and leaves its own result unchanged: a payload that it would change is refused.
 */

import { canonicalJson, digest, sha256 } from "../../../../contract/digest.ts";
import { raise } from "../../../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Gate } from "../../../../contract/gate.ts";
import { deepFreeze, type Json } from "../../../../contract/json.ts";
import { isHarmless, type Operator } from "../../../../contract/operator.ts";
import type { PlanStep } from "../../../../contract/plan.ts";
import { paramsFaults, readStably, type SchemaReading } from "../../../../contract/schema-reading.ts";
import { withTemplates } from "../../../../contract/step-group.ts";
import { callsOperator } from "../../../../contract/step-kinds.ts";
import { toHost, type Verdict } from "../run/intention.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";
import { approvedGate, ask, nameAsked, oodaRef, outputsOf, type Run, stepOf } from "../run/run.ts";
import { missingIn, resolveParams } from "./resolve-templates.ts";

export interface Prepared {
  readonly step: PlanStep;
  readonly operator: Operator;
  /** The resolved params before the schema and policy, as canonical JSON. The idempotency key derives from them. */
  readonly inputs: string;
  /** The params as the operator's input schema parsed them. */
  readonly payload: Json;
  /** The payload's digest. */
  readonly hash: string;
  /** Whether the schema returned another value than the params. */
  readonly isChanged: boolean;
  /** The approved gate of this step, if a person has approved it. */
  readonly gate: Gate | null;
  /** The key of the call that was started, if the step's params would by now make another call. */
  readonly key?: string;
}

const paramsRef = oodaRef("prepare_step");

/**
 * Prepares a step's next call.
 * @throws KernelErrorException T4_OPERATOR_UNKNOWN, T4_PARAMS_UNRESOLVED, T4_PARAMS_REFUSED, T4_PARAMS_INVALID,
 * T4_PARAMS_NOT_JSON, T4_PARAMS_NOT_STABLE, T5_GATE_CONFLICT.
 */
export function prepareStep(run: Run, stepId: string): Prepared {
  const { step } = stepOf(run, stepId);
  // The operator is checked first, so that no event is appended for a step that cannot run in this process.
  findOperator(run, step);
  const written = resolveInputs(run, step);
  const gate = approvedGate(run, stepId);
  if (gate === null) return prepareWritten(run, { step_id: stepId, payload: written });
  const shown = prepareShown(run, checkApproved(gate));
  if (gate.edited && gate.target === null) return { ...shown, gate };
  return { ...shown, gate, inputs: canonicalJson(written) };
}

/** Prepares a call with the params of a plan. @throws as `prepareStep`. */
export function prepareWritten(run: Run, { step_id, payload: written }: Pick<Gate, "step_id" | "payload">): Prepared {
  const { step } = stepOf(run, step_id);
  const operator = findOperator(run, step);
  const inputs = canonicalJson(written);
  return { step, operator, inputs, ...parseParams(run, operator, written, { hash: sha256(inputs) }), gate: null };
}

/**
 * Prepares a call with params that a person edited. None of them is recorded before policy has allowed the edit.
 * @throws as `prepareStep`.
 */
export function prepareEdited(run: Run, step: PlanStep, written: Json): Prepared {
  const operator = findOperator(run, step);
  const inputs = canonicalJson(written);
  const hash = run.scopes.derive("edit:params", () => sha256(inputs));
  return { step, operator, inputs, ...parseParams(run, operator, written, { hash, isEdit: true }), gate: null };
}

/**
 * Prepares the call with the payload that a gate shows, which the schema must leave unchanged. @throws as
 * `prepareStep`.
 */
export function prepareShown(run: Run, { step_id, payload }: Pick<Gate, "step_id" | "payload">): Prepared {
  const { step } = stepOf(run, step_id);
  const operator = findOperator(run, step);
  const inputs = canonicalJson(payload);
  return { step, operator, inputs, ...keepPayload(run, operator, payload, { hash: sha256(inputs) }), gate: null };
}

export const findKnownOperator = (run: Run, step: Pick<PlanStep, "operator" | "operator_version">): Operator | null =>
  run.settings.registry.findOperator(step.operator, step.operator_version);

/** Requires that all operators of these steps are registered here. @throws KernelErrorException T4_OPERATOR_UNKNOWN. */
export function requireOperators(run: Run, steps: readonly PlanStep[]): void {
  for (const step of withTemplates(steps)) if (callsOperator(step)) findOperator(run, step);
}

/** Returns the operator of a step. @throws KernelErrorException T4_OPERATOR_UNKNOWN. */
export function findOperator(run: Run, step: Pick<PlanStep, "operator" | "operator_version">): Operator {
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

/**
 * Returns whether a lost call may be made again without asking a person. It may not if the operator is unknown in this
 * process.
 */
export const isRepeatable = (operator: Operator | null): boolean =>
  operator !== null && (operator.metadata.idempotent || isHarmless(operator.metadata.effect));

/** Returns whether a call may have an effect outside. It may if the operator is unknown in this process. */
export const mayChange = (operator: Operator | null): boolean =>
  operator === null || !isHarmless(operator.metadata.effect);

function resolveInputs(run: Run, step: PlanStep): Json {
  const { value, unresolved } = resolveParams(step, outputsOf(run.log.record, step));
  if (unresolved.length > 0 && !stepOf(run, step.step_id).unresolved)
    run.log.note(draft("TEMPLATE_UNRESOLVED", { references: unresolved }, step.step_id));
  requireResolved(step, unresolved);
  return deepFreeze(value);
}

/**
 * Refuses params that refer to a missing output of a step; other placeholders stay as they are. @throws
 * KernelErrorException T4_PARAMS_UNRESOLVED.
 */
export function requireResolved(step: PlanStep, unresolved: readonly string[]): void {
  const missing = unresolved.length === 0 ? [] : missingIn(step, unresolved);
  if (missing.length === 0) return;
  const list = missing.map(({ path, reference }) => `${path}: ${reference} gives nothing`).join("; ");
  const detail = { operator: step.operator, references: missing };
  raise(kernelError("T4_PARAMS_UNRESOLVED", `params of ${step.operator}: ${list}`, paramsRef, { detail }));
}

/**
 * Requires that the stored payload still has the digest that the person approved. @throws KernelErrorException
 * T5_GATE_CONFLICT.
 */
function checkApproved(gate: Gate): Gate {
  if (digest(gate.payload) === gate.payload_digest) return gate;
  const message = `the payload of ${gate.gate_id} is not the one that was approved`;
  return refuseAt(gate.gate_id, message, { fn: "prepare_step" });
}

/** The result of parsing params by a schema. */
type Parsed = Pick<Prepared, "payload" | "hash" | "isChanged">;

/** Params and their digest. */
interface Hashed {
  readonly params: Json;
  readonly hash: string;
  readonly isEdit?: boolean;
}

/**
 * The options of parsing: `hash` is the digest of the params, and `check` names the question to validateParams in its
 * pass.
 */
interface Parsing {
  readonly hash?: string;
  readonly check?: "check" | "check:transformed" | "check:begun";
  /** True if the params are a person's edit. */
  readonly isEdit?: boolean;
}

/**
 * Returns the payload that the operator's schema makes of these params. It is the same in every pass of its scope, even
 * if the schema generates a new value each time.
 * @throws KernelErrorException T4_PARAMS_REFUSED, T4_PARAMS_INVALID, T4_PARAMS_NOT_JSON, T4_PARAMS_NOT_STABLE.
 */
export function parseParams(run: Run, operator: Operator, params: Json, parsing: Parsing = {}): Parsed {
  const { hash = digest(params), check = "check", isEdit = false } = parsing;
  const { name } = operator.metadata;
  run.mark?.("security.validate_params", { operator: name });
  requireVerdict(name, ask(run, nameAsked(run, check, hash), toHost("check", { payload: params })));
  run.mark?.("schema.validate", { operator: name });
  const reading = readParams(run, operator, { params, hash, isEdit });
  const parsed = requireRead(operator, reading);
  if (reading.ok && reading.isSame) return { payload: params, hash, isChanged: false };
  const digested = isEdit ? run.scopes.derive(`edit:parsed:${hash}`, () => digest(parsed)) : digest(parsed);
  return { payload: deepFreeze(parsed), hash: digested, isChanged: true };
}

/** Reads params by the operator's schema, without asking validateParams. */
export function readParams(run: Run, operator: Operator, { params, hash, isEdit = false }: Hashed): SchemaReading {
  const { name, version } = operator.metadata;
  return ask(run, `parse:${hash}`, toHost("parse", { name, version, params, isEdit }));
}

const changesJudged = "the schema would change the payload, which was judged as it is";

/** Returns why an operator could not be called with a payload that was judged; null if it could. */
export function whyUnfit(
  { input }: Operator,
  payload: Json,
): { readonly code: ErrorCode; readonly problem: string } | null {
  const reading = readStably(input, payload);
  if (!reading.ok) return { code: paramsFaults[reading.fault], problem: reading.problem };
  return reading.isSame ? null : { code: paramsFaults.not_stable, problem: changesJudged };
}

/**
 * Returns a payload that was parsed before, unchanged. @throws as `parseParams`; T4_PARAMS_NOT_STABLE if the schema
 * would change it.
 */
export function keepPayload(run: Run, operator: Operator, payload: Json, parsing: Parsing): Parsed {
  const parsed = parseParams(run, operator, payload, parsing);
  return parsed.isChanged ? refuseParams(operator.metadata.name, "T4_PARAMS_NOT_STABLE", changesJudged) : parsed;
}

/** Requires a positive verdict of validateParams. @throws KernelErrorException T4_PARAMS_REFUSED. */
export function requireVerdict(operator: string, verdict: Verdict): void {
  if (verdict?.ok === true) return;
  const message = `params refused: ${verdict?.reason ?? "no verdict"}`;
  raise(kernelError("T4_PARAMS_REFUSED", message, paramsRef, { detail: { operator } }));
}

/**
 * Returns the value that the schema read. @throws KernelErrorException T4_PARAMS_INVALID, T4_PARAMS_NOT_JSON,
 * T4_PARAMS_NOT_STABLE.
 */
export const requireRead = ({ metadata }: Operator, reading: SchemaReading): Json =>
  reading.ok ? reading.value : refuseParams(metadata.name, paramsFaults[reading.fault], reading.problem);

const refuseParams = (operator: string, code: ErrorCode, problem: string): never =>
  raise(kernelError(code, `params of ${operator}: ${problem}`, paramsRef, { detail: { operator } }));
