/**
 * Where each stream stands: its last sequence and hash, and who holds its workflow. A bounded cache in front of the
 * tables, so that a writer's own next append needs no SELECT.
 *
 * Owns: the cache and the rule when it may be believed.
 * Never: answers outside a write transaction.
 * INV-1  Inside a write transaction nothing else can change the tables; what others committed before it shows in
 *        PRAGMA data_version, and then the whole cache is dropped.
 * INV-2  At most `streamHeadLimit` streams are kept; the least recently used goes first.
 * INV-3  After a rollback the cache is empty.
 */

/** What an append must know of the stream's workflow. `thread` is the text of its id, `expires` is epoch ms. */
export interface Workflow {
  readonly thread: string | null;
  readonly owner: string | null;
  readonly epoch: number;
  readonly expires: number | null;
}

/** What the tables say of a stream. `workflow` is null for a stream that has no workflow. */
export interface StreamHead {
  readonly last: number;
  readonly hash: string;
  /** Text of the tenant's id. */
  readonly tenant: string;
  readonly workflow: Workflow | null;
}

export const streamHeadLimit = 20_000;

export class StreamHeads {
  readonly #kept = new Map<string, StreamHead>();
  readonly #limit: number;
  #version = -1;

  constructor(limit: number = streamHeadLimit) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Call first in each write transaction, with PRAGMA data_version. */
  believe(version: number): void {
    if (version !== this.#version) this.#kept.clear();
    this.#version = version;
  }

  get(stream: string): StreamHead | undefined {
    const head = this.#kept.get(stream);
    if (head === undefined) return undefined;
    this.#kept.delete(stream);
    this.#kept.set(stream, head);
    return head;
  }

  set(stream: string, head: StreamHead): void {
    this.#kept.set(stream, head);
    if (this.#kept.size <= this.#limit) return;
    for (const oldest of this.#kept.keys()) {
      this.#kept.delete(oldest);
      return;
    }
  }

  forget(stream: string): void {
    this.#kept.delete(stream);
  }

  clear(): void {
    this.#kept.clear();
  }
}
