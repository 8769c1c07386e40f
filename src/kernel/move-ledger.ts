/**
 * Moves a ledger to another store, or keeps a copy of it, row by row: the chains are copied byte by byte, and the
 * indexes are made anew.
 *
 * Owns: the order of the steps: verify, move, verify again.
 * Never: moves data outside the log: sessions of browsers, deliveries under way, leases.
 * 1.  Nothing is moved from a damaged ledger, or while a process works on it. A backup is the log as it was at its
 *     beginning, while processes go on: every prefix of a log is a log.
 * 2.  An interrupted move continues: rows that are there already are skipped. A target with rows of another ledger is
 *     refused.
 */
import { z } from "zod";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { objectWith } from "../contract/host-object.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { TurnRow } from "../contract/turn.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import { eachHead } from "../engine/log/each-head.ts";
import type { Append, LedgerStore } from "../ports/ledger-store.ts";
import { AppendDerivation } from "./derive-appends.ts";
import { verifyAll } from "./verify.ts";

/** The counts of a move: rows and streams, of the whole ledger. */
export interface MovedLedger {
  readonly rows: number;
  readonly streams: number;
  /** Rows that an earlier try had moved. */
  readonly found: number;
}

const chunk = 500;
/** The name under which the move checks whether a workflow's owner is alive. */
const mover = "move";
const source = moduleRef(0, "kernel", "moveLedger");
const ledger = objectWith("open", "read", "append", "close");
const BackupOptions = z.strictObject({
  /** Ends the move once it is aborted. */
  signal: z.instanceof(AbortSignal).optional(),
});
const MoveOptions = z.strictObject({
  ...BackupOptions.shape,
  /** The time, in ms since the epoch. */
  now: z.number(),
});

/**
 * Moves a ledger. It opens and closes both stores. `now` is epoch ms. Once `signal` is aborted no further page is
 * moved, and its reason is thrown; moved rows stay. @throws KernelErrorException T0_LEDGER_*.
 */
export async function moveLedger(
  from: LedgerStore,
  to: LedgerStore,
  options: Readonly<z.input<typeof MoveOptions>>,
): Promise<MovedLedger> {
  const { now, signal } = readStrictly(MoveOptions, options, { what: "moveLedger", source });
  return withBoth(from, to, async () => {
    await requireRest(from, now);
    await requireSound(from, signal);
    const moved = await moveRows(from, to, { until: Number.POSITIVE_INFINITY, signal });
    await requireSound(to, signal);
    return moved;
  });
}

/**
 * Adds to `to` the rows of the log of `from` that it lacks, while `from` is in use. It opens and closes both, and
 * verifies `to`. `signal` as for `moveLedger`. A restore is `moveLedger` from the backup. @throws KernelErrorException
 * T0_LEDGER_*.
 */
export async function backupLedger(
  from: LedgerStore,
  to: LedgerStore,
  options: Readonly<z.input<typeof BackupOptions>> = {},
): Promise<MovedLedger> {
  const { signal } = readStrictly(BackupOptions, options, { what: "backupLedger", source });
  return withBoth(from, to, async () => {
    const moved = await moveRows(from, to, { until: await from.position(), signal });
    await requireSound(to, signal);
    return moved;
  });
}

async function withBoth<T>(from: LedgerStore, to: LedgerStore, work: () => Promise<T>): Promise<T> {
  readStrictly(z.object({ from: ledger, to: ledger }), { from, to }, { what: "moveLedger", source });
  await from.open();
  try {
    await to.open();
    try {
      return await work();
    } finally {
      await to.close();
    }
  } finally {
    await from.close();
  }
}

async function requireRest(store: LedgerStore, now: number): Promise<void> {
  for await (const { workflow_id, owner } of eachHead(store)) {
    if (owner === null) continue;
    const left = await store.claim(workflow_id, mover, now);
    if (left === null)
      raise(kernelError("T0_LEDGER_LOCKED", `${owner} works on ${workflow_id} of ledger ${store.name}`, source));
    await store.release(workflow_id, left);
  }
}

async function requireSound(store: LedgerStore, signal: AbortSignal | undefined): Promise<void> {
  const { ok, broken } = await verifyAll(store, {}, signal);
  if (ok) return;
  const [first] = broken;
  const message = `ledger ${store.name} is not sound: ${first?.stream} at ${first?.sequence} (${first?.reason})`;
  raise(kernelError("T0_LEDGER_CORRUPT", message, source, { detail: { broken: broken.length } }));
}

interface Extent {
  /** The position after which nothing is moved. */
  readonly until: number;
  readonly signal: AbortSignal | undefined;
}

async function moveRows(from: LedgerStore, to: LedgerStore, extent: Extent): Promise<MovedLedger> {
  const derivation = new AppendDerivation(from);
  const streams = new Set<string>();
  let [rows, found] = [0, 0];
  for await (const read of readLog(from, extent)) {
    const batch: Append[] = [];
    for (const row of read) batch.push((await derivation.of(row)) ?? refuseUnderivable(row));
    const receipts = await to.append(batch);
    for (const [i, receipt] of receipts.entries()) {
      const entry = batch[i] as Append;
      if (!receipt.ok) await requireSame(to, entry);
      if (!receipt.ok) found += 1;
      streams.add(entry.row.stream);
    }
    rows += read.length;
  }
  return { rows, streams: streams.size, found };
}

async function* readLog(store: LedgerStore, { until, signal }: Extent): AsyncGenerator<readonly TurnRow[], void, void> {
  for (let position = 0; ; ) {
    signal?.throwIfAborted();
    const read = (await store.tail(position, chunk)).filter((row) => row.position <= until);
    const last = read.at(-1);
    if (last === undefined) return;
    yield read.map(({ row }) => row);
    position = last.position;
    await yieldToEventLoop();
  }
}

function refuseUnderivable({ stream, first_sequence }: TurnRow): never {
  const message = `the row of ${stream} at ${first_sequence} does not tell what it wrote`;
  return raise(kernelError("T0_LEDGER_CORRUPT", message, source));
}

async function requireSame(to: LedgerStore, { row }: Append): Promise<void> {
  const [kept] = await to.read(row.stream, row.first_sequence - 1, 1);
  if (kept?.hash === row.hash) return;
  const message = `ledger ${to.name} holds another ${row.stream}; name one that is empty`;
  raise(kernelError("T0_LEDGER_CONFLICT", message, source, { detail: { stream: row.stream } }));
}
