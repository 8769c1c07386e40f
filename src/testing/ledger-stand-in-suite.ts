/** The laws of a ledger store about stand-ins: who finds which orders, and when. */
import type { StandIn } from "../contract/stand-in.ts";
import type { SuiteParts } from "./ledger-suite-parts.ts";
import { nextTurn, testStream } from "./ledger-turns.ts";

export function addStandInTests({ test, expect }: SuiteParts): void {
  const person = (id: string | number) => ({ type: "user", id, role: "admin" });
  const instant = (ms: number): string => new Date(ms).toISOString();
  const orderOf = (
    stand_in_id: string,
    [by, to]: readonly [string | number, string | number],
    [from, until]: number[],
  ) =>
    ({
      stand_in_id,
      by: person(by),
      to: person(to),
      from: instant(from ?? 0),
      until: instant(until ?? 0),
    }) as unknown as StandIn;
  const idsOf = (orders: readonly StandIn[]) => orders.map(({ stand_in_id }) => stand_in_id);

  test("stand-ins are found by deputy, by person and by time; ended ones are gone", async (store) => {
    const times = { now: 1_000, later: 2_000, end: 3_000 };
    const standIns = [
      orderOf("s1", ["ann", "bo"], [times.now, times.end]),
      orderOf("s2", ["cy", "bo"], [times.later, times.end]),
      orderOf("s3", [7, "ann"], [times.now, times.later]),
    ];
    const named = nextTurn(testStream(3), { indexes: { standIns } });
    await store.append([named.entry]);
    const forBo = async (now: number) => idsOf(await store.standInsFor("acme", { type: "user", id: "bo" }, now));
    expect([await forBo(999), await forBo(1_000), await forBo(2_000), await forBo(3_000)]).toEqual([
      [],
      ["s1"],
      ["s1", "s2"],
      [],
    ]);
    expect(idsOf(await store.standInsFor("acme", { type: "service", id: "bo" }, 1_000))).toEqual([]);
    const page = async (more: object) => idsOf(await store.standIns("acme", { now: 1_000, limit: 9, ...more }));
    expect([await page({}), await page({ begunBy: 1_000 }), await page({ now: 2_000 })]).toEqual([
      ["s1", "s2", "s3"],
      ["s1", "s3"],
      ["s1", "s2"],
    ]);
    expect([await page({ person: person("ann") }), await page({ person: person("7") })]).toEqual([
      ["s1", "s3"],
      ["s3"],
    ]);
    expect([await page({ after: "s1", limit: 1 }), await store.standInTenants()]).toEqual([["s2"], ["acme"]]);
    expect([await store.standIn("umbrella", "s1"), await store.standIns("umbrella", { now: 0, limit: 9 })]).toEqual([
      null,
      [],
    ]);
    expect(await store.standIn("acme", "s1")).toEqual(standIns[0]);
    await store.append([nextTurn(named.after, { indexes: { endedStandIns: ["s1"] } }).entry]);
    expect([await forBo(2_000), await store.standIn("acme", "s1")]).toEqual([["s2"], null]);
  });
}
