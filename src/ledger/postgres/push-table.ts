/**
 * Addresses that are notified of tasks, in a table beside the log.
 *
 * Owns: the rows of the push port. Never: is an index: no row of the log tells of a notification.
 */
import type { PushStore } from "../../ports/push-store.ts";
import { toPushRecord } from "../tables/records.ts";
import { rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

export const createPushTable = ({ read, write }: Run): PushStore => ({
  keep: (record) =>
    write("keepPush", async (on) => void (await on.query(statement("keepPush", record.key, JSON.stringify(record))))),
  list: () => read("listPushes", async (on) => (await rowsOf(on, statement("listPushes"))).map(toPushRecord)),
  drop: (key) => write("dropPush", async (on) => (await on.query(statement("dropPush", key))).rowCount === 1),
});
