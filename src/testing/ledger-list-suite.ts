/**
 * A part of the ledger store suite: lists for people, newest first, by whatever they are selected.
 *
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { LedgerStore } from "../ports/ledger-store.ts";
import { putWorkflow, type SuiteParts } from "./ledger-suite-parts.ts";
import { firstTurn, nextTurn, testGate, testStream } from "./ledger-turns.ts";

const idOf = (n: number): string => testStream(n).id;
const at = (n: number, created_at: number) => ({ workflow_id: idOf(n), created_at });

export function addListTests(parts: SuiteParts): void {
  addHeadListTests(parts);
  addHeadTests(parts);
  addGateListTests(parts);
  addGateOrderTests(parts);
  addDecisionTests(parts);
}

/** Creates workflows in the order 1, 3, 2 (2 and 4 at once), all but the fifth of "acme". */
async function putFive(store: LedgerStore): Promise<void> {
  await putWorkflow(store, testStream(1, { thread_id: "t" }), { created_at: 10, state: "failed", principal_id: 1 });
  await putWorkflow(store, testStream(3, { thread_id: "t" }), { created_at: 20, state: "running", principal_id: "1" });
  await putWorkflow(store, testStream(2, { thread_id: 1 }), { created_at: 30, state: "failed", intent_type: "other" });
  await putWorkflow(store, testStream(4), { created_at: 30, state: "completed" });
  await putWorkflow(store, testStream(5, { tenant_id: "umbrella" }), { created_at: 5, state: "failed" });
}

const tenant_id = "acme";

function addHeadListTests({ test, expect }: SuiteParts): void {
  test("heads are listed newest first by every selection, and counted", async (store) => {
    await putFive(store);
    const list = async (selection: Parameters<typeof store.countHeads>[0], expected: readonly number[]) => {
      const heads = await store.listHeads({ ...selection, limit: 9 });
      expect(heads.map(({ workflow_id }) => workflow_id)).toEqual(expected.map(idOf));
      expect(await store.countHeads(selection)).toEqual(expected.length);
    };
    await list({}, [4, 2, 3, 1, 5]);
    await list({ tenant_id }, [4, 2, 3, 1]);
    await list({ tenant_id, states: ["failed"] }, [2, 1]);
    await list({ tenant_id, states: ["running", "failed", "failed"] }, [2, 3, 1]);
    await list({ tenant_id, states: [] }, []);
    await list({ tenant_id, thread_id: "t" }, [3, 1]);
    await list({ tenant_id, thread_id: 1 }, [2]);
    await list({ tenant_id, thread_id: "1" }, []);
    await list({ tenant_id, workflow_id: idOf(3) }, [3]);
    await list({ tenant_id, workflow_id: idOf(3), states: ["failed"] }, []);
    await list({ tenant_id, workflow_id: idOf(5) }, []);
    await list({ tenant_id, intent_type: "other", states: ["failed"] }, [2]);
    await list({ tenant_id, principal_id: 1 }, [1]);
    await list({ tenant_id, principal_id: "1" }, [3]);
    await list({ tenant_id, since: 20, until: 30 }, [3]);
    await list({ tenant_id: "nobody" }, []);
  });

  test("a page goes on after a place in the list, or back before one", async (store) => {
    await putFive(store);
    const page = async (given: Omit<Parameters<typeof store.listHeads>[0], "tenant_id">) =>
      (await store.listHeads({ tenant_id, ...given })).map(({ workflow_id }) => Number(workflow_id.slice(3)));
    expect(await page({ limit: 2 })).toEqual([4, 2]);
    expect(await page({ limit: 2, after: at(2, 30) })).toEqual([3, 1]);
    expect(await page({ limit: 2, after: at(1, 10) })).toEqual([]);
    expect(await page({ limit: 2, before: at(1, 10) })).toEqual([2, 3]);
    expect(await page({ limit: 2, before: at(2, 30) })).toEqual([4]);
    expect(await page({ limit: 1, after: at(4, 30), before: at(1, 10) })).toEqual([2]);
    expect(await page({ limit: 1, before: at(1, 10), states: ["failed", "completed"] })).toEqual([2]);
    const sort = "oldest";
    expect(await page({ sort, limit: 3 })).toEqual([1, 3, 2]);
    expect(await page({ sort, limit: 2, after: at(3, 20) })).toEqual([2, 4]);
    expect(await page({ sort, limit: 2, before: at(4, 30) })).toEqual([3, 2]);
    expect(await page({ sort, limit: 9, states: ["failed", "completed"], text: "other" })).toEqual([2]);
  });
}

function addHeadTests({ test, expect }: SuiteParts): void {
  test("a head says how much of its work is undone since its newest state", async (store) => {
    const stream = await putWorkflow(store, testStream(1));
    const found: unknown[] = [];
    let after = stream;
    for (const indexes of [
      { state: "failed", compensated: "partly" },
      { percent: 50 },
      { state: "failed", compensated: "all" },
      { state: "running", compensated: null },
    ] as const) {
      const turn = nextTurn(after, { indexes });
      await store.append([turn.entry]);
      after = turn.after;
      found.push((await store.head(stream.id))?.compensated);
    }
    expect(found).toEqual(["partly", "partly", "all", null]);
  });

  test("a head tells how far its workflow is and how many of its gates are open", async (store) => {
    const stream = await putWorkflow(store, testStream(1), { title: "Send the letter", percent: 0 });
    const gates = [testGate(stream, "a"), testGate(stream, "b")];
    const one = nextTurn(stream, { now: 2000, indexes: { percent: 50, gates } });
    const closed = [testGate(stream, "a", "approved")];
    const two = nextTurn(one.after, { now: 3000, indexes: { state: "running", gates: closed } });
    await store.append([one.entry]);
    const look = async () => {
      const [head] = await store.listHeads({ limit: 1 });
      return [head?.title, head?.percent, head?.updated_at, head?.open_gates];
    };
    expect(await look()).toEqual(["Send the letter", 50, 2000, 2]);
    await store.append([two.entry]);
    expect(await look()).toEqual(["Send the letter", 50, 3000, 1]);
    expect((await store.head(stream.id))?.percent).toEqual(50);
    const foreign = nextTurn(testStream(9), { indexes: { percent: 1 } });
    expect(await store.append([foreign.entry])).toEqual([{ ok: false, reason: "missing" }]);
  });
}

/** A name that is too long for an entry of an index in some databases. */
const longName = Array.from({ length: 900 }, (_, i) => i.toString(36)).join("\\");
const due = (ms: number) => ({ due_at: new Date(ms).toISOString() });

function addGateListTests({ test, expect }: SuiteParts): void {
  test("open gates are listed by newest workflow, cut where they are long, and counted", async (store) => {
    for (const [n, tenant] of [
      [1, tenant_id],
      [2, tenant_id],
      [3, "umbrella"],
    ] as const) {
      const stream = testStream(n, { tenant_id: tenant });
      const gates = [testGate(stream, "b"), { ...testGate(stream, "a"), operator: "pay", ...due(n) }];
      await store.append([firstTurn(stream, {}, { indexes: { gates } }).entry]);
    }
    const show = (gates: Awaited<ReturnType<LedgerStore["listGates"]>>) =>
      gates.map(({ workflow_id, step_id }) => `${Number(workflow_id.slice(3))}${step_id}`);
    const list = async (selection: Parameters<typeof store.countGates>[0], expected: readonly string[]) => {
      expect(show(await store.listGates({ ...selection, limit: 9 }))).toEqual(expected);
      expect(await store.countGates(selection)).toEqual(expected.length);
    };
    await list({}, ["3a", "3b", "2a", "2b", "1a", "1b"]);
    await list({ tenant_id }, ["2a", "2b", "1a", "1b"]);
    await list({ tenant_id, workflow_id: idOf(1) }, ["1a", "1b"]);
    await list({ tenant_id, operator: "pay" }, ["2a", "1a"]);
    await list({ tenant_id, due_before: 2 }, ["1a"]);
    const page = async (given: Omit<Parameters<typeof store.listGates>[0], "tenant_id">) =>
      show(await store.listGates({ tenant_id, ...given }));
    const gate = (n: number, step: string) => ({ workflow_id: idOf(n), gate_id: `gate-${step}` });
    expect(await page({ limit: 2, after: gate(2, "a") })).toEqual(["2b", "1a"]);
    expect(await page({ limit: 2, before: gate(1, "b") })).toEqual(["2b", "1a"]);
    expect(await page({ limit: 9, after: gate(2, "a"), before: gate(1, "b") })).toEqual(["2b", "1a"]);
  });

  test("a listed gate is bounded, whatever the gate holds", async (store) => {
    const stream = testStream(1);
    const long = { ...testGate(stream, "a"), payload: "x".repeat(50_000), preview: "y".repeat(50_000) };
    const gates = [long, testGate(stream, "b")];
    await store.append([firstTurn(stream, {}, { indexes: { gates } }).entry]);
    const listed = await store.listGates({ limit: 9 });
    expect(listed.map(({ truncated, payload }) => [truncated, payload])).toEqual([
      [true, null],
      [false, testGate(stream, "b").payload],
    ]);
    expect(JSON.stringify(listed).length < 10_000).toEqual(true);
    expect(await store.gates({ workflow_id: stream.id })).toEqual(gates);
  });
}

function addGateOrderTests({ test, expect }: SuiteParts): void {
  test("open gates are listed in every order, by whatever selects them, and counted by their people", async (store) => {
    const opened = (ms: number) => ({ opened_at: new Date(ms).toISOString() });
    const requester = { type: "user", id: "ann" };
    for (const [n, gate, title] of [
      [1, { ...opened(30), requester, title: "Straße" }, "Order A-7"],
      [2, { ...opened(10), ...due(5), risk_level: "high", roles: ["finance", 'a \\ "rôle"', longName] }, "order b"],
      [3, { ...opened(20), ...due(9), path: [{ workflow_id: idOf(2), step_id: "s" }] }, "c"],
      [4, { ...opened(20), ...due(5), operator: "pay" }, "d"],
    ] as const) {
      const stream = testStream(n);
      const gates = [{ ...testGate(stream, "a"), ...(gate as object) }];
      const work = { title, intent_type: n === 4 ? "Bank.Refund" : "Bank.Pay" };
      await store.append([firstTurn(stream, {}, { indexes: { gates, work } }).entry]);
    }
    const list = async (page: Omit<Parameters<typeof store.listGates>[0], "limit">, limit = 9) =>
      (await store.listGates({ tenant_id, ...page, limit })).map(({ workflow_id }) => Number(workflow_id.slice(3)));
    const orders = { newest: [1, 4, 3, 2], oldest: [2, 3, 4, 1], due: [2, 4, 3, 1] } as const;
    const never = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
    const keys = { newest: [30, 20, 20, 10], oldest: [10, 20, 20, 30], due: [5, 5, 9, never] } as const;
    for (const sort of ["newest", "oldest", "due"] as const) {
      expect(await list({ sort })).toEqual([...orders[sort]]);
      for (const [i, n] of orders[sort].entries()) {
        const place = { workflow_id: idOf(n), gate_id: "gate-a", at: keys[sort][i] as number };
        expect(await list({ sort, after: place })).toEqual(orders[sort].slice(i + 1));
        expect(await list({ sort, before: place }, 2)).toEqual(orders[sort].slice(Math.max(0, i - 2), i));
      }
    }
    const sort = "newest";
    for (const [selection, expected] of [
      [{ intent_type: "Bank.Pay" }, [1, 3, 2]],
      [{ principal_id: "ann" }, [1]],
      [{ risk: "high" }, [2]],
      [{ since: 20, until: 30 }, [4, 3]],
      [{ under: idOf(2) }, [3, 2]],
      [{ text: "order" }, [1, 2]],
      [{ text: "straße" }, [1]],
      [{ text: "refund", operator: "pay", due_before: 6 }, [4]],
      [{ text: "%" }, []],
    ] as const) {
      expect(await list({ sort, ...selection })).toEqual([...expected]);
      expect(await store.countGates({ tenant_id, ...selection })).toEqual(expected.length);
    }
    const seats = await store.listSeats({ tenant_id }, 9);
    expect(new Set(seats).size).toEqual(3);
    expect(seats.length).toEqual(3);
    expect((await store.listSeats({ tenant_id }, 2)).length).toEqual(2);
    expect(await store.listSeats({ tenant_id: "nobody" }, 9)).toEqual([]);
    const ofFinance = seats.filter((seat) => seat.includes("finance"));
    expect(await list({ sort, seats: ofFinance })).toEqual([2]);
    expect(await store.countGates({ tenant_id, seats: [] })).toEqual(0);
    expect((await store.listSeats({ tenant_id, risk: "high" }, 9)).length).toEqual(1);
  });
}

function addDecisionTests({ test, expect }: SuiteParts): void {
  test("decisions are listed in both orders, by whatever selects them, and counted", async (store) => {
    const made = { gate_id: "gate-a", closes: true, comment: null, estimated_cost: 0, payload_digest: "d" } as const;
    const shared = { ...made, intent_type: "Bank.Pay", risk_level: "low", requester: null } as const;
    for (const [n, now, id, act, operator, title] of [
      [1, 30, "ann", "approve", "pay", "Straße"],
      [2, 10, "bob", "approve", "pay", "b"],
      [3, 20, "ann", "reject", "refund", "c"],
    ] as const) {
      const principal = { type: "user", id, role: "admin" };
      const decision = { ...shared, act, operator, title, principal, work: `work ${n}` };
      const indexes = { decisions: [{ ordinal: 0, decision }] };
      await store.append([firstTurn(testStream(n), {}, { now, indexes }).entry]);
    }
    await store.append([firstTurn(testStream(4, { tenant_id: "umbrella" })).entry]);
    const list = async (page: Omit<Parameters<typeof store.decisions>[0], "limit">, limit = 9) =>
      (await store.decisions({ tenant_id, ...page, limit })).map(({ workflow_id }) => Number(workflow_id.slice(3)));
    const place = (n: number, ms: number) => ({ at: ms, workflow_id: idOf(n), sequence: 1 });
    expect(await list({})).toEqual([1, 3, 2]);
    expect(await list({ sort: "oldest" })).toEqual([2, 3, 1]);
    expect(await list({ after: place(1, 30) }, 1)).toEqual([3]);
    expect(await list({ before: place(2, 10) }, 1)).toEqual([3]);
    expect(await list({ sort: "oldest", after: place(2, 10) })).toEqual([3, 1]);
    for (const [selection, expected] of [
      [{ principal_id: "ann" }, [1, 3]],
      [{ act: "approve" }, [1, 2]],
      [{ operator: "refund", intent_type: "Bank.Pay" }, [3]],
      [{ workflow_id: idOf(2) }, [2]],
      [{ since: 20, until: 30 }, [3]],
      [{ text: "straße" }, [1]],
      [{ text: "work 2" }, [2]],
      [{ tenant_id: "umbrella" }, []],
    ] as const) {
      expect(await list(selection)).toEqual([...expected]);
      expect(await store.countDecisions({ tenant_id, ...selection })).toEqual(expected.length);
    }
    const [newest] = await store.decisions({ tenant_id, limit: 1 });
    expect([newest?.at, newest?.sequence, newest?.title]).toEqual([new Date(30).toISOString(), 1, "Straße"]);
  });
}
