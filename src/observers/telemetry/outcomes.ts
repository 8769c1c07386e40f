/** The ends of lives as few words and codes, which become attributes and labels. */
import { type LedgerEvent, payloadOf } from "../../contract/event.ts";
import type { Lifetime, LifetimeEnd } from "./lifetime.ts";

export type Outcome = Pick<LifetimeEnd, "outcome" | "error">;

const plain = (outcome: string): Outcome => ({ outcome, error: null });
const failed = (error: { readonly code: string }, outcome = "failed"): Outcome => ({ outcome, error: error.code });

/** Returns the outcome of a life that ended with its parent: nobody decided the gate, nobody waited for the call. */
export const cutOf = ({ kind }: Lifetime): Outcome => plain(kind === "gate" ? "voided" : "cut");

/** Returns the outcome of a run; a person's rejection is no failure. */
export function runOutcome(event: LedgerEvent): Outcome {
  if (event.event_type === "WORKFLOW_COMPLETED") return plain("completed");
  if (event.event_type === "WORKFLOW_CANCELLED") return plain("cancelled");
  const { error, status } = payloadOf(event, "WORKFLOW_FAILED");
  return failed(error, status);
}

export function stepOutcome(event: LedgerEvent): Outcome {
  if (event.event_type === "STEP_SUCCEEDED") return plain("succeeded");
  if (event.event_type === "STEP_SKIPPED") return plain("skipped");
  const { error, blocked } = payloadOf(event, "STEP_FAILED");
  return failed(error, blocked ? "blocked" : "failed");
}

export function attemptOutcome(event: LedgerEvent): Outcome {
  if (event.event_type === "ACTION_SUCCEEDED") return plain("succeeded");
  if (event.event_type === "ACTION_FAILED") {
    const { error } = payloadOf(event, "ACTION_FAILED");
    return failed(error, error.code === "T4_TOOL_TIMEOUT" ? "timed_out" : "failed");
  }
  const { resolution } = payloadOf(event, "ACTION_SETTLED");
  return resolution === "done" ? plain("succeeded") : { outcome: "failed", error: "in_doubt" };
}

const gateOutcomes: Readonly<Record<string, string>> = { USER_APPROVED: "approved", USER_REJECTED: "rejected" };

export const gateOutcome = ({ event_type }: LedgerEvent): Outcome => plain(gateOutcomes[event_type] ?? "expired");
