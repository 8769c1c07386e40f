/**
 * The lease half of the ledger store suite: who may write a workflow's turns.
 *
 * Owns: the promises on claim, renew, release, expiry and fencing, in an append and beside it.
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { Append, Lease, LedgerStore } from "../ports/ledger-store.ts";
import { appendOne, countRows, judge, me, putWorkflow, type SuiteParts, ttlMs, verdict } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, testStream } from "./ledger-turns.ts";

/** The epoch that an entry's receipt names: null where it claims nothing. */
async function epochOf(store: LedgerStore, entry: Append): Promise<number | string | null> {
  const receipt = await appendOne(store, entry);
  return receipt.ok ? receipt.epoch : receipt.reason;
}

export function addLeaseTests(parts: SuiteParts): void {
  addAppendLeaseTests(parts);
  addClaimTests(parts);
  addHolderTests(parts);
}

function addAppendLeaseTests({ test, expect }: SuiteParts): void {
  test("an entry claims the workflow it creates, and its lease lets it go on", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    expect(await epochOf(store, entry)).toEqual(1);
    expect(await judge(store, nextTurn(after, { lease: { ...me, epoch: 1 } }).entry)).toEqual(true);
    const head = await store.head(after.id);
    expect([head?.owner, head?.epoch, head?.expires_at]).toEqual(["me", 1, 2000]);
  });

  test("an entry with another's or an earlier lease is fenced", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    await store.append([entry]);
    const next = (lease: Lease) => nextTurn(after, { lease, now: 1500 }).entry;
    expect(await judge(store, next({ ...me, epoch: 2 }))).toEqual("fenced");
    expect(await judge(store, next({ ...me, owner: "you", epoch: 1 }))).toEqual("fenced");
    await store.claim(after.id, "you", 2000, ttlMs);
    expect(await judge(store, next({ ...me, epoch: 1 }))).toEqual("fenced");
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
    const you = { owner: "you", expires_at: 9000 };
    expect(await judge(store, nextTurn(one.after, { claim: you, now: 1999 }).entry)).toEqual("fenced");
    const two = nextTurn(one.after, { claim: you, now: 2000 });
    expect(await epochOf(store, two.entry)).toEqual(2);
    const again = nextTurn(two.after, { claim: you, now: 2000 });
    expect(await epochOf(store, again.entry)).toEqual(3);
  });

  test("an entry gives its lease up", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    const second = nextTurn(after, { lease: { ...me, epoch: 1 }, indexes: { release: true, state: "completed" } });
    const late = nextTurn(second.after, { lease: { ...me, epoch: 1 } });
    expect((await store.append([entry, second.entry, late.entry])).map(verdict)).toEqual([true, true, "fenced"]);
    const head = await store.head(after.id);
    expect([head?.owner, head?.expires_at, head?.epoch, head?.state]).toEqual([null, null, 1, "completed"]);
  });

  test("an entry that creates, claims and releases leaves the workflow free", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me, indexes: { release: true, state: "failed" } });
    expect(await judge(store, entry)).toEqual(true);
    const head = await store.head(after.id);
    expect([head?.owner, head?.expires_at, head?.state]).toEqual([null, null, "failed"]);
  });
}

function addHolderTests({ test, expect }: SuiteParts): void {
  test("a lease has one holder until it expires or is released", async (store) => {
    const { id } = await putWorkflow(store, testStream(1));
    expect(await store.claim(id, "me", 1000, ttlMs)).toEqual({ owner: "me", epoch: 1, expires_at: 2000 });
    expect(await store.claim(id, "you", 1999, ttlMs)).toEqual(null);
    expect(await store.claim(id, "you", 2000, ttlMs)).toEqual({ owner: "you", epoch: 2, expires_at: 3000 });
    expect(await store.claim(id, "you", 2001, ttlMs)).toEqual({ owner: "you", epoch: 3, expires_at: 3001 });
    await store.release(id, { owner: "you", epoch: 2, expires_at: 0 });
    expect(await store.claim(id, "me", 2002, ttlMs)).toEqual(null);
    await store.release(id, { owner: "you", epoch: 3, expires_at: 0 });
    expect(await store.claim(id, "me", 2002, ttlMs)).toEqual({ owner: "me", epoch: 4, expires_at: 3002 });
    expect(await store.claim("nothing", "me", 0, ttlMs)).toEqual(null);
  });

  test("only leases that are still the owner's are renewed", async (store) => {
    const one = await putWorkflow(store, testStream(1));
    const two = await putWorkflow(store, testStream(2));
    const kept = (await store.claim(one.id, "me", 0, ttlMs))!;
    const lost = (await store.claim(two.id, "me", 0, ttlMs))!;
    await store.claim(two.id, "you", 1000, ttlMs);
    const leases = [
      { workflow_id: one.id, lease: kept },
      { workflow_id: two.id, lease: lost },
      { workflow_id: "nothing", lease: kept },
    ];
    expect(await store.renew(leases, 900, ttlMs)).toEqual([one.id]);
    expect((await store.head(one.id))?.expires_at).toEqual(1900);
    expect((await store.head(two.id))?.owner).toEqual("you");
    expect(await store.renew([], 900, ttlMs)).toEqual([]);
  });

  test("a renewed lease keeps others out of an append", async (store) => {
    const { entry, after } = firstTurn(testStream(1), {}, { claim: me });
    await store.append([entry]);
    await store.renew([{ workflow_id: after.id, lease: { ...me, epoch: 1 } }], 1900, ttlMs);
    const claim = { owner: "you", expires_at: 9000 };
    expect(await judge(store, nextTurn(after, { claim, now: 2500 }).entry)).toEqual("fenced");
    expect(await judge(store, nextTurn(after, { claim, now: 2900 }).entry)).toEqual(true);
  });
}
