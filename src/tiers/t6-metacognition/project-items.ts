/** The items of the lists of a workflow, and the rounds of its steps, a page at a time, from the folded record. */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { ItemFilter, ItemPage, ListedItem } from "../../contract/listed-item.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { StepRecord, WorkflowRecord } from "../../contract/workflow.ts";

/** The most characters of one output on a page of several, and of all outputs of a page. */
const maxOutputChars = 16_000;
const maxPageChars = 1_000_000;

/** Returns a page of items. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a step that is unknown. */
export function projectItems(record: WorkflowRecord, { of, after, limit = 50 }: ItemFilter): ItemPage {
  if (of !== undefined && !record.steps.has(of)) refuse(`there is no step ${of}`);
  const last = after === undefined ? undefined : record.steps.get(after);
  const isItem = last?.added != null && record.standing.groups.get(last.added.of)?.undoes === false;
  if (after !== undefined && (!isItem || (of ?? last.added?.of) !== last.added?.of))
    refuse(`${after} is no cursor here`);
  const items: ListedItem[] = [];
  let chars = 0;
  for (const step of itemsAfter(record, { of, last })) {
    if (items.length === limit || chars > maxPageChars)
      return { workflow_id: record.workflow_id, items, next: items.at(-1)?.step_id ?? null };
    const length = step.state === "succeeded" ? JSON.stringify(step.output).length : 0;
    const isCut = limit > 1 && length > maxOutputChars;
    items.push(listItem(step, isCut));
    chars += isCut ? 0 : length;
  }
  return { workflow_id: record.workflow_id, items, next: null };
}

const refuse = (message: string): never =>
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, moduleRef(0, "gateway", "list")));

interface Place {
  readonly of: string | undefined;
  readonly last: StepRecord | undefined;
}

/** Yields the items behind a place, list by list. */
function* itemsAfter({ standing, steps }: WorkflowRecord, { of, last }: Place): Iterable<StepRecord> {
  let isPast = last === undefined;
  for (const group of standing.groups.values()) {
    if (group.undoes || (of !== undefined && group.of !== of)) continue;
    for (const id of group.ids.values()) {
      const step = steps.get(id);
      if (isPast && step !== undefined) yield step;
      isPast ||= step === last;
    }
  }
}

const listItem = (step: StepRecord, isCut: boolean): ListedItem => ({
  step_id: step.step.step_id,
  of: step.added?.of ?? "",
  key: step.added?.key ?? "",
  state: step.state,
  phase: step.phase,
  child: step.child?.workflow_id ?? null,
  run: step.run,
  output: step.state === "succeeded" && !isCut ? step.output : null,
  ...(isCut && { truncated: true }),
  error: step.error,
  skip_reason: step.skip_reason,
});
