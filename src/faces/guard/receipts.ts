/**
 * Receipts of one connection's answers: whether the client's transport took an answer to its last byte.
 *
 * 1.  An answer is received when it was sent and its stream was then read to the end, or its write was flushed.
 * 2.  The answer of a stream that broke is not received. It is received later if the client resumes that stream.
 * 3.  Each answer that is expected here comes to one end: received, or not.
 */
import type { RequestId } from "@modelcontextprotocol/server";

/** The functions that receive the end of an answer. */
export interface Receipt {
  readonly onReceived: () => void;
  /** Called when the answer does not arrive; `onReceived` may follow. */
  readonly onBroken: () => void;
}

interface Expected {
  readonly receipt: Receipt | null;
  readonly isSent: boolean;
  readonly isBroken: boolean;
}

export class Receipts {
  readonly #expected = new Map<RequestId, Expected>();

  /** Expects the answer to a request. */
  expect(id: RequestId, receipt: Receipt): void {
    this.#expected.set(id, { receipt, isSent: false, isBroken: this.isBroken(id) });
  }

  /** Returns whether the answer to a request is expected by somebody. */
  has(id: RequestId): boolean {
    return (this.#expected.get(id)?.receipt ?? null) !== null;
  }

  /** Returns whether the stream of a request has broken. */
  isBroken(id: RequestId): boolean {
    return this.#expected.get(id)?.isBroken === true;
  }

  /** Records that the answer is being given to the transport. */
  send(id: RequestId): void {
    const expected = this.#expected.get(id);
    if (expected === undefined) return;
    if (expected.receipt === null) this.#expected.delete(id);
    else this.#expected.set(id, { ...expected, isSent: true });
    if (expected.isBroken) expected.receipt?.onBroken();
  }

  /** Records the end of the stream of a request; `isWhole` says whether the client took it to the end. */
  end(id: RequestId, isWhole: boolean): void {
    const { receipt = null, isSent = false } = this.#expected.get(id) ?? {};
    if (isWhole && isSent) {
      this.#expected.delete(id);
      return receipt?.onReceived();
    }
    this.#expected.set(id, { receipt, isSent, isBroken: true });
    if (isSent) receipt?.onBroken();
  }

  /** Ends the expectation of an answer that will not be sent. */
  drop(id: RequestId): void {
    const expected = this.#expected.get(id);
    this.#expected.delete(id);
    expected?.receipt?.onBroken();
  }

  /** Drops all answers that were not sent. The streams of the others end by themselves. */
  close(): void {
    for (const [id, { isSent }] of this.#expected) if (!isSent) this.drop(id);
  }
}
