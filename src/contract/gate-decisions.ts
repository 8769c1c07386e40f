/**
 * Decisions at several gates in one request, each bound to the payload that its gate showed, and each with an answer of
 * its own.
 */
import { z } from "zod";
import { GateRequest, GateResponse } from "./gate.ts";
import { WorkflowId } from "./ids.ts";
import { KernelError } from "./kernel-error.ts";

/** The number of decisions that one request may hold. */
export const maxDecisionsAtOnce = 500;

const { tenant_id, principal, ...ofGate } = GateRequest.shape;

/** One of several decisions: a decision at a gate of the workflow that it names, by the digest of what was shown. */
export const NamedDecision = z.strictObject({
  /** The workflow of the gate. */
  workflow_id: WorkflowId,
  ...ofGate,
  /** The content of the decision; it names the digest of the payload that the gate showed. */
  payload: ofGate.payload.unwrap().required({ payload_digest: true }),
});
export type NamedDecision = z.input<typeof NamedDecision>;
export type ParsedNamedDecision = z.output<typeof NamedDecision>;

/** The decisions of one person at up to 500 gates. Each is taken or refused by itself. */
export const GateDecisions = z.strictObject({
  /** The tenant of the workflows. */
  tenant_id,
  /** The principal who decides. */
  principal,
  /** The decisions, each at another gate. Those at gates of one workflow are taken in this order. */
  decisions: z.array(NamedDecision).min(1).max(maxDecisionsAtOnce),
});
export type GateDecisions = z.input<typeof GateDecisions>;
export type ParsedGateDecisions = z.output<typeof GateDecisions>;

/** The result of one decision: the answer that it would have had by itself, or the error that refused it. */
export const DecisionResult = z.union([
  z.object({ workflow_id: WorkflowId, ok: z.literal(true), answer: GateResponse }),
  z.object({ workflow_id: WorkflowId, ok: z.literal(false), error: KernelError }),
]);
export type DecisionResult = z.infer<typeof DecisionResult>;

/** The results of several decisions, in the order of the request. */
export const GateDecisionsResponse = z.object({
  results: z.array(DecisionResult),
  /** The number of decisions that were taken. */
  taken: z.int().nonnegative(),
  /** The number of decisions that were refused. */
  refused: z.int().nonnegative(),
});
export type GateDecisionsResponse = z.infer<typeof GateDecisionsResponse>;
