/**
 * Begins the work that the options of the kernel state for an event from outside.
 *
 * Never: receives an event.
 * 1.  Work is submitted by the principal who sent the event, with that principal's rights.
 * 2.  The submit has a key made of the event's id: the same event again, which a sender sends if it got no answer,
 *     begins nothing more.
 */
import { KernelErrorException, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import type { EventStart } from "../contract/event-start.ts";
import type { SubmitRequest, SubmitResponse } from "../contract/intent.ts";
import type { Json, JsonObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { ParsedEmitRequest, ReceivedEvent, StartedWork } from "../contract/received-event.ts";
import { resolveParams } from "../tiers/t4-execution/decide/payload/resolve-templates.ts";

export interface StartParts {
  readonly starts: readonly EventStart[];
  readonly submit: (request: SubmitRequest) => Promise<SubmitResponse>;
}

/** Submits the work of an event; a refusal stands in the answer. @throws if it is not known whether work has begun. */
export const startWork = (
  { starts, submit }: StartParts,
  sender: Pick<ParsedEmitRequest, "tenant_id" | "principal">,
  event: ReceivedEvent,
): Promise<readonly StartedWork[]> =>
  Promise.all(
    starts
      .filter((start) => start.event === event.name)
      .map(async ({ intent_type, inputs }): Promise<StartedWork> => {
        try {
          const { workflow_id } = await submit({
            tenant_id: sender.tenant_id,
            principal: sender.principal,
            intent_hint: { intent_type, inputs: inputsOf(inputs, event) },
            idempotency_key: `event:${event.event_id}:${intent_type}`,
          });
          return { intent_type, workflow_id, error: null };
        } catch (thrown) {
          if (thrown instanceof KernelErrorException && !thrown.error.retry_eligible)
            return { intent_type, workflow_id: null, error: thrown.error };
          throw thrown;
        }
      }),
  );

/** Returns the inputs with what the event gives. @throws KernelErrorException T4_EVENT_INVALID. */
function inputsOf(inputs: JsonObject, { name, key, payload, event_id }: ReceivedEvent): JsonObject {
  const event: Json = { name, key, payload, event_id };
  const { value, unresolved } = resolveParams({ params: inputs }, (id) => (id === "event" ? event : undefined));
  if (unresolved.length === 0) return value as JsonObject;
  const message = `the event ${name} lacks what its work needs: ${unresolved.join(", ")}`;
  return raise(kernelError("T4_EVENT_INVALID", message, moduleRef(0, "kernel", "emit"), { detail: { name, key } }));
}
