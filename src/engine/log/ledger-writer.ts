/**
 * The ledger writer: group commit over all workflows in flight.
 *
 * Owns: the grouping of appends into transactions. Never: the content of an append.
 * 1.  An append resolves after COMMIT has returned, never before; it is durable then, unless it is `lazy`.
 * 2.  Appends keep their order; one transaction is under way at a time.
 * 3.  A failed transaction rejects each of its appends with the store's coded error; nothing of it was written.
 * 4.  A transaction has at most `maxBatch` appends, and at most `maxBurst` of their waiters are resumed in one turn of
 *     the event loop: each continues at once, and other work runs in between.
 * 5.  A kernel whose lease has run out appends nothing before it has asked the store whether it is still registered.
 */
import type { Append, AppendReceipt, LedgerStore } from "../../ports/ledger-store.ts";
import { outside } from "../actors/async-context.ts";
import { inNextTurn } from "../actors/next-turn.ts";
import type { Limits } from "../actors/runtime.ts";
import { yieldToEventLoop } from "../actors/yield-to-event-loop.ts";
import type { KernelRegistration } from "./kernel-registration.ts";

export interface Posting {
  /** Called when the transaction begins, so that events that are decided until then share its row. */
  readonly seal: () => Append;
  readonly resolve: (receipt: AppendReceipt) => void;
  readonly reject: (error: unknown) => void;
}

export interface LedgerWriter {
  /** Queues an append; its end is reported once, after the transaction. Errors of the callback are the caller's own. */
  readonly post: (posting: Posting) => void;
  /** Queues as `post` does, for a caller that waits with a promise. */
  readonly append: (seal: () => Append) => Promise<AppendReceipt>;
  /** Resolves when all that was appended is durable. */
  readonly sync: () => Promise<void>;
  /** Resolves when no append is queued or under way. */
  readonly drained: () => Promise<void>;
}

/** Seals one entry; an entry that cannot be sealed fails alone. */
function sealOne(waiting: Posting): (Posting & { readonly entry: Append }) | null {
  try {
    return { ...waiting, entry: waiting.seal() };
  } catch (error) {
    waiting.reject(error);
    return null;
  }
}

export type WriterLimits = Pick<Limits, "maxBatch" | "maxBurst">;

/** The lease state of a writer that holds no workflows. */
const ownerless: Pick<KernelRegistration, "isValid" | "confirm"> = { isValid: true, confirm: async () => true };

export function createLedgerWriter(
  store: LedgerStore,
  { maxBatch, maxBurst }: WriterLimits,
  registration = ownerless,
): LedgerWriter {
  let queue: Posting[] = [];
  let busy = false;
  let syncing: Promise<void> | null = null;
  const idle: (() => void)[] = [];

  /** Syncs the store. Calls that arrive before it begins share one sync. */
  const sync = async (): Promise<void> => {
    await null;
    syncing = null;
    await store.sync?.();
  };

  const flush = async (): Promise<void> => {
    const refused = registration.isValid ? null : await askFirst(registration);
    const next = queue.slice(0, maxBatch);
    queue = queue.slice(maxBatch);
    const reported =
      refused === null
        ? await appendAll(store, next)
        : next.map(
            ({ reject }) =>
              () =>
                reject(refused.error),
          );
    // Each resumed waiter continues at once; its next append joins the next transaction.
    for (const [i, tell] of reported.entries()) {
      if (i > 0 && i % maxBurst === 0) await yieldToEventLoop();
      tell();
    }
    if (queue.length > 0) return schedule();
    busy = false;
    for (const resolve of idle.splice(0)) resolve();
  };

  /** Schedules a transaction. It gathers the appends of one turn of the event loop; nothing is delayed further. */
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

/** Logs that failed because of it refuse to be sealed. */
const askFirst = (registration: Pick<KernelRegistration, "confirm">): Promise<{ readonly error: unknown } | null> =>
  registration.confirm().then(
    () => null,
    (error: unknown) => ({ error }),
  );

/** Runs one transaction, and returns the function that reports its end to each append. */
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
