/**
 * Serves an app on an address of this machine: the one place that opens a socket.
 *
 * 1.  Refusals before there is a request are problem documents too (refuse-unparsed.ts).
 * 2.  The number of connections and the time for a request are limited; slower or further ones are cut off.
 */
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { z } from "zod";
import { limitsOf, objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { listen } from "../../protocol/listen.ts";
import type { HttpApp } from "./create-http-app.ts";
import { answerUnderWay, guardRequests, isAnswered } from "./guard-request.ts";
import { refuseTunnel, refuseUnparsed } from "./refuse-unparsed.ts";

/** The default limits of a server. */
export const defaultServerLimits = {
  /** Connections at once; further ones are closed. */
  maxConnections: 4_096,
  /** Bytes of all headers of a request; beyond them 431. */
  maxHeaderBytes: 16_384,
  /** The time that a connection has until its request's last header; then 408. */
  headersTimeoutMs: 10_000,
  /** The time that it has until the last byte of its body; then 408. */
  requestTimeoutMs: 30_000,
  /** The time that a connection stays open between two requests. */
  keepAliveTimeoutMs: 5_000,
  /** The time that a client has to read an answer that is complete. */
  responseTimeoutMs: 60_000,
} as const;
/** Limits of the server, by name. */
export type ServerLimits = { readonly [K in keyof typeof defaultServerLimits]: number };

const Address = z.strictObject({
  /** 127.0.0.1 by default. */
  host: z.string().min(1).default("127.0.0.1"),
  /** 8787 by default; 0 takes any that is free. */
  port: z.int().min(0).max(65_535).default(8787),
  /** Limits that replace those of `defaultServerLimits`. */
  limits: limitsOf<ServerLimits>(defaultServerLimits),
});
/** A port of 0 takes any that is free. */
export interface HttpAddress extends Readonly<z.input<typeof Address>> {}

/** A server that listens. */
export interface HttpServer {
  readonly url: string;
  /**
   * Accepts no more requests and ends the streams, whose readers continue elsewhere from their last cursor. Other
   * requests under way have `graceMs` (0 by default) to be answered.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>;
}

const serveRef = moduleRef(0, "http", "serve");

/**
 * Listens on the loopback address by default.
 * @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE, T0_VALIDATION_SCHEMA_MISMATCH for an invalid limit.
 */
export async function serveHttp(app: Pick<HttpApp, "fetch">, address: HttpAddress = {}): Promise<HttpServer> {
  const reading = { what: "serveHttp", source: serveRef };
  readStrictly(z.object({ app: objectWith("fetch") }), { app }, reading);
  const { host, port, limits } = readStrictly(Address, address, reading);
  const server = openServer(app, limits);
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  await listen(server, { host, port }, serveRef);
  const { port: taken } = server.address() as AddressInfo;
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${taken}`;
  return { url, close: ({ graceMs = 0 } = {}) => closeServer(server, sockets, graceMs) };
}

function openServer({ fetch }: Pick<HttpApp, "fetch">, limits: ServerLimits): Server {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, maxHeaderBytes, responseTimeoutMs } = limits;
  const options = {
    headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // The interval at which node looks for slow connections: often enough for the shortest limit.
    connectionsCheckingInterval: Math.ceil(Math.min(headersTimeoutMs, requestTimeoutMs) / 4),
    maxHeaderSize: maxHeaderBytes,
    // The guard asks for it, and answers with a problem.
    requireHostHeader: false,
  };
  const listener = guardRequests(getRequestListener(fetch), responseTimeoutMs);
  const server = createServer(options, listener);
  server.on("clientError", (error, socket) => refuseUnparsed(error, socket, isAnswered(socket)));
  server.on("connect", (_, socket) => refuseTunnel(socket));
  // An expectation may remain unmet; the request itself is answered.
  server.on("checkExpectation", listener);
  // A connection that could not be taken (no more files may be open) is its client's loss, and not the process's end.
  server.on("error", () => undefined);
  server.maxConnections = limits.maxConnections;
  return server;
}

async function closeServer(server: Server, sockets: ReadonlySet<Socket>, graceMs: number): Promise<void> {
  const closed = once(server, "close");
  server.close();
  for (const socket of sockets) endSoon(socket);
  const cut = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearTimeout(cut);
}

/** Ends a connection once its answer is sent; at once if none is under way, or if it never ends. */
function endSoon(socket: Socket): void {
  const answer = answerUnderWay(socket);
  if (answer === undefined || isStream(answer)) socket.destroy();
  else answer.once("close", () => socket.end());
}

const isStream = (answer: ServerResponse): boolean =>
  String(answer.getHeader("content-type")).startsWith("text/event-stream");
