/**
 * A server on the loopback address and requests to it byte by byte, as no client library would send them.
 * Owns: the server, its sockets. Never: asserts anything.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type HttpOptions, type ServerLimits, serveHttp } from "../../src/faces/http/index.ts";
import { publishing } from "../gates/story.ts";
import { type EdgeUnderTest, openEdge } from "./edge-fixture.ts";

export interface RawServer extends AsyncDisposable {
  readonly edge: EdgeUnderTest;
  readonly url: string;
  readonly host: string;
  /** A connection with nothing said yet. */
  readonly open: () => Promise<Socket>;
  /** All that the server says to these bytes until it closes, or has answered as often as asked. */
  readonly say: (bytes: string | Uint8Array, answers?: number) => Promise<string>;
}

export async function openRawServer(
  limits: Partial<ServerLimits> = {},
  options: Partial<HttpOptions> = {},
): Promise<RawServer> {
  const edge = await openEdge({ capabilities: [publishing().capability] }, options);
  const server = await serveHttp(edge.app, { port: 0, limits });
  const { port, host } = new URL(server.url);
  const open = async (): Promise<Socket> => {
    const socket = connect(Number(port), "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  };
  return {
    edge,
    host,
    url: server.url,
    open,
    async say(bytes, answers = 1) {
      const socket = await open();
      socket.write(bytes);
      const said = await hear(socket, answers);
      socket.destroy();
      return said;
    },
    async [Symbol.asyncDispose]() {
      await server.close();
      await edge[Symbol.asyncDispose]();
    },
  };
}

/** What comes in until the other side closes, or so many answers are whole. */
export function hear(socket: Socket, answers = 1): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (countWhole(text) >= answers) resolve(text);
    });
    socket.on("close", () => resolve(text));
  });
}

/** Answers in the text that have all the bytes they announce. */
function countWhole(text: string): number {
  let count = 0;
  for (let rest = text; ; count += 1) {
    const end = rest.indexOf("\r\n\r\n");
    if (end === -1) return count;
    const head = rest.slice(0, end);
    const size = sizeOf(head, rest.slice(end + 4));
    if (size === null) return count;
    rest = rest.slice(end + 4 + size);
  }
}

/** How long the body behind a head is; null while it is not all there. */
function sizeOf(head: string, body: string): number | null {
  if (/^transfer-encoding: *chunked/im.test(head)) {
    const last = body.search(/(^|\r\n)0\r\n\r\n/);
    return last === -1 ? null : body.indexOf("0\r\n\r\n", last) + 5;
  }
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  return body.length < length ? null : length;
}

/** Status codes, in order. */
export const statusesOf = (said: string): readonly number[] =>
  [...said.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

export const head = (first: string, headers: readonly string[]): string => [first, ...headers, "", ""].join("\r\n");
