/**
 * The port of notifiers, which inform people of gates, and of events that have not arrived. A notice decides nothing.
 *
 * 1.  `deliver` resolves once the notice was accepted for delivery, and rejects otherwise: it is then called again,
 *     after a pause, with the same `notice_id`. Notices of one gate come in their order.
 * 2.  It ends when `signal` aborts.
 * 3.  The receipts of a gate's notices are given with each later notice of that gate, after a restart too, until its
 *     decision was delivered. They are kept only for a notifier that receives decisions.
 */
import type { GateNotice, NoticeKind, WaitNotice } from "../contract/gate-notice.ts";
import type { NoticeTaken } from "../contract/notice-taken.ts";

/** The call of a notifier beside the notice. */
export interface NoticeCall {
  /** Aborts when the notifier has to end. */
  readonly signal: AbortSignal;
  /** The receipts of earlier notices of the same gate, the oldest first. */
  readonly receipts: readonly string[];
}

/** Informs people of gates. */
export interface Notifier {
  /** The name under which its deliveries are kept: a new name is a new notifier, which begins with the open gates. */
  readonly name: string;
  /** The kinds of notices that it receives; all by default. */
  readonly kinds?: readonly NoticeKind[];
  /** Passes a notice on. */
  readonly deliver: (notice: GateNotice, call: NoticeCall) => Promise<NoticeTaken | undefined>;
  /** Passes on a reminder of an event that has not arrived; without it the notifier receives none. */
  readonly remind?: (notice: WaitNotice, call: NoticeCall) => Promise<NoticeTaken | undefined>;
}
