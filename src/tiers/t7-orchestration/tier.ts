/**
 * T7, orchestration: which workflows exist, how many run at once, which deployment a model call goes to, and where an
 * error nobody could handle ends.
 *
 * Owns: the registry of running workflows and its cap, the model router. Never: runs a workflow, calls a model.
 * O1  Above `limits.maxInFlight` a workflow is refused, retryable, before it has left a trace.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData, escalateFrom } from "../../runtime/answer.ts";
import type { Door, TierDefinition } from "../../runtime/define-tier.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import { createRouteDoors, type RouteDoorsOptions } from "./serve-routes.ts";

const refs = {
  orchestrator: moduleRef(7, "team_orchestrator", "register"),
  spawning: moduleRef(7, "agent_spawning", "spawn"),
  router: moduleRef(7, "task_router", "route"),
} as const;

export interface OrchestrationTierOptions extends RouteDoorsOptions {
  /** The workflows that are awake, to begin again from after a restart of the tier. */
  readonly running: () => readonly string[];
}

export function createOrchestrationTier({ running, ...routing }: OrchestrationTierOptions): TierDefinition {
  let registry = new Set<string>();
  const route: Omit<Door, "function"> = {
    module: "task_router",
    next: 4,
    handle: (signal) => ok([signal], metricsOf(refs.router)),
  };
  return {
    tier: 7,
    name: "orchestration",
    start: () => {
      registry = new Set(running());
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
          registry.delete((signal.body["data"] as { readonly workflow_id: string }).workflow_id);
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

function register(registry: Set<string>, signal: Signal, runtime: Runtime): Result {
  const { workflow_id } = signal.body["data"] as { readonly workflow_id: string };
  const { maxInFlight } = runtime.limits;
  if (registry.size >= maxInFlight && !registry.has(workflow_id)) {
    raise(
      kernelError(
        "T7_SPAWN_INSUFFICIENT_RESOURCES",
        `limits.maxInFlight = ${maxInFlight} workflows are running`,
        refs.spawning,
        { detail: { limit: maxInFlight } },
      ),
    );
  }
  registry.add(workflow_id);
  const data = { workflow_id, running: registry.size };
  return answerData(runtime, signal, { data, schema: "Registered", ref: refs.orchestrator });
}
