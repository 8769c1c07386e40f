/**
 * Operators whose calls run in the context of their own span, which becomes the parent of further spans.
 *
 * 1.  The operator is the same to the kernel: its metadata, schemas and results are its own.
 * 2.  A call without a span runs unchanged. Tools run behind the kernel's own bridge and are left unchanged.
 */
import { type Context, context } from "@opentelemetry/api";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { Operator } from "../../contract/operator.ts";

export type FindContext = (workflowId: string, stepId: string, attempt: number) => Context | null;

export function traceOperator(operator: Operator, find: FindContext, onModel: (name: string) => void): Operator {
  const { metadata } = operator;
  if (metadata.kind === "llm") onModel(metadata.name);
  if (operator.tool !== null) return operator;
  return Object.freeze({
    ...operator,
    run(call: Parameters<Operator["run"]>[0]) {
      const { workflow_id, step_id } = call.context;
      const within = find(workflow_id, step_id, call.attempt);
      return within === null ? operator.run(call) : context.with(within, () => operator.run(call));
    },
  });
}

export const traceCapability = (
  capability: CapabilityDefinition,
  find: FindContext,
  onModel: (name: string) => void,
): CapabilityDefinition =>
  Object.freeze({
    ...capability,
    operators: capability.operators.map((each) =>
      typeof each === "string" ? each : traceOperator(each, find, onModel),
    ),
  });
