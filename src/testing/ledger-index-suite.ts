/**
 * The second half of the ledger store suite: the indexes that an append writes beside its row, and who may see them.
 *
 * Owns: the promises on heads, the next due time, gates, keys, memory, documents, versions and tenants.
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { Append, WorkflowHead } from "../ports/ledger-store.ts";
import { appendOne, countRows, judge, me, putWorkflow, type SuiteParts, ttlMs, verdict } from "./ledger-suite-parts.ts";
import { createIndex, firstTurn, nextTurn, testDocument, testGate, testMemory, testStream } from "./ledger-turns.ts";

type Id = Append["tenant_id"];

const idsOf = (heads: readonly WorkflowHead[]): readonly string[] => heads.map(({ workflow_id }) => workflow_id);
const idOf = (n: number): string => testStream(n).id;

export function addIndexTests(parts: SuiteParts): void {
  addHeadTests(parts);
  addDueTests(parts);
  addGateTests(parts);
  addRecordTests(parts);
  addDocumentTests(parts);
  addChargeTests(parts);
  addChargesOfAllTests(parts);
  addVersionTests(parts);
  addTenantTests(parts);
}

function addHeadTests({ test, expect }: SuiteParts): void {
  test("a head holds what created it and what changed it since", async (store) => {
    const stream = testStream(1, { tenant_id: 7, thread_id: "7" });
    const after = await putWorkflow(store, stream, { principal_id: 3 });
    const created = { ...createIndex(stream, { principal_id: 3 }).create, owner: null, epoch: 0 };
    expect(await store.head(stream.id)).toEqual(created);
    const turn = nextTurn(after, { now: 2000, indexes: { state: "running", due_at: 5000 } });
    const plain = nextTurn(turn.after, { now: 3000 });
    await store.append([turn.entry, plain.entry]);
    expect(await store.head(stream.id)).toEqual({ ...created, state: "running", due_at: 5000, updated_at: 2000 });
    await store.append([nextTurn(plain.after, { now: 4000, indexes: { due_at: null } }).entry]);
    expect(await store.head(stream.id)).toEqual({ ...created, state: "running", updated_at: 4000 });
    expect(await store.head("nothing")).toEqual(null);
  });

  test("heads are listed in id order by every filter", async (store) => {
    await putWorkflow(store, testStream(3, { thread_id: "t" }), { state: "running" });
    await putWorkflow(store, testStream(1, { thread_id: 1 }), { intent_type: "other" });
    await putWorkflow(store, testStream(2, { thread_id: "1" }), { state: "failed" });
    await putWorkflow(store, testStream(4, { tenant_id: "umbrella", thread_id: "t" }));
    const list = async (filter: Parameters<typeof store.heads>[0]) => idsOf(await store.heads(filter));
    expect(await list({})).toEqual([1, 2, 3, 4].map(idOf));
    expect(await list({ tenant_id: "acme" })).toEqual([1, 2, 3].map(idOf));
    expect(await list({ states: ["running", "failed"] })).toEqual([2, 3].map(idOf));
    expect(await list({ states: [] })).toEqual([]);
    expect(await list({ intent_type: "other" })).toEqual([idOf(1)]);
    expect(await list({ intent_id: `int_${idOf(2).slice(3)}` })).toEqual([idOf(2)]);
    expect(await list({ after: idOf(1), limit: 2 })).toEqual([2, 3].map(idOf));
    expect(await list({ tenant_id: "acme", after: idOf(2), limit: 5 })).toEqual([idOf(3)]);
  });
}

function addDueTests({ test, expect }: SuiteParts): void {
  test("the next due time is the first at which something due can be taken up", async (store) => {
    expect(await store.nextDue()).toEqual(null);
    const one = await putWorkflow(store, testStream(1), { state: "waiting_for_user", due_at: 300 });
    await putWorkflow(store, testStream(2), { state: "waiting_for_user", due_at: 200 });
    await putWorkflow(store, testStream(3), { state: "completed", due_at: 50 });
    expect(await store.nextDue()).toEqual(200);
    await store.heartbeat(me, 0, ttlMs);
    const lease = (await store.claim(idOf(2), me, 0))!;
    expect(await store.nextDue()).toEqual(300);
    await store.release(idOf(2), lease);
    expect(await store.nextDue()).toEqual(200);
    await store.append([nextTurn(one, { indexes: { due_at: 100 } }).entry]);
    expect(await store.nextDue()).toEqual(100);
  });
}

function addGateTests({ test, expect }: SuiteParts): void {
  test("a gate is in the index while it is open or suspended", async (store) => {
    let stream = await putWorkflow(store, testStream(1));
    for (const status of ["open", "suspended", "open", "approved"] as const) {
      const turn = nextTurn(stream, { indexes: { gates: [testGate(stream, "a", status)] } });
      expect((await appendOne(store, turn.entry)).ok).toEqual(true);
      const kept = status === "approved" ? [] : [testGate(stream, "a", status)];
      expect(await store.gates({ workflow_id: stream.id })).toEqual(kept);
      stream = turn.after;
    }
  });

  test("gates are listed by workflow and gate, page by page", async (store) => {
    for (const [n, tenant_id] of [
      [2, "acme"],
      [1, "acme"],
      [3, "umbrella"],
    ] as const) {
      const stream = testStream(n, { tenant_id });
      const gates = ["b", "a", "c"].map((step) => testGate(stream, step));
      await store.append([firstTurn(stream, {}, { indexes: { gates } }).entry]);
    }
    const list = async (filter: Parameters<typeof store.gates>[0]) =>
      (await store.gates(filter)).map(({ workflow_id, step_id }) => `${Number(workflow_id.slice(3))}${step_id}`);
    expect(await list({})).toEqual(["1a", "1b", "1c", "2a", "2b", "2c", "3a", "3b", "3c"]);
    expect(await list({ tenant_id: "acme", limit: 4 })).toEqual(["1a", "1b", "1c", "2a"]);
    expect(await list({ tenant_id: "acme", after: `${idOf(2)}/gate-a`, limit: 4 })).toEqual(["2b", "2c"]);
    expect(await list({ after: idOf(2) })).toEqual(["3a", "3b", "3c"]);
    expect(await list({ workflow_id: idOf(1), after: `${idOf(1)}/gate-a` })).toEqual(["1b", "1c"]);
    expect(await list({ tenant_id: "acme", workflow_id: idOf(3) })).toEqual([]);
  });
}

function addRecordTests({ test, expect }: SuiteParts): void {
  test("the first holder of a shared key stays its holder", async (store) => {
    const turn = (n: number, action_id: string) =>
      firstTurn(testStream(n), {}, { indexes: { keys: [{ key: "k", action_id }] } });
    await store.append([turn(1, "act_1").entry, turn(2, "act_2").entry]);
    expect(await store.findKey("acme", "k")).toEqual({ workflow_id: idOf(1), action_id: "act_1" });
    expect(await store.findKey("acme", "other")).toEqual(null);
  });

  test("of two workflows of a tenant with one unique key, one is refused, also in one batch", async (store) => {
    const turn = (n: number, tenant_id = "acme") => {
      const keys = [{ key: "u", action_id: `act_${n}`, unique: true }];
      return firstTurn(testStream(n, { tenant_id }), {}, { indexes: { keys } });
    };
    const receipts = await store.append([turn(1).entry, turn(2).entry, turn(3, "umbrella").entry]);
    expect(receipts.map((receipt) => (receipt.ok ? "ok" : receipt.reason))).toEqual(["ok", "taken", "ok"]);
    expect(await store.append([turn(4).entry])).toEqual([{ ok: false, reason: "taken" }]);
    expect(await store.findKey("acme", "u")).toEqual({ workflow_id: idOf(1), action_id: "act_1" });
    for (const n of [2, 4]) expect([await store.head(idOf(n)), await store.read(idOf(n))]).toEqual([null, []]);
    const again = nextTurn(turn(1).after, { indexes: { keys: [{ key: "u", action_id: "act_1", unique: true }] } });
    expect((await appendOne(store, again.entry)).ok).toEqual(true);
  });

  test("memory gives the newest entry of each key, newest first", async (store) => {
    const stream = testStream(1, { thread_id: "t" });
    const one = firstTurn(
      stream,
      {},
      { indexes: { memory: [testMemory(stream, "a", "1"), testMemory(stream, "b", "1")] } },
    );
    const two = nextTurn(one.after, {
      indexes: { memory: [testMemory(stream, "a", "2"), testMemory(stream, "a", "3")] },
    });
    const free = testStream(2);
    const three = firstTurn(
      free,
      {},
      { indexes: { memory: [testMemory(free, "c", "1"), testMemory(free, "b", "2")] } },
    );
    await store.append([one.entry, two.entry, three.entry]);
    const list = async (query: { thread_id?: string | number | null; keys?: readonly string[]; limit?: number }) =>
      (await store.memory({ tenant_id: "acme", limit: 10, ...query })).map(({ key, value }) => `${key}${value}`);
    expect(await list({ thread_id: "t" })).toEqual(["a3", "b1"]);
    expect(await list({ thread_id: null })).toEqual(["b2", "c1"]);
    expect(await list({})).toEqual(["b2", "c1", "a3"]);
    expect(await list({ limit: 2 })).toEqual(["b2", "c1"]);
    expect(await list({ keys: ["a", "x"] })).toEqual(["a3"]);
    expect(await list({ keys: ["b", "a", "c"], limit: 2 })).toEqual(["b2", "c1"]);
    expect(await list({ thread_id: "t", keys: ["b", "c", "a"] })).toEqual(["a3", "b1"]);
    expect(await list({ thread_id: null, keys: ["a", "b"] })).toEqual(["b2"]);
    expect(await list({ thread_id: "t", keys: [] })).toEqual([]);
    const at = (await store.tail(0, 10))[1]?.position;
    const [newest] = await store.memory({ tenant_id: "acme", thread_id: "t", limit: 1 });
    expect(newest).toEqual({ ...testMemory(stream, "a", "3"), position: at });
  });
}

function addDocumentTests({ test, expect }: SuiteParts): void {
  test("documents give the newest record of each id that is there, in the order asked for", async (store) => {
    const stream = testStream(1);
    const records = [
      testDocument(stream, "d", "first"),
      testDocument(stream, 1, "number"),
      testDocument(stream, "1", "text"),
    ];
    const one = firstTurn(stream, {}, { indexes: { documents: records } });
    const changed = testDocument(stream, "d", "second");
    await store.append([one.entry, nextTurn(one.after, { indexes: { documents: [changed] } }).entry]);
    expect(await store.documents("acme", ["1", "none", "d", 1])).toEqual([records[2], changed, records[1]]);
  });
}

function addChargeTests({ test, expect }: SuiteParts): void {
  test("charges add up by tenant and counter, with the row that carries them or not at all", async (store) => {
    const acme = await putWorkflow(store, testStream(1));
    const amounts = { tokens: 5, money: 0.5, invocations: 1, wall_ms: 20 };
    const charges = [
      { counter: "tenant", amounts },
      { counter: "operator:A", amounts },
    ];
    const one = nextTurn(acme, { indexes: { charges } });
    const less = { tokens: -2, money: -0.25, invocations: 0, wall_ms: -15 };
    const two = nextTurn(one.after, { indexes: { charges: [{ counter: "tenant", amounts: less }] } });
    await store.append([one.entry, two.entry]);
    const [refused] = await store.append([one.entry]);
    expect(refused?.ok).toEqual(false);
    const left = { tokens: 3, money: 0.25, invocations: 1, wall_ms: 5 };
    const none = { tokens: 0, money: 0, invocations: 0, wall_ms: 0 };
    expect(await store.charges("acme", ["operator:A", "nothing", "tenant"])).toEqual([amounts, none, left]);
    expect(await store.charges("umbrella", ["tenant"])).toEqual([none]);
    expect(await store.chargesOf("acme")).toEqual([
      { counter: "operator:A", amounts },
      { counter: "tenant", amounts: left },
    ]);
    expect(await store.chargesOf("umbrella")).toEqual([]);
  });

  test("money adds up as decimals do: sums of tenths and millionths are exact, also with refunds", async (store) => {
    let at = await putWorkflow(store, testStream(1));
    for (const money of [0.1, 0.2, 0.000001, 1_000_000_000, -0.1, 0.7, -1_000_000_000, -0.000001]) {
      const amounts = { tokens: 0, money, invocations: 0, wall_ms: 0 };
      const turn = nextTurn(at, { indexes: { charges: [{ counter: "tenant", amounts }] } });
      await store.append([turn.entry]);
      at = turn.after;
    }
    const [standing] = await store.charges("acme", ["tenant"]);
    expect(standing?.money).toEqual(0.9);
  });

  test("amounts under a ceiling reach it and never pass it, in one batch and in one entry", async (store) => {
    const within = { tokens: 10 };
    const none = { tokens: 0, money: 0, invocations: 0, wall_ms: 0 };
    const charge = (tokens: number, bound = true) => ({
      counter: "tenant",
      amounts: { ...none, tokens },
      ...(bound ? { within } : {}),
    });
    const begun = (n: number, ...charges: readonly ReturnType<typeof charge>[]) =>
      firstTurn(testStream(n), {}, { indexes: { charges } }).entry;
    const batch = [begun(1, charge(6)), begun(2, charge(5)), begun(3, charge(2), charge(3)), begun(4, charge(4))];
    expect((await store.append(batch)).map(verdict)).toEqual([true, "spent", "spent", true]);
    expect((await store.head(idOf(2)))?.workflow_id).toEqual(undefined);
    // A refund in the same entry does not make room for its charges; an unbound amount is counted and not refused.
    expect(await judge(store, begun(5, charge(-4, false), charge(4)))).toEqual("spent");
    expect(await judge(store, begun(6, charge(-4, false)))).toEqual(true);
    expect(await judge(store, begun(7, charge(4)))).toEqual(true);
    expect(await judge(store, begun(8, charge(9, false)))).toEqual(true);
    expect(await judge(store, { ...begun(9, charge(3)), tenant_id: "acme" })).toEqual("spent");
    expect(await store.charges("acme", ["tenant"])).toEqual([{ ...none, tokens: 19 }]);
  });
}

function addChargesOfAllTests({ test, expect }: SuiteParts): void {
  test("a counter of all tenants keeps its ceiling for each of them, and belongs to no tenant", async (store) => {
    const none = { tokens: 0, money: 0, invocations: 0, wall_ms: 0 };
    const begun = (n: number, tenant_id: Id, tokens: number) => {
      const charge = { counter: "model", amounts: { ...none, tokens } };
      const charges = [charge, { ...charge, ofAll: true as const, within: { tokens: 10 } }];
      return firstTurn(testStream(n, { tenant_id }), {}, { indexes: { charges } }).entry;
    };
    const batch = [begun(1, "acme", 6), begun(2, "umbrella", 5), begun(3, "umbrella", 4)];
    expect((await store.append(batch)).map(verdict)).toEqual([true, "spent", true]);
    expect(await judge(store, begun(4, "acme", 1))).toEqual("spent");
    const standing = async (tenantId: Id | null) => (await store.charges(tenantId, ["model"]))[0]?.tokens;
    expect([await standing(null), await standing("acme"), await standing("umbrella")]).toEqual([10, 6, 4]);
    // A tenant may have the id "null".
    expect(await standing("null")).toEqual(0);
    expect(await store.chargesOf("acme")).toEqual([{ counter: "model", amounts: { ...none, tokens: 6 } }]);
  });
}

function addVersionTests({ test, expect }: SuiteParts): void {
  test("the version changes only with the tenant's memory and documents and the thread's workflows", async (store) => {
    const threaded = await putWorkflow(store, testStream(1, { thread_id: "t" }));
    const plain = await putWorkflow(store, testStream(2));
    const seen = async () => [
      await store.version("acme", "t"),
      await store.version("acme", "u"),
      await store.version("acme", null),
    ];
    const changes = async (entry: Parameters<typeof judge>[1]) => {
      const before = await seen();
      expect(await judge(store, entry)).toEqual(true);
      return (await seen()).map((version, i) => version !== before[i]);
    };
    const one = nextTurn(plain, { indexes: { memory: [testMemory(plain, "a", "1")] } });
    const two = nextTurn(one.after, { indexes: { documents: [testDocument(plain, "d", "title")] } });
    expect(await changes(one.entry)).toEqual([true, true, true]);
    expect(await changes(two.entry)).toEqual([true, true, true]);
    expect(await changes(nextTurn(two.after, { indexes: { state: "running" } }).entry)).toEqual([false, false, false]);
    expect(await changes(nextTurn(threaded).entry)).toEqual([true, false, false]);
    expect(await changes(firstTurn(testStream(3, { thread_id: "u" })).entry)).toEqual([false, true, false]);
    const foreign = testStream(4, { tenant_id: "umbrella", thread_id: "t" });
    const memory = [testMemory(foreign, "a", "1")];
    expect(await changes(firstTurn(foreign, {}, { indexes: { memory } }).entry)).toEqual([false, false, false]);
  });
}

function addTenantTests({ test, expect }: SuiteParts): void {
  test("two tenants with the same ids do not see each other, and 1 is not '1'", async (store) => {
    const tenants = [1, "1"] as const;
    for (const [i, tenant_id] of tenants.entries()) {
      const stream = testStream(i + 1, { tenant_id, thread_id: "t" });
      const value = String(i + 1);
      const keys = [{ key: "k", action_id: `act_${value}` }];
      const memory = [testMemory(stream, "m", value)];
      const indexes = { keys, memory, documents: [testDocument(stream, "d", value)], gates: [testGate(stream, "a")] };
      await store.append([firstTurn(stream, {}, { indexes }).entry]);
    }
    for (const [i, tenant_id] of tenants.entries()) {
      const value = String(i + 1);
      const own = idOf(i + 1);
      expect(idsOf(await store.listHeads({ tenant_id, thread_id: "t", limit: 9 }))).toEqual([own]);
      expect((await store.gates({ tenant_id })).map(({ workflow_id }) => workflow_id)).toEqual([own]);
      expect((await store.memory({ tenant_id, limit: 9 })).map((record) => record.value)).toEqual([value]);
      expect((await store.documents(tenant_id, ["d"])).map(({ title }) => title)).toEqual([value]);
      expect(await store.findKey(tenant_id, "k")).toEqual({ workflow_id: own, action_id: `act_${value}` });
    }
  });

  test("a tenant cannot write to another's workflow, nor put another's record into its own", async (store) => {
    const stream = await putWorkflow(store, testStream(1, { tenant_id: 1 }));
    const foreign = { ...stream, tenant_id: "1" };
    expect(await judge(store, nextTurn(foreign).entry)).toEqual("missing");
    expect(await judge(store, nextTurn(foreign, { claim: me }).entry)).toEqual("missing");
    expect(
      await judge(store, nextTurn(stream, { indexes: { memory: [testMemory(foreign, "a", "1")] } }).entry),
    ).toEqual("missing");
    expect(await judge(store, nextTurn(stream, { indexes: { gates: [testGate(foreign, "a")] } }).entry)).toEqual(
      "missing",
    );
    const { entry } = firstTurn(testStream(2, { tenant_id: 1 }));
    expect(await judge(store, { ...entry, tenant_id: 2 })).toEqual("missing");
    expect(await countRows(store)).toEqual(1);
    expect(await store.claim(stream.id, me, 0)).toEqual({ owner: me, epoch: 1 });
  });
}
