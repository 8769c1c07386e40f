/**
 * The fixtures of the tests of MCP operators: a server whose every answer the test writes, real servers as child
 * processes, and a kernel with one capability whose plan is the steps given.
 *
 * Owns: recording what was sent to a server, so that a test can show what was never sent. Never: reaches the network;
 * real servers are files of development dependencies, run by this Node.
 */
import { createRequire } from "node:module";
import {
  InMemoryTransport,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type Tool,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import type { Operator } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { defineCapability } from "../../src/define/define-capability.ts";

export const intentType = "Test.Mcp.Run";

/** A capability whose plan is these steps, one after the other unless they say otherwise. */
export const planOf = (
  operators: readonly Operator[],
  ...steps: readonly (Partial<PlanStepDraft> & Pick<PlanStepDraft, "operator">)[]
): CapabilityDefinition =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.looseObject({}),
    operators,
    plan: {
      reasoning: "as the test wants it",
      steps: steps.map((step, i) => ({
        step_id: `s${i + 1}`,
        name: `step ${i + 1}`,
        depends_on: i === 0 ? [] : [`s${i}`],
        ...step,
      })),
    },
  });

type Params = Readonly<Record<string, unknown>>;

/** Answers one method: the result, or a throw of `{ code, message, data }` for an error response. */
type Answer = (params: Params, request: JSONRPCRequest) => unknown;

/** An answer that never comes. */
export const never = (): Promise<never> => new Promise(() => undefined);

export interface Scripted {
  readonly transport: () => Transport;
  /** What came in, over all connections. */
  readonly heard: readonly JSONRPCMessage[];
  readonly calls: () => readonly JSONRPCRequest[];
  /** Answers by method; a test may change them while it runs. */
  readonly answers: Record<string, Answer>;
  readonly connections: () => number;
  /** Sends to the client of the newest connection. */
  readonly tell: (message: Omit<JSONRPCNotification, "jsonrpc"> & { readonly id?: number }) => Promise<void>;
  /** Ends the newest connection from the server's side. */
  readonly drop: () => Promise<void>;
  /** Settles when the next message of this method has come in. */
  readonly next: (method: string) => Promise<JSONRPCMessage>;
}

export const tool = (name: string, more: Partial<Tool> = {}): Tool => ({
  name,
  inputSchema: { type: "object" },
  ...more,
});

export const text = (said: string) => ({ content: [{ type: "text", text: said }] });

/** A server that says what the test says. */
export function scripted(tools: readonly unknown[], more: Record<string, Answer> = {}): Scripted {
  const heard: JSONRPCMessage[] = [];
  const waiting: { readonly method: string; readonly resolve: (message: JSONRPCMessage) => void }[] = [];
  let current: InMemoryTransport | null = null;
  let connections = 0;
  const answers: Record<string, Answer> = {
    initialize: ({ protocolVersion }) => ({
      protocolVersion,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: "script", version: "1.2.0" },
    }),
    "tools/list": () => ({ tools }),
    "tools/call": () => text("done"),
    ...more,
  };
  const hear = (message: JSONRPCMessage, from: InMemoryTransport): void => {
    heard.push(message);
    const method = "method" in message ? message.method : "";
    for (const one of waiting.filter((w) => w.method === method)) {
      waiting.splice(waiting.indexOf(one), 1);
      one.resolve(message);
    }
    if ("method" in message && "id" in message) void reply(answers, message, from);
  };
  return {
    heard,
    answers,
    calls: () => heard.filter((m): m is JSONRPCRequest => "method" in m && m.method === "tools/call"),
    connections: () => connections,
    transport() {
      const [mine, theirs] = InMemoryTransport.createLinkedPair();
      theirs.onmessage = (message) => hear(message, theirs);
      current = theirs;
      connections += 1;
      return mine;
    },
    tell: async (message) => current?.send({ jsonrpc: "2.0", ...message } as JSONRPCMessage),
    drop: async () => current?.close(),
    next: (method) => new Promise((resolve) => void waiting.push({ method, resolve })),
  };
}

async function reply(answers: Scripted["answers"], request: JSONRPCRequest, to: InMemoryTransport): Promise<void> {
  const { id, method, params = {} } = request;
  try {
    const answer = answers[method];
    if (answer === undefined) throw { code: -32601, message: `no ${method}` };
    await to.send({ jsonrpc: "2.0", id, result: (await answer(params, request)) as never });
  } catch (error) {
    if (error instanceof Error) return;
    await to.send({ jsonrpc: "2.0", id, error: error as never });
  }
}

const require = createRequire(import.meta.url);

export interface RealServer {
  readonly transport: () => Transport;
  readonly heard: readonly JSONRPCMessage[];
  readonly calls: () => readonly JSONRPCRequest[];
  /** Of the processes that were started, those that still run. */
  readonly alive: () => readonly number[];
  /** Kills the newest process. */
  readonly kill: () => void;
  readonly started: () => number;
}

/** A published server as a child process, with a record of what was sent to it. */
export function realServer(name: "server-everything" | "server-filesystem", ...args: readonly string[]): RealServer {
  const entry = require.resolve(`@modelcontextprotocol/${name}/dist/index.js`);
  const heard: JSONRPCMessage[] = [];
  const pids: number[] = [];
  return {
    heard,
    calls: () => heard.filter((m): m is JSONRPCRequest => "method" in m && m.method === "tools/call"),
    started: () => pids.length,
    alive: () => pids.filter(isAlive),
    kill: () => void process.kill(pids.at(-1) as number, "SIGKILL"),
    transport() {
      const stdio = new StdioClientTransport({ command: process.execPath, args: [entry, ...args], stderr: "ignore" });
      const { send } = stdio;
      stdio.send = (message) => {
        if (heard.length === 0 || stdio.pid !== pids.at(-1)) pids.push(stdio.pid as number);
        heard.push(message);
        return send.call(stdio, message);
      };
      return stdio;
    },
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
