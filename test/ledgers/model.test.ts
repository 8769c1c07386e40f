/** The SQLite store and the plain rows give the same answers to any sequence of calls, whichever connection asks. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { Append, LedgerStore } from "../../src/ports/ledger-store.ts";
import {
  createIndex,
  nextTurn,
  type TestStream,
  testDocument,
  testGate,
  testMemory,
  testStream,
} from "../../src/testing/ledger-turns.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { runs } from "../properties/property-runs.ts";
import { freshPaths, withStore } from "./ledger-files.ts";

const freshPath = freshPaths();
const states = ["accepted", "running", "waiting_for_user", "completed"] as const;
const owners = ["me", "you"] as const;
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const small = fc.integer({ min: 0, max: 5 });

/** One entry, drawn so that it is often right and sometimes stale, fenced, foreign or early. */
const draw = fc.record({
  stream: fc.integer({ min: 1, max: 3 }),
  isStale: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isForeign: fc.integer({ min: 0, max: 19 }).map((n) => n === 0),
  creates: fc.boolean(),
  now: small,
  lease: maybe(fc.record({ owner: fc.constantFrom(...owners), epoch: fc.integer({ min: 0, max: 3 }) })),
  claim: maybe(fc.constantFrom(...owners)),
  state: maybe(fc.constantFrom(...states)),
  due_at: maybe(fc.option(small)),
  percent: maybe(small),
  release: fc.boolean(),
  gate: maybe(fc.constantFrom("open", "approved", "suspended")),
  records: fc.boolean(),
});
type Draw = typeof draw extends fc.Arbitrary<infer T> ? T : never;

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("append" as const), batch: fc.array(draw, { maxLength: 6 }) }),
  },
  fc.record({
    kind: fc.constant("claim" as const),
    stream: fc.integer({ min: 1, max: 4 }),
    owner: fc.constantFrom(...owners),
    now: small,
  }),
  fc.record({
    kind: fc.constant("heartbeat" as const),
    owner: fc.constantFrom(...owners),
    now: small,
  }),
  fc.record({
    kind: fc.constant("takeUp" as const),
    what: fc.constantFrom("abandoned" as const, "due" as const),
    owner: fc.constantFrom(...owners),
    limit: fc.integer({ min: 1, max: 3 }),
    now: small,
  }),
  fc.record({
    kind: fc.constant("release" as const),
    stream: fc.integer({ min: 1, max: 4 }),
    owner: fc.constantFrom(...owners),
    epoch: small,
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function entryOf(stream: TestStream, d: Draw): Append {
  const at = d.isStale ? { ...stream, last: stream.last + 1 } : stream;
  const gates = d.gate === undefined ? [] : [testGate(stream, "a", d.gate as "open")];
  const value = String(stream.last);
  const records = d.records
    ? {
        memory: [testMemory(stream, "m", value)],
        documents: [testDocument(stream, 1, value)],
        keys: [{ key: value, action_id: "act" }],
      }
    : {};
  const indexes = {
    ...(d.creates ? createIndex(stream) : {}),
    state: d.state,
    due_at: d.due_at,
    percent: d.percent,
    release: d.release,
    gates,
    ...records,
  };
  const { entry } = nextTurn(at, { now: d.now, lease: d.lease, claim: d.claim, indexes });
  return d.isForeign ? { ...entry, tenant_id: "umbrella" } : entry;
}

/** Runs the steps, drawing each entry from where the store says its stream stands; gives every answer. */
async function run(steps: readonly Step[], choose: (i: number) => LedgerStore): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const [i, one] of steps.entries()) {
    const store = choose(i);
    answers.push(await perform(store, one));
    answers.push(await look(choose(i + 1)));
  }
  return answers;
}

async function perform(store: LedgerStore, one: Step): Promise<unknown> {
  if (one.kind === "append") {
    const batch: Append[] = [];
    for (const d of one.batch) batch.push(entryOf(await standing(store, d.stream), d));
    return store.append(batch);
  }
  if (one.kind === "heartbeat") return store.heartbeat(one.owner, one.now, 2);
  if (one.kind === "takeUp") return store.takeUp(one.what, one.owner, one.now, one.limit);
  const { id } = testStream(one.stream);
  if (one.kind === "claim") return store.claim(id, one.owner, one.now);
  return store.release(id, { owner: one.owner, epoch: one.epoch });
}

async function standing(store: LedgerStore, n: number): Promise<TestStream> {
  const stream = testStream(n, { tenant_id: n % 2, thread_id: n === 1 ? null : "t" });
  const last = (await store.read(stream.id)).at(-1);
  return last === undefined ? stream : { ...stream, last: last.last_sequence, hash: last.hash };
}

async function look(store: LedgerStore): Promise<unknown> {
  return Promise.all([
    store.heads({}),
    store.tail(0, 1000),
    store.gates({}),
    store.listHeads({ limit: 9 }),
    store.listHeads({ tenant_id: 1, states: ["running", "completed"], limit: 2 }),
    store.listGates({ tenant_id: 0, limit: 2 }),
    store.countHeads({ states: ["accepted"] }),
    store.countGates({ tenant_id: 1 }),
    store.countHolds(),
    store.halts(),
    store.nextDue(),
    ...owners.map((owner) => store.held(owner)),
    ...[0, 1].flatMap((tenant_id) => [
      store.memory({ tenant_id, limit: 9 }),
      store.documents(tenant_id, [1]),
      store.findKey(tenant_id, "0"),
      store.version(tenant_id, "t"),
      store.version(tenant_id, null),
    ]),
  ]);
}

describe("stores of different kinds", () => {
  it("give the same answers to the same calls", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
        const path = freshPath();
        const expected = await withStore(memoryLedger(), (rows) => run(steps, () => rows));
        const open = () => sqliteLedger({ path, synchronous: "normal" });
        const actual = await withStore(open(), (one) =>
          // An owner has one connection: of another it would not be known.
          withStore(open(), (two) => run(steps, (i) => (i % 3 === 0 && steps[i]?.kind !== "heartbeat" ? two : one))),
        );
        expect(actual).toEqual(expected);
      }),
      { numRuns: runs(150) },
    );
  });
});
