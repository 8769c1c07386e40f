/**
 * T7, orchestration: which workflows exist, how many run at once, which deployment a model call goes to, and where an
 * error nobody could handle ends.
 *
 * Owns: the registry of running workflows and its cap, the model router. Never: runs a workflow, calls a model.
 * O1  Above `limits.maxInFlight`, and above the share of its tenant or principal, a workflow is refused, retryable, before it
 *     has left a trace.
 */
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData, escalateFrom } from "../../engine/actors/answer.ts";
import type { Door, TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { type Running, RunningWorkflows } from "./running-workflows.ts";
import { createRouteDoors, type RouteDoorsOptions } from "./serve-routes.ts";

const refs = {
  orchestrator: moduleRef(7, "team_orchestrator", "register"),
  router: moduleRef(7, "task_router", "route"),
} as const;

export interface OrchestrationTierOptions extends RouteDoorsOptions {
  /** The workflows that are awake, to begin again from after a restart of the tier. */
  readonly running: () => readonly Running[];
}

export function createOrchestrationTier({ running, ...routing }: OrchestrationTierOptions): TierDefinition {
  let registry = new RunningWorkflows();
  const route: Omit<Door, "function"> = {
    module: "task_router",
    next: 4,
    handle: (signal) => ok([signal], metricsOf(refs.router)),
  };
  return {
    tier: 7,
    name: "orchestration",
    start: () => {
      registry = new RunningWorkflows();
      for (const one of running()) registry.add(one);
    },
    doors: {
      "data:Registration": {
        module: "team_orchestrator",
        function: "register",
        handle: (signal, runtime) => register(registry, signal, runtime),
      },
      "data:Release": {
        module: "team_orchestrator",
        function: "release",
        handle: (signal) => {
          registry.release((signal.body["data"] as { readonly workflow_id: string }).workflow_id);
          return ok([], metricsOf(refs.orchestrator));
        },
      },
      ...createRouteDoors(routing),
      "command:retry": { ...route, function: "retry" },
      "command:abort": { ...route, function: "abort" },
      // The last resort: the error comes back with its whole chain, and the workflow ends with it.
      "data:KernelError": {
        module: "team_orchestrator",
        function: "escalate",
        handle: escalateFrom(refs.orchestrator),
      },
    },
  };
}

function register(registry: RunningWorkflows, signal: Signal, runtime: Runtime): Result {
  const asked = signal.body["data"] as Running;
  registry.admit(asked, runtime.limits);
  const data = { workflow_id: asked.workflow_id, running: registry.size };
  return answerData(runtime, signal, { data, schema: "Registered", ref: refs.orchestrator });
}
