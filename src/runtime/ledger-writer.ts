/**
 * The ledger writer: group commit over all workflows in flight.
 *
 * Owns: which appends share a transaction. Never: what is in them.
 * W1  An append resolves after COMMIT has returned, never before; what is not `lazy` is durable then.
 * W2  Appends keep their order; one transaction is under way at a time.
 * W3  A failed transaction rejects each of its appends with the store's coded error; nothing of it was written.
 * W4  A transaction has at most `maxBatch` appends, and of those who waited for it at most `maxBurst` are told in one turn
 *     of the event loop: whoever is told goes on at once, and others run in between.
 */
import type { Append, AppendReceipt, LedgerStore } from "../ports/ledger-store.ts";
import type { Limits } from "./kit.ts";
import { letOthersRun } from "./let-others-run.ts";

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

/** What cannot be sealed fails alone. */
function sealOne(waiting: Posting): (Posting & { readonly entry: Append }) | null {
  try {
    return { ...waiting, entry: waiting.seal() };
  } catch (error) {
    waiting.reject(error);
    return null;
  }
}

export type WriterLimits = Pick<Limits, "maxBatch" | "maxBurst">;

export function createLedgerWriter(store: LedgerStore, { maxBatch, maxBurst }: WriterLimits): LedgerWriter {
  let queue: Posting[] = [];
  let busy = false;
  const idle: (() => void)[] = [];

  const flush = async (): Promise<void> => {
    const batch = queue
      .slice(0, maxBatch)
      .map(sealOne)
      .filter((w) => w !== null);
    queue = queue.slice(maxBatch);
    const told = batch.length === 0 ? none : await appendAll(store, batch);
    // Whoever is told goes on from here; what is queued then is in the next transaction.
    for (const [i, tell] of told.entries()) {
      if (i > 0 && i % maxBurst === 0) await letOthersRun();
      tell();
    }
    if (queue.length > 0) return schedule();
    busy = false;
    for (const resolve of idle.splice(0)) resolve();
  };

  /** One turn of the event loop gathers what waits; nothing is delayed further. */
  const schedule = (): void => {
    busy = true;
    setImmediate(() => void flush());
  };

  const post = (posting: Posting): void => {
    queue.push(posting);
    if (!busy) schedule();
  };

  return {
    post,
    append: (seal) => new Promise((resolve, reject) => post({ seal, resolve, reject })),
    sync: async () => store.sync?.(),
    drained: () => (busy ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}

const none: readonly (() => void)[] = [];

/** One transaction; gives how each is to be told of its end. */
async function appendAll(
  store: LedgerStore,
  batch: readonly (Posting & { readonly entry: Append })[],
): Promise<readonly (() => void)[]> {
  try {
    const receipts = await store.append(batch.map((w) => w.entry));
    return batch.map((w, i) => () => w.resolve(receipts[i] ?? { ok: false, reason: "clash" }));
  } catch (error) {
    return batch.map((w) => () => w.reject(error));
  }
}
