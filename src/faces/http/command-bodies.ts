/**
 * The bodies of commands: the kernel's requests, in which tenant and principal may be left out.
 *
 * 1.  The caller is known from the credential; a caller in a body is a claim, which must be the same.
 * 2.  A request to a gate names the gate, or the payload that it shows: a late or repeated request concerns nothing
 *     else.
 * 3.  Nothing else differs from the requests that the in-process API takes.
 */
import { z } from "zod";
import { kernelCommands, submit, workflowCommands } from "../../api/commands.ts";
import type { Command } from "../../api/operation.ts";
import { GateRequest, refuseUnnamed } from "../../contract/gate.ts";
import { JobRequest } from "../../contract/http.ts";
import { GateId, TenantId } from "../../contract/ids.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { Principal } from "../../index.ts";

const claims = { tenant_id: TenantId.optional(), principal: Principal.partial().optional() };
const shown = GateRequest.shape.payload.unwrap().required({ payload_digest: true });

function bodyOf({ request, example, namesGate = false }: Command): z.ZodType {
  const body = request.extend(claims);
  const named = namesGate ? body.extend({ gate_id: GateId }) : body;
  const hasPayload = namesGate && "payload" in body.shape;
  return (hasPayload ? z.union([named, body.extend({ payload: shown })]) : named).meta({ examples: [example] });
}

/** The body of each command but submit, by the name of the command's method. */
export const commandBodies = Object.fromEntries(
  Object.entries({ ...kernelCommands, ...workflowCommands }).map(([method, command]) => [method, bodyOf(command)]),
) as { readonly [M in keyof typeof kernelCommands | keyof typeof workflowCommands]: z.ZodType };

export const SubmitRequestBody = bodyOf(submit);
export const SubmitBody = z.union([SubmitRequestBody, JobRequest]);

/** Returns the body as it is. @throws KernelErrorException T5_GATE_UNNAMED. */
export function requireNamed(body: JsonObject): JsonObject {
  const { gate_id, payload } = body;
  const isNamed = gate_id !== undefined || (isPlainObject(payload) && payload["payload_digest"] !== undefined);
  return isNamed ? body : refuseUnnamed(moduleRef(0, "http", "said_body"));
}
