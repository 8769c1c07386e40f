/**
 * The ledger writer: group commit over all workflows in flight.
 *
 * Owns: which appends share a transaction. Never: what is in them.
 * W1  An append resolves after COMMIT has returned, never before.
 * W2  Appends keep their order; one transaction is under way at a time.
 * W3  A failed transaction rejects each of its appends with the store's coded error; nothing of it was written.
 */
import type { Append, AppendReceipt, LedgerStore } from "../ports/ledger-store.ts";

export interface LedgerWriter {
  /** `seal` is called when the transaction begins, so that what is decided until then shares its row. */
  readonly append: (seal: () => Append) => Promise<AppendReceipt>;
  /** Resolves when nothing is queued or under way. */
  readonly drained: () => Promise<void>;
}

interface Waiting {
  readonly seal: () => Append;
  readonly resolve: (receipt: AppendReceipt) => void;
  readonly reject: (error: unknown) => void;
}

/** What cannot be sealed fails alone. */
function sealOne(waiting: Waiting): (Waiting & { readonly entry: Append }) | null {
  try {
    return { ...waiting, entry: waiting.seal() };
  } catch (error) {
    waiting.reject(error);
    return null;
  }
}

export function createLedgerWriter(store: LedgerStore, maxBatch: number): LedgerWriter {
  let queue: Waiting[] = [];
  let busy = false;
  const idle: (() => void)[] = [];

  const settle = (batch: readonly Waiting[], receipts: readonly AppendReceipt[]): void => {
    for (const [i, waiting] of batch.entries()) waiting.resolve(receipts[i] ?? { ok: false, reason: "clash" });
  };

  const flush = async (): Promise<void> => {
    const batch = queue
      .slice(0, maxBatch)
      .map(sealOne)
      .filter((w) => w !== null);
    queue = queue.slice(maxBatch);
    try {
      if (batch.length > 0) settle(batch, await store.append(batch.map((w) => w.entry)));
    } catch (error) {
      for (const waiting of batch) waiting.reject(error);
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

  return {
    append: (seal) =>
      new Promise((resolve, reject) => {
        queue.push({ seal, resolve, reject });
        if (!busy) schedule();
      }),
    drained: () => (busy ? new Promise((resolve) => idle.push(resolve)) : Promise.resolve()),
  };
}
