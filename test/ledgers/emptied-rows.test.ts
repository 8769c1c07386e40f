/**
 * A row whose body was taken away is damage to everybody who reads its workflow: nothing of it runs, and nothing is
 * paid twice.
 */
import { describe, expect, it } from "vitest";
import { backupLedger, type TurnRow, verifyEvidence } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { composeEvidence } from "../../src/tiers/t6-metacognition/compose-evidence.ts";
import { asShown, decide, publishing, refusalOf } from "../gates/story.ts";
import { freshPaths, rejection, withDatabase } from "./ledger-files.ts";

const freshPath = freshPaths();

/** A ledger file with one completed workflow whose note was published once. */
async function published(): Promise<{ path: string; id: string; rows: readonly TurnRow[] }> {
  const path = freshPath();
  const { capability, publish } = publishing();
  const t = await createTestKernel({ capabilities: [capability], ledger: sqliteLedger({ path }) });
  const { workflow_id: id } = await t.run("Story.Note.Publish");
  await decide(t, id, { gate_id: "gate-publish", decision: "approve", payload: await asShown(t, id) });
  expect((await t.rest(id)).state).toBe("completed");
  expect(publish.calls).toHaveLength(1);
  const rows = await Array.fromAsync(t.kernel.export(id));
  await t.kernel.stop();
  return { path, id, rows };
}

/** Takes away the bodies of these rows, and says beside them that the workflow waits. */
function empty(path: string, rows: readonly TurnRow[]): void {
  withDatabase(path, (db) => {
    db.exec("DROP TRIGGER IF EXISTS events_keep_on_update");
    const take = db.prepare("UPDATE events SET body = NULL WHERE stream = ? AND first_sequence = ?");
    for (const { stream, first_sequence } of rows) take.run(stream, first_sequence);
    db.exec("UPDATE workflows SET state = 'waiting_for_user', owner = NULL");
  });
}

const told = /USER_APPROVED|ACTION_SUCCEEDED/;
const emptied: readonly (readonly [string, (rows: readonly TurnRow[]) => readonly TurnRow[]])[] = [
  ["the approval and what the call gave", (rows) => rows.filter(({ body }) => told.test(body ?? ""))],
  ["the first row", (rows) => rows.slice(0, 1)],
  ["the last row", (rows) => rows.slice(-1)],
  ["every row", (rows) => rows],
];

describe.each(emptied)("a workflow of which somebody emptied %s", (_what, choose) => {
  it("[LED-02] is named by verify at its first emptied row, refused to every command, and runs nothing", async () => {
    const { path, id, rows } = await published();
    const lost = choose(rows);
    expect(lost.length).toBeGreaterThan(0);
    empty(path, lost);
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ seed: 2, capabilities: [capability], ledger: sqliteLedger({ path }) });
    const place = { stream: id, sequence: lost[0]?.first_sequence, reason: "missing" };
    expect(await t.kernel.verify(id)).toMatchObject({ ok: false, broken: [place] });
    expect(await t.kernel.verify()).toMatchObject({ ok: false, broken: [place] });
    const approval = { gate_id: "gate-publish", decision: "approve" } as const;
    for (const command of [
      () => decide(t, id, approval),
      () => t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" }),
      () => t.kernel.execute(id),
      () => t.kernel.workflow(id),
      () => Array.fromAsync(t.kernel.whatIf({ policies: [] })),
    ])
      expect([String(command), (await refusalOf(command())).code]).toEqual([String(command), "T0_LEDGER_CORRUPT"]);
    expect(publish.calls).toEqual([]);
    const findings = await Array.fromAsync(t.kernel.doctor());
    expect(findings).toMatchObject([{ workflow_id: id, obstacles: [{ what: "ledger", code: "T0_LEDGER_CORRUPT" }] }]);
    // What a kernel of before would show of it is not told: the feed passes it over, and a backup refuses the whole
    // ledger.
    const items = await Array.fromAsync(t.kernel.feed({ after: 0, live: false }));
    expect(items.filter((item) => item.type === "workflow" && item.state === "completed")).toEqual([]);
    const copied = backupLedger(sqliteLedger({ path }), sqliteLedger({ path: freshPath() }));
    expect((await rejection(copied)).code).toBe("T0_LEDGER_CORRUPT");
  });

  it("[RLH-05] is named by verifyEvidence, whatever its closing line says", async () => {
    const { id, rows } = await published();
    const lost = new Set(choose(rows));
    const whole = composeEvidence(rows, []);
    const lines = [
      ...rows.map((row) => JSON.stringify(lost.has(row) ? { ...row, body: null } : row)),
      ...whole.slice(rows.length),
    ];
    const line = rows.findIndex((row) => lost.has(row)) + 1;
    const sequence = rows[line - 1]?.first_sequence;
    expect((await verifyEvidence(lines)).broken).toEqual([{ line, stream: id, sequence, reason: "missing" }]);
  });
});
