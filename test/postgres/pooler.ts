/**
 * What programs see of a pooler that stands before the server: of its own it has the greeting alone, which is where
 * they differ. `refuses`: knows no options of a session. `drops`: passes them over. `shares`: gives each session a name
 * of its own, since it has many of them on few connections.
 */
import { createServer, connect as dial, type Socket } from "node:net";
import { serverUrl } from "./server.ts";

export type PoolerKind = "refuses" | "drops" | "shares";

export async function openPooler(kind: PoolerKind): Promise<{ readonly url: string; readonly close: () => void }> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    near.once("data", (greeting) => {
      if (kind === "refuses") return void near.end(refusal("unsupported startup parameter: options"));
      far.write(kind === "drops" ? withoutOptions(greeting) : greeting);
      near.on("data", (bytes) => far.write(bytes));
    });
    far.on("data", (bytes) => near.write(kind === "shares" ? renamed(bytes) : bytes));
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(serverUrl);
  url.port = String((server.address() as { readonly port: number }).port);
  const close = (): void => {
    for (const socket of [...sockets]) socket.destroy();
    server.close();
  };
  return { url: url.href, close };
}

function refusal(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/** A greeting is its length, the protocol, and names with values, each ended by a zero. */
function withoutOptions(greeting: Buffer): Buffer {
  const parts = greeting.subarray(8).toString("utf8").split("\0");
  const at = parts.indexOf("options");
  const kept = Buffer.from(parts.toSpliced(at, 2).join("\0"));
  const head = Buffer.from(greeting.subarray(0, 8));
  head.writeInt32BE(kept.length + 8, 0);
  return Buffer.concat([head, kept]);
}

const keyMessage = Buffer.from([0x4b, 0, 0, 0, 12]);

function renamed(bytes: Buffer): Buffer {
  const at = bytes.indexOf(keyMessage);
  if (at === -1) return bytes;
  const changed = Buffer.from(bytes);
  changed.writeInt32BE(1_000_000 + changed.readInt32BE(at + 5), at + 5);
  return changed;
}
