/**
 * The log half of the ledger store suite: streams, batches and reads.
 *
 * Owns: the promises on what an append accepts, in which order, and what a read gives back.
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import { verifyChain } from "../contract/chain.ts";
import { openTurn } from "../contract/turn.ts";
import type { Append } from "../ports/ledger-store.ts";
import { countRows, judge, me, putWorkflow, type SuiteParts, verdict } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, testStream } from "./ledger-turns.ts";

export function addLogTests(parts: SuiteParts): void {
  addStreamTests(parts);
  addBytesTests(parts);
  addBatchTests(parts);
  addRefusalTests(parts);
  addReadTests(parts);
}

function addStreamTests({ test, expect }: SuiteParts): void {
  test("a turn continues its stream", async (store) => {
    const one = nextTurn(testStream(1), { events: 3 });
    const two = nextTurn(one.after, { events: 2 });
    expect(await judge(store, one.entry)).toEqual(true);
    expect(await judge(store, two.entry)).toEqual(true);
    expect(await store.read(one.after.id)).toEqual([one.entry.row, two.entry.row]);
  });

  test("a turn whose place is taken is a clash and leaves no trace", async (store) => {
    const stream = testStream(1);
    const won = nextTurn(stream, { text: "won" }).entry;
    await store.append([won]);
    expect(await judge(store, nextTurn(stream, { text: "lost" }).entry)).toEqual("clash");
    expect(await store.read(stream.id)).toEqual([won.row]);
  });

  test("a turn that leaves a gap is a clash", async (store) => {
    const one = nextTurn(testStream(1));
    const two = nextTurn(one.after);
    expect(await judge(store, two.entry)).toEqual("clash");
    await store.append([one.entry]);
    expect(await judge(store, nextTurn(two.after).entry)).toEqual("clash");
    expect(await countRows(store)).toEqual(1);
  });

  test("a turn with the right sequence on another hash is a clash", async (store) => {
    const one = nextTurn(testStream(1));
    await store.append([one.entry]);
    expect(await judge(store, nextTurn({ ...one.after, hash: "f".repeat(64) }).entry)).toEqual("clash");
    expect(await judge(store, nextTurn({ ...testStream(2), hash: "f".repeat(64) }).entry)).toEqual("clash");
  });
}

function addBytesTests({ test, expect }: SuiteParts): void {
  test("an append changes no earlier row", async (store) => {
    let stream = await putWorkflow(store, testStream(1));
    const before = await store.tail(0, 10);
    for (let i = 0; i < 5; i += 1) {
      const { entry, after } = nextTurn(stream, { indexes: { state: "running" } });
      await store.append([entry]);
      stream = after;
    }
    expect((await store.tail(0, 1)).concat()).toEqual(before);
    expect(verifyChain(await store.read(stream.id))).toEqual(null);
  });

  test("bytes come back as they were given", async (store) => {
    const text = "ä𝄞 \u0000 \u2028 \ud800 \\ ' \" end";
    const { entry } = nextTurn(testStream(1), { text });
    await store.append([entry]);
    const [row] = await store.read(entry.row.stream);
    expect(row).toEqual(entry.row);
    expect(openTurn(row!)[0]!.payload["text"]).toEqual(text);
  });

  test("a row without a body comes back without one, which is damage", async (store) => {
    const one = nextTurn(testStream(1), { text: "private" });
    await store.append([{ ...one.entry, row: { ...one.entry.row, body: null } }, nextTurn(one.after).entry]);
    const rows = await store.read(one.after.id);
    expect(rows[0]!.body).toEqual(null);
    expect(verifyChain(rows)).toEqual({ stream: one.after.id, sequence: 1, reason: "missing" });
  });
}

function addBatchTests({ test, expect }: SuiteParts): void {
  test("receipts come in the order of the batch, and a refused entry does not fail its neighbours", async (store) => {
    const one = nextTurn(testStream(1));
    const two = nextTurn(one.after);
    const other = nextTurn(testStream(2));
    const batch = [
      one.entry,
      one.entry,
      two.entry,
      nextTurn(two.after, { lease: { owner: me, epoch: 1 } }).entry,
      other.entry,
    ];
    const receipts = await store.append(batch);
    expect(receipts.map(verdict)).toEqual([true, "clash", true, "missing", true]);
    expect(await countRows(store)).toEqual(3);
  });

  test("receipts hold the positions of their rows", async (store) => {
    const receipts = await store.append([1, 2, 3].map((n) => nextTurn(testStream(n)).entry));
    const positions = receipts.map((receipt) => receipt.ok && receipt.position);
    expect((await store.tail(0, 10)).map(({ position }) => position)).toEqual(positions);
    expect(await store.position()).toEqual(positions.at(-1));
  });

  test("positions rise with every row, in its stream and in the log", async (store) => {
    let stream = testStream(1);
    const seen = [0];
    for (let round = 0; round < 5; round += 1) {
      const turn = nextTurn(stream);
      const receipts = await store.append([turn.entry, nextTurn(testStream(2 + round)).entry]);
      for (const receipt of receipts) if (receipt.ok) seen.push(receipt.position);
      stream = turn.after;
    }
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(new Set(seen).size).toEqual(11);
  });
}

function addRefusalTests({ test, expect }: SuiteParts): void {
  test("a workflow is created once", async (store) => {
    const { entry } = firstTurn(testStream(1));
    expect((await store.append([entry, entry])).map(verdict)).toEqual([true, "clash"]);
    const again = firstTurn(testStream(1), { state: "failed" }).entry;
    expect(await judge(store, again)).toEqual("clash");
    expect((await store.head(entry.row.stream))?.state).toEqual("accepted");
  });

  test("an entry of a workflow that does not exist is missing", async (store) => {
    const turn = (indexes: Append["indexes"]) => nextTurn(testStream(1), { indexes }).entry;
    expect(await judge(store, turn({ state: "running" }))).toEqual("missing");
    expect(await judge(store, turn({ due_at: 5 }))).toEqual("missing");
    expect(await judge(store, nextTurn(testStream(1), { claim: me }).entry)).toEqual("missing");
    expect(await countRows(store)).toEqual(0);
  });

  test("a refused entry changes no index", async (store) => {
    const stream = await putWorkflow(store, testStream(1));
    const before = await store.head(stream.id);
    const keys = [{ key: "k", action_id: "act" }];
    const { entry } = nextTurn({ ...stream, last: 9 }, { claim: me, indexes: { state: "failed", due_at: 1, keys } });
    expect(await judge(store, entry)).toEqual("clash");
    expect(await store.head(stream.id)).toEqual(before);
    expect(await store.findKey("acme", "k")).toEqual(null);
  });

  test("an empty batch is nothing", async (store) => {
    expect(await store.append([])).toEqual([]);
  });
}

function addReadTests({ test, expect }: SuiteParts): void {
  test("read begins at the row that holds the next sequence", async (store) => {
    let stream = testStream(1);
    for (const events of [2, 3, 1]) {
      const turn = nextTurn(stream, { events });
      await store.append([turn.entry]);
      stream = turn.after;
    }
    const firsts = async (after?: number, limit?: number) =>
      (await store.read(stream.id, after, limit)).map((row) => row.first_sequence);
    expect(await firsts()).toEqual([1, 3, 6]);
    expect(await firsts(1)).toEqual([1, 3, 6]);
    expect(await firsts(2)).toEqual([3, 6]);
    expect(await firsts(4)).toEqual([3, 6]);
    expect(await firsts(6)).toEqual([]);
    expect(await firsts(0, 2)).toEqual([1, 3]);
    expect(await store.read("nothing")).toEqual([]);
  });

  test("tail follows all streams in position order", async (store) => {
    expect(await store.position()).toEqual(0);
    const one = nextTurn(testStream(1));
    const rows = [one.entry, nextTurn(testStream(2)).entry, nextTurn(one.after).entry];
    await store.append(rows);
    const all = await store.tail(0, 10);
    expect(all.map(({ row }) => row)).toEqual(rows.map(({ row }) => row));
    expect(await store.tail(all[0]!.position, 1)).toEqual([all[1]]);
    expect(await store.tail(await store.position(), 10)).toEqual([]);
  });

  test("the data version, where it is told, is another one through others only", async (store) => {
    const before = await store.dataVersion?.();
    await store.append([nextTurn(testStream(1)).entry]);
    expect(await store.dataVersion?.()).toEqual(before);
  });
}
