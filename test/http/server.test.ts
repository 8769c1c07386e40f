/** A real server on the loopback address: streams that outlive it, and the command line that runs it. */
import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Server } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { EventSource } from "eventsource";
import { afterEach, describe, expect, it } from "vitest";
import { createHttpApp, type HttpServer, serveHttp } from "../../src/faces/http/index.ts";
import { createKernel, type Kernel, type LedgerEvent } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { makeRepository, startProcess } from "../cli/command-line.ts";
import { intent, publishing, refusalOf } from "../gates/story.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";
import { streamPath } from "./sse-reader.ts";

const token = "loopback";
const authorization = `Bearer ${token}`;

/** Kernel and server over one ledger file; a second one goes on where the first left. */
async function openServer(
  path: string,
  port = 0,
): Promise<{ kernel: Kernel; server: HttpServer; stop(): Promise<void> }> {
  const kernel = await createKernel({ ledger: sqliteLedger({ path }), capabilities: [publishing().capability] });
  const app = createHttpApp(kernel, { tokens: [{ token, ...testCaller }], retryMs: 10 });
  const server = await serveHttp(app, { port });
  const stop = async () => {
    await server.close();
    await kernel.stop({ drainMs: 0 });
  };
  return { kernel, server, stop };
}

const call = (url: string, body?: object) =>
  fetch(url, {
    headers: { authorization, "content-type": "application/json" },
    ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
  });

let folder: TempFolder;
afterEach(() => folder[Symbol.dispose]());

describe("a server", () => {
  it("[STR-03] (A-42) a client that reconnects by itself misses and repeats nothing over a restart", async () => {
    folder = makeTempFolder();
    const path = join(folder.path, "ledger.db");
    const first = await openServer(path);
    const { url } = first.server;
    const submitted = await call(`${url}/v1/kernel/submit`, { intent_hint: { intent_type: intent } });
    const { workflow_id: id } = (await submitted.json()) as { workflow_id: string };
    const got: LedgerEvent[] = [];
    const statuses: number[] = [];
    const source = new EventSource(`${url}${streamPath(id, "events")}`, {
      fetch: async (input, init) => {
        const response = await fetch(input, { ...init, headers: { ...init.headers, authorization } });
        statuses.push(response.status);
        return response;
      },
    });
    const seen = (type: string) =>
      new Promise<void>((resolve) => {
        const look = () => got.some((event) => event.event_type === type) && resolve();
        source.addEventListener("kernel.event", look);
        look();
      });
    source.addEventListener("kernel.event", ({ data }) => void got.push(JSON.parse(data as string) as LedgerEvent));
    // The client stops when it is told that there is nothing more.
    const over = new Promise<void>((resolve) => {
      source.onerror = () => source.readyState === source.CLOSED && resolve();
    });
    await seen("WORKFLOW_WAITING");
    await first.stop();
    const second = await openServer(path, Number(new URL(url).port));
    const decided = await call(`${url}/v1/kernel/workflows/${id}/gate`, {
      gate_id: "gate-publish",
      decision: "approve",
    });
    expect(decided.status).toBe(200);
    await seen("WORKFLOW_COMPLETED");
    await over;
    const ledger: LedgerEvent[] = [];
    for await (const event of second.kernel.events(id, { live: false })) ledger.push(event);
    await second.stop();
    expect(got).toEqual(ledger);
    expect(statuses.at(-1)).toBe(204);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(1);
  });

  it("says so when its address is taken", async () => {
    folder = makeTempFolder();
    const one = await openServer(join(folder.path, "ledger.db"));
    const app = createHttpApp(one.kernel, { tokens: [{ token, ...testCaller }] });
    const error = await refusalOf(serveHttp(app, { port: Number(new URL(one.server.url).port) }));
    expect(error.code).toBe("T0_HTTP_ADDRESS_UNAVAILABLE");
    await one.stop();
  });
});

it("a connection that cannot be taken does not end the process", async () => {
  folder = makeTempFolder();
  const one = await openServer(join(folder.path, "ledger.db"));
  const servers: Server[] = [];
  const see = (message: unknown) => void servers.push((message as { socket: { server: Server } }).socket.server);
  subscribe("net.server.socket", see);
  const ask = async () => (await call(`${one.server.url}/health`)).status;
  expect(await ask()).toBe(200);
  unsubscribe("net.server.socket", see);
  servers[0]?.emit("error", Object.assign(new Error("accept EMFILE"), { code: "EMFILE" }));
  expect([servers.length > 0, await ask()]).toEqual([true, 200]);
  await one.stop();
});

describe("countersign serve", () => {
  /** The lines it prints until it has told all. */
  async function started(
    child: ChildProcessWithoutNullStreams,
  ): Promise<{ url: string; token?: string; login: string }> {
    const lines = createInterface({ input: child.stdout });
    const [line] = (await once(lines, "line")) as [string];
    return JSON.parse(line) as { url: string; token?: string; login: string };
  }

  it("serves a ledger with a token it made and a link for a browser; an interruption stops it cleanly", async () => {
    folder = makeTempFolder();
    makeRepository(folder.path);
    const child = startProcess(folder.path, "serve", "--port", "0", "--json", "--db", join(folder.path, "l.db"));
    const { url, token: made, login } = await started(child);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await fetch(`${url}/ready`)).status).toBe(200);
    expect((await call(`${url}/v1/kernel/workflows`)).status).toBe(401);
    const listed = await fetch(`${url}/v1/kernel/workflows`, { headers: { authorization: `Bearer ${made}` } });
    expect(await listed.json()).toEqual({ workflows: [], next: null });
    expect(login.startsWith(`${url}/login?code=`)).toBe(true);
    const entered = await fetch(`${url}/login`, {
      method: "POST",
      body: new URL(login).searchParams,
      redirect: "manual",
    });
    const cookie = entered.headers.get("set-cookie")?.split(";")[0] ?? "";
    const known = await fetch(`${url}/v1/session`, { headers: { cookie } });
    expect(await known.json()).toMatchObject({ principal: { type: "user" }, via: "session" });
    child.kill("SIGINT");
    expect(await once(child, "exit")).toEqual([130, null]);
  });

  it("when told to end reports that it is not ready, serves for a while, finishes requests, exits with 0", async () => {
    folder = makeTempFolder();
    const db = join(folder.path, "l.db");
    const timing = ["--linger", "1", "--drain", "1"];
    const child = startProcess(folder.path, "serve", "--port", "0", "--json", "--token", token, "--db", db, ...timing);
    child.stderr.resume();
    const { url } = await started(child);
    const ended = once(child, "exit");
    const stream = await call(`${url}/v1/kernel/stream/feed`);
    const inputs = { repo: "." };
    makeRepository(folder.path);
    const slow = fetch(`${url}/v1/kernel/submit`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", prefer: "wait=2" },
      body: JSON.stringify({ intent_hint: { intent_type: "Repo.ReleaseNotes.Draft", inputs } }),
    });
    child.kill("SIGTERM");
    let ready = await fetch(`${url}/ready`);
    while (ready.status === 200) ready = await fetch(`${url}/ready`);
    expect([ready.status, await ready.json()]).toEqual([503, { status: "unavailable", code: "T0_KERNEL_STOPPED" }]);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    expect((await slow).status).toBeLessThan(300);
    await stream.body?.cancel();
    expect(await ended).toEqual([0, null]);
  });

  it("takes a token that it is given, and does not repeat it", async () => {
    folder = makeTempFolder();
    const db = join(folder.path, "l.db");
    const child = startProcess(folder.path, "serve", "--port", "0", "--json", "--token", token, "--db", db);
    const told = await started(child);
    expect(told.token).toBeUndefined();
    expect((await call(`${told.url}/v1/kernel/gates`)).status).toBe(200);
    child.kill("SIGINT");
    await once(child, "exit");
  });
});
