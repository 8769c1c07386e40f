/**
 * The part of the ledger store suite on orders of people: what begins nothing (holds, halts, and the work that a lifted
 * halt frees), and grants.
 *
 * Never: is registered by itself; ledger-store-suite.ts does.
 */
import type { Grant } from "../contract/grant.ts";
import { heldByPause } from "../ports/ledger-store.ts";
import { judge, me, putWorkflow, type SuiteParts, ttlMs } from "./ledger-suite-parts.ts";
import { nextTurn, testStream } from "./ledger-turns.ts";

const idOf = (n: number): string => testStream(n).id;

export function addHoldTests({ test, expect }: SuiteParts): void {
  test("holds are those that were written last; lists name what is paused, and holders are counted", async (store) => {
    const whole = { step_id: null, by: heldByPause };
    const one = await putWorkflow(store, testStream(1));
    const two = await putWorkflow(store, testStream(2));
    const other = await putWorkflow(store, testStream(3, { tenant_id: "umbrella" }));
    const paused = async () => (await store.listHeads({ limit: 9 })).map((head) => head.paused);
    expect(await paused()).toEqual([false, false, false]);
    const first = nextTurn(one, { indexes: { holds: [whole] } });
    const steps = [
      { step_id: "a", by: "halt" },
      { step_id: "b", by: "halt" },
    ];
    const second = nextTurn(two, { indexes: { holds: steps } });
    await store.append([first.entry, second.entry, nextTurn(other, { indexes: { holds: [whole] } }).entry]);
    expect(await paused()).toEqual([true, false, true]);
    expect(await store.countHolds()).toEqual([
      { holder: "halt", workflows: 0, steps: 2 },
      { holder: "pause", workflows: 2, steps: 0 },
    ]);
    const third = nextTurn(second.after, { indexes: { holds: steps.slice(1) } });
    await store.append([third.entry, nextTurn(first.after, { indexes: { holds: [] } }).entry]);
    expect(await store.countHolds("acme")).toEqual([{ holder: "halt", workflows: 0, steps: 1 }]);
    expect(await paused()).toEqual([true, false, false]);
  });
}

export function addHaltTests({ test, expect }: SuiteParts): void {
  const tenants = { type: "user", id: "ann", role: "admin" };
  const haltOf = (halt_id: string) => ({
    halt_id,
    of: {},
    reason: "stop",
    by: tenants,
    at: "2026-01-01T00:00:00.000Z",
  });

  test("a row that was decided on other halts of its tenant is refused", async (store) => {
    const work = await putWorkflow(store, testStream(1));
    const other = await putWorkflow(store, testStream(2, { tenant_id: "umbrella" }));
    const orders = testStream(3);
    const set = nextTurn(orders, { indexes: { halts: [haltOf("one")] } });
    const [receipt] = await store.append([set.entry]);
    const at = receipt?.ok === true ? receipt.position : 0;
    const start = (halts_at: number) => nextTurn(work, { halts_at }).entry;
    expect(await judge(store, start(0))).toEqual("halted");
    expect((await store.append([nextTurn(other, { halts_at: 0 }).entry]))[0]?.ok).toEqual(true);
    const lift = nextTurn(set.after, { indexes: { lifted: ["one"] } });
    // Both in one batch: the second is judged on what the first left.
    const together = await store.append([lift.entry, start(at)]);
    expect(together.map((one) => one.ok || one.reason)).toEqual([true, "halted"]);
    const [changed] = await store.halts();
    expect([changed?.halt_id, changed?.tenant_id, changed?.is_lifted]).toEqual(["one", "acme", true]);
    expect((await store.append([start(changed?.position ?? 0)]))[0]?.ok).toEqual(true);
  });

  test("freed is what is held by a halt that does not hold, and by nobody alive", async (store) => {
    const orders = testStream(9);
    const set = nextTurn(orders, { indexes: { halts: [haltOf("one"), haltOf("two")] } });
    await store.append([set.entry]);
    const holds = { 1: ["one"], 2: ["two"], 3: ["one", "two"], 4: [heldByPause] } as const;
    for (const [n, by] of Object.entries(holds)) {
      const stream = await putWorkflow(store, testStream(Number(n)), { state: "waiting" });
      await store.append([
        nextTurn(stream, { indexes: { holds: by.map((one) => ({ step_id: null, by: one })) } }).entry,
      ]);
    }
    await store.heartbeat(me, 0, ttlMs);
    expect(await store.takeUp("freed", me, 10, 9)).toEqual([]);
    await store.append([nextTurn(set.after, { indexes: { lifted: ["one"] } }).entry]);
    expect((await store.takeUp("freed", me, 10, 9)).map(({ head }) => head.workflow_id)).toEqual([1, 3].map(idOf));
    expect(await store.takeUp("freed", me, 10, 9)).toEqual([]);
    expect((await store.listHeads({ limit: 9 })).map((head) => head.held_by.toSorted())).toEqual([
      [],
      ["one", "two"],
      ["two"],
      ["one"],
    ]);
  });
}

export function addGrantTests({ test, expect }: SuiteParts): void {
  const by = { type: "user", id: "ann", role: "admin" };
  const grantOf = (grant_id: string, operator: string, workflow_id: string, until?: string) =>
    ({ grant_id, operator, workflow_id, by, ...(until !== undefined && { until }) }) as unknown as Grant;
  const idsOf = (grants: readonly Grant[]) => grants.map(({ grant_id }) => grant_id);

  test("grants are found by operator, and by workflow or until an instant; revoked ones are gone", async (store) => {
    const until = "2026-02-01T00:00:00.000Z";
    const grants = [grantOf("g1", "Bank.Pay", idOf(1)), grantOf("g2", "Bank.Pay", idOf(1), until)];
    const others = [grantOf("g3", "Bank.Pay", idOf(2)), grantOf("g4", "Mail.Send", idOf(1))];
    const given = nextTurn(testStream(3), { indexes: { grants: [...grants, ...others] } });
    await store.append([given.entry]);
    const found = async () => idsOf(await store.grantsFor("acme", { operator: "Bank.Pay", workflow_id: idOf(1) }));
    expect([await found(), await store.grantingTenants()]).toEqual([["g1", "g2"], ["acme"]]);
    expect(await store.grant("acme", "g2")).toEqual(grants[1]);
    expect([await store.grant("umbrella", "g2"), await store.grants("umbrella", { limit: 9 })]).toEqual([null, []]);
    expect(idsOf(await store.grants("acme", { after: "g1", limit: 2 }))).toEqual(["g2", "g3"]);
    await store.append([nextTurn(given.after, { indexes: { revoked: ["g2"] } }).entry]);
    expect([await found(), await store.grant("acme", "g2")]).toEqual([["g1"], null]);
  });
}
