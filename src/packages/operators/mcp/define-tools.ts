/**
 * Makes operators of the tools that an MCP server lists, with the name, effect and risk of each.
 *
 * Owns: names, versions, the host's options for single tools, and the reason why a tool was left out. Never: lets one
 * bad tool spoil the others, or two tools of one name pass for one.
 * 1.  A tool becomes an operator, or is reported as left out with its reason.
 * 2.  Names begin with the host's prefix, or with `Mcp.`: a server cannot take the name of another operator.
 */
import type { Tool } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../../contract/json.ts";
import { isHarmless, type Operator } from "../../../contract/operator.ts";
import { defineTool, type ToolOptions } from "../../../define/define-operator.ts";
import { fingerprint, type McpTool, mcpToolClient } from "./call-mcp-tool.ts";
import { judgeAnnotations, type Trust } from "./judge-annotations.ts";
import { createSchemaReader, type SchemaReader } from "./tool-schema.ts";

/** The host's word on one tool: it goes before anything that the server says. */
export type McpToolOptions = Partial<
  Omit<ToolOptions, "name" | "tool" | "version" | "client" | "input" | "output" | "inputSchema" | "outputs">
>;

/** The same for every tool, but for what it does: that is a word on one tool, or `effect` of mcpOperators. */
export type McpDefaults = Omit<McpToolOptions, "effect" | "idempotent">;

/** A tool that is no operator, and why. */
export interface LeftOutTool {
  readonly tool: string;
  readonly reason: string;
}

export interface Defining extends Pick<McpTool, "connection" | "limits">, Trust {
  readonly prefix: string;
  readonly version: string;
  /** For every tool; false in `tools` leaves one out. */
  readonly defaults: McpDefaults;
  readonly tools: Readonly<Record<string, McpToolOptions | false>>;
}

export interface DefinedTool {
  readonly tool: Tool;
  readonly operator: Operator;
}

export interface DefinedTools {
  readonly defined: readonly DefinedTool[];
  readonly leftOut: readonly LeftOutTool[];
}

export function defineTools(listed: readonly Tool[], how: Defining): DefinedTools {
  const schemas = createSchemaReader(how.limits);
  const clashing = repeated(listed.map(({ name }) => operatorName(how.prefix, name)));
  const defined: DefinedTool[] = [];
  const leftOut: LeftOutTool[] = [];
  for (const tool of listed) {
    const reason = clashing.has(operatorName(how.prefix, tool.name))
      ? "two tools have this name"
      : findFault(tool, how);
    const made = reason === null ? tryDefine(tool, how, schemas) : reason;
    if (typeof made === "string") leftOut.push({ tool: tool.name.slice(0, maxNameChars), reason: made });
    else defined.push({ tool, operator: made });
  }
  return { defined, leftOut };
}

const maxNameChars = 120;

/**
 * Returns `Prefix.tool`; a character of the tool's name that is no letter, digit, dash or underscore becomes an
 * underscore.
 */
export const operatorName = (prefix: string, tool: string): string => `${prefix}.${cleanName(tool)}`;

export const cleanName = (name: string): string => name.replace(/[^\w-]+/g, "_").slice(0, maxNameChars);

function repeated(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name, i) => names.indexOf(name) !== i));
}

function findFault(tool: Tool, { tools, limits }: Defining): string | null {
  if (Object.hasOwn(tools, tool.name) && tools[tool.name] === false) return "the host left it out";
  if (tool.name.length > maxNameChars) return `its name has more than ${maxNameChars} characters`;
  if (JSON.stringify(tool).length > limits.maxToolChars) return "its definition is longer than limits.maxToolChars";
  return tool.execution?.taskSupport === "required" ? "it can be called as a task only" : null;
}

function tryDefine(tool: Tool, how: Defining, schemas: SchemaReader): Operator | string {
  try {
    return defineOne(tool, how, schemas);
  } catch (thrown) {
    return (thrown instanceof Error ? thrown.message : String(thrown)).slice(0, 500);
  }
}

function defineOne(tool: Tool, how: Defining, schemas: SchemaReader): Operator {
  const { connection, limits, prefix, version, defaults } = how;
  const own = (Object.hasOwn(how.tools, tool.name) && how.tools[tool.name]) || {};
  const judged = judgeAnnotations(tool.annotations, how);
  const { effect = judged.effect, idempotent = judged.idempotent, ...rest } = own;
  const repeatable = idempotent || isHarmless(effect);
  return defineTool({
    version,
    description: tool.description ?? tool.title ?? "",
    extensions: { mcp: { tool: tool.name, title: tool.title ?? tool.annotations?.title ?? null } },
    riskLevel: judged.riskLevel,
    ...defaults,
    ...rest,
    effect,
    idempotent,
    name: operatorName(prefix, tool.name),
    tool: tool.name,
    inputSchema: tool.inputSchema as JsonObject,
    input: schemas.input(tool.inputSchema),
    ...(tool.outputSchema === undefined ? {} : { output: schemas.output(tool.outputSchema) }),
    client: mcpToolClient({ connection, limits, tool, print: fingerprint(tool), repeatable }),
  });
}
