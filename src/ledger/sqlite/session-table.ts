/**
 * Browsers' sessions, in a table beside the log.
 *
 * Owns: the SQL of the session port. Never: is an index: no row of the log tells of a session.
 */
import type { SessionRecord, SessionStore } from "../../ports/session-store.ts";
import { namesOf, toSessionRecord } from "../tables/records.ts";
import type { Run } from "./store.ts";
import { type Connection, writeAll } from "./transaction.ts";

export const createSessionTable = (run: Run): SessionStore => ({
  keep: (record, most) => run("keepSession", (on) => keepSession(on, record, most)),
  find: (name) =>
    run("findSession", ({ statements }) => {
      const row = statements.findSession.get(name);
      return row === undefined ? null : toSessionRecord(row);
    }),
  touch: (name, at) => run("touchSession", (on) => writeAll(on, () => void on.statements.touchSession.run(at, name))),
  redeem: (name, at) =>
    run("redeemSession", (on) =>
      writeAll(on, () => Number(on.statements.redeemSession.run(at, name, at).changes) === 1),
    ),
  drop: (which) =>
    run("dropSession", (on) => {
      const { dropSession, dropSessionsOf } = on.statements;
      return writeAll(on, () =>
        namesOf("name" in which ? dropSession.all(which.name) : dropSessionsOf.all(which.holder)),
      );
    }),
});

function keepSession(connection: Connection, record: SessionRecord, most: number): readonly string[] {
  const { name, kind, holder, caller, born_at, used_at, ends_at } = record;
  const { insertSession, dropOldSessions } = connection.statements;
  return writeAll(connection, () => {
    insertSession.run(name, kind, holder, JSON.stringify(caller), born_at, used_at, ends_at);
    return namesOf(dropOldSessions.all(kind, most));
  });
}
