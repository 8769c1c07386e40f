/**
 * Waits for a place among `limits.maxInFlight` for a workflow that was accepted without one.
 *
 * 1.  The wait has no time limit; it ends with a place, with the end of the workflow, or when its owner stops.
 */
import { refOf } from "../../../contract/gate-vote.ts";
import { t7 } from "../../../contract/messages/t7.ts";
import { askTier } from "../../../engine/actors/ask-tier.ts";
import { oodaRef } from "../decide/run/run.ts";
import { untilAnswered } from "./children.ts";
import type { Asking } from "./services.ts";

/** Resolves once the workflow has a place. T7 forgets nobody when it is restarted, so the question is repeated then. */
export async function takeInFlightPlace(at: Asking): Promise<void> {
  const { workflow_id, tenant_id, intent, correlation_id } = at.run.log.record;
  const running = { workflow_id, tenant_id, principal: refOf(intent.actor) };
  const by = { source: oodaRef("act"), traceId: correlation_id, parentId: at.parentId };
  await untilAnswered(at, () => askTier(at.runtime, t7.enter, running, by));
}
