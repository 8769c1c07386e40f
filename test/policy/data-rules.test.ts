/** Rules written as data: what each condition says, and that a compiled rule says just that. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { runs } from "../properties/property-runs.ts";
import { type Asking, askSet, holds, oneRule } from "./questions.ts";

const payload = (value: unknown): Asking => ({ subject: { payload: value as never } });

describe("conditions", () => {
  it.each([
    ["a tag of some", { tags: { any: ["a", "b"] } }, { subject: { tags: ["b"] } }, { subject: { tags: ["c"] } }],
    [
      "all of some tags",
      { tags: { all: ["a", "b"] } },
      { subject: { tags: ["b", "a"] } },
      { subject: { tags: ["a"] } },
    ],
    ["none of some tags", { tags: { none: ["a"] } }, { subject: { tags: ["b"] } }, { subject: { tags: ["b", "a"] } }],
    [
      "an effect",
      { effects: ["read", "final_write"] },
      { subject: { effect: "read" } },
      { subject: { effect: "none" } },
    ],
    [
      "an operator",
      { operators: ["Mail.Send"] },
      { subject: { operator: "Mail.Send" } },
      { subject: { operator: "Mail.SendAll" } },
    ],
    [
      "operators by their beginning",
      { operators: ["Mail.*"] },
      { subject: { operator: "Mail.Send" } },
      { subject: { operator: "Mailer" } },
    ],
    ["an intent", { intents: ["Notes.Draft"] }, { intent: "Notes.Draft" }, { intent: "Notes.Send" }],
    ["intents by their beginning", { intents: ["Notes.*"] }, { intent: "Notes.Send" }, { intent: "Other" }],
    ["a role of some", { roles: { any: ["clerk"] } }, { role: "clerk" }, { role: "user" }],
    ["any role but some", { roles: { none: ["clerk"] } }, { role: "user" }, { role: "clerk" }],
    ["a risk", { risk: ["medium", "high"] }, { subject: { risk_level: "high" } }, { subject: { risk_level: "low" } }],
    ["a tenant", { tenants: ["acme", 7] }, { tenant: 7 }, { tenant: "7" }],
    ["a principal", { principals: ["eve"] }, { principal: "eve" }, { principal: 1 }],
    ["an amount above", { amounts: [{ path: "sum", above: 10 }] }, payload({ sum: 10.01 }), payload({ sum: 10 })],
    ["an amount of at least", { amounts: [{ path: "sum", at_least: 10 }] }, payload({ sum: 10 }), payload({ sum: 9 })],
    ["an amount below", { amounts: [{ path: "sum", below: 10 }] }, payload({ sum: 9 }), payload({ sum: 10 })],
    ["an amount of at most", { amounts: [{ path: "sum", at_most: 10 }] }, payload({ sum: 10 }), payload({ sum: 11 })],
    [
      "an amount deep inside",
      { amounts: [{ path: "order.lines.1.sum", above: 1 }] },
      payload({ order: { lines: [{}, { sum: 2 }] } }),
      payload({ order: { lines: [{}, { sum: 1 }] } }),
    ],
    [
      "an amount of any item",
      { amounts: [{ path: "lines.*.sum", above: 5 }] },
      payload({ lines: [{ sum: 1 }, { sum: 6 }] }),
      payload({ lines: [{ sum: 1 }, { sum: 5 }] }),
    ],
    [
      "a value, by its beginning",
      { values: [{ path: "order.to", any: ["b", "an*"] }] },
      payload({ order: { to: "ann" } }),
      payload({ order: { to: "bo" } }),
    ],
    [
      "any value but some, of every item",
      { values: [{ path: "lines.*.sku", none: ["x*", 7, true] }] },
      payload({ lines: [{ sku: "a" }, { sku: 8 }] }),
      payload({ lines: [{ sku: "a" }, { sku: 7 }] }),
    ],
  ] as const)("[PLC-01] %s", (_name, when, fits: Asking, not: Asking) => {
    expect([holds(when, fits), holds(when, not)]).toEqual([true, false]);
  });

  it("must all hold", () => {
    const when = { effects: ["final_write"], roles: { any: ["clerk"] }, amounts: [{ path: "sum", above: 10 }] };
    const all: Asking = { role: "clerk", subject: { effect: "final_write", payload: { sum: 11 } } };
    expect(holds(when, all)).toBe(true);
    expect(holds(when, { ...all, role: "user" })).toBe(false);
    expect(holds(when, { ...all, subject: { ...all.subject, effect: "read" } })).toBe(false);
    expect(holds(when, { ...all, subject: { ...all.subject, payload: { sum: 10 } } })).toBe(false);
    expect(holds({}, all)).toBe(true);
  });

  it.each([
    ["no such field", {}],
    ["a text", { sum: "11" }],
    ["nothing", { sum: null }],
    ["a payload that is no record", "11"],
    ["an empty list", { sum: [] }],
  ])("an amount that is %s holds where the rule restricts, and does not where it allows", (_name, value) => {
    const when = { amounts: [{ path: "sum", above: 10 }] };
    for (const restricting of [
      { decision: "DENY" },
      { decision: "REQUIRE_APPROVAL" },
      { decision: "REDACT", redactions: ["sum"] },
    ])
      expect(holds(when, payload(value), restricting)).toBe(true);
    expect(holds(when, payload(value), { decision: "ALLOW" })).toBe(false);
  });

  it("what the subject does not say at all counts against letting through", () => {
    const silent = { subject: { effect: undefined, operator: undefined, risk_level: undefined } as object };
    for (const when of [{ effects: ["read"] }, { operators: ["A"] }, { risk: ["high"] }]) {
      expect(holds(when, silent)).toBe(true);
      expect(holds(when, silent, { decision: "ALLOW" })).toBe(false);
    }
  });
});

describe("times", () => {
  const at = (now: string): Asking => ({ now });

  it("run over midnight: from the first minute on, up to the second", () => {
    const night = { times: { between: ["22:00", "06:00"] } };
    const of = (time: string): boolean => holds(night, at(`2026-03-03T${time}Z`));
    expect(
      ["21:59:59.999", "22:00:00", "23:59:59", "00:00:00", "05:59:59.999", "06:00:00", "12:00:00"].map(of),
    ).toEqual([false, true, true, true, true, false, false]);
  });

  it("lie within a day where the first is the earlier one", () => {
    const noon = { times: { between: ["11:30", "13:00"] } };
    const of = (time: string): boolean => holds(noon, at(`2026-03-03T${time}Z`));
    expect(["11:29:59", "11:30:00", "12:59:59", "13:00:00"].map(of)).toEqual([false, true, true, false]);
  });

  it("are those of the zone, summer and winter", () => {
    const morning = { times: { between: ["08:00", "09:00"], zone: "Europe/Vienna" } };
    expect(holds(morning, at("2026-01-15T07:30:00Z"))).toBe(true);
    expect(holds(morning, at("2026-07-15T06:30:00Z"))).toBe(true);
    expect(holds(morning, at("2026-07-15T07:30:00Z"))).toBe(false);
  });

  it("name days of the zone, the day of the instant itself", () => {
    const weekend = { times: { days: ["sat", "sun"], zone: "Pacific/Auckland" } };
    // Friday noon in London is Saturday in Auckland.
    expect(holds(weekend, at("2026-11-20T12:00:00Z"))).toBe(true);
    expect(holds({ times: { days: ["sat", "sun"] } }, at("2026-11-20T12:00:00Z"))).toBe(false);
    const night = { times: { days: ["sat"], between: ["22:00", "06:00"] } };
    expect(
      ["2026-11-20T23:00:00Z", "2026-11-21T01:00:00Z", "2026-11-21T23:00:00Z", "2026-11-22T01:00:00Z"].map((now) =>
        holds(night, at(now)),
      ),
    ).toEqual([false, true, true, false]);
  });

  it("of an instant that cannot be read deny", () => {
    const decision = askSet(oneRule({ when: { times: { days: ["sat"] } }, decision: "ALLOW" }), at("yesterday"));
    expect(decision).toMatchObject({ decision: "DENY", policies: ["the rule"] });
  });
});

describe("what a rule does", () => {
  it("[PLC-06] TRANSFORM sets and removes fields of the payload, and leaves the rest", () => {
    const transform = {
      set: { "order.limit": 5, note: "capped", "lines.*.paid": false },
      remove: ["order.secret", "gone"],
    };
    const set = oneRule({ decision: "TRANSFORM", transform });
    const given = { order: { limit: 9, secret: "x", kept: 1 }, lines: [{ a: 1 }, { paid: true }] };
    const decision = askSet(set, payload(given));
    expect(decision.transform).toEqual({
      order: { limit: 5, kept: 1 },
      lines: [{ a: 1, paid: false }, { paid: false }],
      note: "capped",
    });
    expect(given.order.secret).toBe("x");
  });

  it("[PLC-06] TRANSFORM changes one item of a list by its index, and no other", () => {
    const transform = { set: { "lines.1.paid": true }, remove: ["lines.0.secret", "tags.2"] };
    const set = oneRule({ decision: "TRANSFORM", transform });
    const lines = [{ secret: 1 }, { secret: 2 }, { secret: 3 }];
    expect(askSet(set, payload({ lines, tags: ["a", "b", "c"] })).transform).toEqual({
      lines: [{}, { secret: 2, paid: true }, { secret: 3 }],
      tags: ["a", "b"],
    });
    expect(askSet(set, payload({ lines: lines.slice(1, 2) })).decision).toBe("DENY");
  });

  it("[PLC-06] a field that has no place in the payload denies: nothing is set elsewhere", () => {
    const set = oneRule({ decision: "TRANSFORM", transform: { set: { "order.limit": 5 } } });
    expect(askSet(set, payload({}))).toMatchObject({ decision: "DENY", transform: null });
    expect(askSet(set, payload("text")).decision).toBe("DENY");
  });

  it("[PLC-03] short names stand for the long ones", () => {
    expect(askSet(oneRule({ decision: "REQUIRE_APPROVAL" })).decision).toBe("REQUIRE_HUMAN_APPROVAL");
    expect(
      askSet(oneRule({ decision: "REDACT", redactions: ["a"] }), { subject: { payload: { a: 1 } } }).decision,
    ).toBe("ALLOW_WITH_REDACTION");
  });

  it("[PLC-02] carries the reason, and the version of its set", () => {
    expect(askSet(oneRule({}))).toEqual({
      decision: "DENY",
      reason: "because",
      transform: null,
      redactions: [],
      policies: ["the rule"],
      policy_version: "test-1",
      decided_by: "the rule",
    });
  });

  it("stays what it was when the data it came from is changed", () => {
    const rule = { name: "r", stages: ["action"], when: { tags: { any: ["a"] } }, decision: "DENY", reason: "no" };
    const set = oneRule(rule);
    rule.when.tags.any.push("b");
    expect(askSet(set, { subject: { tags: ["b"] } }).decision).toBe("ALLOW");
  });
});

describe("a compiled rule", () => {
  const words = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1, maxLength: 3 });
  const given = fc.record({
    tags: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d")),
    effect: fc.constantFrom("none", "read", "final_write"),
    risk_level: fc.constantFrom("low", "medium", "high"),
    sum: fc.oneof(fc.integer({ min: -5, max: 15 }), fc.constant("ten"), fc.constant(undefined)),
    role: fc.constantFrom("user", "clerk"),
    minute: fc.integer({ min: 0, max: 1439 }),
  });
  const time = fc.integer({ min: 0, max: 1439 });
  const wanted = fc.record(
    {
      any: words,
      effects: fc.uniqueArray(fc.constantFrom("none", "read", "final_write"), { minLength: 1 }),
      risk: fc.uniqueArray(fc.constantFrom("low", "medium", "high"), { minLength: 1 }),
      above: fc.integer({ min: 0, max: 10 }),
      roles: fc.uniqueArray(fc.constantFrom("user", "clerk"), { minLength: 1 }),
      between: fc.tuple(time, time).filter(([from, to]) => from !== to),
    },
    { requiredKeys: [] },
  );
  const clock = (minute: number): string => new Date(minute * 60_000).toISOString().slice(11, 16);

  type Given = typeof given extends fc.Arbitrary<infer T> ? T : never;
  type Wanted = typeof wanted extends fc.Arbitrary<infer T> ? T : never;

  /** The same conditions, said directly. */
  function says(want: Wanted, { tags, effect, risk_level, sum, role, minute }: Given, restricts: boolean): boolean {
    const { any, effects, risk, above, roles, between } = want;
    const inside = ([from, to]: readonly [number, number]): boolean =>
      (minute - from + 1440) % 1440 < (to - from + 1440) % 1440;
    return (
      (any === undefined || tags.some((tag) => any.includes(tag))) &&
      (effects === undefined || effects.includes(effect)) &&
      (risk === undefined || risk.includes(risk_level)) &&
      (above === undefined || (typeof sum === "number" ? sum > above : restricts)) &&
      (roles === undefined || roles.includes(role)) &&
      (between === undefined || inside(between))
    );
  }

  it("[PLC-01] holds just where its conditions, said directly, do", () => {
    fc.assert(
      fc.property(wanted, given, fc.constantFrom("DENY", "ALLOW"), (want, have, decision) => {
        const when = {
          ...(want.any && { tags: { any: want.any } }),
          ...(want.effects && { effects: want.effects }),
          ...(want.risk && { risk: want.risk }),
          ...(want.above !== undefined && { amounts: [{ path: "sum", above: want.above }] }),
          ...(want.roles && { roles: { any: want.roles } }),
          ...(want.between && { times: { between: want.between.map(clock) } }),
        };
        const { tags, effect, risk_level, sum, role, minute } = have;
        const asking = {
          role,
          now: `2026-05-05T${clock(minute)}:30Z`,
          subject: { tags, effect, risk_level, payload: { ...(sum !== undefined && { sum }) } },
        };
        expect(holds(when, asking, { decision })).toBe(says(want, have, decision === "DENY"));
      }),
      { numRuns: runs(500) },
    );
  });
});
