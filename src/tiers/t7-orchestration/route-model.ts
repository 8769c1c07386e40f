/**
 * Chooses the deployment of a model call.
 *
 * Owns: the order of the candidates, and the refusal. Never: calls a model, reads a clock, draws random numbers.
 * 1.  A decision is a function of the endpoints, the seed, the request and the usage: asking changes nothing.
 * 2.  The first candidate in the order of preference with budget left is taken; those before it are named.
 * 3.  A refusal is an answer, never a throw; it names every candidate whose budget is spent.
 */
import { z } from "zod";
import { digest } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { deepFreeze } from "../../contract/json.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import {
  type ModelEndpoint,
  ModelRouting,
  ModelSpent,
  type ParsedModelRouting,
  type RouteAnswer,
  type RouteDecision,
  type RouteQuestion,
  RouteRequest,
  SpentByEndpoint,
} from "../../contract/model-route.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { addMoney } from "../../contract/money.ts";

export const modelRouterRef = Object.freeze(moduleRef(7, "model_router", "route"));

/** Decisions a router keeps for reading back; the oldest go first. */
const maxDecisions = 10_000;
const nothing: ModelSpent = Object.freeze({ invocations: 0, tokens: 0, money: 0 });

export type LoggedRoute = RouteAnswer & { readonly request: RouteRequest };

/** Chooses endpoints for model calls, without a kernel. */
export interface ModelRouter {
  /**
   * Returns the endpoint for a call, or the reason for none: T5_BUDGET_EXHAUSTED, T7_ROUTE_NO_ENDPOINT, or
   * T0_VALIDATION_SCHEMA_MISMATCH for an invalid request. Never throws. `spent` is the usage that the asker knows of;
   * if the router knows of more, that counts.
   */
  readonly route: (request: RouteQuestion, spent?: SpentByEndpoint) => RouteAnswer;
  /**
   * Charges an endpoint. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: unknown endpoint, negative use.
   */
  readonly record: (endpoint: string, used: z.input<typeof ModelSpent>) => void;
  /** Replaces a reservation by the actual usage. @throws KernelErrorException as `record`. */
  readonly settle: (endpoint: string, reserved: z.input<typeof ModelSpent>, used: z.input<typeof ModelSpent>) => void;
  readonly spent: (endpoint: string) => ModelSpent;
  /** Returns the answers, refusals too, oldest first; at most the last 10,000. */
  readonly decisions: () => readonly LoggedRoute[];
}

/**
 * Creates a router over these endpoints. The same request over the same endpoints gets the same route.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH when the endpoints are not valid.
 */
export function createModelRouter(options: ModelRouting): ModelRouter {
  const routing = deepFreeze(parse(ModelRouting, options, "the model routing"));
  const used = new Map<string, ModelSpent>(routing.endpoints.map(({ name }) => [name, nothing]));
  const logged: LoggedRoute[] = [];
  const spent = (endpoint: string): ModelSpent => used.get(endpoint) ?? nothing;
  const read = (endpoint: string, more: z.input<typeof ModelSpent>): ModelSpent => {
    if (used.has(endpoint)) return parse(ModelSpent, more, `the use of ${endpoint}`);
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `there is no endpoint ${endpoint}`, modelRouterRef));
  };
  return {
    route(asked, known = {}) {
      const request = RouteRequest.safeParse(asked);
      if (!request.success) return refuse(invalid("the route request", request.error));
      const reported = SpentByEndpoint.safeParse(known);
      if (!reported.success) return refuse(invalid("what was spent", reported.error));
      const reportedOf = (name: string): ModelSpent =>
        (Object.hasOwn(reported.data, name) ? reported.data[name] : null) ?? nothing;
      const answer = chooseEndpoint(routing, request.data, (name) => largest(spent(name), reportedOf(name)));
      logged.push(deepFreeze({ request: request.data, ...answer }));
      if (logged.length > maxDecisions) logged.shift();
      return answer;
    },
    record: (endpoint, more) => void used.set(endpoint, addSpent(spent(endpoint), read(endpoint, more))),
    settle(endpoint, reserved, more) {
      const after = addSpent(spent(endpoint), read(endpoint, more));
      used.set(endpoint, withoutSpent(after, read(endpoint, reserved)));
    },
    spent,
    decisions: () => [...logged],
  };
}

const addSpent = (a: ModelSpent, b: ModelSpent): ModelSpent => ({
  invocations: a.invocations + b.invocations,
  tokens: a.tokens + b.tokens,
  money: addMoney(a.money, b.money),
});

const withoutSpent = (a: ModelSpent, b: ModelSpent): ModelSpent => ({
  invocations: Math.max(0, a.invocations - b.invocations),
  tokens: Math.max(0, a.tokens - b.tokens),
  money: Math.max(0, addMoney(a.money, b.money, -1)),
});

const largest = (a: ModelSpent, b: ModelSpent): ModelSpent => ({
  invocations: Math.max(a.invocations, b.invocations),
  tokens: Math.max(a.tokens, b.tokens),
  money: Math.max(a.money, b.money),
});

/** Returns the answer to a request, from the routing and the usage alone; it changes nothing. */
export function routeModel(
  routing: ParsedModelRouting,
  asked: RouteQuestion,
  spentOf: (endpoint: string) => ModelSpent,
): RouteAnswer {
  const request = RouteRequest.safeParse(asked);
  if (!request.success) return refuse(invalid("the route request", request.error));
  return chooseEndpoint(routing, request.data, spentOf);
}

function chooseEndpoint(
  routing: ParsedModelRouting,
  request: RouteRequest,
  spentOf: (endpoint: string) => ModelSpent,
): RouteAnswer {
  const candidates = orderCandidates(routing, request);
  const lacks = candidates.map((endpoint) => findLack(endpoint, spentOf(endpoint.name), request));
  const taken = lacks.indexOf(null);
  const exhausted = candidates.slice(0, taken < 0 ? candidates.length : taken).map(({ name }) => name);
  if (taken < 0)
    return refuse(candidates.length === 0 ? noEndpoint(request) : allExhausted(exhausted, lacks), exhausted);
  const reason = taken === 0 ? ({ kind: "Primary" } as const) : { kind: "BudgetFallback" as const, skipped: exhausted };
  const decision: RouteDecision = { endpoint: candidates[taken] as ModelEndpoint, reason };
  return deepFreeze({ decision, refusal: null, exhausted });
}

/**
 * Returns the candidates for the request, best first. Endpoints of equal weight are drawn by seed and request, then by
 * name.
 */
function orderCandidates({ endpoints, seed, prefer }: ParsedModelRouting, request: RouteRequest): ModelEndpoint[] {
  const { capabilities, among, avoid, prefer: by = prefer } = request;
  const able = endpoints.filter(
    (e) => (among?.includes(e.name) ?? true) && capabilities.every((wanted) => e.capabilities.includes(wanted)),
  );
  const weighed =
    by === "order" ? able : drawOrder(able, { seed, request }).sort((a, b) => weigh(a, by) - weigh(b, by));
  return weighed.toSorted((a, b) => Number(avoid.includes(a.name)) - Number(avoid.includes(b.name)));
}

const weigh = (endpoint: ModelEndpoint, by: "latency" | "cost"): number =>
  by === "latency" ? endpoint.latency_weight : endpoint.cost_weight;

/** Returns an order that depends on seed and request only, not on the given order. */
function drawOrder(endpoints: readonly ModelEndpoint[], from: object): ModelEndpoint[] {
  const drawn = endpoints.map((endpoint) => ({ endpoint, lot: digest({ ...from, name: endpoint.name }) }));
  const before = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
  return drawn
    .sort((a, b) => before(a.lot, b.lot) || before(a.endpoint.name, b.endpoint.name))
    .map(({ endpoint }) => endpoint);
}

/** Describes what the endpoint's budget lacks for the call; null if it is enough. */
function findLack({ budget = {} }: ModelEndpoint, spent: ModelSpent, { expected_tokens }: RouteRequest): string | null {
  const { max_tokens, max_money, max_invocations } = budget;
  if (max_invocations !== undefined && spent.invocations >= max_invocations)
    return `${spent.invocations} of ${max_invocations} invocations`;
  if (max_tokens !== undefined && spent.tokens + Math.max(1, expected_tokens) > max_tokens)
    return `${spent.tokens} of ${max_tokens} tokens, ${expected_tokens} expected`;
  if (max_money !== undefined && spent.money >= max_money) return `${spent.money} of ${max_money} in money`;
  return null;
}

const refuse = (refusal: Refusal, exhausted: readonly string[] = []): RouteAnswer =>
  Object.freeze({ decision: null, refusal, exhausted: Object.freeze([...exhausted]) });
type Refusal = NonNullable<RouteAnswer["refusal"]>;

function allExhausted(names: readonly string[], lacks: readonly (string | null)[]): Refusal {
  const each = names.map((name, i) => `${name} (${lacks[i]})`).join(", ");
  return kernelError("T5_BUDGET_EXHAUSTED", `no model endpoint has budget left: ${each}`, modelRouterRef, {
    detail: { exhausted: [...names] },
  });
}

function noEndpoint({ capabilities, among }: RouteRequest): Refusal {
  const needs = capabilities.length === 0 ? "" : ` with ${capabilities.join(", ")}`;
  const of = among === undefined ? "" : ` among ${among.join(", ") || "none"}`;
  return kernelError("T7_ROUTE_NO_ENDPOINT", `there is no model endpoint${needs}${of}`, modelRouterRef, {
    detail: { capabilities: [...capabilities], ...(among === undefined ? {} : { among: [...among] }) },
  });
}

const invalid = (what: string, error: z.ZodError): Refusal =>
  kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${what}: ${z.prettifyError(error)}`, modelRouterRef);

function parse<T extends z.ZodType>(schema: T, value: unknown, what: string): z.infer<T> {
  return readStrictly(schema, value, { what, source: modelRouterRef });
}
