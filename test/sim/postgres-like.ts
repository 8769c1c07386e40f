/**
 * A store that answers as one in Postgres does, on plain rows: what a kernel may rely on there and what it may not.
 *
 * L1  Positions rise and are not dense: each append has a transaction of its own, with ids that others have used
 *     between.
 * L2  The tail, and `position`, show nothing behind a transaction that is still open somewhere; they catch up later,
 *     and what they have shown stays as it was.
 * L3  Every answer takes its time, each another: what was asked first need not be answered first. An append waits
 *     before it is committed, not behind it.
 * L4  Who follows hears after a commit of others which streams went on.
 */
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import type { AppendReceipt, LedgerStore, LedgerUpdates, PositionedRow } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { wrapMembers } from "../../src/testing/wrap-members.ts";

const perTransaction = 1024;
/** Turns of the event loop that an answer takes at most. */
const mostTurns = 4;
/** Looks for which the tail is held back at most. */
const mostLooks = 3;

export interface PostgresLike {
  /** A connection for one more process. */
  readonly connect: () => LedgerStore;
  readonly close: () => Promise<void>;
}

export async function postgresLike(seed: number): Promise<PostgresLike> {
  const random = seededRandom(seed);
  const upTo = (n: number): number => Math.floor(random() * (n + 1));
  const rows = memoryLedger();
  await rows.open();
  const positions = new Positions(upTo);
  const followers = new Map<LedgerStore, LedgerUpdates>();
  const pause = async (): Promise<void> => {
    for (let turns = upTo(mostTurns); turns > 0; turns -= 1) await nextTurn();
  };
  const late = async <T>(answer: () => Promise<T>): Promise<T> => {
    await pause();
    const value = await answer();
    await pause();
    return value;
  };
  const connect = (): LedgerStore => {
    const own: LedgerStore = {
      ...wrapMembers(withoutVersion(rows), ({ make }) => late(make)),
      name: "as in Postgres",
      open: async () => undefined,
      close: async () => void followers.delete(own),
      // Who looks on keeps what is written in the order of answers: that of appends is the order of commits.
      append: async (batch) => {
        await pause();
        const receipts = positions.place(await rows.append(batch));
        const streams = batch.flatMap(({ row }, i) => (receipts[i]?.ok === true ? [row.stream] : []));
        for (const [other, news] of followers)
          if (other !== own && streams.length > 0) setImmediate(() => news.committed(streams));
        return receipts;
      },
      tail: (after, limit) => late(async () => positions.show(await rows.tail(0, positions.shown()), after, limit)),
      position: () => late(async () => positions.last(positions.shown())),
      follow: async (_owner, news) => void followers.set(own, news),
    };
    return own;
  };
  return { connect, close: () => rows.close() };
}

/** Who else has written cannot be told there. */
const withoutVersion = ({ dataVersion: _, ...rows }: LedgerStore): LedgerStore => rows;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Where each row lies, in the order of the rows. */
class Positions {
  readonly #upTo: (n: number) => number;
  readonly #of: number[] = [];
  #transaction = 0;
  #shown = 0;
  #heldLooks = 0;

  constructor(upTo: (n: number) => number) {
    this.#upTo = upTo;
  }

  place(receipts: readonly AppendReceipt[]): readonly AppendReceipt[] {
    this.#transaction += 1 + this.#upTo(2);
    const first = this.#transaction * perTransaction;
    let place = 0;
    const placed = receipts.map((receipt): AppendReceipt => {
      if (!receipt.ok) return receipt;
      this.#of.push(first + place);
      place += 1;
      return { ...receipt, position: first + place - 1 };
    });
    if (this.#heldLooks === 0) this.#heldLooks = this.#upTo(mostLooks);
    return placed;
  }

  /** How many rows are shown now; a look that is held back shows what the last one did. */
  shown(): number {
    if (this.#heldLooks > 0) this.#heldLooks -= 1;
    else this.#shown = this.#of.length;
    return this.#shown;
  }

  last(shown: number): number {
    return this.#of[shown - 1] ?? 0;
  }

  show(rows: readonly PositionedRow[], after: number, limit: number): readonly PositionedRow[] {
    return rows
      .map(({ row }, i) => ({ row, position: this.#of[i] as number }))
      .filter(({ position }) => position > after)
      .slice(0, limit);
  }
}
