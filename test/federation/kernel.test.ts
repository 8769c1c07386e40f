/** Federated memory in a kernel: authority, the tenant's ledger, the alert, and replicas that end alike. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RpcNotification } from "../../src/index.ts";
import { defaultRoles, type FederatedChange, KernelErrorException } from "../../src/index.ts";
import { testCaller } from "../../src/testing/test-kernel.ts";
import { runs } from "../properties/property-runs.ts";
import { change, openReplica, type Replica, recordsOf, tenantEvents } from "./replicas.ts";

const sync = ({ t }: Replica, ...changes: FederatedChange[]) => t.kernel.memory.sync({ tenant_id: 1, changes });

describe("memory.sync", () => {
  it("[FED-02] makes each merged change a memory record with its origin, in one row with the report", async () => {
    await using b = await openReplica("b");
    const report = await sync(b, change({ key: "x" }), change({ key: "y", value: { n: 2 } }));
    expect(report).toEqual({ applied: 2, stale: [], rejected: [] });
    const events = await tenantEvents(b);
    expect(events.map((e) => [e.event_type, e.row, e.sequence])).toEqual([
      ["MEMORY_WRITTEN", 0, 1],
      ["MEMORY_WRITTEN", 0, 2],
      ["MEMORY_SYNCED", 0, 3],
    ]);
    expect(events[1]?.payload).toMatchObject({
      record: { tenant_id: 1, key: "y", value: { n: 2 }, source: "a", origin: "a", version: 1, capability: "facts" },
    });
    expect(events[2]?.payload).toEqual({ report });
    expect(await b.ledger.memory({ tenant_id: 1, thread_id: null, keys: ["x", "y"], limit: 5 })).toHaveLength(2);
    expect(await b.t.kernel.verify()).toMatchObject({ ok: true, checked: 1 });
  });

  it("[FED-03] versions come from what the ledger holds, also after a restart", async () => {
    await using b = await openReplica("b");
    await sync(b, change({ version: 5 }));
    await b.t.kernel.stop();
    await using again = await openReplica("b", { ledger: b.ledger });
    expect(await sync(again, change({ version: 4 }), change({ version: 5 }))).toMatchObject({
      applied: 0,
      stale: ["fact", "fact"],
    });
    expect(await sync(again, change({ version: 6 }))).toMatchObject({ applied: 1 });
  });

  it("[FED-04] three rejections have three reasons, leave memory as it was, and are in the ledger", async () => {
    const policy = async ({ key }: FederatedChange) => key !== "forbidden";
    await using b = await openReplica("b", { federation: { replica: "b", replicas: { a: ["facts"] }, policy } });
    const report = await sync(
      b,
      change({ key: "k1", origin: "stranger" }),
      change({ key: "k2", capability: "secrets" }),
      change({ key: "forbidden" }),
    );
    expect(report.rejected.map((r) => r.reason)).toEqual([
      "replica stranger is not registered",
      "replica a lacks the capability secrets",
      "forbidden by policy",
    ]);
    expect(await recordsOf(b)).toEqual([]);
    expect((await tenantEvents(b)).map((e) => [e.event_type, e.payload])).toEqual([["MEMORY_SYNCED", { report }]]);
  });

  it("[FED-04] a policy that throws or never answers forbids", async () => {
    const policy = ({ key }: FederatedChange): Promise<boolean> => {
      if (key === "throws") throw new Error("broken");
      return new Promise(() => undefined);
    };
    await using b = await openReplica("b", { federation: { replica: "b", replicas: { a: ["facts"] }, policy } });
    const asked = sync(b, change({ key: "throws" }), change({ key: "silent" }));
    await b.t.clock.settle();
    await b.t.clock.advanceToNext();
    const { applied, rejected } = await asked;
    expect(applied).toBe(0);
    expect(rejected.map((r) => r.key)).toEqual(["throws", "silent"]);
    for (const { reason } of rejected) expect(reason).toContain("forbidden by policy: it failed");
  });

  it("[FED-04] a policy that never answers is waited for once, however many changes there are", async () => {
    const federation = { replica: "b", replicas: { a: ["facts"] }, policy: () => new Promise<never>(() => undefined) };
    await using b = await openReplica("b", { federation, limits: { policyTimeoutMs: 1000 } });
    const asked = sync(b, ...Array.from({ length: 50 }, (_, i) => change({ key: `k${i}` })));
    let told = 0;
    void asked.then(({ rejected }) => {
      told = rejected.length;
    });
    await b.t.clock.settle();
    await b.t.clock.advance(1000);
    await b.t.clock.settle();
    expect(told).toBe(50);
  });

  it.each([
    { replica: "", replicas: {} },
    { replica: "b" },
    { replica: "b", replicas: { a: "facts" } },
    { replica: "b", replicas: {}, policy: true },
  ])("[FED-04] a kernel does not open with %j for federation", async (federation) => {
    const opening = openReplica("b", { federation: federation as never });
    await expect(opening).rejects.toMatchObject({ error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } });
  });

  it("[FED-04] without federation no replica is registered", async () => {
    await using b = await openReplica("b", { federation: undefined as never });
    expect((await sync(b, change())).rejected).toEqual([{ key: "fact", reason: "replica a is not registered" }]);
  });

  it("[FED-04] a caller needs the scope memory:sync, and a tenant of their own", async () => {
    const roles = { ...defaultRoles, mirror: { scopes: ["memory:sync"] } };
    await using b = await openReplica("b", { roles });
    const mirror = { tenant_id: 1, principal: { type: "service", id: "m", role: "mirror" } };
    const asks = [
      [testCaller, 1, "T5_AUTHZ_FORBIDDEN"],
      [mirror, 2, "T5_IDENTITY_VIOLATION"],
    ] as const;
    for (const [caller, tenant_id, code] of asks) {
      const asked = b.t.kernel.memory.sync({ tenant_id, changes: [change()] }, caller);
      await expect(asked).rejects.toMatchObject({ error: { code } });
      await expect(b.t.kernel.memory.changes({ tenant_id }, caller)).rejects.toMatchObject({ error: { code } });
    }
    expect((await b.t.kernel.verify()).checked).toBe(0);
    expect(await b.t.kernel.memory.sync({ tenant_id: 1, changes: [change()] }, mirror)).toMatchObject({ applied: 1 });
    expect((await tenantEvents(b))[0]?.actor).toEqual({ type: "service", id: "m" });
    expect(await recordsOf(b, 2)).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["no changes", {}],
    ["a version below zero", [{ ...change(), version: -1 }]],
    [
      "a value with a __proto__ key",
      JSON.parse('[{"origin":"a","key":"k","value":{"__proto__":1},"version":1,"capability":"facts"}]'),
    ],
    ["a value that is too large", [change({ value: "x".repeat(70_000) })]],
    ["too many changes", Array.from({ length: 1001 }, (_, i) => change({ key: `k${i}` }))],
  ])("[FED-02] %s are refused with a code, and nothing is written", async (_what, changes) => {
    await using b = await openReplica("b");
    const asked = b.t.kernel.memory.sync({ tenant_id: 1, changes: changes as never });
    const error = await asked.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KernelErrorException);
    expect((error as KernelErrorException).error.code).toMatch(/^T0_VALIDATION_/);
    expect((await b.t.kernel.verify()).checked).toBe(0);
  });
});

describe("alerts", () => {
  it("[FED-06] a report with stale or rejected entries is one Signal to T6, and reaches notify", async () => {
    const told: RpcNotification[] = [];
    await using b = await openReplica("b", { notify: (n) => void told.push(n) });
    await sync(b, change({ version: 2 }));
    expect(b.t.items.filter((item) => "to" in item && item.to === 6)).toEqual([]);
    const reason = "replica stranger is not registered";
    await sync(b, change({ key: "new" }), change(), change({ key: "k1", origin: "stranger" }));
    const alerts = b.t.items.flatMap((item) => ("to" in item && item.to === 6 ? [item.signal] : []));
    expect(alerts.map((signal) => signal.body["data"])).toEqual([
      {
        type: "federated_sync",
        tenant_id: 1,
        event_id: (await tenantEvents(b)).at(-1)?.event_id,
        stale: ["fact"],
        rejected: [{ key: "k1", reason }],
      },
    ]);
    await b.t.clock.settle();
    expect(told.map(({ method, params }) => [method, (params as { id: string }).id])).toEqual([
      ["kernel/signal/data", alerts[0]?.id],
    ]);
  });
});

describe("alerts of one kind", () => {
  it("[FED-06] stale entries alone are told as well", async () => {
    await using b = await openReplica("b");
    await sync(b, change());
    await sync(b, change());
    const told = b.t.items.flatMap((item) => ("to" in item && item.to === 6 ? [item.signal.body["data"]] : []));
    expect(told).toMatchObject([{ stale: ["fact"], rejected: [] }]);
  });
});

describe("replicas", () => {
  it("[FED-03] a writer who was faster makes a sync decide again on what then stands", async () => {
    await using other = await openReplica("b");
    let faster: (() => Promise<unknown>) | null = () => sync(other, change({ version: 9, value: "faster" }));
    const ledger = {
      ...other.ledger,
      open: async () => undefined,
      close: async () => undefined,
      async memory(query: Parameters<typeof other.ledger.memory>[0]) {
        const read = await other.ledger.memory(query);
        const write = faster;
        faster = null;
        await write?.();
        return read;
      },
    };
    await using b = await openReplica("b", { ledger });
    expect(await sync(b, change({ version: 5, value: "slower" }))).toEqual({
      applied: 0,
      stale: ["fact"],
      rejected: [],
    });
    expect(await recordsOf(other)).toEqual([change({ version: 9, value: "faster" })]);
  });

  it("[FED-05] a host's write is the next version of its key and is sent; a plain one is not replicated", async () => {
    await using b = await openReplica("b");
    await sync(b, change({ version: 7 }));
    const record = { tenant_id: 1, key: "fact", type: "note", value: "mine", source: "host", confidence: 1 };
    await b.t.kernel.memory.write(record);
    await b.t.kernel.memory.write({ ...record, key: "plain" });
    expect(await recordsOf(b)).toEqual([change({ origin: "b", value: "mine", version: 8 })]);
    expect(await sync(b, change({ version: 8, value: "late" }))).toMatchObject({ stale: ["fact"] });
  });

  it("[FED-05] plain records, however many and new, do not hide those that are replicated", async () => {
    await using b = await openReplica("b");
    const record = { tenant_id: 1, type: "note", value: "mine", source: "host", confidence: 1 };
    await sync(b, change());
    for (let i = 0; i < 9; i += 1) await b.t.kernel.memory.write({ ...record, key: `plain ${i}` });
    expect(await b.t.kernel.memory.changes({ tenant_id: 1, limit: 2 })).toEqual([change()]);
  });

  it.each([
    ["larger than a change may be", "x".repeat(70_000), "T0_VALIDATION_PAYLOAD_TOO_LARGE"],
    ["that another replica could not keep", 2 ** 60, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["that is no JSON", () => 1, "T0_VALIDATION_SCHEMA_MISMATCH"],
  ])(
    "[FED-02] a record to replicate with a value %s is refused: no batch that holds it could be sent",
    async (_what, value, code) => {
      await using b = await openReplica("b");
      const record = { tenant_id: 1, key: "fact", type: "note", source: "host", confidence: 1, capability: "facts" };
      await expect(b.t.kernel.memory.write({ ...record, value: value as never })).rejects.toMatchObject({
        error: { code },
      });
      expect(await tenantEvents(b)).toEqual([]);
    },
  );

  it("[FED-05] two kernels on one ledger that are told different changes at once lose none", async () => {
    await using a = await openReplica("a");
    await using b = await openReplica("b", { ledger: a.ledger });
    const told = await Promise.all([
      ...[1, 3, 5].map((version) => sync(a, change({ version, value: version }))),
      ...[2, 4, 6].map((version) => sync(b, change({ version, value: version }), change({ key: `k${version}` }))),
    ]);
    expect(await recordsOf(b)).toEqual([
      change({ version: 6, value: 6 }),
      ...[2, 4, 6].map((n) => change({ key: `k${n}` })),
    ]);
    const merged = told.reduce((sum, { applied }) => sum + applied, 0);
    const events = await tenantEvents(a);
    expect(events.filter((e) => e.event_type === "MEMORY_WRITTEN")).toHaveLength(merged);
    expect(events.filter((e) => e.event_type === "MEMORY_SYNCED")).toHaveLength(6);
    expect((await a.t.kernel.verify()).ok).toBe(true);
  });

  it("[FED-05] many writers of one tenant at once take turns, and none is refused", async () => {
    await using b = await openReplica("b");
    const record = { tenant_id: 1, type: "note", value: 1, source: "host", confidence: 1, capability: "facts" };
    await Promise.all(
      Array.from({ length: 80 }, (_, i) =>
        i % 2 === 0 ? b.t.kernel.memory.write({ ...record, key: "fact" }) : sync(b, change({ key: `k${i}` })),
      ),
    );
    expect((await recordsOf(b)).find(({ key }) => key === "fact")).toMatchObject({ origin: "b", version: 40 });
    expect(await b.t.kernel.verify()).toMatchObject({ ok: true, checked: 80 });
  });

  it("[FED-05] three kernels with the same changes in different orders and batches hold the same records", async () => {
    const one = fc.record({
      origin: fc.constantFrom("a", "b", "c"),
      key: fc.constantFrom("k1", "k2"),
      value: fc.constantFrom(1, 2),
      version: fc.nat(2),
      capability: fc.constant("facts"),
    });
    const story = fc.array(one, { minLength: 1, maxLength: 6 }).chain((changes) =>
      fc.tuple(
        fc.constant(changes),
        fc.array(
          fc.tuple(fc.shuffledSubarray(changes, { minLength: changes.length }), fc.integer({ min: 1, max: 6 })),
          {
            minLength: 3,
            maxLength: 3,
          },
        ),
      ),
    );
    await fc.assert(
      fc.asyncProperty(story, async ([, ways]) => {
        const ends: (readonly FederatedChange[])[] = [];
        for (const [i, [order, size]] of ways.entries()) {
          await using replica = await openReplica(["a", "b", "c"][i] as string);
          for (let at = 0; at < order.length; at += size) await sync(replica, ...order.slice(at, at + size));
          await sync(replica, ...order.slice(0, 1));
          ends.push(await recordsOf(replica));
        }
        expect(ends[1]).toEqual(ends[0]);
        expect(ends[2]).toEqual(ends[0]);
      }),
      { numRuns: runs(25) },
    );
  });
});
