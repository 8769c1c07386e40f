/**
 * `countersign guard` in a process of its own, with a client of it over stdio or over HTTP, and a person who decides
 * through the console's API.
 * Owns: the process and its client. Never: asserts anything.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as EarlierStdio } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as EarlierHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Gate } from "../../src/index.ts";
import { launcher } from "../cli/command-line.ts";

export type Face = "stdio" | "http";
/** The package of the client: `sdk` is the official one of 2025-11-25 and before, `client` that of both eras. */
export type Library = "sdk" | "client";

/** The classes of both packages, which have the methods in common that are used here. */
const libraries = {
  client: { makeClient: Client, Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport },
  sdk: { makeClient: EarlierClient, Stdio: EarlierStdio, Http: EarlierHttp },
} as unknown as Readonly<
  Record<
    Library,
    {
      readonly makeClient: typeof Client;
      readonly Stdio: typeof StdioClientTransport;
      readonly Http: typeof StreamableHTTPClientTransport;
    }
  >
>;

/** Makes a client; one of both eras negotiates if it is asked for by its name. */
function makeClientOf(library: Library | undefined): Client {
  const { makeClient } = libraries[library ?? "client"];
  const negotiating = { versionNegotiation: { mode: "auto" } } as const;
  return new makeClient({ name: "test", version: "1" }, library === "client" ? negotiating : {});
}

export interface GuardStart {
  readonly folder: string;
  readonly face: Face;
  /** The package of the client; `client` by default. */
  readonly library?: Library;
  /** The seconds that a call waits for a person. */
  readonly wait: number;
  /** The server behind: a program and its arguments. */
  readonly server: readonly string[];
  /** Arguments of Node itself, before those of the guard. */
  readonly node?: readonly string[];
  /** Options of the guard. */
  readonly options?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface StartedGuard {
  readonly client: Client;
  readonly url: string;
  readonly pid: number;
  /** Ends when the process has ended. */
  readonly ended: Promise<unknown>;
  /** The gates that wait for a person. */
  readonly gates: () => Promise<readonly Gate[]>;
  /** Decides a gate; a guard that dies meanwhile gives no answer. */
  readonly approve: (gate: Gate, payload?: object) => Promise<void>;
  readonly reject: (gate: Gate) => Promise<void>;
  readonly stop: () => Promise<void>;
  /** Connects another client, over HTTP. */
  readonly connect: () => Promise<Client>;
}

const environment = process.env as Readonly<Record<string, string>>;
const approver = "an-approver-of-this-test";
const token = "a-client-of-this-test";

/** Starts a guard, and connects a client to it. */
export async function startGuard(start: GuardStart) {
  const { folder, face, wait, server, node = [], options = [], env, library } = start;
  const port = face === "stdio" ? ["--port", "0"] : ["--listen", "0", "--token", token];
  const guard = ["guard", "--db", "guard.db", ...port, "--wait", String(wait), "--approver-token", approver];
  const args = [...node, launcher, ...guard, ...options, "--", process.execPath, ...server];
  const at = { cwd: folder, env: { ...environment, ...env } };
  const started = face === "stdio" ? await overStdio(args, at, library) : await overHttp(args, at, library);
  return { ...started, ...personAt(started.url), connect: () => connectTo(started.url, library) };
}

interface Surroundings {
  readonly cwd: string;
  readonly env: Record<string, string>;
}
type Connected = Pick<StartedGuard, "client" | "url" | "pid" | "ended" | "stop">;

async function overStdio(args: string[], at: Surroundings, library?: Library): Promise<Connected> {
  const { Stdio } = libraries[library ?? "client"];
  const transport = new Stdio({ command: process.execPath, args, ...at, stderr: "pipe" });
  const listening = Promise.withResolvers<string>();
  transport.stderr?.on("data", readAddress(listening));
  const client = makeClientOf(library);
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  client.onclose = resolve;
  await client.connect(transport);
  return { client, url: await listening.promise, pid: transport.pid ?? 0, ended, stop: () => client.close() };
}

async function overHttp(args: string[], at: Surroundings, library?: Library): Promise<Connected> {
  const { url, pid, ended, stop: end } = await listen(args, at);
  const client = await connectTo(url, library);
  const stop = async (): Promise<void> => {
    await client.close();
    await end();
  };
  return { client, url, pid, ended, stop };
}

async function connectTo(url: string, library?: Library): Promise<Client> {
  const { Http } = libraries[library ?? "client"];
  const headers = { authorization: `Bearer ${token}` };
  const client = makeClientOf(library);
  await client.connect(new Http(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
}

async function listen(args: string[], at: Surroundings): Promise<Omit<Connected, "client">> {
  const child: ChildProcess = spawn(process.execPath, args, { ...at, stdio: ["ignore", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const listening = Promise.withResolvers<string>();
  child.stdout?.on("data", readAddress(listening));
  const url = await listening.promise;
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    await ended;
  };
  return { url, pid: child.pid ?? 0, ended, stop };
}

/** Starts `countersign serve` on the ledger of a guard, with a person who decides there. */
export async function serveBeside(folder: string, ...options: readonly string[]) {
  const args = [launcher, "serve", "--db", "guard.db", "--port", "0", "--approver-token", approver, ...options];
  const served = await listen(args, { cwd: folder, env: environment });
  return { ...served, ...personAt(served.url) };
}

function readAddress(listening: PromiseWithResolvers<string>): (chunk: Buffer) => void {
  let read = "";
  return (chunk) => {
    read += chunk;
    const [, url] = /console {2}(http:\/\/[\d.:]+)/.exec(read) ?? [];
    if (url !== undefined) listening.resolve(url);
  };
}

function personAt(url: string): Pick<StartedGuard, "gates" | "approve" | "reject"> {
  const headers = { authorization: `Bearer ${approver}`, "content-type": "application/json" };
  const decide = async ({ workflow_id, gate_id }: Gate, decided: object): Promise<void> => {
    const body = JSON.stringify({ gate_id, ...decided });
    const init = { method: "POST", headers, body };
    await fetch(`${url}/v1/kernel/workflows/${workflow_id}/gate`, init).catch(() => undefined);
  };
  return {
    gates: async () => {
      const answer = await fetch(`${url}/v1/kernel/gates`, { headers });
      return ((await answer.json()) as { readonly gates: readonly Gate[] }).gates;
    },
    approve: (gate, payload = {}) => decide(gate, { decision: "approve", payload }),
    reject: (gate) => decide(gate, { decision: "reject" }),
  };
}

/** The hostile server of these tests: what it does, and what it was asked. */
export function hostileServer(folder: string, behaviour: object) {
  const [plan, log] = [join(folder, "plan.json"), join(folder, "log")];
  const be = (now: object): void => writeFileSync(plan, JSON.stringify(now));
  be(behaviour);
  return {
    be,
    server: [join(import.meta.dirname, "changing-server.mjs"), plan, log],
    /** The names of the tools that were called, in order. */
    called: (): readonly string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
  };
}
