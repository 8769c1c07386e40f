/**
 * The order in which an append to Postgres takes its locks: that of the rows, whatever the order of the batch. Two
 * transactions that meet on several rows then wait for one another in turn, and neither is undone.
 */
import type { ClientBase } from "pg";
import { describe, expect, it } from "vitest";
import { appendBatch } from "../../src/ledger/postgres/append.ts";
import type { Statement, Value } from "../../src/ledger/postgres/query.ts";
import { schemaVersion } from "../../src/ledger/postgres/schema.ts";
import type { Append, AppendIndexes, AppendReceipt } from "../../src/ports/ledger-store.ts";
import {
  firstTurn,
  nextTurn,
  type TestStream,
  testDocument,
  testGate,
  testMemory,
  testStream,
} from "../../src/testing/ledger-turns.ts";

type Sent = ReadonlyMap<string, readonly (readonly Value[])[]>;

/** A connection that notes the rows of each statement, and answers as a ledger with these streams would. */
function noteTaker(streams: readonly TestStream[]) {
  const sent = new Map<string, readonly (readonly Value[])[]>();
  const answers: Readonly<Record<string, readonly object[]>> = {
    ownPosition: [{ position: 1, schema: schemaVersion }],
    lockStreams: streams.map(({ id, tenant_id, last, hash }) => ({
      stream: id,
      tenant_id: JSON.stringify(tenant_id),
      last_sequence: last,
      hash,
      position: 1,
    })),
    lockWorkflows: streams.map(({ id, thread_id }) => ({
      workflow_id: id,
      thread_id: JSON.stringify(thread_id),
      owner: null,
      epoch: 0,
      state: "running",
    })),
  };
  const query = async ({ name = "", values = [] }: Statement) => {
    const columns = values as readonly (readonly Value[])[];
    // The streams to lock are put in order by the statement itself.
    if (name !== "" && !name.startsWith("lock") && Array.isArray(columns[0]))
      sent.set(name, [
        ...(sent.get(name) ?? []),
        ...columns[0].map((_, i) => columns.map((column) => column[i] as Value)),
      ]);
    if (name === "lockCounters")
      sent.set(
        name,
        (columns[0] ?? []).map((_, i) => columns.map((column) => column[i] as Value)),
      );
    return { rows: answers[name] ?? [] };
  };
  return { sent: sent as Sent, client: { query } as unknown as ClientBase };
}

const amounts = { tokens: 1, money: 0, invocations: 1, wall_ms: 0 };

/** Two of everything that a row is locked for, in falling order. */
function indexesOf(stream: TestStream): AppendIndexes {
  return {
    gates: ["s2", "s1"].map((step) => testGate(stream, step)),
    keys: ["k9", "k5", "k1"].map((key) => ({ key: `${key}-${stream.id}`, action_id: "act" })),
    charges: ["tool:b", "tool:a"].map((counter) => ({ counter, amounts, within: {} })),
    memory: ["m2", "m1"].map((key) => testMemory(stream, key, "v")),
    documents: ["d2", "d1"].map((id) => testDocument(stream, id, "t")),
  };
}

const streams = [1, 2, 3, 4].map((n) =>
  testStream(n, { tenant_id: n % 2 === 0 ? "acme" : "zeta", thread_id: `thread ${9 - n}` }),
);

const opened = streams.map((stream) => firstTurn(stream, {}, { indexes: indexesOf(stream) }));
const closed = opened.map(({ after }) =>
  nextTurn(after, {
    indexes: { state: "running", gates: ["s2", "s1"].map((step) => testGate(after, step, "approved")) },
  }),
);

/** Each order of a few entries. */
const ordersOf = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  items.length < 2
    ? [items]
    : items.flatMap((item, i) => ordersOf(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));

/** The columns that name a row, of each statement that locks or writes one. */
const nameColumns: Readonly<Record<string, number>> = {
  insertKeys: 2,
  findKeys: 2,
  lockCounters: 2,
  readCounters: 2,
  insertStreams: 1,
  moveStreams: 1,
  insertWorkflows: 1,
  updateWorkflows: 1,
  upsertGates: 2,
  deleteGates: 2,
  addCharges: 2,
  upsertMemory: 3,
  upsertDocuments: 2,
  bump: 2,
};

async function lockedBy(
  batch: readonly Append[],
  known: readonly TestStream[] = [],
): Promise<Record<string, string[]>> {
  const { client, sent } = noteTaker(known);
  const receipts: readonly AppendReceipt[] = await appendBatch(client, batch, {
    name: "test",
    onCommit: () => undefined,
  });
  expect(receipts.every(({ ok }) => ok)).toBe(true);
  return Object.fromEntries(
    Object.entries(nameColumns).flatMap(([name, width]) => {
      const rows = sent.get(name);
      return rows === undefined ? [] : [[name, rows.map((row) => JSON.stringify(row.slice(0, width)))]];
    }),
  );
}

describe("an append to Postgres", () => {
  it("names the rows that it inserts and locks in the same order, whatever the order of its batch", async () => {
    const wanted = await lockedBy(opened.map(({ entry }) => entry));
    expect(Object.keys(wanted).sort()).toEqual(
      Object.keys(nameColumns)
        .filter((name) => !["moveStreams", "updateWorkflows", "deleteGates"].includes(name))
        .sort(),
    );
    for (const rows of Object.values(wanted)) expect(rows).toEqual([...rows].sort());
    for (const batch of ordersOf(opened)) expect(await lockedBy(batch.map(({ entry }) => entry))).toEqual(wanted);
  });

  it("names the rows that it changes in the same order, whatever the order of its batch", async () => {
    const known = opened.map(({ after }) => after);
    const wanted = await lockedBy(
      closed.map(({ entry }) => entry),
      known,
    );
    expect(Object.keys(wanted).sort()).toEqual(["bump", "deleteGates", "moveStreams", "updateWorkflows"]);
    for (const rows of Object.values(wanted)) expect(rows).toEqual([...rows].sort());
    for (const batch of ordersOf(closed))
      expect(
        await lockedBy(
          batch.map(({ entry }) => entry),
          known,
        ),
      ).toEqual(wanted);
  });

  it("gives a key that two entries bring to the first of them", async () => {
    const shared = streams.map((stream) =>
      firstTurn(stream, {}, { indexes: { keys: [{ key: "one", action_id: stream.id }] } }),
    );
    for (const batch of ordersOf(shared.filter((_, i) => i % 2 === 0))) {
      const { client, sent } = noteTaker([]);
      await appendBatch(
        client,
        batch.map(({ entry }) => entry),
        { name: "test", onCommit: () => undefined },
      );
      expect(sent.get("insertKeys")?.map((row) => row[3])).toEqual(batch.map(({ after }) => after.id));
    }
  });
});
