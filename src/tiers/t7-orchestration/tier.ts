/**
 * T7, orchestration: which workflows exist, how many run at once, which deployment a model call goes to, and where an
 * error nobody could handle ends.
 *
 * Owns: the registry of running workflows and its cap, the model router. Never: runs a workflow, calls a model.
 * O1  Above `limits.maxInFlight`, and above the share of its tenant or principal, a workflow is refused, retryable, before it
 *     has left a trace.
 */
import { type Running, t7 } from "../../contract/messages/t7.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import { escalateFrom } from "../../engine/actors/answer.ts";
import { answerMessages, type Visit } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import { RunningWorkflows } from "./running-workflows.ts";
import { createModelRoute, type ModelRouteOptions, needsRequest } from "./serve-routes.ts";

const refs = {
  orchestrator: moduleRef(7, "team_orchestrator", "register"),
  router: moduleRef(7, "task_router", "route"),
} as const;

export interface OrchestrationTierOptions extends ModelRouteOptions {
  /** The workflows that are awake, to begin again from after a restart of the tier. */
  readonly running: () => readonly Running[];
}

export function createOrchestrationTier({ running, ...routing }: OrchestrationTierOptions): TierDefinition {
  let registry = new RunningWorkflows();
  const passOn = (_command: object, { signal }: Visit): Result => ok([signal], metricsOf(refs.router));
  const doors = answerMessages(
    t7,
    {
      register(asked, { runtime }) {
        registry.admit(asked, runtime.limits);
        return { workflow_id: asked.workflow_id, running: registry.size };
      },
      release({ workflow_id }) {
        registry.release(workflow_id);
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
    start: () => {
      registry = new RunningWorkflows();
      for (const one of running()) registry.add(one);
    },
    doors,
  };
}
