/**
 * The ledger writer: group commit over all workflows in flight.
 *
 * Owns: which appends share a transaction. Never: what is in them.
 * 1.  An append resolves after COMMIT has returned, never before; what is not `lazy` is durable then.
 * 2.  Appends keep their order; one transaction is under way at a time.
 * 3.  A failed transaction rejects each of its appends with the store's coded error; nothing of it was written.
 * 4.  A transaction has at most `maxBatch` appends, and of those who waited for it at most `maxBurst` are told in one turn
 *     of the event loop: whoever is told goes on at once, and others run in between.
 * 5.  A kernel whose time has run out appends nothing before it has asked whether it is still known.
 */
import type { Append, AppendReceipt, LedgerStore } from "../../ports/ledger-store.ts";
import { outside } from "../actors/async-context.ts";
import { inNextTurn } from "../actors/next-turn.ts";
import type { Limits } from "../actors/runtime.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import type { OwnLife } from "./own-life.ts";

export interface Posting {
  /** Called when the transaction begins, so that what is decided until then shares its row. */
  readonly seal: () => Append;
  readonly resolve: (receipt: AppendReceipt) => void;
  readonly reject: (error: unknown) => void;
}

export interface LedgerWriter {
  /** Queues an append; its end is told once, after the transaction. What the told ones throw is their own affair. */
  readonly post: (posting: Posting) => void;
  /** As `post`, for who waits with a promise. */
  readonly append: (seal: () => Append) => Promise<AppendReceipt>;
  /** Resolves when all that was appended is durable. */
  readonly sync: () => Promise<void>;
  /** Resolves when nothing is queued or under way. */
  readonly drained: () => Promise<void>;
}

/** Seals one entry; one that cannot be sealed fails alone. */
function sealOne(waiting: Posting): (Posting & { readonly entry: Append }) | null {
  try {
    return { ...waiting, entry: waiting.seal() };
  } catch (error) {
    waiting.reject(error);
    return null;
  }
}

export type WriterLimits = Pick<Limits, "maxBatch" | "maxBurst">;

/** Of a writer that holds nothing in anybody's name. */
const ownerless: Pick<OwnLife, "stands" | "hold"> = { stands: true, hold: async () => true };

export function createLedgerWriter(
  store: LedgerStore,
  { maxBatch, maxBurst }: WriterLimits,
  life = ownerless,
): LedgerWriter {
  let queue: Posting[] = [];
  let busy = false;
  let syncing: Promise<void> | null = null;
  const idle: (() => void)[] = [];

  /** Those who ask before it begins share one. */
  const sync = async (): Promise<void> => {
    await null;
    syncing = null;
    await store.sync?.();
  };

  const flush = async (): Promise<void> => {
    const refused = life.stands ? null : await askFirst(life);
    const next = queue.slice(0, maxBatch);
    queue = queue.slice(maxBatch);
    const told =
      refused === null
        ? await appendAll(store, next)
        : next.map(
            ({ reject }) =>
              () =>
                reject(refused.error),
          );
    // Whoever is told goes on from here; what is queued then is in the next transaction.
    for (const [i, tell] of told.entries()) {
      if (i > 0 && i % maxBurst === 0) await yieldToEventLoop();
      tell();
    }
    if (queue.length > 0) return schedule();
    busy = false;
    for (const resolve of idle.splice(0)) resolve();
  };

  /** One turn of the event loop gathers what waits; nothing is delayed further. */
  const schedule = (): void => {
    busy = true;
    outside(() => inNextTurn(() => void flush()));
  };

  const post = (posting: Posting): void => {
    queue.push(posting);
    if (!busy) schedule();
  };

  return {
    post,
    append: (seal) => new Promise((resolve, reject) => post({ seal, resolve, reject })),
    sync: () => (syncing ??= sync()),
    drained: () => (busy ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}

/** Logs that were lost by it refuse to be sealed. */
const askFirst = (life: Pick<OwnLife, "hold">): Promise<{ readonly error: unknown } | null> =>
  life.hold().then(
    () => null,
    (error: unknown) => ({ error }),
  );

/** One transaction; gives how each is to be told of its end. */
async function appendAll(store: LedgerStore, next: readonly Posting[]): Promise<readonly (() => void)[]> {
  const batch = next.map(sealOne).filter((w) => w !== null);
  if (batch.length === 0) return [];
  try {
    const receipts = await store.append(batch.map((w) => w.entry));
    return batch.map((w, i) => () => w.resolve(receipts[i] ?? { ok: false, reason: "clash" }));
  } catch (error) {
    return batch.map((w) => () => w.reject(error));
  }
}
