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
  readonly #awaited = new Set<string>();
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

  isAwaited(workflowId: string): boolean {
    return this.#awaited.has(workflowId);
  }

  /** Works while the workflow counts as awaited. */
  async awaiting<T>(workflowId: string, work: () => Promise<T>): Promise<T> {
    this.#awaited.add(workflowId);
    try {
      return await work();
    } finally {
      this.#awaited.delete(workflowId);
    }
  }
}
