/**
 * The server that Restate reaches: HTTP/2 without TLS, for use behind a balancer or a mesh.
 *
 * Owns: the server and its connections. Never: answers anything but Restate's discovery and its calls of drives.
 * 1.  A stopping server accepts no new connection, and announces it on those it has: further calls go elsewhere.
 */
import { once } from "node:events";
import { createServer, type ServerHttp2Session } from "node:http2";
import { createEndpointHandler, type EndpointOptions } from "@restatedev/restate-sdk";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Logger } from "../../ports/telemetry.ts";
import { listen } from "../../protocol/listen.ts";
import type { ReadOptions } from "./index.ts";

/** A server that listens. */
export interface DriveServer {
  /** Accepts nothing new; running calls may end. */
  readonly stop: () => void;
  /** Resolves when no connection is left; calls that have not ended by then are aborted. */
  readonly ended: () => Promise<void>;
}

const serveRef = moduleRef(4, "restate_host", "serve");
/** The time for an answer to leave a stopping process, in ms. */
const leaveMs = 1000;

/** Begins to serve. @throws KernelErrorException T0_HTTP_ADDRESS_UNAVAILABLE. */
export async function serveDrives(
  services: EndpointOptions["services"],
  { host, port, identityKeys }: NonNullable<ReadOptions["serve"]>,
  logger: Logger,
): Promise<DriveServer> {
  const keys = identityKeys.length === 0 ? {} : { identityKeys: [...identityKeys] };
  const server = createServer(createEndpointHandler({ services, logger: logTo(logger), ...keys }));
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", (error) => logger.debug({ error }, "a connection of the dispatcher broke"));
  });
  await listen(server, { host, port }, serveRef);
  // A connection that could not be taken is its client's loss, and not the process's end.
  server.on("error", () => undefined);
  let closed: Promise<unknown> | null = null;
  const stop = (): void => {
    closed ??= once(server, "close");
    server.close();
    for (const session of sessions) session.close();
  };
  return {
    stop,
    ended: async () => {
      stop();
      const late = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, leaveMs);
      await closed;
      clearTimeout(late);
    },
  };
}

/** The SDK's own log: Restate reports failures of drives, and other messages are details. */
const logTo =
  (logger: Logger): NonNullable<EndpointOptions["logger"]> =>
  ({ level, context }, ...parts) => {
    const detail = { invocation: context?.invocationId, recorded: parts.map(String) };
    if (level === "error" || level === "warn") logger.warn(detail, "the dispatcher's SDK");
    else logger.debug(detail, "the dispatcher's SDK");
  };
