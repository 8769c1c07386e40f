/**
 * Steps that call no operator: what they share. Their params are resolved like those of a call, and checked by the
 * schema of their kind.
 */
import type { z } from "zod";
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Json } from "../../../../contract/json.ts";
import { explainKeys, problemsOf } from "../../../../contract/known-keys.ts";
import { textOf } from "../../../../contract/step.ts";
import { requireResolved } from "../payload/prepare-step.ts";
import { resolveParams } from "../payload/resolve-templates.ts";
import { oodaRef, outputsOf, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";

/**
 * The members of a kind's row that all steps without a call have in common: they cost nothing and leave nothing open.
 */
export const quietStep: Omit<StepKindRow, "resume"> = {
  ready: () => null,
  begin: (run, { run: round, step: { step_id } }) => run.log.note(draft("STEP_STARTED", { run: round }, step_id)),
  cancel: { isOpen: () => false, findOut: () => false },
};

/**
 * Returns the params of a step, resolved and checked by the schema of its kind.
 * @throws KernelErrorException T4_PARAMS_UNRESOLVED, T4_PARAMS_INVALID.
 */
export function readQuietParams<T>(run: Run, stepId: string, schema: z.ZodType<T>): T {
  const { step } = stepOf(run, stepId);
  const { value, unresolved } = resolveParams(step, outputsOf(run.log.record, step));
  requireResolved(step, unresolved);
  const { data, error } = schema.safeParse(value, { error: explainKeys });
  if (error === undefined) return data;
  const problems = problemsOf(error).map(({ path, problem }) => (path === "" ? problem : `${path}: ${problem}`));
  const message = `params of ${step.operator}: ${problems.join("; ")}`;
  const detail = { operator: step.operator };
  return raise(kernelError("T4_PARAMS_INVALID", message, oodaRef("read_params"), { detail }));
}

/** Notes that a step without a call has succeeded, and what it gives. */
export function succeedQuietly(run: Run, stepId: string, output: Json): void {
  const output_text = output === null ? "" : textOf(output);
  const succeeded = { action_id: null, output, output_text, status: "COMPLETED", cost: 0 } as const;
  run.log.note(draft("STEP_SUCCEEDED", succeeded, stepId));
}
