/** A forged approval in a chain that was computed again is found by each way of verifying a record. */
import { describe, expect, it } from "vitest";
import { openTurns, type TurnRow } from "../../src/contract/turn.ts";
import { verifyEvidence } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { runHere } from "../cli/command-line.ts";
import { keepAs } from "../cli/workplace.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { approverKeys, composeForged, forgeries, keysFile, openOn, signIn } from "./forged-approvals.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";
import { putTogether, takeApart } from "./reseal.ts";

const freshPath = freshPaths();

/** Writes the rows of one workflow into its ledger file. */
function forge(path: string, rows: readonly TurnRow[]): void {
  withDatabase(path, (db) => {
    for (const event of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER IF EXISTS events_keep_on_${event}`);
    for (const row of rows)
      db.prepare(
        `UPDATE events SET envelope = ?, body = ?, body_hash = ?, prev_hash = ?, hash = ?
           WHERE stream = ? AND first_sequence = ?`,
      ).run(row.envelope, row.body, row.body_hash, row.prev_hash, row.hash, row.stream, row.first_sequence);
  });
}

interface Found {
  readonly broken: readonly { readonly stream: string; readonly reason: string }[];
}

/** What each way of verifying finds wrong with the only workflow of a ledger file. */
async function verdictsOf(path: string, rows: readonly TurnRow[]) {
  using folder = makeTempFolder();
  const id = rows[0]?.stream ?? "";
  const keys = keepAs(folder, "keys.json", keysFile);
  const lines = composeForged(rows);
  const file = keepAs(folder, "export.jsonl", `${lines.join("\n")}\n`);
  const { kernel } = await openOn(sqliteLedger({ path }));
  const found: Record<string, Found> = {
    "kernel.verify": await kernel.verify(undefined, { keys: approverKeys }),
    "kernel.verify of the workflow": await kernel.verify(id, { keys: approverKeys }),
    "kernel.verify without keys": await kernel.verify(),
    verifyEvidence: await verifyEvidence(lines),
  };
  await kernel.stop();
  const commands = { verify: ["--db", path], "verify WF": [id, "--db", path], "verify --import": ["--import", file] };
  for (const [name, args] of Object.entries(commands))
    found[name] = JSON.parse((await runHere("verify", ...args, "--json", "--keys", keys)).out) as Found;
  const reasonOf = ({ broken }: Found) => broken.find(({ stream }) => stream === id)?.reason;
  return Object.entries(found).map(([name, verdict]) => [name, reasonOf(verdict)]);
}

const ways = [
  "kernel.verify",
  "kernel.verify of the workflow",
  "kernel.verify without keys",
  "verifyEvidence",
  "verify",
  "verify WF",
  "verify --import",
];

describe("a signed approval that nobody touched", () => {
  it("[GAT-02] is sound to each way of verifying it", async () => {
    const path = freshPath();
    const rows = await signIn(sqliteLedger({ path }));
    expect(await verdictsOf(path, rows)).toEqual(ways.map((way) => [way, undefined]));
  });
});

/** The rows up to the event of this type, which is the last of its row. */
function endWith(rows: readonly TurnRow[], last: string): readonly TurnRow[] {
  const whole = takeApart(rows);
  const at = whole.findIndex(({ events }) => events.some(({ type }) => type === last));
  return putTogether(
    whole.slice(0, at + 1).map((row, i) => {
      const events = row.events.slice(0, i < at ? undefined : row.events.findIndex(({ type }) => type === last) + 1);
      return { envelope: { ...row.envelope, count: events.length }, events };
    }),
  );
}

describe("verifyEvidence", () => {
  it("[GAT-02] with keys accepts no signature of another key, and names the decision's line", async () => {
    const rows = await signIn(sqliteLedger({ path: freshPath() }));
    const at = takeApart(rows).findIndex(({ events }) => events.some(({ type }) => type === "USER_APPROVED"));
    // The decision lies within its row, and at the end of it.
    for (const kept of [rows, endWith(rows, "USER_APPROVED")]) {
      const lines = composeForged(kept);
      expect((await verifyEvidence(lines, { keys: approverKeys })).ok).toBe(true);
      const { sequence } = openTurns(kept).find(({ event_type }) => event_type === "USER_APPROVED") ?? {};
      expect((await verifyEvidence(lines, { keys: () => null })).broken).toEqual([
        { line: at + 1, stream: rows[0]?.stream, sequence, reason: "signature" },
      ]);
    }
  });

  it("refuses an option that it does not know", () => {
    expect(() => verifyEvidence([], { key: approverKeys } as never)).toThrow("key");
  });
});

describe("a forged approval in a chain that was computed again", () => {
  it.each(forgeries)("[GAT-02] is damage to each way of verifying it: %s", async (_what, change, reason) => {
    const path = freshPath();
    const rows = await signIn(sqliteLedger({ path }));
    const forged = change(rows);
    expect(forged).not.toEqual(rows);
    forge(path, forged);
    expect(await verdictsOf(path, forged)).toEqual(ways.map((way) => [way, reason]));
  });
});
