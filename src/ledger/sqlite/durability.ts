/**
 * Which commits are synced. A synced commit makes all before it durable as well: they lie in one write-ahead log.
 *
 * Owns: the level of `PRAGMA synchronous`, and up to where all is durable.
 * Never: makes a ledger that was opened with `synchronous: "normal"` sync anything.
 * 1.  The level is set with exec, between transactions: it takes effect when the pragma is prepared.
 */
import type { DatabaseSync } from "node:sqlite";

const full = 2;

export class Durability {
  readonly #db: DatabaseSync;
  readonly #maySync: boolean;
  #level: "FULL" | "NORMAL";
  #synced = -1;

  constructor(db: DatabaseSync) {
    this.#db = db;
    // A ledger in memory has no disk to sync to.
    this.#maySync = db.location() !== null && db.prepare("PRAGMA synchronous").get()?.["synchronous"] === full;
    this.#level = this.#maySync ? "FULL" : "NORMAL";
  }

  /** Before a transaction: whether its commit may be lost with the machine. */
  begin(lazy: boolean): void {
    const level = lazy || !this.#maySync ? "NORMAL" : "FULL";
    if (level !== this.#level) this.#db.exec(`PRAGMA synchronous = ${level}`);
    this.#level = level;
  }

  /** A commit that brought rows up to this position. */
  committed(position: number): void {
    if (this.#level === "FULL") this.#synced = Math.max(this.#synced, position);
  }

  /** Returns whether what lies at the position, whoever appended it, may still be lost. */
  isBehind(position: number): boolean {
    return this.#maySync && this.#synced < position;
  }
}
