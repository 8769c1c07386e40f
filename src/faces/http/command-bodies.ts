/**
 * Bodies as callers say them: the kernel's requests, in which tenant and principal may be left out.
 *
 * S1  Who calls is known from the credential; what a body says of it is a claim, which must be the same.
 * S2  What is said at a gate names the gate, or of a decision what the gate shows: a request that comes late or twice is
 *     about nothing else.
 * S3  Nothing else differs from the requests that the in-process API takes.
 */
import { z } from "zod";
import { refuseUnnamed } from "../../contract/gate.ts";
import { JobRequest } from "../../contract/http.ts";
import { GateId, TenantId } from "../../contract/ids.ts";
import { isPlainObject, type JsonObject } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import {
  CancelRequest,
  DelegationRequest,
  GateRequest,
  Principal,
  RetryRequest,
  SubmitRequest,
  WithdrawalRequest,
} from "../../index.ts";

const claims = { tenant_id: TenantId.optional(), principal: Principal.partial().optional() };

export const SubmitRequestBody = SubmitRequest.extend(claims).meta({
  examples: [
    {
      intent_hint: { intent_type: "Repo.ReleaseNotes.Draft", inputs: { repo: "." } },
      scope: { scope_type: "repository", scope_id: "countersign" },
    },
  ],
});
export const SubmitBody = z.union([SubmitRequestBody, JobRequest]);
const payload = GateRequest.shape.payload.unwrap();
const named = { ...claims, gate_id: GateId };
const digest = "5d8c8b2c0f6a1f0e9f3a7f6f1d0a4d6f0c1f3c7d9b2e4a6085c7e9f1b3d5a7c9";
/** By its gate, or by what the gate shows; at a gate that was revised, by what it shows now. */
export const GateBody = z
  .union([
    GateRequest.extend(named),
    GateRequest.extend({ ...claims, payload: payload.required({ payload_digest: true }) }),
  ])
  .meta({
    examples: [
      { gate_id: "gate-publish", decision: "approve", payload: { payload_digest: digest, comment: "agreed" } },
    ],
  });
export const WithdrawalBody = WithdrawalRequest.extend(named).meta({ examples: [{ gate_id: "gate-publish" }] });
export const DelegationBody = DelegationRequest.extend(named).meta({
  examples: [{ gate_id: "gate-publish", to: { type: "user", id: "bo" }, expires_at: "2030-01-31T12:00:00.000Z" }],
});
export const RetryBody = RetryRequest.extend(claims).meta({ examples: [{ mode: "resume_failed_steps" }] });
export const CancelBody = CancelRequest.extend(claims).meta({ examples: [{ reason: "asked for by mistake" }] });

/** The body as it is. @throws KernelErrorException T5_GATE_UNNAMED. */
export function requireNamed(body: JsonObject): JsonObject {
  const { gate_id, payload: shown } = body;
  const isNamed = gate_id !== undefined || (isPlainObject(shown) && shown["payload_digest"] !== undefined);
  return isNamed ? body : refuseUnnamed(moduleRef(0, "http", "said_body"));
}
