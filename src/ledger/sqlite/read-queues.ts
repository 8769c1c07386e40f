/** Reads the queues: a line, a place in it, and the workflows that may take a place. */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { mostCounted, type QueueMember } from "../../ports/queue-index.ts";
import { idText } from "../tables/columns.ts";
import {
  firstOf,
  inTurn,
  type Line,
  lineRange,
  lineText,
  mayTake,
  toLineCount,
  toWaiting,
  waitingOf,
} from "../tables/queue-lines.ts";
import type { Run } from "./store.ts";
import type { Connection } from "./transaction.ts";

/** Returns who has a place in a line, and the first `most` of those who wait. */
export const readLine = ({ statements }: Connection, line: string, most: number): Line => ({
  taken: statements.lineTaken.all(line).map((row) => row["workflow_id"] as string),
  waiting: statements.lineWaiting.all(line, most).map(toWaiting),
});

/** Returns the ids of workflows that may take a place, of each line in turn. */
export function findQueued(connection: Connection, limit: number): readonly string[] {
  const lines = connection.statements.queueLines.all().map(({ line }) => line as string);
  const first = lines.map((line) => firstOf(readLine(connection, line, limit)));
  return inTurn(first, limit).map(({ workflow_id }) => workflow_id);
}

export function createQueueReads(
  run: Run,
): Pick<LedgerStore, "queuePlace" | "queueMembers" | "queueLines" | "countQueued"> {
  return {
    countQueued: () => run("countQueued", ({ statements }) => statements.countQueued.get()?.["n"] as number),
    queueMembers: (tenantId, line) =>
      run("queueMembers", ({ statements }) => {
        const rows = statements.lineMembers.all(lineText(idText(tenantId), line), mostCounted);
        return rows.map((row) => ({ ...row }) as unknown as QueueMember);
      }),
    queueLines: (tenantId, page) =>
      run("queueLines", ({ statements }) => {
        const tenant = idText(tenantId);
        return statements.countLines.all(...lineRange(tenant, page), page.limit).map(toLineCount(tenant));
      }),
    queuePlace: (tenantId, workflowId, entry) =>
      run("queuePlace", (connection) => {
        const line = lineText(idText(tenantId), entry.line);
        const own = waitingOf(workflowId, entry);
        const place = [own.rank, own.since, workflowId] as const;
        const ahead = connection.statements.lineAhead.get(line, ...place, mostCounted)?.["n"] as number;
        return { isFree: mayTake(readLine(connection, line, entry.concurrency + 1), own), ahead };
      }),
  };
}
