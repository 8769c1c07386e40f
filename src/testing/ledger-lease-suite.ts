/**
 * The lease half of the ledger store suite: who may write a workflow's turns.
 *
 * Owns: the promises on heartbeat, claim, takeUp, release and fencing, in an append and beside it.
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { Append, Lease, LedgerStore, TakeUpKind } from "../ports/ledger-store.ts";
import { appendOne, countRows, judge, me, putWorkflow, type SuiteParts, ttlMs, verdict } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, testStream } from "./ledger-turns.ts";

/** Returns the epoch that an entry's receipt names: null if it claims nothing. */
async function epochOf(store: LedgerStore, entry: Append): Promise<number | string | null> {
  const receipt = await appendOne(store, entry);
  return receipt.ok ? receipt.epoch : receipt.reason;
}

export function addLeaseTests(parts: SuiteParts): void {
  addAppendLeaseTests(parts);
  addClaimTests(parts);
  addHolderTests(parts);
  addTakeUpTests(parts);
}

function addAppendLeaseTests({ test, expect }: SuiteParts): void {
  test("an entry claims the workflow it creates, and its lease lets it go on", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    expect(await epochOf(store, entry)).toEqual(1);
    expect(await judge(store, nextTurn(after, { lease: { owner: me, epoch: 1 } }).entry)).toEqual(true);
    const head = await store.head(after.id);
    expect([head?.owner, head?.epoch]).toEqual([me, 1]);
  });

  test("an entry with another's or an earlier lease is fenced", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    await store.append([entry]);
    const next = (lease: Lease) => nextTurn(after, { lease, now: 1500 }).entry;
    expect(await judge(store, next({ owner: me, epoch: 2 }))).toEqual("fenced");
    expect(await judge(store, next({ owner: "you", epoch: 1 }))).toEqual("fenced");
    await store.release(after.id, { owner: me, epoch: 1 });
    await store.claim(after.id, "you", 2000);
    expect(await judge(store, next({ owner: me, epoch: 1 }))).toEqual("fenced");
    expect(await countRows(store)).toEqual(1);
  });

  test("an entry without lease is let in: a decision from elsewhere", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    await store.append([entry]);
    expect(await epochOf(store, nextTurn(after, { indexes: { release: true } }).entry)).toEqual(null);
    expect((await store.head(after.id))?.owner).toEqual("me");
  });
}

function addClaimTests({ test, expect }: SuiteParts): void {
  test("an entry claims a free workflow and is fenced from a held one", async (store) => {
    const stream = await putWorkflow(store, testStream(1));
    const one = nextTurn(stream, { claim: me });
    expect(await epochOf(store, one.entry)).toEqual(1);
    expect(await judge(store, nextTurn(one.after, { claim: "you" }).entry)).toEqual("fenced");
    const again = nextTurn(one.after, { claim: me });
    expect(await epochOf(store, again.entry)).toEqual(2);
    await store.release(again.after.id, { owner: me, epoch: 2 });
    expect(await epochOf(store, nextTurn(again.after, { claim: "you" }).entry)).toEqual(3);
  });

  test("an entry gives its lease up", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    const second = nextTurn(after, { lease: { owner: me, epoch: 1 }, indexes: { release: true, state: "completed" } });
    const late = nextTurn(second.after, { lease: { owner: me, epoch: 1 } });
    expect((await store.append([entry, second.entry, late.entry])).map(verdict)).toEqual([true, true, "fenced"]);
    const head = await store.head(after.id);
    expect([head?.owner, head?.epoch, head?.state]).toEqual([null, 1, "completed"]);
  });

  test("an entry that creates, claims and releases leaves the workflow free", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me, indexes: { release: true, state: "failed" } });
    expect(await judge(store, entry)).toEqual(true);
    const head = await store.head(after.id);
    expect([head?.owner, head?.state]).toEqual([null, "failed"]);
  });
}

function addHolderTests({ test, expect }: SuiteParts): void {
  test("a lease has one holder until it is released or its owner is gone", async (store) => {
    const { id } = await putWorkflow(store, testStream(1));
    await store.heartbeat(me, 1000, ttlMs);
    expect(await store.claim(id, me, 1000)).toEqual({ owner: me, epoch: 1 });
    await store.heartbeat("you", 1999, ttlMs);
    expect(await store.claim(id, "you", 1999)).toEqual(null);
    expect(await store.claim(id, "you", 2000)).toEqual({ owner: "you", epoch: 2 });
    expect(await store.claim(id, "you", 2001)).toEqual({ owner: "you", epoch: 3 });
    await store.release(id, { owner: "you", epoch: 2 });
    await store.heartbeat(me, 2002, ttlMs);
    expect(await store.claim(id, me, 2002)).toEqual(null);
    await store.release(id, { owner: "you", epoch: 3 });
    expect(await store.claim(id, me, 2002)).toEqual({ owner: me, epoch: 4 });
    expect(await store.claim("nothing", me, 0)).toEqual(null);
  });

  test("an owner that says in time that it is alive keeps all it holds", async (store) => {
    const one = await putWorkflow(store, testStream(1), { state: "running" });
    expect(await store.heartbeat(me, 0, ttlMs)).toEqual(false);
    await store.claim(one.id, me, 0);
    expect(await store.heartbeat(me, 900, ttlMs)).toEqual(true);
    await store.heartbeat("you", 1899, ttlMs);
    expect(await store.takeUp("abandoned", "you", 1899, 10)).toEqual([]);
    expect(await store.held(me)).toEqual([{ workflow_id: one.id, epoch: 1 }]);
  });

  test("a late owner keeps all that it holds unless another has looked, and otherwise loses all", async (store) => {
    const [one, two] = [await putWorkflow(store, testStream(1)), await putWorkflow(store, testStream(2))];
    await store.heartbeat(me, 0, ttlMs);
    for (const { id } of [one, two]) await store.claim(id, me, 0);
    expect(await store.heartbeat(me, 5000, ttlMs)).toEqual(true);
    await store.heartbeat("you", 7000, 9 * ttlMs);
    const taken = await store.takeUp("abandoned", "you", 7000, 1);
    expect(taken.map(({ head, lease }) => [head.workflow_id, lease])).toEqual([[one.id, { owner: "you", epoch: 2 }]]);
    expect(await judge(store, nextTurn(two, { lease: { owner: me, epoch: 1 } }).entry)).toEqual("fenced");
    expect(await store.heartbeat(me, 7000, ttlMs)).toEqual(false);
    expect(await store.held(me)).toEqual([]);
    expect(await store.heartbeat(me, 7100, ttlMs)).toEqual(true);
  });

  test("an owner loses what it claims between its end and its next heartbeat", async (store) => {
    const { id } = await putWorkflow(store, testStream(1));
    await store.heartbeat(me, 0, ttlMs);
    await store.heartbeat("you", 2000, ttlMs);
    await store.takeUp("due", "you", 2000, 1);
    await store.claim(id, me, 0);
    expect(await store.heartbeat(me, 2000, ttlMs)).toEqual(false);
    expect((await store.head(id))?.owner).toEqual(null);
  });
}

const idOf = (n: number): string => testStream(n).id;

function addTakeUpTests({ test, expect }: SuiteParts): void {
  const taking = (store: LedgerStore) => async (kind: TakeUpKind, now: number, limit?: number) =>
    (await store.takeUp(kind, me, now, limit ?? 10)).map(({ head }) => head.workflow_id);

  test("what is taken up is held in the same step, and given to nobody else", async (store) => {
    const { id } = await putWorkflow(store, testStream(1), { state: "running" });
    for (const owner of [me, "you"]) await store.heartbeat(owner, 0, ttlMs);
    const [taken, none] = [await store.takeUp("abandoned", me, 0, 10), await store.takeUp("abandoned", "you", 0, 10)];
    expect(taken).toEqual([{ head: await store.head(id), lease: { owner: me, epoch: 1 } }]);
    expect(taken[0]?.head.owner).toEqual(me);
    expect(none).toEqual([]);
  });

  test("workflows of types that others drive are left to them, and have no due time here", async (store) => {
    const { id } = await putWorkflow(store, testStream(1), { state: "running" });
    const due = await putWorkflow(store, testStream(2), { state: "waiting_for_user", due_at: 100 });
    await store.heartbeat(me, 0, ttlMs);
    const others = [(await store.head(id))?.intent_type ?? ""];
    for (const kind of ["abandoned", "due"] as const) expect(await store.takeUp(kind, me, 200, 10, others)).toEqual([]);
    expect([await store.nextDue(others), await store.nextDue(["Test.Other"])]).toEqual([null, 100]);
    expect((await store.takeUp("due", me, 200, 10, ["Test.Other"])).map(({ head }) => head.workflow_id)).toEqual([
      due.id,
    ]);
  });

  test("what is due comes earliest first, and only when nobody holds it", async (store) => {
    await putWorkflow(store, testStream(1), { state: "waiting_for_user", due_at: 300 });
    await putWorkflow(store, testStream(2), { state: "running", due_at: 100 });
    await putWorkflow(store, testStream(3), { state: "waiting_for_user" });
    await putWorkflow(store, testStream(4), { state: "completed", due_at: 50 });
    await putWorkflow(store, testStream(5), { state: "waiting_for_user", due_at: 200 });
    await store.heartbeat("you", 0, 250);
    await store.claim(idOf(5), "you", 0);
    await store.heartbeat(me, 0, ttlMs);
    const take = taking(store);
    expect(await take("due", 99)).toEqual([]);
    expect(await take("due", 200)).toEqual([idOf(2)]);
    expect(await take("due", 300, 1)).toEqual([idOf(5)]);
    expect(await take("due", 300)).toEqual([idOf(1)]);
  });

  test("an abandoned workflow is unfinished, has no live owner, and waits for no person or time", async (store) => {
    const states = ["accepted", "planned", "running", "waiting_for_user", "completed", "failed", "cancelled"] as const;
    for (const [i, state] of states.entries()) await putWorkflow(store, testStream(i + 1), { state });
    await putWorkflow(store, testStream(8), { state: "running", due_at: 500 });
    // A person is asked about a call during the cancellation.
    await putWorkflow(store, testStream(9), { state: "cancelling" });
    await store.heartbeat("you", 0, 300);
    await store.claim(idOf(2), "you", 0);
    await store.heartbeat(me, 0, ttlMs);
    const take = taking(store);
    expect(await take("abandoned", 299, 1)).toEqual([idOf(1)]);
    expect(await take("abandoned", 299)).toEqual([idOf(3)]);
    expect(await take("abandoned", 300)).toEqual([idOf(2)]);
    expect(await take("abandoned", 500)).toEqual([idOf(8)]);
  });
}
