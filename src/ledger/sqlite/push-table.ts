/**
 * Addresses that are notified of tasks, in a table beside the log.
 *
 * Owns: the SQL of the push port. Never: is an index: no row of the log tells of a notification.
 */
import type { PushStore } from "../../ports/push-store.ts";
import { toPushRecord } from "../tables/records.ts";
import type { Run } from "./store.ts";
import { writeAll } from "./transaction.ts";

export const createPushTable = (run: Run): PushStore => ({
  keep: (record) =>
    run("keepPush", (on) => writeAll(on, () => void on.statements.keepPush.run(record.key, JSON.stringify(record)))),
  list: () => run("listPushes", ({ statements }) => statements.listPushes.all().map(toPushRecord)),
  drop: (key) => run("dropPush", (on) => writeAll(on, () => Number(on.statements.dropPush.run(key).changes) === 1)),
});
