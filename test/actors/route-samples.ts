/** Samples of the schemas of model routing; see schema-samples.ts. */
import type { Sample } from "./schema-samples.ts";

const endpoint = {
  name: "small",
  deployment: "local",
  latency_weight: 1,
  cost_weight: 0,
  capabilities: ["text"],
  budget: { max_tokens: 1000, max_money: 2, max_invocations: 10 },
  price: { in: 0.5, out: 1.5 },
};
const { capabilities: _, ...withoutCapabilities } = endpoint;
const fallback = { kind: "BudgetFallback", skipped: ["small"] };

export const routeSamples: Readonly<Record<string, Sample>> = {
  ModelEndpoint: { sample: endpoint, wrong: withoutCapabilities },
  RouteDecision: { sample: { endpoint, reason: fallback }, wrong: { endpoint, reason: "Primary" } },
  RouteReason: { sample: fallback, wrong: { kind: "BudgetFallback" } },
  RouteRequest: {
    sample: { capabilities: ["text"], expected_tokens: 100, prefer: "cost", among: ["small"], avoid: [] },
    wrong: { expected_tokens: -1 },
  },
};
