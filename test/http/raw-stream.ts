/**
 * A stream asked for over a bare socket: a client that reads when it is told to, or never.
 * Owns: the socket and what came of it. Never: asserts anything.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { messagesIn } from "./sse-reader.ts";

export interface RawStream {
  readonly socket: Socket;
  /** Resolves when the connection is gone. */
  readonly closed: Promise<unknown>;
  /** All that has been read. */
  readonly text: () => string;
  /** Ids of the whole messages that have been read. */
  readonly ids: () => readonly number[];
}

export async function openRaw(
  url: string,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<RawStream> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = once(socket, "close").catch(() => undefined);
  let text = "";
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    text += bytes.toString("latin1");
  });
  await once(socket, "connect");
  const lines = Object.entries({ host: "edge.test", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  return { socket, closed, text: () => text, ids: () => wholeMessages(text).map(({ id }) => id) };
}

/** Chunk lengths of the transfer stand on lines of their own; a message is whole when its empty line is there. */
function wholeMessages(text: string) {
  const plain = text.replaceAll(/\r\n[0-9a-f]+\r\n/g, "").replaceAll("\r\n", "\n");
  return messagesIn(plain.slice(0, plain.lastIndexOf("\n\n")));
}
