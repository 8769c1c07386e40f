/**
 * Judges a payload from outside by the form that a step asks. Who wrote the plan wrote the form, a model perhaps: its
 * patterns may take longer than any size limit bounds, so that each judgement is stopped after a while.
 */
import { readerOf } from "../contract/form.ts";
import type { Json, JsonObject } from "../contract/json.ts";
import type { StepRecord } from "../contract/workflow.ts";
import { runWithin, stopped } from "../define/run-within.ts";

const limitMs = 250;

/** Returns the form that a step asks of a payload; null if any will do. */
export const formAsked = ({ step }: Pick<StepRecord, "step">): JsonObject | null =>
  (step.params["schema"] as JsonObject | undefined) ?? null;

/**
 * Returns the function that says why a payload does not have a form; null if it has it. Once a judgement was stopped,
 * the function refuses all others at once.
 */
export function judgeOf(form: JsonObject | null): (payload: Json) => string | null {
  if (form === null) return () => null;
  const read = readerOf(form);
  let isTooSlow = false;
  return (payload) => {
    const reading = isTooSlow ? stopped : runWithin(limitMs, () => read(payload));
    isTooSlow = reading === stopped;
    if (reading === stopped) return `it cannot be judged by the form within ${limitMs} ms`;
    return reading.ok ? null : reading.problem;
  };
}
