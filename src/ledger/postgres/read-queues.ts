/** Reads the queues: lines, a place in one, and the workflows that may take a place. */
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { mostCounted, type QueueMember } from "../../ports/queue-index.ts";
import { type Columns, idText } from "../tables/columns.ts";
import {
  earliestOf,
  emptyLine,
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
  type Waiting,
  waitingOf,
} from "../tables/queue-lines.ts";
import { firstOf as firstRow, type Runner, rowsOf } from "./query.ts";
import { statement } from "./statements.ts";
import type { Run } from "./store.ts";

interface ReadLine extends Line {
  readonly taken: string[];
  readonly waiting: Waiting[];
  readonly admitted: number[];
  limits: LineLimits | null;
}

/** Returns the lines of rows, by their names. */
export function linesOf(rows: readonly Columns[]): ReadonlyMap<string, Line> {
  const lines = new Map<string, ReadLine>();
  for (const row of rows) {
    const line = lines.get(row["line"] as string) ?? { taken: [], waiting: [], admitted: [], limits: null };
    lines.set(row["line"] as string, line);
    if (row["place"] === "limits") line.limits = row as unknown as LineLimits;
    else if (row["place"] === "admitted") line.admitted.unshift(row["since"] as number);
    else if (row["place"] === "taken") line.taken.push(row["workflow_id"] as string);
    else line.waiting.push(toWaiting(row));
  }
  return lines;
}

/** Returns the ids of workflows that may take a place, of each line in turn. */
export async function findQueued(on: Runner, limit: number, now: number): Promise<readonly string[]> {
  const lines = linesOf(await rowsOf(on, statement("waitingLines", limit)));
  const first = [...lines.values()].map((line) => firstOf(line, now));
  return inTurn(first, limit).map(({ workflow_id }) => workflow_id);
}

export function createQueueReads({
  read,
}: Run): Pick<
  LedgerStore,
  "queuePlace" | "nextAdmission" | "queueLimits" | "queueMembers" | "queueLines" | "countQueued"
> {
  return {
    countQueued: () =>
      read("countQueued", async (on) => (await firstRow(on, statement("countQueued")))?.["n"] as number),
    queueMembers: (tenantId, line) =>
      read("queueMembers", async (on) => {
        const asked = statement("lineMembers", lineText(idText(tenantId), line), mostCounted);
        return (await rowsOf(on, asked)) as unknown as readonly QueueMember[];
      }),
    queueLimits: (tenantId, name) =>
      read("queueLimits", async (on) =>
        (await rowsOf(on, statement("queueLimits", idText(tenantId), name ?? null))).map(toStoredLimits),
      ),
    queueLines: (tenantId, page) =>
      read("queueLines", async (on) => {
        const tenant = idText(tenantId);
        const rows = await rowsOf(on, statement("countLines", ...lineRange(tenant, page), page.limit));
        return rows.map(toLineCount(tenant));
      }),
    nextAdmission: (now) =>
      read("nextAdmission", async (on) => {
        const lines = linesOf(await rowsOf(on, statement("ratedLines", mostAdmitted + 1)));
        return earliestOf([...lines.values()].map((line) => nextInLine(line, now)));
      }),
    queuePlace: (tenantId, workflowId, entry, now) =>
      read("queuePlace", async (on) => {
        const line = lineText(idText(tenantId), entry.line);
        const own = waitingOf(workflowId, entry);
        const lines = linesOf(await rowsOf(on, statement("readLines", entry.concurrency + 1, [line])));
        const asked = statement("lineAhead", line, own.rank, own.since, workflowId, mostCounted);
        const ahead = (await firstRow(on, asked))?.["n"] as number;
        return { isFree: mayTake(lines.get(line) ?? emptyLine, own, now), ahead };
      }),
  };
}
