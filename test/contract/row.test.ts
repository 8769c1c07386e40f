/** A row and its events: any events come back from their row to the byte, and a row is read without any other row. */
import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chainHash, genesisHash, verifyChain } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import { eventTypes } from "../../src/contract/events.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import {
  completeEvent,
  endOf,
  eventText,
  openTurn,
  openTurns,
  RowBuilder,
  streamStart,
  type TurnEvent,
  type TurnRow,
} from "../../src/contract/turn.ts";
import { mayTouchGates, touchesGates } from "../../src/engine/follow/gate-updates.ts";
import { anyStory, playStory } from "../invariants/stories.ts";
import { putTogether, takeApart } from "../ledgers/reseal.ts";
import { runs } from "../properties/property-runs.ts";

const shared = {
  stream: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  tenant_id: "acme",
  workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
  thread_id: null,
  intent_id: "int_01KDVDNA0047C4FEZDQK8YZG0P",
  plan_id: "pln_01KDVDNA0047C4FEZDQK8YZG0Q",
  correlation_id: "cor_01KDVDNA0047C4FEZDQK8YZG0R",
  actor: { type: "system", id: "kernel" },
} as const;

const anyEvent = fc.record({
  id: fc.string({ minLength: 1 }),
  type: fc.constantFrom(...eventTypes),
  step: fc.constantFrom("s1", "s2", null),
  plan: fc.constantFrom(undefined, null, "pln_01KDVDNA0047C4FEZDQK8YZG0Z"),
  actor: fc.constantFrom(undefined, { type: "user", id: 7 }, { id: 7, type: "user" }),
  payload: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.parse(JSON.stringify(value)) as JsonObject),
});

const anyRows = fc.array(fc.array(anyEvent, { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 });

function write(list: readonly (readonly TurnEvent[])[]): readonly TurnRow[] {
  let end = streamStart;
  return list.map((events, i) => {
    const builder = new RowBuilder(shared, 1_000 + 17 * i);
    for (const event of events) builder.add(event);
    const row = builder.seal(end);
    end = endOf(row);
    return row;
  });
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

describe("[LED-02] a row and its events", () => {
  it("any events come back from their rows to the byte, and the same rows from them", () => {
    fc.assert(
      fc.property(anyRows, (list) => {
        const rows = write(list);
        expect(verifyChain(rows)).toBeNull();
        const apart = takeApart(rows);
        expect(apart.flatMap(({ events }) => events).map(eventText)).toEqual(
          list.flat().map(completeEvent).map(eventText),
        );
        expect(putTogether(apart)).toEqual(rows);
      }),
      { numRuns: runs(500) },
    );
  });

  it("a row is read without any other row of its stream", () => {
    fc.assert(
      fc.property(anyRows, (list) => {
        const rows = write(list);
        expect(rows.flatMap(openTurn)).toEqual(openTurns(rows));
      }),
      { numRuns: runs(100) },
    );
  });

  it("the rows of any story are taken apart and sealed again to the same bytes", async () => {
    await fc.assert(
      fc.asyncProperty(anyStory(), async (story) => {
        await using play = await playStory(story);
        const rows = await Array.fromAsync(play.t.kernel.export(play.id));
        expect(putTogether(takeApart(rows))).toEqual(rows);
      }),
      { numRuns: runs(30) },
    );
  });

  it.each(goldens)("the golden ledger $name is taken apart and sealed again to the same bytes", ({ rows }) => {
    expect(putTogether(takeApart(rows))).toEqual(rows);
  });

  it("the body of a row names each event that changes a gate", () => {
    for (const { rows } of goldens)
      for (const [i, { events }] of takeApart(rows).entries())
        if (openTurns(rows).some((e) => touchesGates(e) && events.some(({ id }) => id === e.event_id)))
          expect(mayTouchGates(rows[i]?.body ?? null)).toBe(true);
  });

  it("a member that has its default is left out, and read back with it; a member of any other value is not", () => {
    const gate = { gate_id: "gate-s1", roles: null, ladder: [], votes: [{ n: 1 }] };
    const event: TurnEvent = { id: "evt_1", type: "GATE_OPENED", step: "s1", payload: { gate } };
    expect(JSON.parse(eventText(event)).payload).toEqual({ gate: { gate_id: "gate-s1", votes: [{ n: 1 }] } });
    const [row] = write([[event]]);
    expect(openTurn(row as TurnRow)[0]?.payload["gate"]).toMatchObject({ ...gate, status: "open", edited: false });
  });

  it("anybody reads the types, steps, payloads and instants of its events with a JSON parser alone", () => {
    const [row] = write([[{ id: "evt_1", type: "STEP_QUEUED", step: "s1", payload: { name: "One" } }]]);
    const envelope = JSON.parse((row as TurnRow).envelope);
    const { workflow_id: _same, thread_id: _null, actor: _system, ...named } = shared;
    expect(envelope).toEqual({ v: 3, ...named, now: "1970-01-01T00:00:01.000Z", first: 1, count: 1 });
    const [event] = JSON.parse((row as TurnRow).body ?? "").events;
    expect(event).toEqual({ event_id: "evt_1", type: "STEP_QUEUED", step_id: "s1", payload: { name: "One" } });
  });
});

describe("[LED-02] a row that is not as it was sealed", () => {
  it.each(goldens)("is not read without its body, whichever row it is: $name", ({ rows }) => {
    for (const [i, row] of rows.entries())
      expect(() => openTurns(rows.with(i, { ...row, body: null }))).toThrow(
        `${row.stream} at sequence ${row.first_sequence} (missing)`,
      );
  });

  it.each([
    ["holds fewer events than its envelope counts", { events: [] }],
    ["has a body without events", {}],
    ["holds an event without a payload", { events: [{ event_id: "evt_1", type: "STEP_QUEUED" }] }],
    ["holds an event without an id", { events: [{ type: "STEP_QUEUED", payload: {} }] }],
  ])("is damaged where it %s", (_name, body) => {
    const [row] = write([[{ id: "evt_1", type: "STEP_QUEUED", step: null, payload: {} }]]);
    const text = JSON.stringify(body);
    const { envelope } = row as TurnRow;
    const body_hash = sha256(text);
    const hash = chainHash(genesisHash, envelope, body_hash);
    expect(() => openTurn({ ...(row as TurnRow), body: text, body_hash, hash })).toThrow("sequence 1 (format)");
  });
});
