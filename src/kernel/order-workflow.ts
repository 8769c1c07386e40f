/**
 * Cancelling, rolling back, pausing, resuming and noting something at a gate in the name of a caller, once it is clear
 * that the workflow is theirs to order.
 */
import { commandScopes } from "../contract/auth-context.ts";
import { RollbackRequest } from "../contract/compensation.ts";
import { GateNoteRequest } from "../contract/gate-conversation.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { PauseRequest, ResumeRequest } from "../contract/pause.ts";
import { CancelRequest } from "../contract/retry.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import type { Kernel } from "./kernel-interface.ts";
import { type ReachParts, requireReach } from "./require-reach.ts";

/** The scope that each order needs, and the schema of its request. */
const orders = {
  cancel: { scope: commandScopes.cancel, schema: CancelRequest },
  rollback: { scope: commandScopes.cancel, schema: RollbackRequest },
  pause: { scope: commandScopes.pause, schema: PauseRequest },
  resume: { scope: commandScopes.pause, schema: ResumeRequest },
  noteGate: { scope: commandScopes.note, schema: GateNoteRequest },
} as const;

type OrderName = keyof typeof orders;

/**
 * Gives an order for a caller. @throws KernelErrorException T5_AUTHZ_FORBIDDEN, and the refusals of the gateway.
 */
export async function orderFor<N extends OrderName>(
  parts: ReachParts,
  name: N,
  { workflowId, request }: { readonly workflowId: string; readonly request: Parameters<Kernel[N]>[1] },
): Promise<Awaited<ReturnType<Kernel[N]>>> {
  const { scope, schema } = orders[name];
  const plain = takeJson(request, { what: "request", source: moduleRef(0, "gateway", name) });
  const { data: caller } = schema.safeParse(plain);
  // The gateway refuses an invalid request with the reason.
  if (caller !== undefined) await requireReach(parts, workflowId, { caller, scope });
  return parts.gateway[name](workflowId, plain) as Promise<Awaited<ReturnType<Kernel[N]>>>;
}
