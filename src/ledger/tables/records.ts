/**
 * Rows of the tables beside the log, as every store with tables reads them.
 *
 * Owns: the record of a delivery and of a session. Never: holds SQL.
 */
import type { Delivery } from "../../ports/delivery-store.ts";
import type { PushRecord } from "../../ports/push-store.ts";
import type { SessionRecord } from "../../ports/session-store.ts";
import { type Columns, parseCell } from "./columns.ts";

export const toDelivery = ({ tenant_id, ...row }: Columns): Delivery => ({
  ...(row as unknown as Omit<Delivery, "tenant_id">),
  tenant_id: parseCell(tenant_id, "tenant_id"),
});

export const toSessionRecord = ({ caller, ...row }: Columns): SessionRecord => ({
  ...(row as unknown as Omit<SessionRecord, "caller">),
  caller: parseCell(caller, "caller"),
});

export const toPushRecord = ({ record }: Columns): PushRecord => parseCell(record, "record");

export const namesOf = (rows: readonly Columns[]): readonly string[] => rows.map((row) => row["name"] as string);
