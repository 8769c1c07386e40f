/**
 * The calls of clients that are connected now, by their workflow: over whose connection a call is sent, and which
 * workflows somebody waits for.
 *
 * 1.  Nothing here is needed to go on: a call whose client is gone is sent over a connection of the guard's own.
 */
import type { JsonObject } from "../../contract/json.ts";
import type { ToolRequest } from "./call-package.ts";
import type { SeenTool } from "./seen-tool.ts";

/** A client's connection to the server that it called. */
export interface Attached {
  /** Whether the connection is still there. */
  readonly isOpen: () => boolean;
  /** Returns the tool as the server lists it now; undefined if it lists none. */
  readonly see: (server: string, tool: string) => Promise<SeenTool | undefined>;
  /** Sends the call and resolves with its result, or with its error in the form of one. */
  readonly send: (asked: ToolRequest, signal: AbortSignal) => Promise<JsonObject>;
}

export class CallsInFlight {
  readonly #attached = new Map<string, Attached>();
  /** The requests that wait for a workflow: whether the client still reads the answer of each. */
  readonly #awaited = new Map<string, Set<() => boolean>>();
  /** The workflows whose result is being handed to a request. */
  readonly #offered = new Map<string, symbol>();
  readonly #finishing = new Set<Promise<unknown>>();
  readonly #submitting = new Set<Promise<string>>();

  /** Submits a call and attaches it before its operator asks. */
  async begin(submit: () => Promise<string>, attached: Attached | null): Promise<string> {
    const submitting = submit().then((workflowId) => {
      this.attach(workflowId, attached);
      return workflowId;
    });
    this.#submitting.add(submitting);
    try {
      return await submitting;
    } finally {
      this.#submitting.delete(submitting);
    }
  }

  attach(workflowId: string, attached: Attached | null): void {
    if (attached !== null) this.#attached.set(workflowId, attached);
  }

  /** Forgets the connection of a call that has ended, and all that are closed. */
  forget(workflowId: string): void {
    this.#attached.delete(workflowId);
    for (const [id, { isOpen }] of this.#attached) if (!isOpen()) this.#attached.delete(id);
  }

  /** Finds the connection of a workflow's client; null if there is none. */
  async find(workflowId: string): Promise<Attached | null> {
    // An operator may be called before its submit has been answered.
    if (!this.#attached.has(workflowId) && this.#submitting.size > 0) await Promise.allSettled([...this.#submitting]);
    const found = this.#attached.get(workflowId);
    return found?.isOpen() === true ? found : null;
  }

  /** Returns whether a client waits for the workflow, or its result is being handed to one. */
  isAwaited(workflowId: string): boolean {
    const waiting = [...(this.#awaited.get(workflowId) ?? [])];
    return this.#offered.has(workflowId) || waiting.some((reads) => reads());
  }

  /** Works while the workflow counts as awaited; `reads` says whether the client still reads the answer. */
  async awaiting<T>(workflowId: string, reads: () => boolean, work: () => Promise<T>): Promise<T> {
    const waiting = this.#awaited.get(workflowId) ?? new Set();
    this.#awaited.set(workflowId, waiting.add(reads));
    try {
      return await work();
    } finally {
      waiting.delete(reads);
      if (waiting.size === 0) this.#awaited.delete(workflowId);
    }
  }

  /** Offers the result of a workflow to one request. Returns the end of the offer; null if another one has it. */
  offer(workflowId: string): (() => void) | null {
    if (this.#offered.has(workflowId)) return null;
    const own = Symbol(workflowId);
    this.#offered.set(workflowId, own);
    return () => {
      if (this.#offered.get(workflowId) === own) this.#offered.delete(workflowId);
    };
  }

  /** Has `settled` wait for this work. */
  finish(work: Promise<unknown>): void {
    this.#finishing.add(work);
    void work.finally(() => this.#finishing.delete(work));
  }

  /** Resolves when the records under way have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#finishing]);
  }
}
