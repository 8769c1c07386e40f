/**
 * The door of the model router: where a call may go.
 *
 * Never: decides (route-model.ts does), keeps what is spent: that is what the ledger's counters say, which are written with
 * the events they count.
 * S1  Budgets are over all tenants and all processes of a ledger. A route that is decided counts as an invocation with its
 *     row, and sets the tokens aside that the call may take; what it used instead, and its money, count when it has ended.
 * S2  Of two that are decided on the last of a budget the store takes one: the other is asked for again.
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

export interface RouteDoorsOptions {
  readonly models: ParsedModelRouting;
  /** The ledger's counters of all tenants, in the order asked for. */
  readonly charges: (counters: readonly string[]) => Promise<readonly Charge[]>;
}

export function createRouteDoors({ models, charges }: RouteDoorsOptions): Readonly<Record<string, Door>> {
  const router = createModelRouter(models);
  const limited = models.endpoints.flatMap(({ name, budget }) => (budget === undefined ? [] : [name]));
  const readSpent = async (): Promise<SpentByEndpoint> => {
    if (limited.length === 0) return {};
    const counted = await charges(limited.map(endpointCounter)).catch((thrown: unknown) =>
      raise(errorOf(thrown, "T0_LEDGER_UNAVAILABLE", modelRouterRef)),
    );
    return Object.fromEntries(limited.map((name, i): [string, ModelSpent] => [name, spentIn(counted[i])]));
  };
  return {
    "data:RouteRequest": {
      module: "model_router",
      function: "route",
      check: needsRequest,
      async handle(signal, kit) {
        const { request } = signal.body["data"] as { readonly request: RouteRequest };
        const { decision, refusal } = router.route(request, await readSpent());
        return decision === null ? fail(refusal, metricsOf(modelRouterRef)) : answer(decision, signal, kit);
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
  isObject(data) && isObject(data["request"]) ? null : "a RouteRequest carries a request";
