/**
 * The connections of an open ledger: one that appends, and a pool for all else.
 *
 * Owns: how they are configured, and that a lost one is opened anew when it is next needed.
 * Never: takes a connection out of a host's pool: it connects as that pool does.
 * 1.  What is appended is appended one batch after another; the connection that appends is shared with nobody.
 * 2.  No connection waits for ever: for another's lock, for an answer, or to be opened.
 * 3.  A connection that fails while nobody uses it takes nothing down; one on which anything failed is not used again.
 * 4.  What is closed ends within a time, whether or not the server answers.
 */
import { Socket } from "node:net";
import type { ClientBase, ClientConfig, Pool, PoolConfig } from "pg";
import { loadPeers } from "../../protocol/load-peers.ts";
import { isAway, ledgerFailure } from "./failure.ts";
import type { Runner } from "./query.ts";

type Driver = typeof import("pg");

export interface ConnectOptions {
  readonly config: ClientConfig;
  readonly schema: string;
  /** Whether a ledger is made where there is none. */
  readonly create: boolean;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  /** For messages. */
  readonly name: string;
}

/** By which the connections of one open ledger are known to the server, and to others: `application_name`. */
export const nameOfSession = (session: string): string => `countersign ${session}`;

export interface Connections {
  /** Of this opening alone. */
  readonly session: string;
  readonly appender: Appender;
  readonly pool: Pool;
  /** One more, for whoever needs a session of his own. @throws T0_LEDGER_POOLED where a pooler does not pass settings. */
  readonly openOne: () => Promise<Opened>;
  /** Ends what is left of all of them, in whatever they are. */
  readonly cut: () => void;
}

const bigint = 20;

/** Loads the driver, which the host installs. @throws KernelErrorException T0_PACKAGE_MISSING. */
export async function loadDriver(): Promise<Driver> {
  const loaded = await loadPeers({ user: "a ledger in Postgres", packages: ["pg@8"] }, () => import("pg"));
  return loaded.default as unknown as Driver;
}

/** Plans that are prepared on empty tables would read whole tables for ever after. */
const planning = ["enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "jit=off"];

/** The server notices within seconds that a machine is gone without a word, and lets go what its sessions hold. */
const noticing = ["tcp_keepalives_idle=5", "tcp_keepalives_interval=2", "tcp_keepalives_count=3"];

function settingsOf({ schema, timeoutMs }: ConnectOptions): string {
  const limits = [`statement_timeout=${timeoutMs}`, `lock_timeout=${timeoutMs}`];
  const isolation = [
    "default_transaction_isolation=read\\ committed",
    `idle_in_transaction_session_timeout=${timeoutMs}`,
  ];
  return [`search_path=${schema}`, ...planning, ...limits, ...isolation, ...noticing]
    .map((setting) => `-c ${setting}`)
    .join(" ");
}

export function connect(driver: Driver, session: string, options: ConnectOptions): Connections {
  const { config, maxConnections, timeoutMs } = options;
  const { types } = driver;
  const sockets = new Set<Socket>();
  const newSocket = (): Socket => {
    const socket = new Socket();
    sockets.add(socket);
    return socket.once("close", () => sockets.delete(socket));
  };
  const shared = {
    application_name: nameOfSession(session),
    ...config,
    options: [config.options, settingsOf(options)].filter((part) => part !== undefined).join(" "),
    connectionTimeoutMillis: timeoutMs,
    // A server that is gone without a word is noticed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    query_timeout: 2 * timeoutMs,
    // With it a connection that owes an answer after that time is broken off: whoever used it next would wait behind the answer.
    pipeline: true,
    stream: config.stream ?? newSocket,
    types: { getTypeParser: (oid: number, format?: "text" | "binary") => parserOf(types, oid, format) },
  } as PoolConfig;
  const pool = new driver.Pool({ ...shared, max: maxConnections, allowExitOnIdle: true });
  pool.on("error", () => undefined);
  // Between two statements of somebody who has it, a connection that ends has nobody else to tell it to.
  pool.on("connect", (client) => void client.on("error", () => undefined));
  const openOne = () => open(driver, shared, options);
  const cut = (): void => {
    for (const socket of [...sockets]) socket.destroy();
  };
  return { session, appender: new Appender(openOne, timeoutMs), pool, openOne, cut };
}

/** Positions and counts are below 2^53. */
const parserOf = (types: Driver["types"], oid: number, format: "text" | "binary" = "text") =>
  oid === bigint ? Number : types.getTypeParser(oid, format as "text");

async function open(driver: Driver, config: ClientConfig, options: ConnectOptions): Promise<Opened> {
  const client = new driver.Client(config);
  const opened = { client, failed: false, hasSession: false };
  const fail = (): void => {
    opened.failed = true;
  };
  client.on("error", fail);
  client.on("end", fail);
  await client.connect();
  try {
    opened.hasSession = await hasSession(client, options);
    return opened;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

export interface Opened {
  readonly client: ClientBase & Runner & { end(): Promise<void> };
  failed: boolean;
  /** False behind a pooler: what a session holds, a lock or a channel, may be another's at the next statement. */
  hasSession: boolean;
}

/** The server itself names the process that it said it is; a pooler has named itself. */
async function hasSession(client: ClientBase, { schema, name }: ConnectOptions): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path");
  const { pid, path } = rows[0] as { readonly pid: number; readonly path: string };
  if (path !== schema) {
    const reason = "is behind a pooler that does not pass the settings of a session on";
    throw ledgerFailure("T0_LEDGER_POOLED", reason, { name, fn: "open" });
  }
  return pid === (client as { readonly processID?: number | null }).processID;
}

/** A server that goes away is waited for once; while it stays away each who asks is refused at once. */
class Patience {
  readonly #ms: number;
  /** Nobody waits for one that was never there. */
  #isOver = true;
  #timer: NodeJS.Timeout | null = null;

  constructor(ms: number) {
    this.#ms = ms;
  }

  found(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#isOver = false;
  }

  /** Resolves when it may be asked again. @throws what it failed with. */
  async waitFor(error: unknown): Promise<null> {
    if (this.#isOver || !isAway(error)) throw error;
    const end = (): void => {
      this.#isOver = true;
    };
    this.#timer ??= setTimeout(end, this.#ms).unref();
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    return null;
  }
}

const lookAgainMs = 50;

/** One connection, used by one after another. */
export class Appender {
  readonly #open: () => Promise<Opened>;
  readonly #patience: Patience;
  #opened: Opened | null = null;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(openOne: () => Promise<Opened>, patienceMs: number) {
    this.#open = openOne;
    this.#patience = new Patience(patienceMs);
  }

  run<T>(body: (client: ClientBase) => Promise<T>): Promise<T> {
    const next = this.#last.then(async () => body((await this.#live()).client));
    this.#last = next.catch(() => this.#leave());
    return next;
  }

  /** Returns whether what a session holds stays with it. */
  async hasSession(): Promise<boolean> {
    return (await this.#live()).hasSession;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#last;
    await this.#leave();
  }

  async #leave(): Promise<void> {
    const left = this.#opened;
    this.#opened = null;
    await left?.client.end().catch(() => undefined);
  }

  async #live(): Promise<Opened> {
    while (this.#opened === null || this.#opened.failed) {
      if (this.#closed) throw new Error("the ledger was closed");
      this.#opened = await this.#open().catch((error: unknown) => this.#patience.waitFor(error));
      if (this.#opened !== null) this.#patience.found();
    }
    return this.#opened;
  }
}
