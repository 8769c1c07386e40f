/**
 * Performs the intentions of a turn once its row is committed: calls, their abort, and messages to other tiers.
 *
 * Never: decides; the end of a call is an input of the workflow's mailbox.
 */
import { kernelError } from "../../../contract/error-codes.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { CallEnd } from "../decide/run/input.ts";
import type { Intention, IntentionOf } from "../decide/run/intention.ts";
import { callIdOf, oodaRef } from "../decide/run/run.ts";
import { type Calling, callOperator, joinCall } from "./call-operator.ts";
import type { Reply } from "./replies.ts";

const notMade: CallEnd = {
  status: "failed",
  error: kernelError("T4_WORKFLOW_CONFLICT", "the workflow was cancelled before the call was made", oodaRef("act")),
  ...{ usage: {}, pending: false, late: false, cached: false, over: true },
};

export class Performer {
  readonly #at: Calling;
  /** Running calls by their key, until their operator has ended. */
  readonly #ends = new Map<string, Promise<void>>();
  /** Calls that were made and whose operator has not ended. */
  readonly #made = new Set<string>();
  #abort: AbortController | null = null;

  constructor(at: Calling) {
    this.#at = at;
  }

  /** Fires when the workflow is cancelled or taken over, or when its owner stops. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  abort(reason: string): void {
    this.#abort?.abort(new Error(reason));
    // What undoes a cancelled workflow is called after its calls were aborted.
    if (reason === "cancelled") this.#abort = null;
  }

  /** Returns whether the call was made and its operator has not ended. */
  isMade(callId: string): boolean {
    return this.#made.has(callId);
  }

  perform(intention: Exclude<Intention, Reply>): void {
    switch (intention.do) {
      case "abort":
        return this.abort(intention.reason);
      case "order_child":
        return this.#at.services.children.order(this.#at, intention);
      case "tell":
        return this.#tell(intention);
      case "stream":
        return this.#stream(intention);
      default:
        return this.#call(intention);
    }
  }

  /**
   * Makes or joins a call, unless the workflow was cancelled or taken over while the start was being committed. If a
   * step waits for the end, it is told that no call was made.
   */
  #call(wanted: IntentionOf<"call" | "join">): void {
    const { log, calls, handles, interrupted } = this.#at.run;
    const call = calls.get(wanted.step_id);
    const isAwaited = !interrupted && call?.action_id === wanted.action_id;
    if (wanted.do === "call" && isAwaited && log.record.state === "cancelling") return this.#at.tell(wanted, notMade);
    if (interrupted || isTerminal(log.record.state) || call?.action_id !== wanted.action_id) {
      calls.delete(wanted.step_id);
      if (wanted.do === "call") handles.delete(callIdOf(wanted));
      return;
    }
    call.made = true;
    if (wanted.do === "join") return void joinCall(this.#at, wanted, this.#ends.get(wanted.key) ?? Promise.resolve());
    const ends = callOperator(this.#at, wanted);
    if (ends === null) return;
    const id = callIdOf(wanted);
    this.#made.add(id);
    const ended = ends.finally(() => {
      this.#made.delete(id);
      if (this.#ends.get(wanted.key) === ended) this.#ends.delete(wanted.key);
    });
    if (handles.has(id)) this.#ends.set(wanted.key, ended);
  }

  #tell({ to, fn, schema, data, tags }: IntentionOf<"tell">): void {
    const { runtime, run, parentId } = this.#at;
    const { correlation_id } = run.log.identity;
    runtime.send(
      to,
      runtime.signals.createDataSignal(data, schema, oodaRef(fn), correlation_id, tags ?? null, { parentId }),
    );
  }

  #stream({ text, sequence, final }: IntentionOf<"stream">): void {
    const { runtime, run, parentId } = this.#at;
    const { correlation_id } = run.log.identity;
    runtime.send(
      6,
      runtime.signals.createStreamSignal(text, sequence, final, oodaRef("act"), correlation_id, { parentId }),
    );
  }
}
