/**
 * What of a turn lies in memory before its row is in the ledger: the events as they will be written, and their envelope.
 */
import type { Actor, EventDraft } from "../contract/event.ts";
import type { JsonObject } from "../contract/json.ts";
import { type TurnEnvelope, type TurnEvent, turnSchemaVersion } from "../contract/turn.ts";
import type { Append } from "../ports/ledger-store.ts";
import type { KnownHead } from "./derive-indexes.ts";
import type { NewWorkflow } from "./log-services.ts";

export interface Noted {
  readonly draft: EventDraft;
  readonly event: TurnEvent;
  /** The event as it will lie in the ledger: what is no JSON is refused here, and no commit can fail for it. */
  readonly text: string;
}

export interface Sealed {
  readonly entry: Append;
  readonly noted: readonly Noted[];
  readonly envelope: TurnEnvelope;
  /** What the head says once this row is in. */
  readonly known: KnownHead;
}

/** The index row as a log last wrote it; what somebody else may have written is written again with the next row. */
export const unknownHead: KnownHead = { state: null, percent: null, due_at: undefined };

export const system: Actor = Object.freeze({ type: "system", id: "kernel" });

interface Noting {
  readonly id: string;
  readonly actor: Actor;
  /** The plan that the workflow follows now, and the one that its envelopes name. */
  readonly plan: string;
  readonly home: string;
}

/** The event, with what of it differs from its envelope. A plan's own event belongs to that plan already. */
export function eventOf(draft: EventDraft, { id, actor, plan, home }: Noting): TurnEvent {
  const own = draft.type === "PLAN_CREATED" ? draft.payload.plan.plan_id : plan;
  return {
    id,
    type: draft.type,
    step: draft.step_id,
    ...(own === home ? {} : { plan: own }),
    ...(actor === system ? {} : { actor }),
    payload: draft.payload as unknown as JsonObject,
  };
}

interface Sealing {
  readonly inputs?: TurnEnvelope["inputs"] | undefined;
}

/** What the events of a workflow's row share. */
export function envelopeOf(
  { tenant_id, workflow_id, thread_id, intent_id, plan_id, correlation_id }: NewWorkflow,
  { now, first, count, inputs }: Pick<TurnEnvelope, "now" | "first" | "count"> & Pick<Sealing, "inputs">,
): TurnEnvelope {
  return {
    v: turnSchemaVersion,
    stream: workflow_id,
    tenant_id,
    workflow_id,
    thread_id,
    intent_id,
    plan_id,
    correlation_id,
    actor: system,
    now,
    first,
    count,
    ...(inputs === undefined ? {} : { inputs }),
  };
}
