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
  /** Whether a missing ledger is created. */
  readonly create: boolean;
  readonly maxConnections: number;
  readonly timeoutMs: number;
  /** For messages. */
  readonly name: string;
}

/**
 * Returns the `application_name` by which the server and other processes recognise the connections of one open ledger.
 */
export const nameOfSession = (session: string): string => `countersign ${session}`;

export interface Connections {
  /** The session, whose name is unique to this opening. */
  readonly session: string;
  readonly appender: Appender;
  readonly pool: Pool;
  /**
   * Opens one more connection, for a session of its own. @throws T0_LEDGER_POOLED if a pooler does not pass settings.
   */
  readonly openOne: () => Promise<Opened>;
  /** Closes all remaining connections, whatever their state. */
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

/** The server notices within seconds that a machine has disappeared, and releases what its sessions hold. */
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
    // A server that has disappeared is noticed.
    keepAlive: true,
    keepAliveInitialDelayMillis: 5000,
    query_timeout: 2 * timeoutMs,
    // With it a connection that still owes an answer after that time is closed: its next user would wait behind the
    // answer.
    pipeline: true,
    stream: config.stream ?? newSocket,
    types: { getTypeParser: (oid: number, format?: "text" | "binary") => parserOf(types, oid, format) },
  } as PoolConfig;
  const pool = new driver.Pool({ ...shared, max: maxConnections, allowExitOnIdle: true });
  pool.on("error", () => undefined);
  // A connection that ends between two statements of its user has no other listener for the error.
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
  /** False behind a pooler: a lock or a channel of a session may belong to another client at the next statement. */
  hasSession: boolean;
}

/** Returns whether a session is the server's own: the server names its process, and a pooler names itself. */
async function hasSession(client: ClientBase, { schema, name }: ConnectOptions): Promise<boolean> {
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid, current_setting('search_path') AS path");
  const { pid, path } = rows[0] as { readonly pid: number; readonly path: string };
  if (path !== schema) {
    const reason = "is behind a pooler that does not pass the settings of a session on";
    throw ledgerFailure("T0_LEDGER_POOLED", reason, { name, fn: "open" });
  }
  return pid === (client as { readonly processID?: number | null }).processID;
}

/** Waits once for a server that goes away; while it stays away each request is refused at once. */
class Patience {
  readonly #ms: number;
  /** A server that was never reached is not waited for. */
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

  /** Resolves when the server may be asked again. @throws the given error. */
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

  /** Returns whether a session keeps its locks and channels. */
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
