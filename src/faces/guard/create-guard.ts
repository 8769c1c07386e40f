/**
 * createGuard: a guard before MCP servers: the packages for its kernel, and its two faces, stdio and HTTP.
 *
 * Owns: the servers behind, and the calls in flight. Never: decides about a call; the kernel's policies and people do.
 * 1.  Each client has a connection of its own to the server, so that state, roots and questions are that client's.
 * 2.  A call whose client is gone is sent over the guard's own connection.
 */
import type { JSONRPCMessage, Tool, Transport } from "@modelcontextprotocol/server";
import { type ScopedCaller, withoutScopes } from "../../contract/auth-context.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { JsonObject } from "../../contract/json.ts";
import { KernelErrorException, messageOf, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { CapabilityDefinition, Kernel } from "../../index.ts";
import { readCallFailure } from "../../packages/operators/mcp/mcp-error.ts";
import { linkToRun } from "../../protocol/console-link.ts";
import { refuseHeaders } from "../mcp/check-param-headers.ts";
import { type McpOptions, McpServerOptions, readMcpOptions } from "../mcp/mcp-options.ts";
import { acceptPackage } from "./accept-package.ts";
import { callPackages, type SendCall } from "./call-package.ts";
import { CallsInFlight } from "./calls-in-flight.ts";
import type { GuardContext, Guarding } from "./guard-context.ts";
import { type FindTool, serveGuarded } from "./guard-server.ts";
import { JoinedUpstreams } from "./joined-upstreams.ts";
import { ListedTools } from "./listed-tools.ts";
import { requireSeen } from "./seen-tool.ts";
import { GuardSession } from "./session.ts";
import { splitName } from "./split-name.ts";
import { type Refused, ToolTrust } from "./trust-tools.ts";
import { boundResult, Upstream, type UpstreamPlace } from "./upstream.ts";

export interface GuardOptions {
  /** The servers, by their names. */
  readonly upstreams: Readonly<Record<string, UpstreamPlace>>;
  /** The time that a call waits for a person, in ms. */
  readonly waitMs: number;
  /** The time that a call may take, in seconds. */
  readonly timeoutSec: number;
  /** The limit of the characters of one result, as JSON. */
  readonly maxResultChars: number;
  /** Whether a person accepts each tool, also one that is seen for the first time. */
  readonly strict: boolean;
  /** The address of the console. */
  readonly consoleUrl: () => string;
  readonly version: string;
}

export interface Guard {
  /** The packages to register with the kernel. */
  readonly packages: readonly CapabilityDefinition[];
  /** Serves one client over a transport that is not started. @throws KernelErrorException T0_GUARD_UPSTREAM_GONE. */
  readonly connect: (kernel: Kernel, client: GuardedClient, options: GuardServerOptions) => Promise<GuardSession>;
  /** Whether clients of 2026-07-28 can be served without a session: the one server behind is reached over HTTP. */
  readonly servesRequests: boolean;
  readonly close: () => Promise<void>;
}

export interface GuardServerOptions extends McpOptions {
  readonly caller: ScopedCaller;
}

/** One client: its transport, and how it is known that the client has taken what was written. */
export interface GuardedClient {
  readonly transport: Transport;
  readonly flush?: () => Promise<boolean>;
}

const guardRef = moduleRef(0, "guard", "create_guard");

/** Creates a guard. Nothing is started before a client connects. */
export function createGuard(options: GuardOptions): Guard {
  const { waitMs, timeoutSec, maxResultChars, consoleUrl, version, strict } = options;
  const upstreams = Object.entries(options.upstreams).map(
    ([name, place]) => new Upstream({ name, place, maxResultChars, version }),
  );
  const guard: Guarding = { calls: new CallsInFlight(), upstreams, waitMs, consoleUrl, trust: new ToolTrust(strict) };
  const tasks = { areTheirs: false };
  const connect: Guard["connect"] = async (kernel, client, given) => {
    const { caller, ...resolved } = readMcpOptions(McpServerOptions, kernel, { version, ...given });
    const context: GuardContext = { kernel, caller, options: resolved, guard };
    const session = openSession(context, client, tasks);
    try {
      await session.start();
      return session;
    } catch (thrown) {
      await session.close();
      const message = `the server behind the guard does not start: ${messageOf(thrown)}`;
      return raise(kernelError("T0_GUARD_UPSTREAM_GONE", message, guardRef));
    }
  };
  return {
    packages: [...callPackages({ send: sendOver(guard), timeoutSec }), acceptPackage],
    connect,
    servesRequests: upstreams.length === 1 && upstreams.every(({ isHttp }) => isHttp),
    close: async () => {
      await guard.calls.settled();
      await Promise.allSettled(upstreams.map((one) => one.close()));
    },
  };
}

/** Returns the way of a call: its client's connection while that is there, else the guard's own. */
const sendOver =
  ({ calls, upstreams }: Guarding): SendCall =>
  async ({ input, signal, context }, repeatable) => {
    const upstream = upstreams.find(({ name }) => name === input.server);
    if (upstream === undefined)
      return raise(kernelError("T0_GUARD_SERVER_UNKNOWN", `the guard has no server ${input.server}`, guardRef));
    const attached = await calls.find(context.workflow_id);
    if (attached === null) return upstream.call(input, signal, repeatable);
    requireSeen(input, await attached.see(input.server, input.tool), repeatable);
    try {
      return boundResult(await attached.send(input, signal), upstream);
    } catch (thrown) {
      throw readCallFailure(thrown, { tool: input.tool, repeatable, aborted: signal.aborted });
    }
  };

function openSession(context: GuardContext, client: GuardedClient, tasks: { areTheirs: boolean }): GuardSession {
  const { upstreams } = context.guard;
  const listed = new ListedTools(
    (params) => session.request("tools/list", params, AbortSignal.timeout(listingMs)),
    (tools) => judgeAll(context, tools),
  );
  const session = new GuardSession({
    client: client.transport,
    ...(client.flush !== undefined && { flush: client.flush }),
    upstream: openUpstreams(upstreams),
    serve: (transport, own) => {
      const find: FindTool = (name) => findTool(context, listed, name);
      const hasSchema = async (name: string): Promise<boolean> => {
        const known = await listed.find(name).catch(() => undefined);
        return known?.tool.outputSchema !== undefined;
      };
      return serveGuarded({ context, session: own, find, hasSchema }, transport);
    },
    listTools: async (result) => ({ ...result, tools: await listed.filter(result["tools"]) }),
    see: async (server, tool) => (await listed.find(nameFor(upstreams, server, tool)).catch(raiseGone))?.seen,
    refuseHeaders: async (request, headers) => {
      const found = await listed.find(String(request.params?.["name"])).catch(() => undefined);
      const refused = found && refuseHeaders(request, found.tool.inputSchema as JsonObject, headers);
      return refused ? ((await refused.json()) as JSONRPCMessage) : null;
    },
    onToolsChanged: () => listed.forget(),
    onError: (error) => context.options.logger?.warn({ error: error.message }, "a guarded connection had an error"),
    tasks,
  });
  return session;
}

function openUpstreams(upstreams: readonly Upstream[]): Transport {
  const [only, ...others] = upstreams;
  if (only !== undefined && others.length === 0) return only.open();
  return new JoinedUpstreams(upstreams.map((one) => ({ name: one.name, transport: one.open() })));
}

/** Returns the name that clients know a tool by: one server's tools keep their own. */
const nameFor = (upstreams: readonly Upstream[], server: string, tool: string): string =>
  upstreams.length === 1 ? tool : `${server}__${tool}`;

/** Returns the server and the tool's name there. */
const placeOf = (upstreams: readonly Upstream[], called: string): readonly [server: string, tool: string] =>
  upstreams.length === 1 ? [upstreams[0]?.name ?? "", called] : splitName(called);

/** Judges the tools of each server by itself. Returns those that may not be used, by the names that clients know. */
async function judgeAll(context: GuardContext, tools: readonly Tool[]): Promise<ReadonlyMap<string, Refused>> {
  const { upstreams, trust } = context.guard;
  const at = { kernel: context.kernel, caller: withoutScopes(context.caller) };
  const refused = new Map<string, Refused>();
  const ofServers = Map.groupBy(tools, ({ name }) => placeOf(upstreams, name)[0]);
  for (const [server, some] of ofServers) {
    const own = some.map((tool) => ({ ...tool, name: placeOf(upstreams, tool.name)[1] }));
    for (const [tool, why] of await trust.judge(at, server, own)) refused.set(nameFor(upstreams, server, tool), why);
  }
  return refused;
}

/** Finds the tool of a call. @throws KernelErrorException T0_MCP_TOOL_UNKNOWN, T0_GUARD_TOOL_CHANGED. */
async function findTool(context: GuardContext, listed: ListedTools, name: string): ReturnType<FindTool> {
  const [server, tool] = placeOf(context.guard.upstreams, name);
  const refused = await listed.refusalOf(name);
  if (refused !== undefined) return refuseTool(context, server, tool, refused);
  const found = await listed.find(name);
  if (found === undefined)
    return raise(kernelError("T0_MCP_TOOL_UNKNOWN", `no server lists a tool ${name.slice(0, 128)}`, guardRef));
  return { server, tool, definition: found.seen.digest, effect: found.seen.effect };
}

/** Fails a call that was not sent, because its server did not list its tools. @throws KernelErrorException. */
function raiseGone(thrown: unknown): never {
  if (thrown instanceof KernelErrorException) throw thrown;
  const message = `the server does not list its tools: ${messageOf(thrown)}`;
  return raise(kernelError("T0_GUARD_UPSTREAM_GONE", message, guardRef));
}

/** The time that a server may take to list its tools. */
const listingMs = 30_000;

/** Refuses a tool that nobody has accepted. @throws KernelErrorException T0_GUARD_TOOL_CHANGED. */
function refuseTool({ guard }: GuardContext, server: string, tool: string, { reason, workflow_id }: Refused): never {
  const link = workflow_id === undefined ? {} : { workflow_id, link: linkToRun(guard.consoleUrl(), { workflow_id }) };
  const where = "link" in link ? `; a person decides at ${link.link}` : "";
  const message = `${tool} of ${server} ${reason}${where}`;
  return raise(kernelError("T0_GUARD_TOOL_CHANGED", message, guardRef, { detail: { server, tool, ...link } }));
}
