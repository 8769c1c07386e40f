/**
 * The port of those who tell people that they are asked. What is told decides nothing.
 *
 * INV-1  `deliver` resolves once the notice was taken by whoever passes it on, and rejects otherwise: it is then called
 *        again, after a pause, with the same `notice_id`. Notices of one gate come in their order.
 * INV-2  It ends when `signal` aborts.
 */
import type { GateNotice, NoticeKind } from "../contract/gate-notice.ts";

/** Tells people of gates. */
export interface Notifier {
  /** What its deliveries are kept under: a new name is a new notifier, which begins with what is open. */
  readonly name: string;
  /** What it tells of; everything where nothing is said. */
  readonly kinds?: readonly NoticeKind[];
  /** What it gives is a remark for the log: somebody was not reached though the notice was delivered. */
  readonly deliver: (notice: GateNotice, call: { readonly signal: AbortSignal }) => Promise<string | undefined>;
}
