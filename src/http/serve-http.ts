/**
 * An app on an address of this machine: the one place that opens a socket.
 */
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { kernelError } from "../contract/error-codes.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { HttpApp } from "./create-http-app.ts";

/** A port of 0 takes any that is free. */
export interface HttpAddress {
  readonly host?: string;
  readonly port?: number;
}

export interface HttpServer {
  readonly url: string;
  /** Takes no more requests and cuts the streams off; their readers go on elsewhere from what they saw last. */
  readonly close: () => Promise<void>;
}

const serveRef = moduleRef(0, "http", "serve");

/** Listens on the loopback address unless told otherwise. @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE. */
export async function serveHttp(
  app: HttpApp,
  { host = "127.0.0.1", port = 8787 }: HttpAddress = {},
): Promise<HttpServer> {
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (thrown) {
    const message = `cannot listen on ${host} port ${port}: ${(thrown as Error).message}`;
    raise(kernelError("T0_HTTP_ADDRESS_UNAVAILABLE", message, serveRef, { detail: { host, port } }));
  }
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`, close: () => closeServer(server) };
}

async function closeServer(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
