/**
 * Deliveries to notifiers, in tables beside the log.
 *
 * Owns: the rows of the delivery port. Never: is an index: no row of the log shows the result of a delivery.
 */
import type { CursorMove, DeliveryCounts, DeliveryStore, GateUpdates, Settlement } from "../../ports/delivery-store.ts";
import { idText } from "../tables/columns.ts";
import { toDelivery } from "../tables/records.ts";
import { firstOf, type Runner, rowsOf, type Statement } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

export const createDeliveryTable = ({ read, write }: Run): DeliveryStore => ({
  cursor: (notifier) =>
    read("deliveryCursor", async (on) => {
      const row = await firstOf(on, statement("deliveryCursor", notifier));
      return row === undefined ? null : (row["position"] as number);
    }),
  enqueue: (notifier, move) => write("enqueueDeliveries", (on) => enqueue(on, notifier, move)),
  take: (notifier, { owner, now, until, limit }) =>
    read("takeDeliveries", async (on) =>
      (await rowsOf(on, statement("takeDeliveries", notifier, now, limit, owner, until))).map(toDelivery),
    ),
  receipts: (notifier, { workflow_id, gate_id }) =>
    read("deliveryReceipts", async (on) =>
      (await rowsOf(on, statement("deliveryReceipts", notifier, workflow_id, gate_id))).map(
        (row) => row["receipt"] as string,
      ),
    ),
  settle: (notifier, deliveryId, settled) =>
    read("settleDelivery", async (on) => {
      await on.query(settlementOf([notifier, deliveryId, settled.owner], settled));
    }),
  nextAt: (notifier) =>
    read("nextDelivery", async (on) => {
      const row = await firstOf(on, statement("nextDelivery", notifier));
      return (row?.["at"] as number | undefined) ?? null;
    }),
  counts: () =>
    read(
      "countDeliveries",
      async (on) => (await rowsOf(on, statement("countDeliveries"))) as unknown as DeliveryCounts[],
    ),
  retryFailed: (notifier, now) =>
    read("retryDeliveries", async (on) => (await on.query(statement("retryDeliveries", notifier, now))).rowCount ?? 0),
});

async function enqueue(on: Runner, notifier: string, { from, to, updates, forget }: CursorMove): Promise<boolean> {
  const move = from === null ? statement("insertCursor", notifier, to) : statement("moveCursor", notifier, to, from);
  if ((await on.query(move)).rowCount !== 1) return false;
  await on.query(statement("forgetDeliveries", notifier, forget));
  for (const each of updates) await addUpdates(on, notifier, each);
  return true;
}

async function addUpdates(on: Runner, notifier: string, { workflow_id, gate_id, drafts }: GateUpdates): Promise<void> {
  await on.query(statement("withdrawReminder", notifier, workflow_id, gate_id));
  for (const { delivery_id, tenant_id, kind, sequence, at } of drafts) {
    const ids = [notifier, delivery_id, idText(tenant_id), workflow_id, gate_id] as const;
    await on.query(statement("insertDelivery", ...ids, kind, sequence, at));
  }
}

type Key = readonly [notifier: string, deliveryId: string, owner: string];

function settlementOf(key: Key, settled: Settlement & { readonly now: number }): Statement {
  if (settled.state === "dropped") return statement("dropDelivery", ...key);
  if (settled.state === "delivered") return statement("endDelivery", ...key, settled.now, storable(settled.receipt));
  const { state, attempts, error } = settled;
  const next = settled.state === "pending" ? settled.next_at : settled.now;
  return statement("putDeliveryBack", ...key, state, attempts, next, storable(error), settled.now);
}

/** Replaces characters that no text of Postgres can hold. */
const storable = (text: string | null): string | null => text?.replaceAll("\u0000", "\ufffd") ?? null;
