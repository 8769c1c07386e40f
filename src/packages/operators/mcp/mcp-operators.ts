/**
 * The tools of an MCP server as operators: each passes policy, budget, gate, timeout and ledger like any other.
 *
 * Owns: the options of a host, the set of operators and its renewal. Never: starts a server by itself (a transport
 * does), registers anything: the host gives the operators to its kernel.
 * 1.  Nothing that a server says lowers an effect unless the host trusts it or says so itself (judge-annotations.ts).
 * 2.  An operator does what its tool did when it was made: a tool that is gone or changed is refused until refresh().
 * 3.  A broken connection is a failed attempt; the next attempt makes a new one from the transport's function.
 */
import type { Implementation, Root, Tool } from "@modelcontextprotocol/client";
import { z } from "zod";
import { hostFunction, limitsOf, objectWith } from "../../../contract/host-object.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { Effect, type Operator } from "../../../contract/operator.ts";
import { fingerprint } from "./call-mcp-tool.ts";
import { McpConnection, type TransportSource } from "./connection.ts";
import {
  cleanName,
  type DefinedTool,
  type Defining,
  defineTools,
  type LeftOutTool,
  type McpDefaults,
  type McpToolOptions,
} from "./define-tools.ts";
import { mcpError } from "./mcp-error.ts";
import { defaultMcpClientLimits, type McpClientLimits } from "./mcp-limits.ts";

const namePattern = /^[A-Za-z][\w-]{0,59}(\.[\w-]{1,60}){0,3}$/;

/** A folder, by the name that MCP has for it. */
export interface McpRoot extends Root {}
/** The name and version of a client, as MCP has them. */
export interface McpClientInfo extends Implementation {}

const Options = z.strictObject({
  /** A function makes a new transport whenever one is needed; a transport itself serves until it breaks. */
  transport: objectWith<TransportSource>(),
  /** The prefix of the operators' names; `Mcp.` and the server's own name by default. */
  name: z
    .string()
    .regex(namePattern, "parts of letters, digits, - and _, with dots between them; the first begins with a letter")
    .optional(),
  /** The operators' version; the server's unless given. */
  version: z.string().optional(),
  /** The default effect of tools; `external_send` if it is not given. */
  effect: Effect.default("external_send"),
  /** Annotations may lower the effect and promise idempotency. Only for servers whose word is as good as yours. */
  trustAnnotations: z.boolean().default(false),
  /** The options of every tool: timeout, retry, policy tags … */
  defaults: objectWith<McpDefaults>().default({}),
  /** The options by the tool's name, which take precedence; false leaves it out. */
  tools: z
    .record(z.string(), z.union([objectWith<McpToolOptions>(), z.literal(false)], "must be options, or false"))
    .readonly()
    .default({}),
  /** The folders that the server is shown, if it asks. */
  roots: z.array(objectWith<McpRoot>()).readonly().optional(),
  /** `auto` asks first whether the server speaks the protocol of 2026; over stdio that starts it twice. */
  negotiation: z.enum(["legacy", "auto"]).default("legacy"),
  /** The client's description for the server. */
  clientInfo: objectWith<McpClientInfo>().default({ name: "countersign", version: "1.0" }),
  /** Limits that replace those of `defaultMcpClientLimits`. */
  limits: limitsOf<McpClientLimits>(defaultMcpClientLimits),
  /** Receives errors outside of a call. */
  onError: hostFunction<(error: Error) => void>().default(() => () => undefined),
});
/** The server, and the effect of each of its tools. */
export interface McpOperatorsOptions extends Readonly<z.input<typeof Options>> {}
type Read = z.output<typeof Options>;

/** The names of tools by their change. */
export interface McpChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** The tools of a server as operators, with the connection behind them. */
export interface McpOperators extends AsyncDisposable {
  readonly server: { readonly name: string; readonly version: string };
  /** One for each tool that can be one; after refresh() those of now. */
  readonly operators: readonly Operator[];
  readonly leftOut: readonly LeftOutTool[];
  /** The operator of a tool. @throws KernelErrorException T4_OPERATOR_UNKNOWN. */
  readonly operator: (tool: string) => Operator;
  /**
   * Lists the tools again. A changed tool gets a new operator whose version has a number added; register it, for the
   * old one refuses every call. @throws KernelErrorException as mcpOperators does.
   */
  readonly refresh: () => Promise<McpChanges>;
  /** Ends the connection and its child process; calls fail from now on. */
  readonly close: () => Promise<void>;
}

/**
 * Connects, lists all tools and gives an operator for each.
 * @throws KernelErrorException T4_TOOL_EXECUTION_FAILED (no connection), T4_TOOL_TIMEOUT, T4_OUTPUT_INVALID (no MCP),
 * T0_VALIDATION_PAYLOAD_TOO_LARGE (more pages or tools than the limits allow), T4_OPERATOR_UNKNOWN (`tools` names one
 * that is not there), T0_VALIDATION_SCHEMA_MISMATCH (`name`). Nothing is left open then.
 */
export async function mcpOperators(given: McpOperatorsOptions): Promise<McpOperators> {
  const source = moduleRef(0, "validation", "mcpOperators");
  const options = readStrictly(Options, given, { what: "mcpOperators", source });
  const { transport, clientInfo, negotiation, roots, limits, onError } = options;
  const connection = new McpConnection({ transport, clientInfo, negotiation, roots, limits, onError });
  try {
    return await gather(connection, options);
  } catch (thrown) {
    await connection.close();
    throw thrown;
  }
}

async function gather(connection: McpConnection, options: Read): Promise<McpOperators> {
  const { server, tools } = await connection.use(
    async (line) => ({ server: identify(line.client.getServerVersion()), tools: line.tools }),
    {},
  );
  requireTools(Object.keys(options.tools), tools);
  const how = describe(connection, options, server);
  let renewals = 0;
  let { defined, leftOut } = defineTools(tools, how);
  return {
    server,
    get operators() {
      return defined.map(({ operator }) => operator);
    },
    get leftOut() {
      return leftOut;
    },
    operator: (tool) => findTool(defined, leftOut, tool),
    async refresh() {
      const listed = await connection.tools();
      renewals += 1;
      const next = defineTools(listed, { ...how, version: `${how.version}.${renewals}` });
      const changes = compare(defined, next.defined);
      const kept = new Map(defined.map((one) => [one.tool.name, one]));
      leftOut = next.leftOut;
      defined = next.defined.map((one) =>
        changes.changed.includes(one.tool.name) ? one : (kept.get(one.tool.name) ?? one),
      );
      return changes;
    },
    close: () => connection.close(),
    [Symbol.asyncDispose]: () => connection.close(),
  };
}

/** Checks the names: one of a missing tool is a mistake, and would leave the intended tool without its options. */
function requireTools(named: readonly string[], listed: readonly Tool[]): void {
  const unknown = named.filter((name) => !listed.some((tool) => tool.name === name));
  if (unknown.length > 0) throw mcpError("T4_OPERATOR_UNKNOWN", `tools: the server has no ${unknown.join(", ")}`);
}

const maxVersionChars = 64;

/** Returns the server's own name, as far as it can be used. */
function identify(implementation: Implementation | undefined): McpOperators["server"] {
  const { name = "", version = "" } = implementation ?? {};
  return { name: cleanName(name) || "server", version: version.slice(0, maxVersionChars).trim() || "1.0" };
}

function describe(connection: McpConnection, options: Read, server: McpOperators["server"]): Defining {
  const { limits, effect, trustAnnotations, defaults, tools } = options;
  const { name: prefix = `Mcp.${server.name}`, version = server.version } = options;
  return { connection, limits, prefix, version, effect, trustAnnotations, defaults, tools };
}

function findTool(defined: readonly DefinedTool[], leftOut: readonly LeftOutTool[], name: string): Operator {
  const found = defined.find(({ tool }) => tool.name === name);
  if (found !== undefined) return found.operator;
  const why = leftOut.find(({ tool }) => tool === name)?.reason ?? "the server has no such tool";
  throw mcpError("T4_OPERATOR_UNKNOWN", `${name} is no operator: ${why}`);
}

function compare(before: readonly DefinedTool[], now: readonly DefinedTool[]): McpChanges {
  const was = printsOf(before);
  const is = printsOf(now);
  const names = [...is.keys()];
  return {
    added: names.filter((name) => !was.has(name)),
    changed: names.filter((name) => was.has(name) && was.get(name) !== is.get(name)),
    removed: [...was.keys()].filter((name) => !is.has(name)),
  };
}

const printsOf = (defined: readonly DefinedTool[]): ReadonlyMap<string, string> =>
  new Map(defined.map(({ tool }: { readonly tool: Tool }) => [tool.name, fingerprint(tool)]));
