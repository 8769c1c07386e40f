/**
 * The doors of the model router: where a call may go, and what it used.
 *
 * Owns: what this kernel's calls have taken of each endpoint's budget. Never: decides (route-model.ts does), charges the
 * ledger's counters (they are written with the events they count).
 * S1  A decided route counts as an invocation at once, and sets the tokens aside that the call may take: two calls never
 *     share the last ones. What it used instead, and its money, count when it has ended.
 * S2  Budgets are over all tenants. What a tenant had used before this process counts from its first route on; what
 *     other processes use meanwhile counts for the same tenant.
 */
import type { Charge } from "../../contract/budget.ts";
import { raise } from "../../contract/error.ts";
import {
  endpointCounter,
  type ModelSpent,
  type ParsedModelRouting,
  type RouteDecision,
  type RouteRequest,
  type SpentByEndpoint,
} from "../../contract/model-route.ts";
import { fail, metricsOf, ok, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Door } from "../../runtime/define-tier.ts";
import type { Kit } from "../../runtime/kit.ts";
import { errorOf } from "../../runtime/within.ts";
import { createModelRouter, modelRouterRef } from "./route-model.ts";

type Id = string | number;

export interface RouteDoorsOptions {
  readonly models: ParsedModelRouting;
  /** The ledger's counters of a tenant, in the order asked for. */
  readonly charges: (tenantId: Id, counters: readonly string[]) => Promise<readonly Charge[]>;
}

interface RouteQuestion {
  readonly request: RouteRequest;
  readonly tenant_id: Id;
}

type ModelUsage = { readonly endpoint: string; readonly reserved_tokens?: number } & Partial<ModelSpent>;

export function createRouteDoors({ models, charges }: RouteDoorsOptions): Readonly<Record<string, Door>> {
  const router = createModelRouter(models);
  const limited = models.endpoints.flatMap(({ name, budget }) => (budget === undefined ? [] : [name]));
  const known = new Set<Id>();
  const countFor = async (tenantId: Id): Promise<SpentByEndpoint> => {
    if (limited.length === 0) return {};
    const counted = await charges(tenantId, limited.map(endpointCounter)).catch((thrown: unknown) =>
      raise(errorOf(thrown, "T0_LEDGER_UNAVAILABLE", modelRouterRef)),
    );
    const spent = limited.map((name, i): [string, ModelSpent] => [name, spentIn(counted[i])]);
    if (!known.has(tenantId)) for (const [name, before] of spent) router.record(name, before);
    known.add(tenantId);
    return Object.fromEntries(spent);
  };
  return {
    "data:RouteRequest": {
      module: "model_router",
      function: "route",
      check: needsRequest,
      async handle(signal, kit) {
        const { request, tenant_id } = signal.body["data"] as RouteQuestion;
        const { decision, refusal } = router.route(request, await countFor(tenant_id));
        if (decision === null) return fail(refusal, metricsOf(modelRouterRef));
        router.record(decision.endpoint.name, { invocations: 1, tokens: request.expected_tokens });
        return answer(decision, signal, kit);
      },
    },
    "data:ModelUsage": {
      module: "model_router",
      function: "record",
      check: needsUsage,
      handle(signal) {
        const { endpoint, reserved_tokens, tokens, money } = signal.body["data"] as ModelUsage;
        router.settle(endpoint, { tokens: reserved_tokens }, { tokens, money });
        return ok([], metricsOf(modelRouterRef));
      },
    },
  };
}

const spentIn = ({ invocations = 0, tokens = 0, money = 0 }: Partial<Charge> = {}): ModelSpent => ({
  invocations,
  tokens,
  money,
});

function answer(decision: RouteDecision, { id, trace_id }: Signal, kit: Kit): Result {
  const out = kit.signals.createDataSignal(decision, "RouteDecision", modelRouterRef, trace_id, null, { parentId: id });
  return ok([out], metricsOf(modelRouterRef));
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const needsRequest = ({ data }: Signal["body"]): string | null =>
  isObject(data) && isObject(data["request"]) && ["string", "number"].includes(typeof data["tenant_id"])
    ? null
    : "a RouteRequest carries a request and a tenant_id";

const needsUsage = ({ data }: Signal["body"]): string | null =>
  isObject(data) && typeof data["endpoint"] === "string" ? null : "a ModelUsage names its endpoint";
