/**
 * What the conformance scenarios ask a server for, as capabilities: their tools run through plan, policy and operator.
 * Owns: fixture capabilities whose tools have the names that the scenarios call. Never: asserts anything.
 */
import { once } from "node:events";
import { z } from "zod";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { defineCapability, defineOperator } from "../../src/index.ts";

interface Fixture {
  readonly input?: z.ZodType;
  readonly steps?: number;
  /** Waits for a person before its last step. */
  readonly gated?: boolean;
  readonly run: (call: OperatorCall<unknown>) => unknown;
}

/** One operator in so many steps; `test.simple.text` is the tool `test_simple_text`. */
function fixture(
  intentType: string,
  { input = z.object({}), steps: count = 1, gated = false, run }: Fixture,
): CapabilityDefinition {
  const name = `Fixture.${intentType}`;
  const operator = defineOperator({ name, input: z.record(z.string(), z.unknown()), run, retry: "NONE" });
  const ids = Array.from({ length: count }, (_, i) => `s${i + 1}`);
  return defineCapability({
    intentType,
    version: "1.0",
    description: `The fixture ${intentType} of the conformance suite`,
    input,
    operators: [operator],
    plan: ({ input: params }) => ({
      reasoning: "as the scenario asks",
      steps: ids.map((step_id, i) => ({
        step_id,
        name: step_id,
        operator: name,
        params: params as Record<string, unknown>,
        depends_on: ids.slice(Math.max(0, i - 1), i),
        ...(gated && i === count - 1 && { gate: {} }),
      })),
    }),
  });
}

const schemaIntent = "test.json.schema";

/**
 * No part of an intent type begins with a digit: at the door the tool of `test.json.schema` has the judge's name for
 * it.
 */
export const renamed = { from: schemaIntent.replaceAll(".", "_"), to: "json_schema_2020_12_tool" } as const;

/** The keywords of JSON Schema 2020-12 that a tool may be listed with. */
const Keywords = z.strictObject({ phone: z.string().optional(), email: z.string().optional() }).meta({
  $defs: { address: { $anchor: "addressDef", type: "object", properties: { street: { type: "string" } } } },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { required: ["phone"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ["phone"] },
  else: { required: ["email"] },
});

const Slow = z.object({ seconds: z.number(), label: z.string().default("") });

export const fixtures: readonly CapabilityDefinition[] = [
  fixture("test.simple.text", { run: () => "This is a simple text response for testing." }),
  fixture("test.error.handling", {
    run() {
      throw new Error("This tool intentionally returns an error for testing");
    },
  }),
  fixture("test.tool.with.progress", { steps: 3, run: () => "done" }),
  fixture("slow.compute", {
    input: Slow,
    async run({ input, signal }) {
      // No clock here: what would take long takes until it is cancelled.
      if (Slow.parse(input).seconds > 10) await once(signal, "abort");
      return "computed";
    },
  }),
  fixture("test.input.required.result.elicitation", { gated: true, run: () => "decided" }),
  fixture("test.input.required.result.tampered.state", { gated: true, run: () => "decided" }),
  // An answer without a decision decides nothing: the call is answered with the workflow, which still waits.
  fixture("test.elicitation", {
    input: z.object({ message: z.string() }),
    gated: true,
    run: () => "decided",
  }),
  fixture("test.input.required.result.request.state", { gated: true, run: () => "decided" }),
  fixture(schemaIntent, { input: Keywords, run: () => "done" }),
  fixture("test.region", {
    input: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }),
    run: () => "done",
  }),
  fixture("failing.job", {
    run() {
      throw new Error("The job fails, as it always does");
    },
  }),
];
