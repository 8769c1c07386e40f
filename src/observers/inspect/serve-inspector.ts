/**
 * serveInspector: a relay of messages on this machine to viewers that connect: Stately's page, or its receiver.
 *
 * Owns: the address, the admission of viewers, and the limit on slow ones. Never: keeps messages that an Inspector can
 * repeat.
 * 1.  Each viewer receives everything from the beginning, one message per frame, as fast as it reads.
 * 2.  It listens on the loopback address, for programs of this machine and for its own page: a page of another origin,
 *     and a request by another host name, is refused.
 * 3.  A viewer that takes nothing for `maxStallMs` is cut off, and its view is closed.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { WebSocket, WebSocketServer } from "ws";
import { z } from "zod";
import { hostFunction, objectWith } from "../../contract/host-object.ts";
import type { Inspection } from "../../contract/inspection.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, wallClock } from "../../index.ts";
import { listen } from "../../protocol/listen.ts";
import { loadPeers } from "../../protocol/load-peers.ts";
import { keepItems } from "./keep-items.ts";
import type { PlayerPage } from "./player-page.ts";
import { statelyPage } from "./relay-page.ts";

const count = z.int("is a whole number above 0").positive("is a whole number above 0");
const Options = z.strictObject({
  /** 0 takes any that is free. */
  port: z.int().min(0).max(65_535),
  /** The loopback address, and no other. */
  host: z.literal("127.0.0.1", "is 127.0.0.1: viewers are not asked who they are").default("127.0.0.1"),
  /**
   * The page of the host's own, made anew for each request, such as a recording in the player (`playerPage`). Without
   * it the page is Stately's, which needs the internet: the messages go to it in the browser.
   */
  page: hostFunction<() => Promise<PlayerPage>>().optional(),
  /** Another address of Stately's inspector. */
  url: z
    .url({ protocol: /^https?$/, error: "is the address of an inspector's page" })
    .default("https://stately.ai/inspect"),
  /** The time that a viewer may take nothing, in ms; 30 000 by default. */
  maxStallMs: count.default(30_000),
  /** Viewers at once; 16 by default. */
  maxViewers: count.default(16),
  /** Messages that are kept of a source that can be read once; 200 000 by default. */
  maxKept: count.default(200_000),
  /** The clock for stalled viewers; the machine's by default. */
  clock: objectWith<Clock>("now", "setTimer").default(() => wallClock),
});
/** The address of the relay, and its limits. */
export interface ServeInspectorOptions extends Readonly<z.input<typeof Options>> {}
type Resolved = z.output<typeof Options>;

/** The relay to Stately's page, listening. */
export interface InspectorServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const serveRef = moduleRef(6, "inspect", "serve_inspector");
const reading = { what: "serveInspector", source: serveRef };

/**
 * Serves the relay between a source of messages and Stately's page, on the loopback address.
 * @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE, T0_VALIDATION_SCHEMA_MISMATCH for invalid options,
 * T0_PACKAGE_MISSING if the package `ws` is not installed.
 */
export async function serveInspector(
  source: AsyncIterable<Inspection>,
  options: ServeInspectorOptions,
): Promise<InspectorServer> {
  readStrictly(z.object({ source: objectWith(Symbol.asyncIterator) }), { source }, reading);
  const resolved = readStrictly(Options, options, reading);
  const { WebSocketServer } = await loadPeers({ user: "serveInspector", packages: ["ws@8"] }, () => import("ws"));
  const server = createServer();
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1_024 });
  const { host } = resolved;
  await listen(server, resolved, serveRef);
  const address = `${host}:${(server.address() as AddressInfo).port}`;
  server.on("request", (request, response) => void answerPage(request, response, address, resolved));
  const feed = replayable(source, resolved.maxKept);
  server.on("upgrade", (request, socket, head) => {
    const refusal = refuseViewer(request, address, sockets.clients.size < resolved.maxViewers);
    if (refusal !== null) return refuseUpgrade(socket, refusal);
    sockets.handleUpgrade(request, socket, head, (viewer) => void streamTo(viewer, feed, resolved));
  });
  return { url: `http://${address}`, close: () => closeAll(server, sockets) };
}

/** Makes a source repeatable: one that returns itself as its iterator can be read only once. */
function replayable(source: AsyncIterable<Inspection>, maxKept: number): AsyncIterable<Inspection> {
  const isOnce = "next" in source;
  return isOnce ? keepItems(source[Symbol.asyncIterator](), maxKept) : source;
}

const headers = {
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;

async function answerPage(request: IncomingMessage, response: ServerResponse, address: string, options: Resolved) {
  const isPage = request.url === "/" && (request.method === "GET" || request.method === "HEAD");
  const status = isOwnName(request, address) ? (isPage ? 200 : 404) : 403;
  if (status !== 200) return void response.writeHead(status, { ...headers, "content-type": "text/plain" }).end();
  try {
    const relay = `ws://${request.headers.host}`;
    const { html, policy } = await (options.page?.() ?? statelyPage(options.url, relay));
    const page = { ...headers, "content-type": "text/html; charset=utf-8", "content-security-policy": policy };
    response.writeHead(200, page).end(request.method === "HEAD" ? undefined : html);
  } catch (thrown) {
    const reason = thrown instanceof KernelErrorException ? thrown.error.code : "the page could not be made";
    response.writeHead(500, { ...headers, "content-type": "text/plain" }).end(reason);
  }
}

/** Returns whether the host name is ours; another host's name for this address is not. */
const isOwnName = ({ headers: { host } }: IncomingMessage, address: string): boolean =>
  host === address || host === address.replace(/^127\.0\.0\.1/, "localhost");

/** Programs send no origin; of pages only the relay's own may view. */
function refuseViewer(request: IncomingMessage, address: string, hasRoom: boolean): string | null {
  const { origin, host } = request.headers;
  const isOwn = isOwnName(request, address) && (origin === undefined || origin === `http://${host}`);
  if (!isOwn) return "403 Forbidden";
  return hasRoom ? null : "503 Service Unavailable";
}

function refuseUpgrade(socket: Duplex, status: string): void {
  socket.on("error", () => undefined);
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/** Streams to a viewer. It closes with 1000 at the end, with 1011 and the code after an error. */
async function streamTo(viewer: WebSocket, source: AsyncIterable<Inspection>, options: Resolved): Promise<void> {
  const reported = source[Symbol.asyncIterator]();
  viewer.on("close", () => void Promise.resolve(reported.return?.()).catch(() => undefined));
  viewer.on("error", () => undefined);
  try {
    for (let next = await reported.next(); next.done !== true; next = await reported.next()) {
      if (viewer.readyState !== viewer.OPEN) return;
      await send(viewer, JSON.stringify(next.value), options);
    }
    viewer.close(1000, "all was told");
  } catch (thrown) {
    viewer.close(1011, thrown instanceof KernelErrorException ? thrown.error.code : "the source failed");
  }
}

/** Sends a message, and waits until the viewer has room for the next one. */
function send(viewer: WebSocket, text: string, { clock, maxStallMs }: Resolved): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.setTimer(clock.now() + maxStallMs, () => viewer.terminate(), true);
    viewer.send(text, () => {
      cancel();
      resolve();
    });
  });
}

async function closeAll(server: Server, sockets: WebSocketServer): Promise<void> {
  for (const viewer of sockets.clients) viewer.terminate();
  sockets.close();
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
