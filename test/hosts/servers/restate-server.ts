/**
 * A Restate server from npm, on 127.0.0.1, with its data in a temporary folder; and the balancer before the kernels.
 *
 * S1  It tells nobody of itself. S2  Its timeouts are short, so that what rests on them shows.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { makeTempFolder } from "../../fixtures.ts";
import { freePort } from "../../free-port.ts";
import { restateBinary } from "./can-dispatch.ts";

export interface RestateServer extends AsyncDisposable {
  readonly ingress: string;
  readonly admin: string;
  /** As it was when it was killed, or `new`: knowing nothing. */
  readonly start: (as?: "new") => Promise<void>;
  readonly kill: () => Promise<void>;
}

const settings = {
  RESTATE_DISABLE_TELEMETRY: "true",
  RESTATE_LISTEN_MODE: "tcp",
  RESTATE_BIND_IP: "127.0.0.1",
  RESTATE_DEFAULT_NUM_PARTITIONS: "2",
  RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: "256MB",
  RESTATE_LOG_FILTER: "warn",
  RESTATE_WORKER__INVOKER__INACTIVITY_TIMEOUT: "200ms",
  RESTATE_WORKER__INVOKER__ABORT_TIMEOUT: "200ms",
  RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: "700ms",
  RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: "500ms",
  RESTATE_WORKER__INVOKER__HTTP2_STREAMS_PER_CONNECTION_LIMIT: "4",
};

export async function startRestate(more: Readonly<Record<string, string>> = {}): Promise<RestateServer> {
  const folder = makeTempFolder();
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  let running: ChildProcess | null = null;
  const told: string[] = [];
  const env = {
    ...settings,
    ...more,
    RESTATE_BIND_PORT: String(node),
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
  };
  const open = (): ChildProcess => {
    const child = spawn(restateBinary, ["--base-dir", folder.path, "--no-logo"], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes) => told.push(String(bytes)));
    return child;
  };
  const kill = async (): Promise<void> => {
    const child = running;
    running = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const start = async (as?: "new"): Promise<void> => {
    if (as === "new") rmSync(folder.path, { recursive: true });
    for (let look = 0; look < 400; look += 1) {
      // One that finds its port still held ends, and is started again.
      if (running === null || running.exitCode !== null) running = open();
      if ((await isHealthy(admin)) && (await isHealthy(ingress, "/restate/health"))) return;
      await pause(50);
    }
    throw new Error(`The tests of Restate need a server, and it did not start: ${told.join("")}`);
  };
  await start();
  return {
    ingress: `http://127.0.0.1:${ingress}`,
    admin: `http://127.0.0.1:${admin}`,
    start,
    kill,
    async [Symbol.asyncDispose]() {
      await kill();
      folder[Symbol.dispose]();
    },
  };
}

const isHealthy = (port: number, path = "/health"): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}${path}`).then(
    ({ ok }) => ok,
    () => false,
  );

export interface Balancer {
  readonly uri: string;
  /** Ports that new connections go to, one after another; those that refuse are passed over. */
  readonly targets: number[];
  /** Connections whose far end breaks stay open towards the server, as behind a balancer that does not pass it on. */
  hidesBreaks: boolean;
  readonly close: () => void;
}

export async function openBalancer(): Promise<Balancer> {
  const targets: number[] = [];
  const sockets = new Set<Socket>();
  let turn = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    keep(near);
    const reach = (tries: number): void => {
      const far = dial(targets[turn++ % Math.max(1, targets.length)] ?? 1, "127.0.0.1");
      keep(far);
      far.once("connect", () => {
        near.pipe(far, { end: false });
        far.pipe(near, { end: false });
        near.on("close", () => far.destroy());
        far.on("close", () => {
          if (!balancer.hidesBreaks) near.destroy();
        });
      });
      far.once("error", () => {
        if (far.bytesRead > 0) return;
        if (tries > 1) reach(tries - 1);
        else near.destroy();
      });
    };
    reach(targets.length);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const balancer: Balancer = {
    uri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    targets,
    hidesBreaks: false,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  return balancer;
}
