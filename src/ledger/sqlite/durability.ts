/**
 * Decides which commits are synced. A synced commit makes all before it durable as well: they share one write-ahead
 * log.
 *
 * Owns: the level of `PRAGMA synchronous`, and the durable position.
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

  /** Begins a transaction. `lazy`: a power cut may lose its commit. */
  begin(lazy: boolean): void {
    const level = lazy || !this.#maySync ? "NORMAL" : "FULL";
    if (level !== this.#level) this.#db.exec(`PRAGMA synchronous = ${level}`);
    this.#level = level;
  }

  /** Records a commit with rows up to this position. */
  committed(position: number): void {
    if (this.#level === "FULL") this.#synced = Math.max(this.#synced, position);
  }

  /** Records that a mark says so, which a synced commit has written. */
  learn(position: number): void {
    this.#synced = Math.max(this.#synced, position);
  }

  /** Returns whether the row at the position is known to be durable. */
  knows(position: number): boolean {
    return this.#maySync && this.#synced >= position;
  }

  /** Returns whether a power cut may still lose the row at the position, whoever appended it. */
  isBehind(position: number): boolean {
    return this.#maySync && this.#synced < position;
  }
}
