/**
 * The step kind `each`: it makes one step of each item of its list, and ends once the last of them has ended.
 *
 * 1.  The list is fixed when the step begins: its items stand in the ledger, each with its key. A list that is too long
 *     is refused whole, never cut.
 * 2.  A run after a restart adds nothing: the items that failed or never began are run again by themselves.
 */
import { raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { draft } from "../../../../contract/event.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import type { EachSpec, PlanStep } from "../../../../contract/plan.ts";
import { isStopped, type StepGroup } from "../../../../contract/step-group.ts";
import { EachParams } from "../../../../contract/step-kinds.ts";
import { addedBy, type StepRecord } from "../../../../contract/workflow.ts";
import { resolveParams } from "../payload/resolve-templates.ts";
import { oodaRef, type Run, stepOf } from "../run/run.ts";
import type { StepKindRow } from "./kinds.ts";
import { quietStep, readQuietParams, succeedQuietly } from "./quiet-step.ts";
import { phaseOf } from "./read-phase.ts";

/** The row of the kind `each`. */
export const eachStep: StepKindRow = {
  ...quietStep,
  resume(run, stepId) {
    switch (phaseOf(run, stepOf(run, stepId))) {
      case "judging":
        return beginItems(run, stepId);
      case "waking":
        return endItems(run, stepId);
      default:
        return finishItems(run, stepId);
    }
  },
};

const eachRef = oodaRef("each");

function beginItems(run: Run, stepId: string): void {
  if (!run.log.record.standing.groups.has(stepId)) {
    const items = readItems(run, stepId);
    run.log.note(draft("STEPS_ADDED", { of: stepId, as: "item", items }, stepId));
  }
  run.log.note(draft("STEP_PARKED", { source: "items", due_at: null }, stepId));
}

/** Returns the items of the list, with their keys. @throws KernelErrorException T4_PARAMS_*, T4_ITEMS_TOO_MANY. */
function readItems(run: Run, stepId: string) {
  const { step } = stepOf(run, stepId);
  const { items } = readQuietParams(run, stepId, EachParams);
  const { maxItems } = run.settings.limits;
  if (items.length > maxItems) {
    const message = `the list of step ${stepId} has ${items.length} items, more than limits.maxItems = ${maxItems}`;
    raise(kernelError("T4_ITEMS_TOO_MANY", message, eachRef, { detail: { maxItems, items: items.length } }));
  }
  const keyOf = readKey(step, step.each as EachSpec);
  const seen = new Map<string, number>();
  return items.map((value, index) => {
    const key = keyOf(value, index);
    const other = seen.get(key);
    if (other !== undefined) refuseItem(step, `items ${other} and ${index} have the same key, ${JSON.stringify(key)}`);
    seen.set(key, index);
    return { key, value };
  });
}

const maxKeyLength = 256;

/** Returns what gives the key of an item. @throws KernelErrorException T4_PARAMS_INVALID. */
function readKey(step: PlanStep, { key: written }: EachSpec): (value: Json, index: number) => string {
  if (written === undefined) return (_value, index) => String(index);
  return (item, index) => {
    const { value } = resolveParams({ params: { key: written } }, (id) => (id === "item" ? item : undefined));
    const { key } = value as { readonly key?: Json };
    const isKey = (typeof key === "string" && key !== written) || typeof key === "number";
    const text = isKey ? String(key) : "";
    if (text !== "" && text.length <= maxKeyLength) return text;
    return refuseItem(
      step,
      `${written} gives item ${index} no key: a number, or a text of 1 to ${maxKeyLength} characters`,
    );
  };
}

function refuseItem({ step_id, operator }: PlanStep, why: string): never {
  const detail = { operator };
  return raise(kernelError("T4_PARAMS_INVALID", `items of step ${step_id}: ${why}`, eachRef, { detail }));
}

const groupOf = (run: Run, stepId: string): StepGroup => run.log.record.standing.groups.get(stepId) as StepGroup;

/** Ends the wait: items that were not to begin any more are skipped. */
function endItems(run: Run, stepId: string): void {
  for (const { state, step } of addedBy(run.log.record, stepId))
    if (state === "queued")
      run.log.note(draft("STEP_SKIPPED", { reason: "too_many_failed", because: stepId }, step.step_id));
  run.log.note(draft("STEP_RESUMED", { by: "items" }, stepId));
}

function finishItems(run: Run, stepId: string): void {
  const { step } = stepOf(run, stepId);
  const { budget_refused } = run.log.record;
  const group = groupOf(run, stepId);
  const { succeeded, skipped, failed } = group.counts;
  if (budget_refused !== null && skipped > group.left_out) raise(budget_refused);
  if (isStopped(group, step)) return failItems(run, group);
  const total = group.ids.size;
  const items = [...addedBy(run.log.record, stepId)];
  const counts = { total, succeeded, failed };
  const whole = { ...counts, results: items.map(resultOf) };
  const { maxOutputChars } = run.settings.limits;
  const output =
    JSON.stringify(whole).length <= maxOutputChars
      ? whole
      : { ...counts, outputs: "in_items", results: items.filter(({ state }) => state === "failed").map(resultOf) };
  succeedQuietly(run, stepId, output);
}

/** Returns what the output of the step says of one item. */
function resultOf({ added, state, output, error, skip_reason }: StepRecord): Json {
  const key = added?.key ?? "";
  if (state === "succeeded") return { key, output };
  if (skip_reason === "declined") return { key, skipped: true, ...(output as JsonObject) };
  if (state !== "failed" || error === null) return { key, skipped: true };
  return { key, error: { code: error.code, message: error.message } };
}

const namedFailures = 10;

function failItems(run: Run, { of, ids, counts }: StepGroup): never {
  const failures = [...addedBy(run.log.record, of)].filter(({ state }) => state === "failed").slice(0, namedFailures);
  const [first] = failures;
  const words = first === undefined ? "" : `; the first, ${first.added?.key ?? ""}: ${first.error?.message ?? ""}`;
  const message = `${counts.failed} of ${ids.size} items of step ${of} failed${words}`;
  const detail = {
    total: ids.size,
    succeeded: counts.succeeded,
    failed: counts.failed,
    not_begun: counts.skipped,
    failures: failures.map(resultOf),
  };
  return raise(kernelError("T4_ITEMS_FAILED", message, eachRef, { detail }));
}
