/** The effects on the record of events about waits, and of messages to the workflow. */

import type { WorkflowRecord } from "../src/contract/workflow.ts";
import { addRequester, type Folded, type Handler } from "./fold-records.ts";

type WaitEvents = "WAIT_ANSWERED" | "WAIT_REMINDED" | "EVENT_PASSED_OVER" | "INPUT_ADDED";

const stepOf = (record: WorkflowRecord, { step_id }: Folded) => record.steps.get(step_id ?? "");

export const waitHandlers: { readonly [T in WaitEvents]: Handler<T> } = {
  WAIT_ANSWERED(record, { payload }, meta) {
    const step = stepOf(record, meta);
    if (step !== undefined) step.answer = { payload };
  },
  WAIT_REMINDED(record, { reminder }, meta) {
    const step = stepOf(record, meta);
    if (step?.parked?.source === "event") step.parked = { ...step.parked, reminder };
  },
  EVENT_PASSED_OVER(record, { event_id }, meta) {
    stepOf(record, meta)?.passed.push(event_id);
  },
  INPUT_ADDED(record, { text, principal, follows, input_id }) {
    addRequester(record, principal);
    record.inputs = [...record.inputs, { text, author: { type: principal.type, id: principal.id }, follows, input_id }];
  },
};

/** Places the messages that came while a plan was made behind the steps of that plan. */
export function placeInputs(record: WorkflowRecord, last: string | null): void {
  record.inputs = record.inputs.map((one) => (one.follows === undefined ? { ...one, follows: last } : one));
}
