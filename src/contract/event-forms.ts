/**
 * What a reader can foretell of an event's payload from what its stream said before (core of the lean rows, LED).
 *
 * Owns: for each event type that is frequent or large, its members in order and what each is foretold to be; and which
 *       event is foretold to follow another in the same row.
 * Never: is asked what is true. What comes otherwise is written; nothing here changes what an event says.
 * E1  Constants and rules here are part of the format: a change of them is a new `turnSchemaVersion`.
 * E2  What follows in a row is foretold from that row alone, so that types and steps of all events can be told though
 *     other bodies are missing.
 */
import { actionFailed, actionStarted, actionSucceeded, stepFailed, stepSucceeded } from "./call-forms.ts";
import type { EventType } from "./event.ts";
import { type Form, form, none, told } from "./form.ts";
import { gateDecided, gateOpened, gateRevised, outcomeRecorded } from "./gate-forms.ts";
import { contextBuilt, planCreated, policyDecided, received } from "./intake-forms.ts";

const sinceBegin = told(({ context: { began }, now }) => (began === null ? undefined : now - began));

const resumed = form(
  ["gate_id", "step_id", "principal", "feedback"],
  [told(({ context }) => context.facts.decided?.gate_id), told(({ context }) => context.facts.decided?.step_id)],
);

const waiting = form(
  ["gates"],
  [told(({ context: { facts } }) => (facts.gate_id === undefined ? undefined : [facts.gate_id]))],
);

const completed = form(
  ["text", "confidence", "grounding", "warnings", "duration_ms"],
  [told(({ context }) => context.facts.output_text), "1", "1", none, sinceBegin],
);

/** None for an event of which nothing is foretold. */
export const forms: { readonly [T in EventType]?: Form } = {
  INTENT_RECEIVED: received,
  CONTEXT_BUILT: contextBuilt,
  PLAN_CREATED: planCreated,
  POLICY_DECIDED: policyDecided,
  WORKFLOW_STARTED: form(["round"], [told(({ context }) => context.facts.round)]),
  STEP_QUEUED: form(
    ["name", "operator"],
    [told(({ own }) => own.step?.["name"]), told(({ own }) => own.step?.["operator"])],
  ),
  STEP_STARTED: form(["run"], [1]),
  ACTION_STARTED: actionStarted,
  ACTION_SUCCEEDED: actionSucceeded,
  ACTION_FAILED: actionFailed,
  STEP_SUCCEEDED: stepSucceeded,
  STEP_FAILED: stepFailed,
  GATE_OPENED: gateOpened,
  GATE_REVISED: gateRevised,
  USER_APPROVED: gateDecided,
  USER_REJECTED: gateDecided,
  OUTCOME_DRAFTED: outcomeRecorded,
  OUTCOME_FINALIZED: outcomeRecorded,
  WORKFLOW_RESUMED: resumed,
  WORKFLOW_WAITING: waiting,
  WORKFLOW_COMPLETED: completed,
};
