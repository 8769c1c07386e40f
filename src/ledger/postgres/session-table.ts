/**
 * Browsers' sessions, in a table beside the log.
 *
 * Owns: the rows of the session port. Never: is an index: no row of the log tells of a session.
 */
import type { SessionStore } from "../../ports/session-store.ts";
import { namesOf, toSessionRecord } from "../tables/records.ts";
import { firstOf, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

export const createSessionTable = ({ read, write }: Run): SessionStore => ({
  keep: (record, most) =>
    write("keepSession", async (on) => {
      const { name, kind, holder, caller, born_at, used_at, ends_at } = record;
      await on.query(statement("insertSession", name, kind, holder, JSON.stringify(caller), born_at, used_at, ends_at));
      return namesOf(await rowsOf(on, statement("dropOldSessions", kind, most)));
    }),
  find: (name) =>
    read("findSession", async (on) => {
      const row = await firstOf(on, statement("findSession", name));
      return row === undefined ? null : toSessionRecord(row);
    }),
  touch: (name, at) => read("touchSession", async (on) => void (await on.query(statement("touchSession", at, name)))),
  redeem: (name, at) =>
    read("redeemSession", async (on) => (await on.query(statement("redeemSession", at, name))).rowCount === 1),
  drop: (which) =>
    read("dropSession", async (on) =>
      namesOf(
        await rowsOf(
          on,
          "name" in which ? statement("dropSession", which.name) : statement("dropSessionsOf", which.holder),
        ),
      ),
    ),
});
