/**
 * T7, orchestration: which workflows exist, how many run at once, which deployment a model call goes to, and where an
 * error nobody could handle ends.
 *
 * Owns: the registry of running workflows and its cap, the model router. Never: runs a workflow, calls a model.
 * O1  Above `limits.maxInFlight` a workflow is refused, retryable, before it has left a trace.
 * O2  A decided route counts as an invocation at once: two calls never share the last one. Tokens and money count when
 *     the call has ended.
 */
import { escalate, type KernelError, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { RouteDecision, RouteRequest, SpentByEndpoint } from "../../contract/model-route.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { fail, metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Door, TierDefinition } from "../../runtime/define-tier.ts";
import type { Kit } from "../../runtime/kit.ts";
import { createModelRouter, type ModelRouter, type ModelRouterOptions, modelRouterRef } from "./route-model.ts";

const refs = {
  orchestrator: moduleRef(7, "team_orchestrator", "register"),
  spawning: moduleRef(7, "agent_spawning", "spawn"),
  router: moduleRef(7, "task_router", "route"),
} as const;

export interface OrchestrationTierOptions {
  /** The workflows that are awake, to begin again from after a restart of the tier. */
  readonly running: () => readonly string[];
  readonly models: ModelRouterOptions;
}

export function createOrchestrationTier({ running, models }: OrchestrationTierOptions): TierDefinition {
  let registry = new Set<string>();
  // What was spent survives a restart of the tier.
  const router = createModelRouter(models);
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
        handle: (signal, kit) => register(registry, signal, kit),
      },
      "data:Release": {
        module: "team_orchestrator",
        function: "release",
        handle: (signal) => {
          registry.delete((signal.body["data"] as { readonly workflow_id: string }).workflow_id);
          return ok([], metricsOf(refs.orchestrator));
        },
      },
      "data:RouteRequest": {
        module: "model_router",
        function: "route",
        check: needsRequest,
        handle: (signal, kit) => routeModel(router, signal, kit),
      },
      "data:ModelUsage": {
        module: "model_router",
        function: "record",
        check: needsUsage,
        handle: (signal) => recordUsage(router, signal),
      },
      "command:retry": { ...route, function: "retry" },
      "command:abort": { ...route, function: "abort" },
      "data:KernelError": { module: "team_orchestrator", function: "escalate", handle: endEscalation },
    },
  };
}

function register(registry: Set<string>, signal: Signal, kit: Kit): Result {
  const { workflow_id } = signal.body["data"] as { readonly workflow_id: string };
  const { maxInFlight } = kit.limits;
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
  const out = kit.signals.createDataSignal(
    { workflow_id, running: registry.size },
    "Registered",
    refs.orchestrator,
    signal.trace_id,
    null,
    { parentId: signal.id },
  );
  return ok([out], metricsOf(refs.orchestrator));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const needsRequest = ({ data }: Signal["body"]): string | null =>
  isObject(data) && isObject(data["request"]) ? null : "a RouteRequest carries a request";

const needsUsage = ({ data }: Signal["body"]): string | null =>
  isObject(data) && typeof data["endpoint"] === "string" ? null : "a ModelUsage names its endpoint";

function routeModel(router: ModelRouter, signal: Signal, kit: Kit): Result {
  const { request, spent } = signal.body["data"] as {
    readonly request: RouteRequest;
    readonly spent?: SpentByEndpoint;
  };
  const { decision, refusal } = router.route(request, spent);
  if (decision === null) return fail(refusal, metricsOf(modelRouterRef));
  router.record(decision.endpoint.name, { invocations: 1 });
  const out = kit.signals.createDataSignal(
    decision satisfies RouteDecision,
    "RouteDecision",
    modelRouterRef,
    signal.trace_id,
    null,
    { parentId: signal.id },
  );
  return ok([out], metricsOf(modelRouterRef));
}

/** What an ended call used; it was counted as an invocation when it was routed. */
function recordUsage(router: ModelRouter, signal: Signal): Result {
  const { endpoint, tokens, money } = signal.body["data"] as {
    readonly endpoint: string;
    readonly tokens?: number;
    readonly money?: number;
  };
  router.record(endpoint, { tokens, money });
  return ok([], metricsOf(modelRouterRef));
}

/** The last resort: the error comes back with its whole chain, and the workflow ends with it. */
function endEscalation(signal: Signal, kit: Kit): Result {
  const last = escalate(signal.body["data"] as KernelError);
  return ok(
    [kit.signals.createErrorSignal(last, refs.orchestrator, signal.trace_id, { parentId: signal.id })],
    metricsOf(refs.orchestrator),
  );
}
