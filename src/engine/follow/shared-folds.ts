/**
 * The folds of long logs that are under way: simultaneous requests for the same workflow share one.
 *
 * Owns: the folds under way. Never: keeps one that has ended, or checks access.
 * 1.  A reader that joins a fold receives nothing older than the last commit before its request: if the log has grown
 *     since, it takes a fold that began later.
 * 2.  The result is shared between readers; its events are frozen.
 */
import { deepFreeze } from "../../contract/json.ts";
import type { TurnRow } from "../../contract/turn.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { outside } from "../actors/async-context.ts";
import { foldInSlices } from "../log/read-pages.ts";
import type { ReadStream } from "../log/read-turns.ts";

export class SharedFolds {
  readonly #store: Pick<LedgerStore, "read">;
  readonly #underWay = new Map<string, Promise<ReadStream>>();

  constructor(store: Pick<LedgerStore, "read">) {
    this.#store = store;
  }

  /** Returns whether a fold of this log is under way. */
  has(workflowId: string): boolean {
    return this.#underWay.has(workflowId);
  }

  /** Returns the result of the fold under way; null if there is none, or if the log has grown since. */
  async join(workflowId: string): Promise<ReadStream | null> {
    const read = await this.#underWay.get(workflowId);
    if (read === undefined) return null;
    const [newer] = await this.#store.read(workflowId, read.end.last, 1);
    return newer === undefined ? read : null;
  }

  /**
   * Folds the whole log, whose first page was read. @throws KernelErrorException T0_LEDGER_CORRUPT, T0_LEDGER_FORMAT.
   */
  async fold(workflowId: string, first: readonly TurnRow[]): Promise<ReadStream> {
    const joined = await this.join(workflowId);
    // A fold that is under way now began after this reader's request.
    return joined ?? this.#underWay.get(workflowId) ?? this.#begin(workflowId, first);
  }

  #begin(workflowId: string, first: readonly TurnRow[]): Promise<ReadStream> {
    const read = async (after: number, limit: number) => this.#store.read(workflowId, after, limit);
    const folding = outside(() =>
      foldInSlices(workflowId, read, { first, onEvent: (event) => void deepFreeze(event) }),
    ).finally(() => this.#underWay.delete(workflowId));
    this.#underWay.set(workflowId, folding);
    return folding;
  }
}
