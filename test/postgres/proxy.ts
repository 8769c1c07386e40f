/** A door in front of the server that passes bytes, until it is told to stop: what a broken network does. */
import { createServer, connect as dial, type Socket } from "node:net";

export interface Door {
  readonly url: string;
  /** From now on what the server answers is kept back, once it was asked for this text. */
  readonly muteAfter: (text: string) => void;
  /** From now on each answer comes so much later, in ms. */
  readonly slow: (ms: number) => void;
  /** From now on nothing passes, in either direction: connections stay, and are made, and hear nothing. */
  readonly mute: () => void;
  /** What was muted breaks; what is opened then passes again. */
  readonly restore: () => void;
  /** The next connection is told in one breath that it is ready, and that it ends. */
  readonly endNext: () => void;
  /** All connections break. */
  readonly cut: () => void;
  readonly close: () => void;
}

const ready = Buffer.from("Z\0\0\0\u0005I");
const parts = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection", "", ""];
const ending = Buffer.from(`E\0\0\0${String.fromCharCode(parts.join("\0").length + 4)}${parts.join("\0")}`);

export async function openProxy(target: string): Promise<Door> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<Socket>();
  let muteAt: string | null = null;
  let delayMs = 0;
  let isMute = false;
  let endsNext = false;
  const server = createServer((near) => {
    const far = dial(Number(port), hostname);
    let muted = false;
    for (const socket of [near, far]) {
      pairs.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => pairs.delete(socket));
    }
    near.on("data", (bytes) => {
      if (isMute) return;
      if (muteAt !== null && bytes.includes(muteAt)) muted = true;
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (muted || isMute) return;
      if (endsNext && bytes.subarray(-ready.length).equals(ready)) {
        endsNext = false;
        near.end(Buffer.concat([bytes, ending]));
        return;
      }
      if (delayMs === 0) near.write(bytes);
      else setTimeout(() => near.write(bytes), delayMs);
    });
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(target);
  url.port = String((server.address() as { readonly port: number }).port);
  const cut = (): void => {
    muteAt = null;
    for (const socket of [...pairs]) socket.destroy();
  };
  return {
    url: url.href,
    muteAfter: (text) => {
      muteAt = text;
    },
    slow: (ms) => {
      delayMs = ms;
    },
    mute: () => {
      isMute = true;
    },
    restore: () => {
      isMute = false;
      cut();
    },
    endNext: () => {
      endsNext = true;
    },
    cut,
    close: () => {
      cut();
      server.close();
    },
  };
}
