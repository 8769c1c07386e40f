/**
 * The door of the model router.
 *
 * Never: decides (route-model.ts does), keeps the usage: the ledger's counters do, which are written with the events
 * they count.
 * 1.  Budgets are over all tenants and all processes of a ledger. A decided route counts as an invocation with its row,
 *     and reserves the tokens that the call may use; the actual tokens, and the money, count when the call has ended.
 * 2.  Of two routes that are decided on the last of a budget the store accepts one: the other is asked for again.
 */
import type { Charge } from "../../contract/budget.ts";
import { raise } from "../../contract/error.ts";
import {
  endpointCounter,
  type ModelSpent,
  type ParsedModelRouting,
  type RouteDecision,
  type RouteQuestion,
} from "../../contract/model-route.ts";
import type { Signal } from "../../contract/signal.ts";
import { errorOf } from "../../engine/actors/within.ts";
import { modelRouterRef, routeModel } from "./route-model.ts";

export interface ModelRouteOptions {
  readonly models: ParsedModelRouting;
  /** The ledger's counters of all tenants, in the order asked for. */
  readonly charges: (counters: readonly string[]) => Promise<readonly Charge[]>;
}

/**
 * Returns the handler that chooses the endpoint of a model call. @throws KernelErrorException the refusal of the
 * router.
 */
export function createModelRoute({ models, charges }: ModelRouteOptions) {
  const limited = models.endpoints.flatMap(({ name, budget }) => (budget === undefined ? [] : [name]));
  const readSpent = async (): Promise<ReadonlyMap<string, ModelSpent>> => {
    if (limited.length === 0) return new Map();
    const counted = await charges(limited.map(endpointCounter)).catch((thrown: unknown) =>
      raise(errorOf(thrown, "T0_LEDGER_UNAVAILABLE", modelRouterRef)),
    );
    return new Map(limited.map((name, i) => [name, spentIn(counted[i])]));
  };
  return async ({ request }: { readonly request: RouteQuestion }): Promise<RouteDecision> => {
    const spent = await readSpent();
    const { decision, refusal } = routeModel(models, request, (endpoint) => spent.get(endpoint) ?? spentIn());
    return decision ?? raise(refusal);
  };
}

const spentIn = ({ invocations = 0, tokens = 0, money = 0 }: Partial<Charge> = {}): ModelSpent => ({
  invocations,
  tokens,
  money,
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

export const needsRequest = ({ data }: Signal["body"]): string | null =>
  isObject(data) && isObject(data["request"]) ? null : "a RouteRequest carries a request";
