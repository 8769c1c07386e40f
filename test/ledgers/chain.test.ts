/** The chain in a ledger file: any change behind the store's back shows, a body that is missing too. */
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { genesisHash, verifyChain } from "../../src/contract/chain.ts";
import { sealTurn, type TurnEnvelope, type TurnRow } from "../../src/contract/turn.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { firstTurn, nextTurn, testStream } from "../../src/testing/ledger-turns.ts";
import { runs } from "../properties/property-runs.ts";
import { freshPaths } from "./ledger-files.ts";

const freshPath = freshPaths();
const stream = testStream(1).id;
const texts = ["stream", "envelope", "body", "body_hash", "prev_hash", "hash"] as const;
const numbers = ["first_sequence", "last_sequence"] as const;

describe("the hash chain of a ledger file", () => {
  const path = freshPath();
  const store = sqliteLedger({ path });
  let attacker: DatabaseSync;

  beforeAll(async () => {
    await store.open();
    let at = firstTurn(testStream(1), {}, { events: 3, text: "ünïcode" });
    await store.append([at.entry]);
    for (let i = 0; i < 6; i += 1) {
      at = nextTurn(at.after, { events: (i % 3) + 1, text: `${i}` });
      await store.append([at.entry]);
    }
    attacker = new DatabaseSync(path);
    attacker.exec("PRAGMA synchronous = OFF; DROP TRIGGER events_keep_on_update; DROP TRIGGER events_keep_on_delete");
  });

  afterAll(async () => {
    attacker.close();
    await store.close();
  });

  const set = (column: string, value: string | number | null, position: number) =>
    attacker.prepare(`UPDATE OR IGNORE events SET ${column} = ? WHERE position = ?`).run(value, position);

  /** The verdict on what the store then reads, with the change undone. */
  async function verdictAfter(position: number, column: keyof TurnRow, value: string | number | null) {
    const original = (await store.tail(position - 1, 1))[0]!.row;
    set(column, value, position);
    const rows = (await store.tail(0, 100)).map(({ row }) => row);
    set(column, original[column], position);
    return verifyChain(rows);
  }

  it("verifies as it was written", async () => {
    expect(verifyChain(await store.read(stream))).toBe(null);
  });

  it("breaks at one altered character of any column of any row", async () => {
    const change = fc.record({
      position: fc.integer({ min: 1, max: 7 }),
      column: fc.constantFrom(...texts),
      place: fc.nat(),
      by: fc.integer({ min: 1, max: 90 }),
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ position, column, place, by }) => {
        const text = (await store.tail(position - 1, 1))[0]!.row[column]!;
        const at = place % text.length;
        const other = String.fromCharCode(32 + ((text.charCodeAt(at) - 32 + by) % 91));
        expect(await verdictAfter(position, column, text.slice(0, at) + other + text.slice(at + 1))).not.toBe(null);
      }),
      { numRuns: runs(300) },
    );
  });

  it("breaks at an altered sequence, a missing row and two rows exchanged", async () => {
    const rows = await store.read(stream);
    for (const [i, row] of rows.entries())
      for (const column of numbers)
        for (const by of [-1, 1, 100])
          expect(verifyChain(rows.with(i, { ...row, [column]: row[column] + by }))).not.toBe(null);
    for (let i = 0; i < rows.length - 1; i += 1) {
      expect(verifyChain(rows.toSpliced(i, 1))).not.toBe(null);
      expect(verifyChain(rows.toSpliced(i, 2, rows[i + 1]!, rows[i]!))).not.toBe(null);
    }
  });

  it("is broken at a row whose body is missing", async () => {
    for (let position = 1; position <= 7; position += 1)
      expect(await verdictAfter(position, "body", null)).toMatchObject({ stream, reason: "missing" });
  });
});

describe("sealing", () => {
  it("any events make a row that verifies after a round trip through SQLite", async () => {
    const store = sqliteLedger();
    await store.open();
    let n = 0;
    const payload = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue());
    await fc.assert(
      fc.asyncProperty(fc.array(payload, { minLength: 1, maxLength: 4 }), async (payloads) => {
        n += 1;
        const { row: sample } = nextTurn(testStream(n)).entry;
        const envelope = { ...(JSON.parse(sample.envelope) as TurnEnvelope), count: payloads.length };
        const events = payloads.map(
          (payload, i) => ({ id: `evt_${i}`, type: "STEP_STARTED", step: null, payload }) as const,
        );
        const row = sealTurn(envelope, events, genesisHash);
        await store.append([{ tenant_id: "acme", row, now: 0 }]);
        expect(await store.read(row.stream)).toEqual([row]);
        expect(verifyChain(await store.read(row.stream))).toBe(null);
      }),
    );
    await store.close();
  });
});
