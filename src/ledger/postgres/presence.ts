/**
 * Who of those that share the ledger is alive, and what they have committed: told within a fraction of a second.
 *
 * Owns: one connection whose session holds a lock under the owner's name, and hears announcements.
 * Never: rings inside a commit: a NOTIFY in a transaction makes all commits of a cluster wait for one another.
 * 1.  A session's lock ends with its process or its connection, whatever ends them; who finds it gone frees what its
 *        owner held, once. An owner that lives on is fenced by it, and has lost what it held, never done it twice.
 * 2.  Who has lost its connection alone enters again at once; gone is who is missed at two looks, one after another.
 * 3.  It is no lease: without it, or behind a pooler that has no sessions, what an owner held is free when its last beat
 *        has run out (owners.ts).
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
  /** Whose announcements are our own. */
  readonly sender: string;
  readonly updates: LedgerUpdates;
  /** A connection of its own. */
  readonly open: () => Promise<Opened>;
}

/** How often it is looked who is gone. */
const pollMs = 200;

export const channelOf = (schema: string): string => `countersign_${schema}`;

/** A lock's name has room for two positive integers. */
const numberOf = (text: string): number => Number.parseInt(sha256(text).slice(0, 7), 16);

export class Presence {
  readonly #options: PresenceOptions;
  readonly #lock: readonly [number, number];
  #session: Opened | null = null;
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> = Promise.resolve();
  #ended = false;
  /** Who was missed at the last look. */
  #missed: ReadonlySet<string> = new Set();

  constructor(options: PresenceOptions) {
    this.#options = options;
    this.#lock = [numberOf(options.schema), numberOf(options.owner)];
  }

  /** Its number, while it is held. */
  get lock(): number | null {
    return this.#session === null || this.#session.failed ? null : this.#lock[1];
  }

  /** @throws KernelErrorException T0_LEDGER_LOCKED where another process lives under this name. */
  async begin(): Promise<void> {
    await this.#enter();
    this.#arm();
  }

  /** The others find it gone, and go on with what it leaves. */
  async end(): Promise<void> {
    this.#ended = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#looking;
    await this.#session?.client.end().catch(() => undefined);
  }

  /** Whoever does not get in leaves no lock behind. */
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
      // Meanwhile others may have taken this process for dead.
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

/** False where another was quicker. */
async function free(client: Runner, owner: string): Promise<boolean> {
  if ((await client.query(statement("strikeOff", owner))).rowCount !== 1) return false;
  await client.query(statement("freeHeld", owner));
  return true;
}

/** What an announcement says: who sent it, and which streams went on; none for more than it can name. */
function tell(updates: LedgerUpdates, own: string, payload: string): void {
  const [sender, ...streams] = payload.split(" ");
  if (sender !== own) updates.committed(streams);
}
