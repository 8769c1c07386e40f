/**
 * Model routing: the endpoints that a model call may use, the needs of a call, and the decision.
 *
 * 1.  A decision names one endpoint and the reason: Primary, or BudgetFallback with the preferred endpoints it passed
 *     over.
 * 2.  A lower weight is better. Budgets are limits over an endpoint's lifetime; a field that is left out has no limit.
 */
import { z } from "zod";
import type { KernelError } from "./kernel-error.ts";
import { Money } from "./money.ts";

const Name = z
  .string()
  .min(1)
  .max(256)
  .refine((text) => text.isWellFormed(), "must be well-formed text");
const Amount = z.number().nonnegative();
/** Money for a million tokens: a price may have more digits than an amount. */
const Price = z.number().nonnegative().max(1_000_000);

/** The price per million tokens, sent and received, in the unit of the budgets. */
export const ModelPrice = z.strictObject({
  /** The price of a million tokens that are sent. */
  in: Price,
  /** The price of a million tokens that are received. */
  out: Price,
});
export type ModelPrice = z.infer<typeof ModelPrice>;

/** A deployment of a model that calls may be routed to. */
export const ModelEndpoint = z.strictObject({
  /** Unique; operators name their models by it. */
  name: Name,
  /** The place where it runs. */
  deployment: z.enum(["local", "cloud"]),
  /** The weight for `prefer: "latency"`: lower is better. */
  latency_weight: Amount,
  /** The weight for `prefer: "cost"`: lower is better. */
  cost_weight: Amount,
  /** The capabilities that it offers. */
  capabilities: z.array(Name).max(256),
  /** Tokens count in and out; money is in the unit of `price`. */
  budget: z
    .strictObject({
      /** Tokens of all its calls, in and out. */
      max_tokens: z.int().nonnegative().optional(),
      /** Money of all its calls, in the unit of `price`. */
      max_money: Money.optional(),
      /** The maximum number of calls. */
      max_invocations: z.int().nonnegative().optional(),
    })
    .optional(),
  /** Without it a call costs no money. */
  price: ModelPrice.optional(),
});
export type ModelEndpoint = z.infer<typeof ModelEndpoint>;

/** The criterion of preference: the configured order, or a weight. */
export const RoutePreference = z.enum(["order", "latency", "cost"]);
export type RoutePreference = z.infer<typeof RoutePreference>;

/** The needs of a model call. */
export const RouteRequest = z.strictObject({
  /** All of them. */
  capabilities: z.array(Name).max(256).default([]),
  /** Tokens that the call may use, in and out; an endpoint with fewer left is passed over. */
  expected_tokens: z.int().nonnegative().default(0),
  /** The preference of this call instead of the router's own. */
  prefer: RoutePreference.optional(),
  /** Only these endpoints, where the asker can call no others. */
  among: z.array(Name).max(256).optional(),
  /** Endpoints to try last, whatever is preferred: those that have just failed. */
  avoid: z.array(Name).max(256).default([]),
});
export type RouteRequest = z.infer<typeof RouteRequest>;
export type RouteQuestion = z.input<typeof RouteRequest>;

/** The reason why an endpoint was chosen. */
export const RouteReason = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("Primary") }),
  z.strictObject({ kind: z.literal("BudgetFallback"), skipped: z.array(Name).min(1) }),
]);
export type RouteReason = z.infer<typeof RouteReason>;

/** The endpoint of a call, and why it is this one. */
export const RouteDecision = z.strictObject({ endpoint: ModelEndpoint, reason: RouteReason });
export type RouteDecision = z.infer<typeof RouteDecision>;

/** The answer of a router: a decision or the reason for none, with the candidates whose budget is spent. */
export type RouteAnswer = { readonly exhausted: readonly string[] } & (
  | { readonly decision: RouteDecision; readonly refusal: null }
  | { readonly decision: null; readonly refusal: KernelError }
);

/** The usage of an endpoint: calls, tokens in and out, money. */
export const ModelSpent = z.strictObject({
  invocations: z.int().nonnegative().default(0),
  tokens: z.int().nonnegative().default(0),
  money: Money.default(0),
});
export type ModelSpent = z.infer<typeof ModelSpent>;
/** The usage by endpoint. */
export const SpentByEndpoint = z.record(Name, ModelSpent);
export type SpentByEndpoint = z.input<typeof SpentByEndpoint>;

/** Returns the name of the ledger's counter of an endpoint, over all tenants. */
export const endpointCounter = (endpoint: string): string => `endpoint:${JSON.stringify(endpoint)}`;

/** The endpoints of a kernel or of a standalone router, in the order of preference. */
export const ModelRouting = z.strictObject({
  /** The endpoints, in the order of preference. */
  endpoints: z
    .array(ModelEndpoint)
    .max(256)
    .refine((list) => new Set(list.map((e) => e.name)).size === list.length, "two endpoints have the same name"),
  /** Decides between endpoints of equal weight. */
  seed: z.int().default(0),
  /** The criterion of preference if a call names none. */
  prefer: RoutePreference.default("order"),
});
export type ModelRouting = z.input<typeof ModelRouting>;
export type ParsedModelRouting = z.infer<typeof ModelRouting>;
