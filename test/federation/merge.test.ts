/** Federated memory by itself: what is let in, what is stale, and that neither order nor batches matter in the end. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  createFederatedMemory,
  FederatedChange,
  type FederatedMemory,
  type FederatedMemoryOptions,
  FederatedSyncReport,
} from "../../src/index.ts";
import { runs } from "../properties/property-runs.ts";
import { codeOf } from "./replicas.ts";

const change = (more: Partial<FederatedChange> = {}): FederatedChange => ({
  origin: "a",
  key: "fact",
  value: "one",
  version: 1,
  capability: "facts",
  ...more,
});
const everybody = { a: ["facts"], b: ["facts"], c: ["facts"], local: ["facts"] };
const replica = (more: Partial<FederatedMemoryOptions> = {}): FederatedMemory =>
  createFederatedMemory({ replica: "local", replicas: everybody, ...more });

describe("a change", () => {
  it("[FED-01] has origin, key, any JSON value, a version from 0 on and a capability", () => {
    for (const value of [null, 0, "", [], { deep: [true] }]) {
      expect(FederatedChange.parse(change({ value, version: 0 }))).toEqual(change({ value, version: 0 }));
    }
    const wrong = [
      { version: -1 },
      { version: 1.5 },
      { version: 2 ** 53 },
      { origin: "" },
      { key: 7 },
      { capability: null },
    ];
    for (const field of wrong) expect(FederatedChange.safeParse({ ...change(), ...field }).success).toBe(false);
    for (const field of Object.keys(change())) {
      const { [field]: _left, ...rest } = change() as Record<string, unknown>;
      expect([field, FederatedChange.safeParse(rest).success]).toEqual([field, false]);
    }
  });
});

describe("applyFederatedChanges", () => {
  it("[FED-02] counts what it merged, names what was stale, and what was rejected with the reason", () => {
    const memory = replica();
    memory.applyFederatedChanges([change({ key: "old", version: 5 })]);
    const report = memory.applyFederatedChanges([
      change({ key: "good" }),
      change({ key: "old", version: 4 }),
      change({ key: "secret", capability: "secrets" }),
    ]);
    expect(FederatedSyncReport.parse(report)).toEqual({
      applied: 1,
      stale: ["old"],
      rejected: [{ key: "secret", reason: "replica a lacks the capability secrets" }],
    });
  });

  it("[FED-03] merges what is newer only: a lower version and a repeat are stale and change nothing", () => {
    const memory = replica();
    memory.applyFederatedChanges([change({ version: 5, value: "five" })]);
    const six = change({ version: 6, value: "six" });
    expect(memory.applyFederatedChanges([six])).toEqual({ applied: 1, stale: [], rejected: [] });
    for (const late of [change({ version: 4, value: "four" }), six]) {
      expect(memory.applyFederatedChanges([late])).toEqual({ applied: 0, stale: ["fact"], rejected: [] });
      expect(memory.get("fact")).toEqual(six);
    }
  });

  it("[FED-03][A-27] of one version the greater origin stands, and the same origin again is stale", () => {
    const memory = replica();
    const from = (origin: string) => change({ origin, value: origin });
    expect(memory.applyFederatedChanges([from("b"), from("c"), from("a"), from("c")])).toEqual({
      applied: 2,
      stale: ["fact", "fact"],
      rejected: [],
    });
    expect(memory.get("fact")).toEqual(from("c"));
  });

  it("[FED-04] rejects an unknown replica, a missing capability and what policy forbids, for three reasons", () => {
    const memory = replica({ policy: ({ key }) => (key === "forbidden" ? "not that one" : null) });
    memory.applyFederatedChanges([change({ key: "stands" })]);
    const before = memory.records();
    const { applied, rejected } = memory.applyFederatedChanges([
      change({ key: "k1", origin: "stranger" }),
      change({ key: "k2", capability: "secrets" }),
      change({ key: "forbidden" }),
    ]);
    expect(applied).toBe(0);
    expect(rejected).toEqual([
      { key: "k1", reason: "replica stranger is not registered" },
      { key: "k2", reason: "replica a lacks the capability secrets" },
      { key: "forbidden", reason: "forbidden by policy: not that one" },
    ]);
    expect(memory.records()).toEqual(before);
    memory.registerReplica("stranger", ["facts"]);
    expect(memory.applyFederatedChanges([change({ key: "k1", origin: "stranger" })]).applied).toBe(1);
  });

  it.each<[string, FederatedMemoryOptions["policy"]]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
    ],
    ["says false", () => false],
    ["answers what is no verdict", () => ({ allow: true }) as never],
    ["answers with a promise", () => Promise.resolve(true)],
    ["answers with a promise that fails", () => Promise.reject(new Error("broken"))],
  ])("[FED-04] a policy that %s forbids", (_what, policy) => {
    const memory = replica({ policy });
    expect(memory.applyFederatedChanges([change()])).toMatchObject({ applied: 0, rejected: [{ key: "fact" }] });
    expect(memory.records()).toEqual([]);
  });

  it("[FED-04] names such as __proto__ are names like others", () => {
    const memory = replica({ replicas: { ["__proto__"]: ["facts"], a: ["facts"] } });
    for (const key of ["__proto__", "constructor", "toString"]) memory.applyFederatedChanges([change({ key })]);
    expect(memory.records().map((r) => r.key)).toEqual(["__proto__", "constructor", "toString"]);
    const { rejected } = memory.applyFederatedChanges([change({ origin: "constructor" })]);
    expect(rejected[0]?.reason).toBe("replica constructor is not registered");
  });

  it.each<[string, unknown]>([
    ["no list", { changes: [] }],
    ["a version that is no whole number", [change(), change({ key: "x", version: 1.5 })]],
    ["a missing value", [change(), { ...change(), value: undefined }]],
    ["a value that is no JSON", [change(), change({ value: (() => 1) as never })]],
    [
      "a value with a __proto__ key",
      [change(), JSON.parse(JSON.stringify(change()).replace('"one"', '{"__proto__":1}'))],
    ],
    ["a number that cannot be kept", [change(), change({ value: 2 ** 60 })]],
    ["a value that is too large", [change(), change({ value: "x".repeat(70_000) })]],
    ["more changes than a call may bring", Array.from({ length: 1001 }, (_, i) => change({ key: `k${i}` }))],
  ])("[FED-02] refuses %s with a code, and applies nothing of the call", (_what, changes) => {
    const memory = replica();
    const code = codeOf(() => memory.applyFederatedChanges(changes as never));
    expect(code).toMatch(/^T0_VALIDATION_(SCHEMA_MISMATCH|PAYLOAD_TOO_LARGE)$/);
    expect(memory.records()).toEqual([]);
  });

  it("[FED-03] a replica's own writes come after all that it has let in, and not after what it rejected", () => {
    const memory = replica();
    memory.applyFederatedChanges([change({ version: 41 }), change({ origin: "stranger", version: 900 })]);
    const written = memory.write("fact", "mine", "facts");
    expect(written).toEqual({ origin: "local", key: "fact", value: "mine", version: 42, capability: "facts" });
    expect(memory.get("fact")).toEqual(written);
    expect(codeOf(() => memory.write("fact", "x", "secrets"))).toBe("T5_AUTHZ_FORBIDDEN");
    memory.applyFederatedChanges([change({ version: Number.MAX_SAFE_INTEGER })]);
    expect(codeOf(() => memory.write("fact", "x", "facts"))).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("[FED-02] what was given or is handed out cannot be changed afterwards", () => {
    const memory = replica();
    const value = { list: [1] };
    memory.applyFederatedChanges([change({ value })]);
    value.list.push(2);
    expect(memory.get("fact")?.value).toEqual({ list: [1] });
    expect(() => ((memory.get("fact") as { value: unknown }).value = 1)).toThrow(TypeError);
  });
});

/**
 * Few keys, origins and versions, so that ties and repeats are common; also ties in which one origin contradicts
 * itself.
 */
const changes = fc.array(
  fc.record({
    origin: fc.constantFrom("a", "b", "c"),
    key: fc.constantFrom("k1", "__proto__"),
    value: fc.constantFrom<FederatedChange["value"]>(1, "x", { n: 1 }),
    version: fc.integer({ min: 0, max: 2 }),
    capability: fc.constantFrom("facts", "other"),
  }),
  { maxLength: 5 },
);

function permutations<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length < 2) return [items];
  return items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]));
}

describe("order", () => {
  const open = () => replica({ replicas: { a: ["facts", "other"], b: ["facts"], c: ["*"] } });

  it("[FED-05][A-27] all orders of the same changes, one by one or at once, end in the same records", () => {
    fc.assert(
      fc.property(changes, (set) => {
        const ends = permutations([...set, ...set.slice(0, 1)].slice(0, 5)).flatMap((order) => {
          const [singly, atOnce] = [open(), open()];
          for (const one of order) singly.applyFederatedChanges([one]);
          atOnce.applyFederatedChanges(order);
          return [singly.records(), atOnce.records()];
        });
        for (const end of ends) expect(end).toEqual(ends[0]);
      }),
      { numRuns: runs(150) },
    );
  });

  it("[FED-05] three replicas that wrote and exchanged in random batches, with repeats, hold the same records", () => {
    const names = ["r1", "r2", "r3"];
    const act = fc.record({
      by: fc.nat(2),
      key: fc.constantFrom("k1", "k2", "k3"),
      value: fc.integer(),
      sends: fc.array(fc.record({ to: fc.nat(2), from: fc.nat(20), count: fc.nat(4) }), { maxLength: 3 }),
    });
    fc.assert(
      fc.property(fc.array(act, { maxLength: 12 }), fc.infiniteStream(fc.nat(1000)), (acts, draws) => {
        const replicas = Object.fromEntries(names.map((name) => [name, ["facts"]]));
        const memories = names.map((name) => createFederatedMemory({ replica: name, replicas }));
        const sent: FederatedChange[] = [];
        for (const { by, key, value, sends } of acts) {
          sent.push((memories[by] as FederatedMemory).write(key, value, "facts"));
          for (const { to, from, count } of sends) memories[to]?.applyFederatedChanges(sent.slice(from, from + count));
        }
        for (const memory of memories) {
          const order = sent.map((one) => [draws.next().value as number, one] as const).sort(([a], [b]) => a - b);
          for (let i = 0; i < order.length; ) {
            const size = 1 + ((draws.next().value as number) % 4);
            memory.applyFederatedChanges(order.slice(i, i + size).map(([, one]) => one));
            i += size;
          }
        }
        const [first, ...others] = memories.map((memory) => memory.records());
        for (const other of others) expect(other).toEqual(first);
      }),
      { numRuns: runs(200) },
    );
  });
});
