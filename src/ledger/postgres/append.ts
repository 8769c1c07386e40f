/**
 * Appends a batch of turns with their index changes: one transaction in two round trips, one receipt per entry.
 *
 * Owns: the order of the statements. tables/plan-batch.ts decides what is written.
 * Never: reads a turn's bytes.
 * 1.  The row of each stream is locked before it is read, in the order of streams; no other transaction appends to it
 *     until this one ends. So is the row of its workflow, which claims change too.
 * 2.  Keys are put in before anything is read: of two transactions with one key, one waits for the other.
 * 3.  Two that meet are undone and tried again; nothing of a batch that is tried again was committed.
 * 4.  A transaction that begins calls holds off those that change its tenant's halts, and they it: no call begins past
 *     a halt that is committed.
 * 5.  A transaction that got its id before another one that committed first is late: its rows would come before what
 *     they rest on, and the whole batch is tried again.
 */
import type { ClientBase, QueryResult } from "pg";
import { noCharge } from "../../contract/budget.ts";
import { sha256 } from "../../contract/digest.ts";
import type { Append, AppendReceipt } from "../../ports/ledger-store.ts";
import { type Columns, idText, payerOf, toCharge } from "../tables/columns.ts";
import type { StreamHead } from "../tables/decide-append.ts";
import { type BatchPlan, planBatch, type Standing, workflowColumns } from "../tables/plan-batch.ts";
import { emptyLine, isJudged, lineText, readFor } from "../tables/queue-lines.ts";
import { type FailurePlace, isRace, ledgerFailure } from "./failure.ts";
import { gateWrites } from "./gate-statements.ts";
import { perBatch } from "./position.ts";
import { firstOf, type Statement, sendAll, type Value } from "./query.ts";
import { linesOf } from "./read-queues.ts";
import { requireKnownSchema } from "./schema.ts";
import { over, type StatementName, statement } from "./statements.ts";

/** Charges are kept in so many shares: of kernels that append, each adds to one. */
const shares = 16;

const maxTries = 5;

export interface Appending {
  /** For messages. */
  readonly name: string;
  /**
   * Called before COMMIT: if the connection is lost after it, the result of the batch is unknown; before it, nothing
   * was kept.
   */
  readonly onCommit: () => void;
}

/** Appends a batch. After the retries here the log reads and decides again: the receipt is a clash. */
export async function appendBatch(
  client: ClientBase,
  batch: readonly Append[],
  { name, onCommit }: Appending,
): Promise<readonly AppendReceipt[]> {
  if (batch.length === 0) return [];
  const where = { name, fn: "append", onCommit };
  if (batch.length > perBatch)
    throw ledgerFailure("T0_LEDGER_CONFLICT", `takes at most ${perBatch} turns in one batch`, where);
  for (let tries = 1; tries <= maxTries; tries += 1) {
    const receipts = await attempt(client, batch, where).catch((error: unknown) => rollBack(client, error, where));
    if (receipts !== null) return receipts;
  }
  throw ledgerFailure("T0_LEDGER_CONFLICT", `was changed by others in each of ${maxTries} tries`, where);
}

/**
 * Rolls back; null if the same batch may be tried again. It may have failed because a newer release has changed the
 * tables.
 */
async function rollBack(client: ClientBase, error: unknown, where: FailurePlace): Promise<null> {
  await client.query("ROLLBACK").catch(() => undefined);
  if (isRace(error)) return null;
  const own = await firstOf(client, statement("standing")).catch(() => undefined);
  if (own !== undefined) requireKnownSchema(own["schema"] as number, where);
  throw error;
}

async function attempt(
  client: ClientBase,
  batch: readonly Append[],
  where: FailurePlace & Pick<Appending, "onCommit">,
): Promise<readonly AppendReceipt[] | null> {
  const { found, inserted, schema } = await begin(client, batch, keysOf(batch));
  requireKnownSchema(schema, where);
  const plan = isLate(found) ? null : planBatch(batch, toStanding(found));
  if (plan === null || plan.turns.length === 0) {
    await client.query("ROLLBACK");
    return plan?.receipts ?? null;
  }
  where.onCommit();
  const share = ((client as { readonly processID?: number | null }).processID ?? 0) % shares;
  const isLazy = batch.every(({ lazy }) => lazy === true);
  const unsynced = isLazy ? [{ text: "SET LOCAL synchronous_commit = off" }] : [];
  await sendAll(client, [...unsynced, ...writesOf(plan, inserted, share), { text: "COMMIT" }]);
  return plan.receipts;
}

/** The longest text that an index takes as it is. */
const maxIndexed = 1000;

export const digestOf = (text: string): string => (text.length > maxIndexed ? sha256(text) : text);

type Key = readonly [tenant: string, digest: string, key: string, workflow: string, action: string];

/**
 * Returns the keys in order, so that two transactions with the same keys do not wait for one another; the first of
 * equal ones stays.
 */
function keysOf(batch: readonly Append[]): readonly Key[] {
  const keys = batch.flatMap(({ tenant_id, row, indexes }) =>
    (indexes?.keys ?? []).map(({ key, action_id }): Key => {
      const text = JSON.stringify(key);
      return [idText(tenant_id), digestOf(text), text, row.stream, action_id];
    }),
  );
  return keys.sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the bounded counters in order, for the same reason. */
function boundIn(batch: readonly Append[]): readonly (readonly [tenant: string, counter: string])[] {
  const places = new Map<string, readonly [string, string]>();
  for (const { tenant_id, indexes } of batch)
    for (const charge of indexes?.charges ?? []) {
      const place = [payerOf(idText(tenant_id), charge), charge.counter] as const;
      if (charge.within !== undefined) places.set(place.join("\n"), place);
    }
  return [...places.values()].sort((a, b) => compare(a[0], b[0]) || compare(a[1], b[1]));
}

/** Returns the tenants whose entries rest on halts (false) or change them (true), in order, for the same reason. */
function haltsIn(batch: readonly Append[]): readonly (readonly [tenant: string, changes: boolean])[] {
  const places = new Map<string, boolean>();
  for (const { tenant_id, halts_at, indexes } of batch) {
    const changes = indexes?.halts !== undefined || indexes?.lifted !== undefined;
    const tenant = idText(tenant_id);
    if (changes || halts_at !== undefined) places.set(tenant, changes || places.get(tenant) === true);
  }
  return [...places].sort((a, b) => compare(a[0], b[0]));
}

/** Returns the lines on which the batch is judged, and the number of those who wait that is read of each. */
function linesIn(batch: readonly Append[]): { readonly names: readonly string[]; readonly most: number } {
  const judged = batch.flatMap((one) => {
    const entry = one.indexes?.queue;
    return entry != null && isJudged(one) ? [{ tenant_id: one.tenant_id, entry }] : [];
  });
  const most = Math.max(0, ...judged.map(({ entry }) => readFor(entry))) + batch.length;
  return { names: judged.map(({ tenant_id, entry }) => lineText(idText(tenant_id), entry.line)), most };
}

/** The rows that the first round trip has read and locked. */
interface Found {
  readonly position: number;
  readonly streams: readonly Columns[];
  readonly workflows: readonly Columns[];
  /** Keys that the batch did not bring, with their holders. */
  readonly keys: readonly Columns[];
  /** Counters that have a ceiling. */
  readonly counters: readonly Columns[];
  /** The newest change of halts of each tenant that begins a call, if there was one. */
  readonly halts: readonly Columns[];
  /** The lines in which places are taken. */
  readonly lines: readonly Columns[];
}

const isLate = ({ streams, keys, position }: Found): boolean =>
  [...streams, ...keys].some((row) => (row["position"] as number) > position);

function toStanding({ position, streams, workflows, keys, counters, halts, lines }: Found): Standing {
  const byName = linesOf(lines);
  const changes = new Map(halts.map((row) => [row["tenant_id"], row["at"] as number]));
  const byId = new Map(workflows.map((row) => [row["workflow_id"], row]));
  const heads = new Map(streams.map((row) => [row["stream"], toStreamHead(row, byId.get(row["stream"]))]));
  const holders = new Map(keys.map((row) => [`${row["tenant_id"]}\n${row["key"]}`, row["workflow_id"] as string]));
  const totals = new Map(counters.map((row) => [`${row["tenant_id"]}\n${row["counter"]}`, toCharge(row)]));
  return {
    position,
    headOf: (stream) => heads.get(stream),
    holderOf: (tenant, key) => holders.get(`${tenant}\n${key}`),
    lineOf: (line) => byName.get(line) ?? emptyLine,
    haltsAt: (tenant) => changes.get(tenant) ?? 0,
    totalOf: (payer, counter) => totals.get(`${payer}\n${counter}`) ?? noCharge,
  };
}

const toStreamHead = (stream: Columns, workflow: Columns | undefined): StreamHead => ({
  last: stream["last_sequence"] as number,
  hash: stream["hash"] as string,
  tenant: stream["tenant_id"] as string,
  workflow:
    workflow === undefined
      ? null
      : {
          thread: workflow["thread_id"] as string | null,
          owner: workflow["owner"] as string | null,
          epoch: workflow["epoch"] as number,
        },
});

interface Begun {
  readonly found: Found;
  /** Keys that nobody held before. */
  readonly inserted: readonly Columns[];
  /** The ledger's schema version: another release may have replaced the ledger. */
  readonly schema: number;
}

async function begin(client: ClientBase, batch: readonly Append[], keys: readonly Key[]): Promise<Begun> {
  const streams = [...new Set(batch.map(({ row }) => row.stream))];
  const places = keys.map(([tenant, digest]) => [tenant, digest]);
  const bound = boundIn(batch);
  const counting = bound.length === 0 ? [] : [over("lockCounters", bound), over("readCounters", bound)];
  const asked = keys.length === 0 ? [] : [over("insertKeys", keys), over("findKeys", places)];
  const tenants = haltsIn(batch);
  const names = tenants.map(([tenant]) => tenant);
  const halts = tenants.length === 0 ? [] : [over("lockHalts", tenants), statement("haltsAt", names)];
  const { names: lines, most } = linesIn(batch);
  const queues = lines.length === 0 ? [] : [statement("lockLines", lines), statement("readLines", most, lines)];
  const results = await sendAll(client, [
    { text: "BEGIN" },
    ...counting,
    ...halts,
    ...queues,
    ...asked,
    statement("lockStreams", streams),
    statement("lockWorkflows", streams),
    statement("ownPosition"),
  ]);
  const [positions, workflows, heads] = results.slice(-3).reverse() as [QueryResult, QueryResult, QueryResult];
  const [inserted = [], held = []] =
    keys.length === 0 ? [] : results.slice(-5, -3).map(({ rows }) => rows as Columns[]);
  const own = new Set(inserted.map(nameOf));
  const { position, schema } = positions.rows[0] as { readonly position: number; readonly schema: number };
  const found = {
    position,
    streams: heads.rows,
    workflows: workflows.rows,
    halts: halts.length === 0 ? [] : (results[counting.length + 2]?.rows ?? []),
    lines: lines.length === 0 ? [] : (results[counting.length + halts.length + 2]?.rows ?? []),
    counters: counting.length === 0 ? [] : (results[2]?.rows ?? []),
    keys: held.filter((row) => !own.has(nameOf(row))),
  };
  return { found, inserted, schema };
}

const nameOf = (row: Columns): string => `${row["tenant_id"]}\n${row["digest"]}`;

/** Returns the writes in the same order of tables for every transaction. */
function writesOf(plan: BatchPlan, inserted: readonly Columns[], share: number): readonly Statement[] {
  const writes: readonly (readonly [StatementName, readonly (readonly Value[])[]])[] = [
    ...keyWrites(plan, inserted),
    ["insertTurns", plan.turns],
    ["insertStreams", plan.streams.filter(({ isNew }) => isNew).map(streamRow)],
    ["moveStreams", plan.streams.filter(({ isNew }) => !isNew).map(streamRow)],
    ["insertWorkflows", plan.newWorkflows.map(withTitleText)],
    ["updateWorkflows", plan.changedWorkflows.map(changeRow)],
    ["insertHalts", plan.halts],
    ["liftHalts", plan.lifted],
    ["insertGrants", plan.grants],
    ["deleteGrants", plan.revoked],
    ["insertStandIns", plan.standIns],
    ["deleteStandIns", plan.endedStandIns],
    ["insertHolds", plan.holds.flatMap(({ rows }) => rows)],
    ["upsertQueueEntries", plan.queueEntries],
    ["upsertLimits", plan.limits],
    ["insertAdmissions", plan.admissions],
    ...gateWrites(plan),
    [
      "addCharges",
      plan.charges.map(({ payer, counter, amounts: a }) => [
        payer,
        counter,
        share,
        a.tokens,
        a.money,
        a.invocations,
        a.wall_ms,
      ]),
    ],
    [
      "upsertMemory",
      plan.memory.map(([tenant, thread, key, ...rest]) => [tenant, thread, digestOf(key), key, ...rest]),
    ],
    ["upsertDocuments", plan.documents],
    ["upsertWaits", plan.waits],
    ["deleteWaits", plan.endedWaits],
    ["insertEvents", plan.events],
    ["takeEvents", plan.takenEvents],
    ["upsertSchedules", plan.schedules],
    ["moveSchedules", plan.movedSchedules],
    ["deleteSchedules", plan.deletedSchedules],
    ["insertScheduleEntries", plan.scheduleEntries],
    ["insertDecisions", plan.decisions],
    ["bump", plan.counters],
  ];
  const held = plan.holds.map(({ workflow_id }) => workflow_id);
  return [
    ...(plan.endedEntries.length === 0 ? [] : [statement("deleteQueueEntries", plan.endedEntries)]),
    ...(held.length === 0 ? [] : [statement("deleteHolds", held)]),
    ...(plan.admissions.length === 0 ? [] : [statement("dropAdmissions", plan.admissions[0]?.[1] ?? null)]),
    ...writes.filter(([, rows]) => rows.length > 0).map(([name, rows]) => over(name, rows)),
  ];
}

const streamRow = ({ stream, head: { tenant, last, hash }, position }: BatchPlan["streams"][number]) =>
  [stream, tenant, last, hash, position] as const;

const titleAt = workflowColumns.indexOf("title");

/** Writes a title as JSON text, because it may hold any character and Postgres keeps no NUL in a text. */
const withTitleText = (row: BatchPlan["newWorkflows"][number]) => row.with(titleAt, idText(row[titleAt] as string));

const changeRow = (change: BatchPlan["changedWorkflows"][number]) => {
  const { workflow_id, updated_at, state, compensated, percent, due_at, owner, epoch } = change;
  const due = [due_at === undefined ? 0 : 1, due_at ?? null] as const;
  return [workflow_id, updated_at, state, ...due, owner, epoch, percent, compensated] as const;
};

/** Returns the key writes: keys of a refused entry are removed, and inserted for their present holder. */
function keyWrites(
  { keys }: BatchPlan,
  inserted: readonly Columns[],
): readonly (readonly [StatementName, readonly (readonly Value[])[]])[] {
  const wanted = new Map(
    keys.map(([tenant, key, ...holder]): [string, Key] => {
      const digest = digestOf(key);
      return [`${tenant}\n${digest}`, [tenant, digest, key, ...holder]];
    }),
  );
  const wrong = inserted.filter((row) => {
    const kept = wanted.get(nameOf(row));
    return kept === undefined || kept[3] !== row["workflow_id"] || kept[4] !== row["action_id"];
  });
  const again = wrong.flatMap((row) => {
    const kept = wanted.get(nameOf(row));
    return kept === undefined ? [] : [kept];
  });
  return [
    ["dropKeys", wrong.map((row) => [row["tenant_id"] as string, row["digest"] as string])],
    ["insertKeys", again],
  ];
}
