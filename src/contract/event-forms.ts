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
import { Foretold } from "./foretold.ts";
import { type EventPlace, empty, type Form, none } from "./form.ts";
import { gateDecided, gateOpened, gateRevised, outcomeRecorded } from "./gate-forms.ts";
import { contextBuilt, planCreated, policyDecided, received } from "./intake-forms.ts";

/** Undefined for an event of which nothing is foretold. */
export const formOf = (place: EventPlace): Foretold | undefined => forms[place.type]?.(place);

const sinceBegin = ({ context, now }: EventPlace): number | undefined =>
  context.began === null ? undefined : now - context.began;

const resumed: Form = ({ context: { facts } }) =>
  new Foretold(["gate_id", "step_id", "principal", "feedback"], [facts.decided?.gate_id, facts.decided?.step_id]);

const waiting: Form = ({ context: { facts } }) =>
  new Foretold(["gates"], [facts.gate_id === undefined ? undefined : [facts.gate_id]]);

const completed: Form = (place) =>
  new Foretold(
    ["text", "confidence", "grounding", "warnings", "duration_ms"],
    [place.context.facts.output_text, "1", "1", none, sinceBegin(place)],
  );

const forms: { readonly [T in EventType]?: Form } = {
  INTENT_RECEIVED: received,
  CONTEXT_BUILT: contextBuilt,
  PLAN_CREATED: planCreated,
  POLICY_DECIDED: policyDecided,
  WORKFLOW_STARTED: ({ context }) => new Foretold(["round"], [context.facts.round]),
  STEP_QUEUED: ({ context, step }) => {
    const { name, operator } = context.of(step).step ?? empty;
    return new Foretold(["name", "operator"], [name, operator]);
  },
  STEP_STARTED: () => new Foretold(["run"], [1]),
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
