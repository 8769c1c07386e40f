/**
 * Verifying a ledger: the chain of each stream, the signed approvals in it, and the indexes beside it.
 *
 * Owns: the one pass over the store. Never: writes to it.
 * V1  A damaged row breaks its stream and no other. What was damaged first is what is told of a stream.
 * V2  Indexes are verified with the whole ledger, up to the position at which they were read: others may write meanwhile.
 */
import { createSignatureAudit, type SignatureAudit, type SignatureCheck } from "../adapters/verify-signatures.ts";
import { type ChainBreak, genesisHash, verifyChain } from "../contract/chain.ts";
import { raise } from "../contract/error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { TurnRow } from "../contract/turn.ts";
import { workflowNotFound } from "../contract/workflow.ts";
import type { LedgerStore } from "../ports/ledger-store.ts";
import { yieldToEventLoop } from "../runtime/yield-to-event-loop.ts";
import type { Verification } from "./kernel-interface.ts";
import { openMemoryLedger } from "./parts.ts";
import { IndexRebuild } from "./verify-indexes.ts";

const verifyRef = moduleRef(0, "kernel", "verify");

/** @throws KernelErrorException T4_WORKFLOW_NOT_FOUND: of what is not there nothing can be found sound. */
export async function verifyOne(store: LedgerStore, stream: string, check?: SignatureCheck): Promise<Verification> {
  const rows = await store.read(stream);
  if (rows.length === 0) raise(workflowNotFound(stream, verifyRef));
  const link = verifyChain(rows);
  const audit = createSignatureAudit(check);
  if (link === null) rows.forEach(audit.see);
  const broken = link === null ? await audit.end(() => rows) : [link];
  return { ok: broken.length === 0, checked: rows.length, broken };
}

const chunk = 1000;

/** All streams in one pass over the store, in position order. @throws the reason of `signal`, between two pages. */
export async function verifyAll(
  store: LedgerStore,
  check?: SignatureCheck,
  signal?: AbortSignal,
): Promise<Verification> {
  const chains = new Chains(createSignatureAudit(check));
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
  const broken = [...(await chains.end(store)), ...((await rebuild?.end()) ?? [])];
  return { ok: broken.length === 0, checked, broken };
}

async function beginRebuild(store: LedgerStore): Promise<IndexRebuild | null> {
  if (store.indexes === undefined) return null;
  const stored = await store.indexes();
  const scratch = await openMemoryLedger();
  await scratch.open();
  return new IndexRebuild({ store, stored, scratch });
}

/** How far the chain of each stream was found sound, and the first break of each that is not. */
class Chains {
  readonly broken = new Map<string, ChainBreak>();
  readonly #heads = new Map<string, { readonly prev: string; readonly next: number }>();
  readonly #audit: SignatureAudit;

  constructor(audit: SignatureAudit) {
    this.#audit = audit;
  }

  check(row: TurnRow): void {
    if (this.broken.has(row.stream)) return;
    const wrong = verifyChain([row], this.#heads.get(row.stream) ?? { prev: genesisHash, next: 1 });
    if (wrong !== null) this.broken.set(row.stream, wrong);
    else this.#audit.see(row);
    this.#heads.set(row.stream, { prev: row.hash, next: row.last_sequence + 1 });
  }

  /** Of a stream that is broken the break is told; its signatures are not read. */
  async end(store: LedgerStore): Promise<readonly ChainBreak[]> {
    const read = async (stream: string): Promise<readonly TurnRow[]> =>
      this.broken.has(stream) ? [] : await store.read(stream);
    return [...this.broken.values(), ...(await this.#audit.end(read))];
  }
}
