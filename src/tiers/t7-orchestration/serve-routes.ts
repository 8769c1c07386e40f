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
  type RouteQuestion,
} from "../../contract/model-route.ts";
import { fail, metricsOf } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { answerData } from "../../engine/actors/answer.ts";
import type { Door } from "../../engine/actors/define-tier.ts";
import { errorOf } from "../../engine/actors/within.ts";
import { modelRouterRef, routeModel } from "./route-model.ts";

export interface RouteDoorsOptions {
  readonly models: ParsedModelRouting;
  /** The ledger's counters of all tenants, in the order asked for. */
  readonly charges: (counters: readonly string[]) => Promise<readonly Charge[]>;
}

export function createRouteDoors({ models, charges }: RouteDoorsOptions): Readonly<Record<string, Door>> {
  const limited = models.endpoints.flatMap(({ name, budget }) => (budget === undefined ? [] : [name]));
  const readSpent = async (): Promise<ReadonlyMap<string, ModelSpent>> => {
    if (limited.length === 0) return new Map();
    const counted = await charges(limited.map(endpointCounter)).catch((thrown: unknown) =>
      raise(errorOf(thrown, "T0_LEDGER_UNAVAILABLE", modelRouterRef)),
    );
    return new Map(limited.map((name, i) => [name, spentIn(counted[i])]));
  };
  return {
    "data:RouteRequest": {
      module: "model_router",
      function: "route",
      check: needsRequest,
      async handle(signal, runtime) {
        const { request } = signal.body["data"] as { readonly request: RouteQuestion };
        const spent = await readSpent();
        const { decision, refusal } = routeModel(models, request, (endpoint) => spent.get(endpoint) ?? spentIn());
        if (decision === null) return fail(refusal, metricsOf(modelRouterRef));
        return answerData(runtime, signal, { data: decision, schema: "RouteDecision", ref: modelRouterRef });
      },
    },
  };
}

const spentIn = ({ invocations = 0, tokens = 0, money = 0 }: Partial<Charge> = {}): ModelSpent => ({
  invocations,
  tokens,
  money,
});

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const needsRequest = ({ data }: Signal["body"]): string | null =>
  isObject(data) && isObject(data["request"]) ? null : "a RouteRequest carries a request";
