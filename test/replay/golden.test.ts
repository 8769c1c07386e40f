/** Golden ledgers: what earlier releases wrote replays for ever, and a changed byte is found. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type KernelOptions, replayRows, type TurnRow, verifyChain } from "../../src/index.ts";
import { refusalOf } from "../gates/story.ts";

const root = join(import.meta.dirname, "golden");
const releases = readdirSync(root);

const goldens = releases.flatMap((release) =>
  readdirSync(join(root, release))
    .filter((file) => file.endsWith(".jsonl"))
    .map((file) => ({ release, file })),
);

const rowsOf = ({ release, file }: (typeof goldens)[number]): readonly TurnRow[] =>
  readFileSync(join(root, release, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as TurnRow);

const rulesOf = async (release: string): Promise<KernelOptions> =>
  ((await import(join(root, release, "rules.ts"))) as { readonly rules: KernelOptions }).rules;

describe("the golden ledgers", () => {
  it("are there for each kind of story", () => {
    expect(goldens.length).toBeGreaterThanOrEqual(11);
  });

  it.each(goldens)("$release $file replays to the same events, ids, hashes and chain head", async (golden) => {
    const rows = rowsOf(golden);
    const replay = await replayRows(rows, await rulesOf(golden.release));
    expect(replay.difference).toEqual(null);
    expect(replay.head).toBe(rows.at(-1)?.hash);
    expect(replay.events).toBe(rows.at(-1)?.last_sequence);
  });

  it("with one byte altered are found out by verify, which names the entry, and are not replayed", async () => {
    const [golden] = goldens;
    const rows = rowsOf(golden!);
    for (const [i, row] of rows.entries()) {
      const altered = rows.map((one, at) => (at === i ? { ...row, body: row.body!.replace(/[A-Z]/, "x") } : one));
      expect(verifyChain(altered)).toMatchObject({ sequence: row.first_sequence, reason: "body" });
      expect((await refusalOf(replayRows(altered, await rulesOf(golden!.release)))).code).toBe("T0_LEDGER_CORRUPT");
    }
  });
});
