/**
 * Reports within a fraction of a second which processes of a shared ledger are alive, and what they have committed.
 *
 * Owns: one connection whose session holds a lock under the owner's name, and receives announcements.
 * Never: notifies inside a commit: a NOTIFY in a transaction makes all commits of a cluster wait for one another.
 * 1.  A session's lock ends with its process or its connection, whatever ends them; the process that notices it frees
 *     the owner's workflows, once. An owner that is still alive is fenced by it: it has lost its workflows, and never
 *     does work twice.
 * 2.  A process that has lost only its connection enters again at once; one that is missed at two consecutive looks is
 *     gone.
 * 3.  It is no lease: without it, or behind a pooler without sessions, an owner's workflows are free when its last
 *     heartbeat has expired (owners.ts).
 */
import { sha256 } from "../../contract/digest.ts";
import type { LedgerUpdates } from "../../ports/ledger-store.ts";
import type { Opened } from "./connect.ts";
import { ledgerFailure } from "./failure.ts";
import { firstOf, type Runner, rowsOf, transact } from "./query.ts";
import { statement } from "./statements.ts";

export interface PresenceOptions {
  /** For messages. */
  readonly name: string;
  readonly schema: string;
  readonly owner: string;
  /** The sender of this process's own announcements. */
  readonly sender: string;
  readonly updates: LedgerUpdates;
  /** Opens a connection of its own. */
  readonly open: () => Promise<Opened>;
}

/** The interval at which missing processes are looked for. */
const pollMs = 200;

export const channelOf = (schema: string): string => `countersign_${schema}`;

/** Returns a positive integer for a text; a lock's name has room for two. */
const numberOf = (text: string): number => Number.parseInt(sha256(text).slice(0, 7), 16);

export class Presence {
  readonly #options: PresenceOptions;
  readonly #lock: readonly [number, number];
  #session: Opened | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;
  /** The owners that were missed at the last look. */
  #missed: ReadonlySet<string> = new Set();

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#lock = [numberOf(options.schema), numberOf(options.owner)];
  }

  /** Its number, while it is held. */
  get lock(): number | null {
    return this.#session === null || this.#session.failed ? null : this.#lock[1];
  }

  /** Begins. @throws KernelErrorException T0_LEDGER_LOCKED if another process lives under this name. */
  async begin(): Promise<void> {
    await this.#enter();
    this.#arm();
  }

  /** Ends; the other processes notice it, and take over its workflows. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    await this.#session?.client.end().catch(() => undefined);
  }

  /** Enters; a failed attempt leaves no lock behind. */
  async #enter(): Promise<void> {
    const session = await this.#options.open();
    try {
      await this.#settle(session.client);
      this.#session = session;
      this.#missed = new Set();
      session.client.once("end", () => this.#hurry());
    } catch (error) {
      await session.client.end().catch(() => undefined);
      throw error;
    }
  }

  async #settle(client: Opened["client"]): Promise<void> {
    const { schema, owner, name, updates, sender } = this.#options;
    const held = await firstOf(client, statement("lockOwner", ...this.#lock));
    if (held?.["locked"] !== true)
      throw ledgerFailure("T0_LEDGER_LOCKED", `has a living owner called ${owner} already`, { name, fn: "follow" });
    client.on("notification", ({ payload = "" }) => tell(updates, sender, payload));
    await client.query(`LISTEN "${channelOf(schema)}"`);
  }

  #hurry(): void {
    if (this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#arm(0);
  }

  #arm(inMs = pollMs): void {
    if (this.#ended) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      // A look that fails, as when the server is away, is made again at the next.
      this.#looking = this.#look()
        .catch(() => undefined)
        .then(() => this.#arm());
    }, inMs);
    this.#timer.unref();
  }

  async #look(): Promise<void> {
    const { owner, updates } = this.#options;
    if (this.#session === null || this.#session.failed) {
      await this.#enter();
      // Other processes may have taken this one for dead meanwhile.
      return updates.gone(owner);
    }
    const { client } = this.#session;
    const rows = await rowsOf(client, statement("goneOwners", owner, this.#lock[0]));
    const missed = rows.map((row) => row["owner"] as string);
    const gone = missed.filter((name) => this.#missed.has(name));
    this.#missed = new Set(missed);
    for (const name of gone) if (await transact(client, () => free(client, name))) updates.gone(name);
  }
}

/** Frees an owner's workflows; false if another process was quicker. */
async function free(client: Runner, owner: string): Promise<boolean> {
  if ((await client.query(statement("strikeOff", owner))).rowCount !== 1) return false;
  await client.query(statement("freeHeld", owner));
  return true;
}

/** Reads an announcement: its sender, and the streams that have grown; none if there are more than it can name. */
function tell(updates: LedgerUpdates, own: string, payload: string): void {
  const [sender, ...streams] = payload.split(" ");
  if (sender !== own) updates.committed(streams);
}
