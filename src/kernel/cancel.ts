/** Cancelling in the name of a caller, once it is clear that the workflow is theirs to cancel. */
import { moduleRef } from "../contract/module-ref.ts";
import { CancelRequest, type CancelResponse } from "../contract/retry.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import { type ReachParts, requireReach } from "./require-reach.ts";

const cancelRef = moduleRef(0, "gateway", "cancel");

/**
 * Cancels a workflow for a caller. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, and the refusals of the gateway.
 */
export async function cancelFor(
  parts: ReachParts,
  workflowId: string,
  request: CancelRequest,
): Promise<CancelResponse> {
  const plain = takeJson(request, { what: "request", source: cancelRef });
  const { data: caller } = CancelRequest.safeParse(plain);
  // The gateway refuses an invalid request with the reason.
  if (caller !== undefined) await requireReach(parts, workflowId, { caller, scope: "workflow:cancel" });
  return parts.gateway.cancel(workflowId, plain);
}
