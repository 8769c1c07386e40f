/**
 * Verifies a ledger: the chain of each stream, the content of its rows, the signed approvals in it, and the indexes
 * beside it.
 *
 * Owns: the pass over the store for the chains, and the read of each stream for the content of its rows. Never: writes
 * to it.
 * 1.  A damaged row breaks its stream and no other. The row of a stream that is named is the first one that any reader
 *     refuses, in the order of the log.
 * 2.  Every body is parsed, whatever its text.
 * 3.  Indexes are verified with the whole ledger, up to the position at which they were read, because others may write
 *     meanwhile.
 */
import { type SignatureCheck, verifySignatures } from "../adapters/verify-signatures.ts";
import { type ChainBreak, damageIn } from "../contract/chain.ts";
import { raise } from "../contract/error.ts";
import type { LedgerEvent } from "../contract/event.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { endOf, openTurns, type StreamEnd, streamStart, type TurnRow } from "../contract/turn.ts";
import { workflowNotFound } from "../contract/workflow.ts";
import { yieldToEventLoop } from "../engine/actors/yield-to-event-loop.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import type { Verification } from "./kernel-interface.ts";
import { openMemoryLedger } from "./parts.ts";
import { IndexRebuild } from "./verify-indexes.ts";

const verifyRef = moduleRef(0, "kernel", "verify");

/** Verifies one stream. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND: a missing stream cannot be verified. */
export async function verifyOne(store: LedgerStore, stream: string, check?: SignatureCheck): Promise<Verification> {
  const rows = await store.read(stream);
  if (rows.length === 0) raise(workflowNotFound(stream, verifyRef));
  const broken = await verifyRows(rows, check);
  return { ok: broken.length === 0, checked: rows.length, broken };
}

/** Returns the damage of a stream: the first row that cannot be read, or else each signature that is not good. */
async function verifyRows(rows: readonly TurnRow[], check?: SignatureCheck): Promise<readonly ChainBreak[]> {
  let end = streamStart;
  const events: LedgerEvent[] = [];
  for (const row of rows)
    try {
      events.push(...openTurns([row], end));
      end = endOf(row);
    } catch (thrown) {
      return [damageIn(row, thrown)];
    }
  return verifySignatures(events, check);
}

const chunk = 1000;

/**
 * Verifies all streams in one pass over the store, in position order. @throws the reason of `signal`, between two
 * pages.
 */
export async function verifyAll(
  store: LedgerStore,
  check?: SignatureCheck,
  signal?: AbortSignal,
): Promise<Verification> {
  const chains = new Chains();
  const rebuild = await beginRebuild(store);
  let checked = 0;
  for (let position = 0; ; ) {
    signal?.throwIfAborted();
    const rows = await store.tail(position, chunk);
    for (const { row } of rows) chains.check(row);
    await rebuild?.add(rows, chains.broken);
    checked += rows.length;
    const last = rows.at(-1);
    if (last === undefined) break;
    position = last.position;
    await yieldToEventLoop();
  }
  const found = [...chains.broken.values(), ...(await verifyStreams(store, chains.sound, { check, signal }))];
  const damaged = new Set(found.map(({ stream }) => stream));
  const rebuilt = ((await rebuild?.end()) ?? []).filter(
    ({ reason, stream }) => reason === "index" || !damaged.has(stream),
  );
  const broken = [...found, ...rebuilt];
  return { ok: broken.length === 0, checked, broken };
}

async function beginRebuild(store: LedgerStore): Promise<IndexRebuild | null> {
  if (store.indexes === undefined) return null;
  const stored = await store.indexes();
  const scratch = await openMemoryLedger();
  await scratch.open();
  return new IndexRebuild({ store, stored, scratch });
}

interface StreamCheck {
  readonly check: SignatureCheck | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Verifies the rows of these streams, one stream after another. */
async function verifyStreams(
  store: LedgerStore,
  streams: Iterable<string>,
  { check, signal }: StreamCheck,
): Promise<readonly ChainBreak[]> {
  const broken: ChainBreak[] = [];
  for (const stream of streams) {
    signal?.throwIfAborted();
    broken.push(...(await verifyRows(await store.read(stream), check)));
    await yieldToEventLoop();
  }
  return broken;
}

/** The end of each stream so far, and the first break of each that is not sound. Rows come in the order of the log. */
class Chains {
  readonly broken = new Map<string, ChainBreak>();
  readonly #ends = new Map<string, StreamEnd>();

  check(row: TurnRow): void {
    if (this.broken.has(row.stream)) return;
    try {
      openTurns([row], this.#ends.get(row.stream));
    } catch (thrown) {
      this.broken.set(row.stream, damageIn(row, thrown));
    }
    this.#ends.set(row.stream, endOf(row));
  }

  get sound(): readonly string[] {
    return [...this.#ends.keys()].filter((stream) => !this.broken.has(stream));
  }
}
