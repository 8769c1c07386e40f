/**
 * Every registered capability as a tool of its own: its input schema, hints from the effects of its operators, and a
 * call that is a workflow.
 *
 * 1.  A name is the intent type with underscores for dots; if that has more than 64 characters, its beginning and a
 *     digest. No two intent types share one.
 * 2.  Hints are the operators' declarations; for an operator known by its name alone the worst is assumed.
 */
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import type { CapabilityDefinition } from "../../../contract/capability.ts";
import { sha256 } from "../../../contract/digest.ts";
import type { JsonObject } from "../../../contract/json.ts";
import { KernelErrorException } from "../../../contract/kernel-error.ts";
import { McpWorkflow } from "../../../contract/mcp.ts";
import { type Effect, isHarmless, type OperatorMetadata } from "../../../contract/operator.ts";
import { type Caller, describeCapability, type Kernel, type SubmitRequest } from "../../../index.ts";
import { type McpContext, requireScope } from "../mcp-context.ts";
import { runWorkflow } from "../run-workflow.ts";
import { asObject, type CallTerms, type McpTool, outputSchemaOf } from "./tool.ts";

const maxName = 64;
const answer = outputSchemaOf(McpWorkflow);

/** Returns the name of the tool that runs this intent type. */
export function toolNameOf(intentType: string): string {
  const name = intentType.replaceAll(".", "_");
  if (name.length <= maxName) return name;
  const digest = sha256(new TextEncoder().encode(intentType)).slice(0, 16);
  return `${name.slice(0, maxName - digest.length - 1)}-${digest}`;
}

/** Returns the newest version of each registered capability, in the order of their names. */
export async function capabilityTools(kernel: Kernel): Promise<readonly McpTool[]> {
  const names = (await kernel.tokens.capabilities()).map(({ name }) => name);
  const found = [...new Set(names)].sort().flatMap((name) => findCapability(kernel, name) ?? []);
  return found.map(takeTool);
}

/** Schemas are made once for each definition. */
const made = new WeakMap<CapabilityDefinition, McpTool>();

function takeTool(capability: CapabilityDefinition): McpTool {
  const tool = made.get(capability) ?? toTool(capability);
  made.set(capability, tool);
  return tool;
}

/** Operators are registered beside them; they are no capabilities. */
function findCapability(kernel: Kernel, name: string): CapabilityDefinition | null {
  try {
    return kernel.getCapability(name);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return null;
    throw thrown;
  }
}

function toTool(capability: CapabilityDefinition): McpTool {
  const { intentType, version, description } = capability;
  const { input } = describeCapability(capability, () => null);
  const submit = (context: McpContext, inputs: JsonObject, { key, signal }: CallTerms) =>
    submitIntent(context, { intent_hint: { intent_type: intentType, inputs }, ...key }, signal);
  return {
    name: toolNameOf(intentType),
    title: `${intentType} ${version}`,
    description: description === "" ? `Runs ${intentType} as a workflow, to its end or its next gate.` : description,
    inputSchema: asObject(input),
    outputSchema: answer,
    annotations: hintsOf(capability),
    call: (context, inputs, call) => runWorkflow(context, call, (terms) => submit(context, inputs, terms)),
    begin: submit,
  };
}

async function submitIntent(
  context: McpContext,
  asked: Omit<SubmitRequest, keyof Caller>,
  signal: AbortSignal,
): Promise<string> {
  const request = { ...requireScope(context, "intent:submit"), ...asked };
  return (await context.kernel.submit(request, { signal })).workflow_id;
}

const outward: ReadonlySet<Effect> = new Set(["external_send", "credential_use"]);

function hintsOf({ operators }: CapabilityDefinition): ToolAnnotations {
  const known = operators.flatMap((operator) => (typeof operator === "string" ? [] : [operator.metadata]));
  const every = (test: (metadata: OperatorMetadata) => boolean) =>
    known.length === operators.length && known.every(test);
  return {
    readOnlyHint: every(({ effect }) => isHarmless(effect)),
    destructiveHint: !every(({ effect }) => isHarmless(effect) || effect === "write_draft"),
    idempotentHint: every(({ effect, idempotent }) => idempotent || isHarmless(effect)),
    openWorldHint: !every(({ effect, kind }) => !outward.has(effect) && kind === "skill"),
  };
}
