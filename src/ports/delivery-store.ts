/**
 * The port of deliveries: the notices that each notifier has still to deliver, and its position in the log.
 *
 * 1.  A delivery is enqueued together with the cursor that has passed its row, or not at all; an id is enqueued once.
 * 2.  `take` gives a delivery to one owner until its lease runs out, and of each gate only the earliest that is
 *     pending.
 * 3.  Only its present owner settles a delivery.
 * 4.  The receipts of a gate are kept, however old they are, until its decision was delivered.
 */
import type { NoticeKind } from "../contract/gate-notice.ts";

export interface DeliveryDraft {
  /** The notice's. */
  readonly delivery_id: string;
  readonly tenant_id: string | number;
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly kind: NoticeKind;
  /**
   * The event of the workflow after which the gate is shown; null: the gate at the time of delivery, if it is open
   * then.
   */
  readonly sequence: number | null;
  /** The earliest instant of delivery, epoch ms; of two notices of one gate the earlier is delivered first. */
  readonly at: number;
}

/** A notice that is still to be delivered, or was given up. */
export interface Delivery extends DeliveryDraft {
  readonly attempts: number;
}

/**
 * The changes that a row of the log made to a gate. Its pending reminder is withdrawn; a remaining one is among the
 * drafts.
 */
export interface GateUpdates {
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly drafts: readonly DeliveryDraft[];
}

/**
 * The result of an attempt: `pending` is repeated at `next_at`; `failed` never by itself; `dropped` is deleted, because
 * there is nothing to report any more. `receipt`: what the notifier needs to find its message again; null if it needs
 * nothing.
 */
export type Settlement =
  | { readonly state: "delivered"; readonly receipt: string | null }
  | { readonly state: "dropped" }
  | { readonly state: "pending"; readonly attempts: number; readonly next_at: number; readonly error: string | null }
  | { readonly state: "failed"; readonly attempts: number; readonly error: string };

/** The numbers of notices that a notifier has still to deliver, and has given up. */
export interface DeliveryCounts {
  readonly notifier: string;
  readonly pending: number;
  readonly failed: number;
  /** The error of the last failed attempt. */
  readonly error: string | null;
}

export interface CursorMove {
  readonly from: number | null;
  readonly to: number;
  readonly updates: readonly GateUpdates[];
  readonly forget: number;
}

/** The store of notices until they are delivered. */
export interface DeliveryStore {
  /** The position of the log up to which all is enqueued; null for a notifier that is new. */
  readonly cursor: (notifier: string) => Promise<number | null>;
  /**
   * Enqueues; returns false, and does nothing, if the cursor is not at `from`. Deliveries settled before `forget`
   * (epoch ms) are deleted.
   */
  readonly enqueue: (notifier: string, move: CursorMove) => Promise<boolean>;
  /** Takes up to `limit` deliveries that are due; no other owner gets them until the lease ends. */
  readonly take: (
    notifier: string,
    lease: { readonly owner: string; readonly now: number; readonly until: number; readonly limit: number },
  ) => Promise<readonly Delivery[]>;
  /** Returns the receipts that a notifier gave for the notices of a gate, in the order of these notices. */
  readonly receipts: (
    notifier: string,
    gate: { readonly workflow_id: string; readonly gate_id: string },
  ) => Promise<readonly string[]>;
  /** Records the result of a delivery that was taken. */
  readonly settle: (
    notifier: string,
    deliveryId: string,
    settled: { readonly owner: string; readonly now: number } & Settlement,
  ) => Promise<void>;
  /** Returns the instant at which the next may be taken, epoch ms; null if nothing is pending. */
  readonly nextAt: (notifier: string) => Promise<number | null>;
  /** Returns the numbers of notices that each notifier has still to deliver, and has given up. */
  readonly counts: () => Promise<readonly DeliveryCounts[]>;
  /** Makes failed notices pending again; returns how many. */
  readonly retryFailed: (notifier: string, now: number) => Promise<number>;
}

/** A store of the log that keeps deliveries as well, in the same transactions. */
export interface KeepsDeliveries {
  /** The notices that notifiers have still to deliver. */
  readonly deliveries: DeliveryStore;
}
