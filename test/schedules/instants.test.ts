/** The instants of cron expressions over changes of the clocks, leap years and the ends of months; jitter. */
import { describe, expect, it } from "vitest";
import { jitterOf, loadInstants } from "../../src/protocol/schedule-instants.ts";

const instantsOf = await loadInstants();

/** Returns so many instants of an expression after a time, as ISO minutes in UTC. */
function instantsAfter(cron: string, zone: string, from: string, count: number): readonly string[] {
  const instants = instantsOf({ cron, time_zone: zone, every_ms: null });
  const found: number[] = [];
  for (let at: number | null = Date.parse(from); found.length < count; found.push(at)) {
    at = instants.after(at);
    if (at === null) break;
  }
  return found.map((at) => new Date(at).toISOString().slice(5, 16));
}

describe("a fixed time of day", () => {
  it.each([
    ["Europe/Berlin", "30 2 * * *", "2026-03-27T12:00:00Z", ["03-28T01:30", "03-29T01:00", "03-30T00:30"]],
    ["America/New_York", "30 2 * * *", "2026-03-06T12:00:00Z", ["03-07T07:30", "03-08T07:00", "03-09T06:30"]],
    ["Australia/Lord_Howe", "15 2 * * *", "2026-10-02T00:00:00Z", ["10-02T15:45", "10-03T15:30", "10-04T15:15"]],
  ])("that spring leaves out in %s is the first valid time after the gap on that day", (zone, cron, from, expected) => {
    expect(instantsAfter(cron, zone, from, 3)).toEqual(expected);
  });

  it.each([
    ["Europe/Berlin", "30 2 * * *", "2026-10-23T12:00:00Z", ["10-24T00:30", "10-25T00:30", "10-26T01:30"]],
    ["Europe/Berlin", "30 2,14 * * *", "2026-10-24T13:00:00Z", ["10-25T00:30", "10-25T13:30", "10-26T01:30"]],
    ["America/New_York", "30 1 * * *", "2026-10-30T12:00:00Z", ["10-31T05:30", "11-01T05:30", "11-02T06:30"]],
  ])(
    "that occurs twice in autumn in %s is an instant once, at the first of the two (%s)",
    (zone, cron, from, expected) => {
      expect(instantsAfter(cron, zone, from, 3)).toEqual(expected);
    },
  );
});

describe("an expression with a step", () => {
  it("goes on through both hours in autumn, and has no instants in the hour that spring leaves out", () => {
    expect(instantsAfter("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", 5)).toEqual([
      ...["10-25T00:30", "10-25T01:00", "10-25T01:30", "10-25T02:00", "10-25T02:30"],
    ]);
    expect(instantsAfter("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", 2)).toEqual([
      "03-30T00:00",
      "03-30T00:30",
    ]);
  });
});

describe("calendars", () => {
  it("29 February is an instant in leap years only, and the last day of a month is found in each", () => {
    const leap = instantsOf({ cron: "0 0 29 2 *", time_zone: "UTC", every_ms: null });
    expect(new Date(leap.after(Date.UTC(2026, 0, 1)) ?? 0).toISOString()).toBe("2028-02-29T00:00:00.000Z");
    expect(instantsAfter("0 0 L * *", "UTC", "2028-01-15T00:00:00Z", 3)).toEqual([
      "01-31T00:00",
      "02-29T00:00",
      "03-31T00:00",
    ]);
  });

  it("six fields begin with seconds, and names of days and months are known", () => {
    const seconds = instantsOf({ cron: "15 0 9 * JAN MON-FRI", time_zone: "UTC", every_ms: null });
    expect(new Date(seconds.after(Date.UTC(2026, 0, 2, 10)) ?? 0).toISOString()).toBe("2026-01-05T09:00:15.000Z");
  });

  it("the instant at or before a time is that time where it is one", () => {
    const daily = instantsOf({ cron: "0 9 * * *", time_zone: "UTC", every_ms: null });
    const nine = Date.UTC(2026, 0, 2, 9);
    expect([daily.until(nine), daily.until(nine - 1)]).toEqual([nine, nine - 86_400_000]);
    const every = instantsOf({ cron: null, time_zone: "UTC", every_ms: 60_000 });
    expect([every.until(nine), every.until(nine + 1), every.after(nine)]).toEqual([nine, nine, nine + 60_000]);
  });
});

describe("jitter", () => {
  it("is the same for a name and an instant, differs between names and instants, and never exceeds its limit", () => {
    const at = Date.UTC(2026, 0, 1);
    expect(jitterOf("a", at, 60_000)).toBe(jitterOf("a", at, 60_000));
    const drawn = [1, 2, 3, 4, 5].flatMap((n) => ["a", "b"].map((name) => jitterOf(name, at + n * 1_000, 60_000)));
    expect(new Set(drawn).size).toBeGreaterThan(5);
    expect(drawn.every((ms) => ms >= 0 && ms <= 60_000)).toBe(true);
    expect(jitterOf("a", at, 0)).toBe(0);
  });
});
