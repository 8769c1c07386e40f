/**
 * npm run soak:connections: as many connections as this machine lets one process hold, up to CONNECTIONS. A third says
 * nothing, a third begins a request and never ends it, a third follows the feed. Beside them a workflow is run, watched
 * and timed; then all go away, and nothing may be left. Server and clients have a process of their own each.
 *
 * Environment: CONNECTIONS (10000), ROUNDS (3). Exits 1 where a law is broken.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startChild } from "./in-child.ts";
import { quantile, rounded } from "./measure.ts";
import { openReader } from "./sse-client.ts";

const wanted = Number(process.env["CONNECTIONS"] ?? 10_000);
const rounds = Number(process.env["ROUNDS"] ?? 3);
const atOnce = 100;

interface Vitals {
  readonly listeners: number;
  readonly timers: number;
}

const server = await startChild("./stream-server.ts");
const url = await server.ask<string>("url");
const { hostname, port } = new URL(url);
const feed = `GET /v1/kernel/stream/feed HTTP/1.1\r\nhost: bench.test\r\nauthorization: Bearer bench\r\n`;
/** What a socket says: nothing, the beginning of a request, the whole of one. */
const says = ["", feed, `${feed}\r\n`];

async function open(count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(atOnce, count - sockets.length) }, () =>
      connect(Number(port), hostname),
    );
    for (const socket of some) socket.on("error", () => undefined);
    await Promise.allSettled(some.map((socket) => once(socket, "connect")));
    const connected = some.filter((socket) => !socket.connecting && !socket.destroyed);
    for (const [i, socket] of connected.entries()) {
      socket.write(says[(sockets.length + i) % says.length] as string);
      socket.resume();
    }
    sockets.push(...connected);
    if (connected.length < some.length) break;
  }
  return sockets;
}

/** How long a workflow takes from its decision to its last event at a reader; ms. */
async function timeWorkflow(): Promise<number> {
  const id = await server.ask<string>("park", 5);
  const reader = openReader(`${url}/v1/kernel/stream/${id}/events`, "bench");
  await reader.begun;
  const at = performance.now();
  await server.ask("begin", id);
  await reader.closed;
  if (!reader.seen().inOrder) throw new Error("the reader was told something else than the ledger's events");
  return performance.now() - at;
}

async function timeWorkflows(): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 10; i += 1) times.push(await timeWorkflow());
  return rounded(quantile(times, 0.5));
}

/** Until the server has let all go; bounded. */
async function settle(listeners: number): Promise<Vitals> {
  for (let i = 0; i < 500; i += 1) {
    const vitals = await server.ask<Vitals>("vitals");
    if (vitals.listeners <= listeners) return vitals;
    await new Promise<void>((resolve) => setTimeout(resolve, 20));
  }
  return server.ask<Vitals>("vitals");
}

const alone_ms = await timeWorkflows();
const before = await server.ask<Vitals>("vitals");
for (let round = 1; round <= rounds; round += 1) {
  const empty = await server.ask<{ rss: number; heap: number }>("memory");
  const sockets = await open(wanted);
  const beside_ms = await timeWorkflows();
  const full = await server.ask<{ rss: number; heap: number }>("memory");
  const still = sockets.filter((socket) => !socket.destroyed).length;
  for (const socket of sockets) socket.destroy();
  const after = await settle(before.listeners);
  const left = await server.ask<{ rss: number; heap: number }>("memory");
  const kb = (bytes: number): number => rounded(bytes / 1024 / Math.max(1, sockets.length));
  console.log(
    JSON.stringify({
      what: "connections",
      round,
      wanted,
      connected: sockets.length,
      still_open: still,
      workflow_alone_ms: alone_ms,
      workflow_beside_ms: beside_ms,
      rss_kb_each: kb(full.rss - empty.rss),
      heap_kb_each: kb(full.heap - empty.heap),
      heap_kb_left: rounded((left.heap - empty.heap) / 1024),
      rss_mb: rounded(left.rss / 1024 / 1024),
      listeners: [before.listeners, after.listeners],
    }),
  );
  if (after.listeners !== before.listeners) process.exitCode = 1;
}
await server.ask("close");
await server.stop();
