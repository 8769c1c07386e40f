/** Golden ledgers: what earlier releases wrote replays for ever, and a changed byte is found. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type KernelOptions, replayRows, verifyChain } from "../../src/index.ts";
import { refusalOf } from "../gates/story.ts";
import { goldenLedgers, goldenRoot, readRows } from "./golden-ledgers.ts";

const rulesOf = async (release: string): Promise<KernelOptions> =>
  ((await import(join(goldenRoot, release, "rules.ts"))) as { readonly rules: KernelOptions }).rules;

describe("the golden ledgers", () => {
  it("are there for each kind of story", () => {
    expect(goldenLedgers.length).toBeGreaterThanOrEqual(11);
  });

  it.each(goldenLedgers)("$release $file replays to the same events, ids, hashes and chain head", async (golden) => {
    const rows = readRows(golden);
    const replay = await replayRows(rows, await rulesOf(golden.release));
    expect(replay.difference).toEqual(null);
    expect(replay.head).toBe(rows.at(-1)?.hash);
    expect(replay.events).toBe(rows.at(-1)?.last_sequence);
  });

  it("with one byte altered are found out by verify, which names the entry, and are not replayed", async () => {
    const [golden] = goldenLedgers;
    const rows = readRows(golden!);
    for (const [i, row] of rows.entries()) {
      const altered = rows.map((one, at) => (at === i ? { ...row, body: row.body!.replace(/[A-Z]/, "x") } : one));
      expect(verifyChain(altered)).toMatchObject({ sequence: row.first_sequence, reason: "body" });
      expect((await refusalOf(replayRows(altered, await rulesOf(golden!.release)))).code).toBe("T0_LEDGER_CORRUPT");
    }
  });
});
