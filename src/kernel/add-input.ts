/** Adds a message to a workflow in the name of a caller who may have it go on, if its capability takes messages. */
import { InputRequest, type InputResponse } from "../contract/added-input.ts";
import { commandScopes } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import { type ReachParts, requireReach } from "./require-reach.ts";

const inputRef = moduleRef(0, "gateway", "addInput");

/** Adds a message. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, T4_INPUT_NOT_TAKEN, and those of the gateway. */
export async function addInputFor(parts: ReachParts, workflowId: string, request: unknown): Promise<InputResponse> {
  const plain = takeJson(request, { what: "request", source: inputRef });
  const { data: caller } = InputRequest.safeParse(plain);
  // The gateway refuses an invalid request with the reason.
  if (caller !== undefined) {
    await requireReach(parts, workflowId, { caller, scope: commandScopes.retry });
    const { intent } = await parts.reading.readWorkflowState(workflowId, caller);
    if (parts.registry.getCapability(intent.type, intent.version).takesInput !== true) refuse(intent.type);
  }
  return parts.gateway.addInput(workflowId, plain);
}

const refuse = (capability: string): never =>
  raise(
    kernelError("T4_INPUT_NOT_TAKEN", `a workflow of ${capability} takes no messages`, inputRef, {
      detail: { capability },
    }),
  );
