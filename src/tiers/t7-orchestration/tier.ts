/**
 * T7, orchestration: registers workflows, limits how many run at once, routes model calls, and ends the escalation of
 * errors.
 *
 * Owns: the places of running workflows, the model router. Never: runs a workflow, calls a model.
 * 1.  Above `limits.maxInFlight`, and above the share of its tenant or principal, a submit waits for a place. Once it
 *     has waited for `limits.submitWaitMs` its workflow is accepted, and waits on.
 * 2.  Where as many wait as may, a submit is refused, retryable, before it has left a trace.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { follow } from "../../contract/maybe-promise.ts";
import { type Running, t7 } from "../../contract/messages/t7.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import { escalateFrom } from "../../engine/actors/answer.ts";
import { answerMessages, type Visit } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Limits } from "../../engine/actors/runtime.ts";
import type { Places } from "./places.ts";
import { createModelRoute, type ModelRouteOptions, needsRequest } from "./serve-routes.ts";

const restarted = kernelError(
  "T0_TIER_CRASHED",
  "tier 7 was restarted while the submit waited for a place",
  moduleRef(7, "orchestration", "start"),
);

const refs = {
  orchestrator: moduleRef(7, "team_orchestrator", "register"),
  router: moduleRef(7, "task_router", "route"),
} as const;

export interface OrchestrationTierOptions extends ModelRouteOptions {
  readonly places: Places;
  readonly limits: Limits;
  /** The workflows that are awake, to begin again from after a restart of the tier. */
  readonly running: () => readonly Running[];
}

export function createOrchestrationTier({
  places,
  limits,
  running,
  ...routing
}: OrchestrationTierOptions): TierDefinition {
  const passOn = (_command: object, { signal }: Visit): Result => ok([signal], metricsOf(refs.router));
  const doors = answerMessages(
    t7,
    {
      register(asked, { runtime }) {
        const { workflow_id } = asked;
        return follow(places.register(asked, runtime), (waits) => ({ workflow_id, running: places.running, waits }));
      },
      enter(asked, { runtime }) {
        return follow(places.enter(asked, runtime.limits), () => ({ workflow_id: asked.workflow_id }));
      },
      release({ workflow_id }, { runtime }) {
        places.release(workflow_id, runtime.limits);
        return ok([], metricsOf(refs.orchestrator));
      },
      abandon({ workflow_id }) {
        places.abandon(workflow_id);
        return ok([], metricsOf(refs.orchestrator));
      },
      routeModel: createModelRoute(routing),
      retry: passOn,
      cancel: passOn,
      // The last resort: the error comes back with its whole chain, and the workflow ends with it.
      escalate: escalateFrom(refs.orchestrator),
    },
    { routeModel: { check: needsRequest } },
  );
  return {
    tier: 7,
    name: "orchestration",
    start() {
      places.restart(running(), restarted);
      places.serve(limits);
    },
    doors,
  };
}
