/** The row codec and its inverse: whatever is packed is spelled out again to the byte, and nothing wrong is ever told. */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { verifyChain } from "../../src/contract/chain.ts";
import { type EventType, eventTypes } from "../../src/contract/event.ts";
import { forms } from "../../src/contract/event-forms.ts";
import { unpackMembers } from "../../src/contract/foretold.ts";
import { EventPlace } from "../../src/contract/form.ts";
import { createIdSource, idAfter } from "../../src/contract/ids.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { eventText } from "../../src/contract/row-codec.ts";
import { StreamContext } from "../../src/contract/stream-context.ts";
import { openTurns, RowPacking, type TurnEvent, type TurnRow } from "../../src/contract/turn.ts";
import { mayTouchGates, touchesGates } from "../../src/engine/follow/gate-updates.ts";
import { anyStory, playStory } from "../invariants/stories.ts";
import { putTogether, takeApart } from "../ledgers/reseal.ts";
import { runs } from "../properties/property-runs.ts";

const envelope = {
  stream: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  tenant_id: "acme",
  workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  thread_id: null,
  intent_id: "int_01KDVDNA0047C4FEZDQK8YZG0P",
  plan_id: "pln_01KDVDNA0047C4FEZDQK8YZG0Q",
  correlation_id: "cor_01KDVDNA0047C4FEZDQK8YZG0R",
  actor: { type: "system", id: "kernel" },
} as const;

/** What is done to the payload that was foretold, or put in its place. */
const change = fc.oneof(
  fc.record({ do: fc.constant("keep" as const) }),
  fc.record({ do: fc.constant("set" as const), at: fc.nat(20), value: fc.jsonValue() }),
  fc.record({ do: fc.constant("drop" as const), at: fc.nat(20) }),
  fc.record({ do: fc.constant("add" as const), key: fc.string(), value: fc.jsonValue() }),
  fc.record({ do: fc.constant("turn" as const) }),
  fc.record({ do: fc.constant("whole" as const), value: fc.dictionary(fc.string(), fc.jsonValue()) }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

const steps = ["s1", "s2", "s3", null] as const;
const frequent: readonly EventType[] = [
  "INTENT_RECEIVED",
  "PLAN_CREATED",
  "WORKFLOW_STARTED",
  "STEP_QUEUED",
  "STEP_STARTED",
  "POLICY_DECIDED",
  "ACTION_STARTED",
  "ACTION_SUCCEEDED",
  "STEP_SUCCEEDED",
  "GATE_OPENED",
  "GATE_REVISED",
  "USER_APPROVED",
  "WORKFLOW_WAITING",
  "WORKFLOW_RESUMED",
  "OUTCOME_DRAFTED",
  "OUTCOME_FINALIZED",
];

const told = fc.record({
  type: fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...frequent) }, fc.constantFrom(...eventTypes)),
  step: fc.constantFrom(...steps),
  changes: fc.array(change, { maxLength: 3 }),
  deep: fc.array(fc.tuple(fc.constantFrom("plan", "gate", "outcome", "intent", "by"), change), { maxLength: 2 }),
  id: fc.option(fc.constantFrom("evt_1", "evt_01KDVDNA0047C4FEZDQK8YZZZZ"), { freq: 8 }),
  plan: fc.option(fc.constantFrom("pln_01KDVDNA0047C4FEZDQK8YZG0Z"), { freq: 6 }),
  actor: fc.option(fc.constantFrom({ type: "user", id: 7 }, { id: 7, type: "user" }), { freq: 6 }),
  endsRow: fc.boolean(),
});
type Told = typeof told extends fc.Arbitrary<infer T> ? T : never;

function alter(record: JsonObject, one: Change): JsonObject {
  const entries = Object.entries(record);
  switch (one.do) {
    case "set":
      return Object.fromEntries(entries.map(([k, v], i) => [k, i === one.at ? one.value : v]));
    case "drop":
      return Object.fromEntries(entries.filter((_, i) => i !== one.at));
    case "add":
      return Object.fromEntries([...entries, [one.key, one.value]]);
    case "turn":
      return Object.fromEntries(entries.toReversed());
    case "whole":
      return one.value;
    default:
      return record;
  }
}

/** The payload that readers would foretell, changed here and there; where it says a plan, one with steps. */
function payloadOf(context: StreamContext, { type, step, changes, deep }: Told, now: number): JsonObject {
  const form = forms[type];
  let payload = form === undefined ? {} : unpackMembers({}, form, new EventPlace(context, now).moveTo(type, step));
  if (type === "PLAN_CREATED") payload = { ...payload, plan: { ...(payload["plan"] as object), steps: planned } };
  if (type === "ACTION_SUCCEEDED") payload = { ...payload, result: { n: 1, text: "made" } };
  for (const [name, one] of deep)
    if (typeof payload[name] === "object" && payload[name] !== null)
      payload = { ...payload, [name]: alter(payload[name] as JsonObject, one) };
  for (const one of changes) payload = alter(payload, one);
  return JSON.parse(JSON.stringify(payload)) as JsonObject;
}

const planned = [
  { step_id: "s1", name: "One", operator: "Test.Act", operator_version: "1.0", params: {}, depends_on: [] },
  { step_id: "s2", name: "Two", operator: "Test.Act", operator_version: "1.0", params: {}, depends_on: ["s1"] },
];

/** Rows of these events, and the events as they were given. */
function write(list: readonly Told[]): { readonly rows: readonly TurnRow[]; readonly texts: readonly string[] } {
  const context = new StreamContext();
  const ids = createIdSource({ now: () => 1, random: () => 0.5 });
  const rows: TurnRow[] = [];
  const texts: string[] = [];
  let [now, id] = [1_000, ids.next("event")];
  let packing = new RowPacking(context, envelope, now);
  for (const one of list) {
    const { type, step, plan, actor } = one;
    const payload = payloadOf(context, one, now);
    id = one.id ?? idAfter(id) ?? ids.next("event");
    const more = { ...(plan === null ? {} : { plan }), ...(actor === null ? {} : { actor }) };
    const event: TurnEvent = { id, type, step, ...more, payload };
    texts.push(eventText(event));
    packing.add(event);
    if (!one.endsRow) continue;
    rows.push(packing.seal());
    now += 17;
    packing = new RowPacking(context, envelope, now);
  }
  if (packing.count > 0) rows.push(packing.seal());
  return { rows, texts };
}

const golden = new URL("../replay/golden/", import.meta.url);
const goldens = readdirSync(golden).flatMap((release) =>
  readdirSync(new URL(`${release}/`, golden))
    .filter((name) => name.endsWith(".jsonl"))
    .map((name) => {
      const lines = readFileSync(new URL(`${release}/${name}`, golden), "utf8")
        .trim()
        .split("\n");
      return { name: `${release} ${name}`, rows: lines.map((line) => JSON.parse(line) as TurnRow) };
    }),
);

describe("[LED-02] a row and the events that it says", () => {
  it("any events, foretold or not, come back from their rows to the byte, and the same rows from them", () => {
    fc.assert(
      fc.property(fc.array(told, { minLength: 1, maxLength: 30 }), (list) => {
        const { rows, texts } = write(list);
        expect(verifyChain(rows)).toBeNull();
        const apart = takeApart(rows);
        expect(apart.flatMap(({ events }) => events).map(eventText)).toEqual(texts);
        expect(putTogether(apart)).toEqual(rows);
      }),
      { numRuns: runs(500) },
    );
  });

  it("any story's rows are spelled out and packed again to the same bytes", async () => {
    await fc.assert(
      fc.asyncProperty(anyStory(), async (story) => {
        await using play = await playStory(story);
        const rows = await Array.fromAsync(play.t.kernel.export(play.id));
        expect(putTogether(takeApart(rows))).toEqual(rows);
      }),
      { numRuns: runs(30) },
    );
  });

  it.each(goldens)("the golden ledger $name is spelled out and packed again to the same bytes", ({ rows }) => {
    expect(putTogether(takeApart(rows))).toEqual(rows);
  });

  it("what changes a gate is named in its row's body", () => {
    for (const { rows } of goldens)
      for (const [i, { events }] of takeApart(rows).entries())
        if (openTurns(rows).some((e) => touchesGates(e) && events.some(({ id }) => id === e.event_id)))
          expect(mayTouchGates(rows[i]?.body ?? null)).toBe(true);
  });

  it("an event's id is the next after the one before it in its row", () => {
    expect(idAfter("evt_01KDVDNA0047C4FEZDQK8YZ00Z")).toBe("evt_01KDVDNA0047C4FEZDQK8YZ010");
    const { rows } = goldens[0] as (typeof goldens)[number];
    for (const { events } of takeApart(rows))
      for (const [i, event] of events.entries()) if (i > 0) expect(event.id).toBe(idAfter(events[i - 1]?.id ?? ""));
  });
});

describe("[LED-02] a stream in which a body is missing", () => {
  it.each(goldens)("is not read, whichever row it is: $name", ({ rows }) => {
    for (const [i, row] of rows.entries())
      expect(() => openTurns(rows.with(i, { ...row, body: null }))).toThrow(
        `${row.stream} at sequence ${row.first_sequence} (missing)`,
      );
  });
});
