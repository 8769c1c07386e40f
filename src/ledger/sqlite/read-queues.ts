/** Reads the queues: a line, a place in it, and the workflows that may take a place. */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { mostCounted, type QueueMember } from "../../ports/queue-index.ts";
import { idText } from "../tables/columns.ts";
import {
  earliestOf,
  firstOf,
  inTurn,
  type Line,
  type LineLimits,
  lineRange,
  lineText,
  mayTake,
  mostAdmitted,
  nextInLine,
  toLineCount,
  toStoredLimits,
  toWaiting,
  waitingOf,
} from "../tables/queue-lines.ts";
import type { Run } from "./store.ts";
import type { Connection } from "./transaction.ts";

/** Returns who has a place in a line, and the first `most` of those who wait. */
export function readLine({ statements }: Connection, line: string, most: number): Line {
  const limits = (statements.lineLimits.get(line) ?? null) as LineLimits | null;
  return {
    taken: statements.lineTaken.all(line).map((row) => row["workflow_id"] as string),
    waiting: statements.lineWaiting.all(line, most + (limits?.concurrency ?? 0)).map(toWaiting),
    admitted: statements.lineAdmitted.all(line, mostAdmitted).map(({ at }) => at as number),
    limits,
  };
}

const ratedLines = ({ statements }: Connection): readonly string[] => [
  ...new Set(statements.ratedLines.all().map(({ line }) => line as string)),
];

const waitingLines = ({ statements }: Connection): readonly string[] =>
  statements.queueLines.all().map(({ line }) => line as string);

/** Returns the ids of workflows that may take a place, of each line in turn. */
export function findQueued(connection: Connection, limit: number, now: number): readonly string[] {
  const first = waitingLines(connection).map((line) => firstOf(readLine(connection, line, limit), now));
  return inTurn(first, limit).map(({ workflow_id }) => workflow_id);
}

export function createQueueReads(
  run: Run,
): Pick<LedgerStore, "queuePlace" | "nextAdmission" | "queueLimits" | "queueMembers" | "queueLines" | "countQueued"> {
  return {
    countQueued: () => run("countQueued", ({ statements }) => statements.countQueued.get()?.["n"] as number),
    queueMembers: (tenantId, line) =>
      run("queueMembers", ({ statements }) => {
        const rows = statements.lineMembers.all(lineText(idText(tenantId), line), mostCounted);
        return rows.map((row) => ({ ...row }) as unknown as QueueMember);
      }),
    queueLimits: (tenantId, name) =>
      run("queueLimits", ({ statements }) =>
        statements.queueLimits.all(idText(tenantId), name ?? null).map(toStoredLimits),
      ),
    queueLines: (tenantId, page) =>
      run("queueLines", ({ statements }) => {
        const tenant = idText(tenantId);
        return statements.countLines.all(...lineRange(tenant, page), page.limit).map(toLineCount(tenant));
      }),
    nextAdmission: (now) =>
      run("nextAdmission", (connection) =>
        earliestOf(ratedLines(connection).map((line) => nextInLine(readLine(connection, line, mostAdmitted + 1), now))),
      ),
    queuePlace: (tenantId, workflowId, entry, now) =>
      run("queuePlace", (connection) => {
        const line = lineText(idText(tenantId), entry.line);
        const own = waitingOf(workflowId, entry);
        const place = [own.rank, own.since, workflowId] as const;
        const ahead = connection.statements.lineAhead.get(line, ...place, mostCounted)?.["n"] as number;
        return { isFree: mayTake(readLine(connection, line, entry.concurrency + 1), own, now), ahead };
      }),
  };
}
