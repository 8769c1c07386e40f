/**
 * Deliveries to notifiers, in tables beside the log.
 *
 * Owns: the SQL of the delivery port. Never: is an index: no row of the log shows the result of a delivery.
 */
import type { CursorMove, DeliveryCounts, DeliveryStore, GateUpdates, Settlement } from "../../ports/delivery-store.ts";
import { idText } from "../tables/columns.ts";
import { toDelivery } from "../tables/records.ts";
import type { Run } from "./store.ts";
import { type Connection, writeAll } from "./transaction.ts";

export const createDeliveryTable = (run: Run): DeliveryStore => ({
  cursor: (notifier) =>
    run("deliveryCursor", ({ statements }) => {
      const row = statements.deliveryCursor.get(notifier);
      return row === undefined ? null : (row["position"] as number);
    }),
  enqueue: (notifier, move) => run("enqueueDeliveries", (on) => enqueue(on, notifier, move)),
  take: (notifier, { owner, now, until, limit }) =>
    run("takeDeliveries", (on) =>
      writeAll(on, () => on.statements.takeDeliveries.all(notifier, now, limit, owner, until).map(toDelivery)),
    ),
  receipts: (notifier, { workflow_id, gate_id }) =>
    run("deliveryReceipts", ({ statements }) =>
      statements.deliveryReceipts.all(notifier, workflow_id, gate_id).map((row) => row["receipt"] as string),
    ),
  settle: (notifier, deliveryId, settled) =>
    run("settleDelivery", (on) => writeAll(on, () => settle(on, [notifier, deliveryId, settled.owner], settled))),
  nextAt: (notifier) =>
    run("nextDelivery", ({ statements }) => (statements.nextDelivery.get(notifier)?.["at"] as number | null) ?? null),
  counts: () =>
    run("countDeliveries", ({ statements }) => statements.countDeliveries.all() as unknown as DeliveryCounts[]),
  retryFailed: (notifier, now) =>
    run("retryDeliveries", (on) =>
      writeAll(on, () => Number(on.statements.retryDeliveries.run(now, notifier).changes)),
    ),
});

function enqueue(connection: Connection, notifier: string, { from, to, updates, forget }: CursorMove): boolean {
  const { insertCursor, moveCursor, forgetDeliveries } = connection.statements;
  return writeAll(connection, () => {
    const { changes } = from === null ? insertCursor.run(notifier, to) : moveCursor.run(to, notifier, from);
    if (Number(changes) === 0) return false;
    forgetDeliveries.run(notifier, forget);
    for (const each of updates) addUpdates(connection, notifier, each);
    return true;
  });
}

function addUpdates({ statements }: Connection, notifier: string, { workflow_id, gate_id, drafts }: GateUpdates): void {
  statements.withdrawReminder.run(notifier, workflow_id, gate_id);
  for (const { delivery_id, tenant_id, kind, sequence, at } of drafts)
    statements.insertDelivery.run(
      notifier,
      delivery_id,
      idText(tenant_id),
      workflow_id,
      gate_id,
      kind,
      sequence,
      at,
      at,
    );
}

type Key = readonly [notifier: string, deliveryId: string, owner: string];

function settle({ statements }: Connection, key: Key, settled: Settlement & { readonly now: number }): void {
  if (settled.state === "dropped") return void statements.dropDelivery.run(...key);
  if (settled.state === "delivered") {
    const ended = statements.endDelivery.get(settled.now, settled.receipt, ...key);
    // The receipts of a gate are needed no longer once its decision was delivered.
    if (ended?.["kind"] === "decided")
      statements.endReceipts.run(key[0], ended["workflow_id"] as string, ended["gate_id"] as string);
    return;
  }
  const { state, attempts, error } = settled;
  const next = settled.state === "pending" ? settled.next_at : settled.now;
  statements.putDeliveryBack.run(state, attempts, next, error, settled.now, ...key);
}
