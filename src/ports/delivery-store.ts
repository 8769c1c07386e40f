/**
 * The port of deliveries: what each notifier has still to tell, and how far it has come in the log.
 *
 * 1.  What is enqueued is there with the cursor that has passed its row, or not at all; an id is enqueued once.
 * 2.  `take` gives a delivery to one owner until its lease runs out, and of each gate only the earliest that is pending.
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
   * What is told is the gate as this event of its workflow left it; null: as it stands when it is told, if it is open
   * then.
   */
  readonly sequence: number | null;
  /** Not before this instant, epoch ms; of two of one gate the earlier is told first. */
  readonly at: number;
}

/** A notice that is still to be told, or was given up. */
export interface Delivery extends DeliveryDraft {
  readonly attempts: number;
}

/**
 * What a row of the log did to a gate. Its reminder that was still to come is withdrawn: where it stands, it is among
 * the drafts.
 */
export interface GateUpdates {
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly drafts: readonly DeliveryDraft[];
}

/**
 * `pending` is told again at `next_at`; `failed` never by itself; `dropped` is forgotten: there is nothing to tell any more.
 * `receipt`: what the notifier needs to find again what it has sent; null where it needs nothing.
 */
export type Settlement =
  | { readonly state: "delivered"; readonly receipt: string | null }
  | { readonly state: "dropped" }
  | { readonly state: "pending"; readonly attempts: number; readonly next_at: number; readonly error: string | null }
  | { readonly state: "failed"; readonly attempts: number; readonly error: string };

/** The counts of notices that a notifier has still to tell, and has given up. */
export interface DeliveryCounts {
  readonly notifier: string;
  readonly pending: number;
  readonly failed: number;
  /** Of what was tried last and not taken. */
  readonly error: string | null;
}

export interface CursorMove {
  readonly from: number | null;
  readonly to: number;
  readonly updates: readonly GateUpdates[];
  readonly forget: number;
}

/** The store of notices until they are told. */
export interface DeliveryStore {
  /** The position of the log up to which all is enqueued; null for a notifier that is new. */
  readonly cursor: (notifier: string) => Promise<number | null>;
  /**
   * False, and nothing done, where the cursor is not at `from`. What was delivered before `forget` (epoch ms) is
   * forgotten.
   */
  readonly enqueue: (notifier: string, move: CursorMove) => Promise<boolean>;
  /** Takes up to `limit` deliveries that are due; until the lease ends nobody else is given them. */
  readonly take: (
    notifier: string,
    lease: { readonly owner: string; readonly now: number; readonly until: number; readonly limit: number },
  ) => Promise<readonly Delivery[]>;
  /** Returns the receipts that a notifier gave for the notices of a gate, in the order of these notices. */
  readonly receipts: (
    notifier: string,
    gate: { readonly workflow_id: string; readonly gate_id: string },
  ) => Promise<readonly string[]>;
  /** Says what became of a delivery that was taken. */
  readonly settle: (
    notifier: string,
    deliveryId: string,
    settled: { readonly owner: string; readonly now: number } & Settlement,
  ) => Promise<void>;
  /** Returns the instant at which the next may be taken, epoch ms; null if nothing is pending. */
  readonly nextAt: (notifier: string) => Promise<number | null>;
  /** Tells what each notifier has still to tell, and has given up. */
  readonly counts: () => Promise<readonly DeliveryCounts[]>;
  /** Makes failed notices pending again; returns how many. */
  readonly retryFailed: (notifier: string, now: number) => Promise<number>;
}

/** A store of the log that keeps deliveries as well, in the same transactions. */
export interface KeepsDeliveries {
  /** Keeps what notifiers have still to tell. */
  readonly deliveries: DeliveryStore;
}
