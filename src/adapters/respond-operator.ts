/**
 * The built-in operator that speaks a direct response: no side effect, recorded like any other.
 */
import { z } from "zod";
import type { Operator } from "../contract/operator.ts";
import { normalizeMetadata } from "../define/define-operator.ts";

export const respondOperator: Operator = Object.freeze({
  metadata: normalizeMetadata({
    name: "Kernel.Respond",
    version: "1.0",
    description: "Speaks a planner's direct response",
    effect: "none",
    idempotent: true,
    timeout_sec: 5,
    outputs: ["text"],
  }),
  input: z.object({ text: z.string() }),
  output: z.string(),
  run: (call: { readonly input: { readonly text: string } }) => call.input.text,
  tool: null,
  preview: null,
}) as unknown as Operator;
