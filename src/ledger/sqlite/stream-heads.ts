/**
 * The head of each stream: its last sequence and hash, and the holder of its workflow. A bounded cache in front of the
 * tables, so that a writer's own next append needs no SELECT.
 *
 * Owns: the cache and its validity.
 * Never: answers outside a write transaction.
 * 1.  Inside a write transaction nothing else can change the tables; commits of others before it show in PRAGMA
 *     data_version, and then the whole cache is dropped.
 * 2.  The streams that are kept take at most `maxBytes`; the one written longest ago goes first. A workflow without a
 *     holder is not kept: parked and ended ones cost no memory.
 * 3.  After a rollback the cache is empty.
 */

import type { StreamHead } from "../tables/decide-append.ts";

/** About 2,500 workflows under way. */
export const streamHeadBytes = 1_000_000;

/** The size of an entry besides its texts: two objects and a place in the map, as measured. */
const entryBytes = 200;

const sizeOf = (stream: string, { hash, tenant, workflow }: StreamHead): number =>
  entryBytes +
  stream.length +
  hash.length +
  tenant.length +
  (workflow?.thread?.length ?? 0) +
  (workflow?.owner?.length ?? 0);

export class StreamHeads {
  readonly #kept = new Map<string, StreamHead>();
  readonly #maxBytes: number;
  #bytes = 0;
  #version = -1;

  constructor(maxBytes: number = streamHeadBytes) {
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Returns the approximate size of the entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Validates the cache; call it first in each write transaction, with PRAGMA data_version. */
  believe(version: number): void {
    if (version !== this.#version) this.clear();
    this.#version = version;
  }

  get(stream: string): StreamHead | undefined {
    return this.#kept.get(stream);
  }

  set(stream: string, head: StreamHead): void {
    this.forget(stream);
    if (head.workflow !== null && head.workflow.owner === null) return;
    this.#kept.set(stream, head);
    this.#bytes += sizeOf(stream, head);
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.forget(oldest);
    }
  }

  forget(stream: string): void {
    const head = this.#kept.get(stream);
    if (head === undefined) return;
    this.#kept.delete(stream);
    this.#bytes -= sizeOf(stream, head);
  }

  clear(): void {
    this.#kept.clear();
    this.#bytes = 0;
  }
}
