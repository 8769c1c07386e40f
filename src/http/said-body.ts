/**
 * Bodies as callers say them: the kernel's requests, in which tenant and principal may be left out.
 *
 * S1  Who calls is known from the credential; what a body says of it is a claim, which must be the same.
 * S2  Nothing else differs from the requests that the in-process API takes.
 */
import { z } from "zod";
import { JobRequest } from "../contract/http.ts";
import { TenantId } from "../contract/ids.ts";
import {
  CancelRequest,
  DelegationRequest,
  GateRequest,
  Principal,
  RetryRequest,
  SubmitRequest,
  WithdrawalRequest,
} from "../index.ts";

const claims = { tenant_id: TenantId.optional(), principal: Principal.partial().optional() };

export const SaidSubmitRequest = SubmitRequest.extend(claims).meta({
  examples: [
    {
      intent_hint: { intent_type: "Repo.ReleaseNotes.Draft", inputs: { repo: "." } },
      scope: { scope_type: "repository", scope_id: "countersign" },
    },
  ],
});
export const SaidSubmit = z.union([SaidSubmitRequest, JobRequest]);
export const SaidGate = GateRequest.extend(claims).meta({
  examples: [{ gate_id: "gate-publish", decision: "approve", payload: { comment: "as agreed" } }],
});
export const SaidWithdrawal = WithdrawalRequest.extend(claims);
export const SaidDelegation = DelegationRequest.extend(claims).meta({
  examples: [{ gate_id: "gate-publish", to: { type: "user", id: "bo" }, expires_at: "2030-01-31T12:00:00.000Z" }],
});
export const SaidRetry = RetryRequest.extend(claims).meta({ examples: [{ mode: "resume_failed_steps" }] });
export const SaidCancel = CancelRequest.extend(claims).meta({ examples: [{ reason: "asked for by mistake" }] });
