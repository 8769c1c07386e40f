/**
 * A registered capability as callers see it: its inputs, operators and outcomes, with JSON Schemas in place of the
 * package's zod schemas. Its plan is code and is not shown.
 */
import { z } from "zod";
import { CapabilityVersion, IntentType } from "./capability.ts";
import { JsonObject } from "./json.ts";
import { Effect } from "./operator.ts";
import { RiskLevel } from "./risk-level.ts";
import { PackageLimits } from "./token.ts";

/** JSON Schema, draft 2020-12. */
const JsonSchema = JsonObject;

/** An operator as clients read it: metadata and schemas. */
export const OperatorView = z.object({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  kind: z.enum(["skill", "tool", "llm"]),
  effect: Effect,
  idempotent: z.boolean(),
  risk_level: RiskLevel,
  estimated_cost: z.number(),
  policy_tags: z.array(z.string()),
  input: JsonSchema,
  output: JsonSchema,
});
export type OperatorView = z.infer<typeof OperatorView>;

/** A capability as clients read it: its input and outcomes as JSON Schema, its operators. */
export const CapabilityView = z.object({
  intent_type: IntentType,
  version: CapabilityVersion,
  description: z.string(),
  keywords: z.array(z.string()),
  input: JsonSchema,
  operators: z.array(OperatorView),
  /** Operators that the package may use and that are not registered. */
  missing_operators: z.array(z.string()),
  /** The schema of each outcome, by outcome type. */
  outcomes: z.record(z.string(), JsonSchema),
  limits: PackageLimits,
});
export type CapabilityView = z.infer<typeof CapabilityView>;
