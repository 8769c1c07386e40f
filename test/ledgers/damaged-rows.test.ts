/**
 * A row that is not as it was sealed, or that holds what no kernel writes: every read of its workflow says so with a
 * code, and every other workflow goes on.
 */
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { chainHash } from "../../src/contract/chain.ts";
import { sha256 } from "../../src/contract/digest.ts";
import type { TurnEvent, TurnRow } from "../../src/contract/turn.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { expectCoded, openKernel, refusal, who } from "../bad-input/fixture.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";
import { reseal } from "./reseal.ts";

const freshPath = freshPaths();
const world = createWorld();
const asked = job(
  [step("s1", "Test.Look"), step("s2", "Test.Write", { depends_on: ["s1"], gate: { reason: "look first" } })],
  [work(world, "Test.Look", { effect: "read" }), work(world, "Test.Write")],
);
const open = (path: string, seed = 1): Promise<TestKernel> =>
  // Every turn has a row of its own, so that there is one between two.
  openKernel({ seed, ledger: sqliteLedger({ path }), capabilities: [asked], durability: "full" });

type Damage = (db: DatabaseSync, stream: string) => void;

/** What somebody does to the file behind the kernel's back. */
function harm(path: string, stream: string, damage: Damage): void {
  withDatabase(path, (db) => {
    for (const event of ["update", "delete", "replace"]) db.exec(`DROP TRIGGER IF EXISTS events_keep_on_${event}`);
    damage(db, stream);
  });
}

const set =
  (column: string, sql: string): Damage =>
  (db, stream) =>
    void db
      .prepare(
        `UPDATE events SET ${column} = ${sql} WHERE stream = ?1 AND first_sequence =
          (SELECT max(first_sequence) FROM events WHERE stream = ?1)`,
      )
      .run(stream);

const rewrite =
  (forgery: Parameters<typeof reseal>[1]): Damage =>
  (db, stream) => {
    const rows = db.prepare("SELECT * FROM events WHERE stream = ? ORDER BY first_sequence").all(stream);
    for (const row of reseal(rows as unknown as TurnRow[], forgery))
      db.prepare(
        `UPDATE events SET envelope = ?, body = ?, body_hash = ?, prev_hash = ?, hash = ?
           WHERE stream = ? AND first_sequence = ?`,
      ).run(row.envelope, row.body, row.body_hash, row.prev_hash, row.hash, row.stream, row.first_sequence);
  };

/** What a later release may write: under fitting hashes, with a word that this one does not know. */
const renew =
  (column: "envelope" | "body", from: string | RegExp, to: string): Damage =>
  (db, stream) => {
    const rows = db.prepare("SELECT * FROM events WHERE stream = ? ORDER BY first_sequence").all(stream);
    const last = rows.at(-1) as unknown as TurnRow;
    const { envelope, body } = { ...last, [column]: last[column]?.replace(from, to) } as TurnRow & { body: string };
    expect({ envelope, body }).not.toEqual({ envelope: last.envelope, body: last.body });
    const hash = chainHash(last.prev_hash, envelope, sha256(body));
    db.prepare("UPDATE events SET envelope = ?, body = ?, body_hash = ?, hash = ? WHERE hash = ?").run(
      envelope,
      body,
      sha256(body),
      hash,
      last.hash,
    );
  };

/** Writes a byte that is no UTF-8 where the hashes are those of U+FFFD, which a lenient decoder reads there. */
const writeNoUtf8: Damage = (db, stream) => {
  renew("body", '"payload":{', '"payload":{"x":"\ufffd",')(db, stream);
  const written = "CAST(replace(CAST(body AS BLOB), X'EFBFBD', X'FF') AS TEXT)";
  set("body", written)(db, stream);
};

const nestedDeeply = `"payload":{"x":${"[".repeat(100_000)}${"]".repeat(100_000)},`;

const noSteps = rewrite({
  event: (event: TurnEvent) => (event.type === "PLAN_CREATED" ? { ...event, payload: { plan: {} } } : event),
});

const damages: readonly (readonly [string, Damage])[] = [
  ["a row of a later format, under fitting hashes", renew("envelope", '"v":3', '"v":4')],
  ["an event of a later release, under fitting hashes", renew("body", "GATE_OPENED", "GATE_WIDENED")],
  ["a body that is missing", set("body", "NULL")],
  [
    "a body that is missing at the beginning",
    (db, stream) =>
      void db.prepare("UPDATE events SET body = NULL WHERE stream = ? AND first_sequence = 1").run(stream),
  ],
  ["all bodies missing", (db, stream) => void db.prepare("UPDATE events SET body = NULL WHERE stream = ?").run(stream)],
  ["an empty body", set("body", "''")],
  ["a body of null, with hashes that fit", renew("body", /^.*$/s, "null")],
  ["an envelope of null, with hashes that fit", renew("envelope", /^.*$/s, "null")],
  ["a body with a space, with hashes that fit", renew("body", ",", ", ")],
  ["a body with an escape, with hashes that fit", renew("body", "GATE_OPENED", "GATE_OPEN\\u0045D")],
  ["a body with a member twice, with hashes that fit", renew("body", '"reasons":', '"reasons":[],"reasons":')],
  ["an envelope with a member twice, with hashes that fit", renew("envelope", '"now":', '"now":1,"now":')],
  ["a body with a byte that is no UTF-8, with hashes that fit", writeNoUtf8],
  ["a body that is nested too deeply, with hashes that fit", renew("body", '"payload":{', nestedDeeply)],
  ["an instant without a time, with hashes that fit", renew("envelope", /"now":"[^"]*"/, '"now":"2026-01-01"')],
  ["a body that is no JSON", set("body", "'{['")],
  ["a body cut short", set("body", "substr(body, 1, length(body) / 2)")],
  ["a body with one word changed", set("body", "replace(body, 'GATE_OPENED', 'GATE_CLOSED')")],
  ["an envelope that is no JSON", set("envelope", "'nothing'")],
  ["an envelope of another instant", set("envelope", `replace(envelope, '"now":"20', '"now":"21')`)],
  [
    "an envelope of another tenant",
    (db, stream) =>
      void db
        .prepare(
          `UPDATE events SET envelope = replace(envelope, '"tenant_id":1', '"tenant_id":2')
             WHERE stream = ? AND first_sequence = 1`,
        )
        .run(stream),
  ],
  ["another hash", set("hash", "printf('%064d', 7)")],
  [
    "a row that is missing between two",
    (db, stream) => void db.prepare("DELETE FROM events WHERE stream = ? AND first_sequence = 2").run(stream),
  ],
  ["payloads of null under fitting hashes", rewrite({ event: (event) => ({ ...event, payload: null }) })],
  ["events of null under fitting hashes", rewrite({ event: () => null })],
  ["an instant that is none, under fitting hashes", rewrite({ envelope: () => ({ now: "soon" }) })],
  ["a plan without steps, under fitting hashes", noSteps],
];

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

const reads: Readonly<Record<string, (t: TestKernel, id: string) => Promise<unknown>>> = {
  workflow: (t, id) => t.kernel.workflow(id),
  gate: (t, id) => t.kernel.gate(id, "gate-s2"),
  events: (t, id) => drain(t.kernel.events(id, { live: false })),
  progress: (t, id) => drain(t.kernel.progress(id, { live: false })),
  "live events": (t, id) => drain(t.kernel.events(id)),
  "live progress": (t, id) => drain(t.kernel.progress(id)),
  outcomes: (t, id) => t.kernel.outcomes(id),
  actions: (t, id) => t.kernel.actions(id),
  trace: (t, id) => t.kernel.trace(id),
  explain: (t, id) => t.kernel.explain(id),
  audit: (t, id) => t.kernel.audit(id),
  evidence: (t, id) => drain(t.kernel.evidence(id)),
  export: (t, id) => drain(t.kernel.export(id)),
  replay: (t, id) => t.kernel.replay(id),
  "what if": (t, id) => drain(t.kernel.whatIf({ policies: [], workflow_id: id })),
  tokens: (t, id) => t.kernel.tokens.events(id),
  settled: (t, id) => t.kernel.settled(id),
  execute: (t, id) => t.kernel.execute(id),
  approve: (t, id) => t.approve(id, "gate-s2"),
  retry: (t, id) => t.kernel.retry(id, { ...who, mode: "resume_failed_steps" }),
  reject: (t, id) => t.kernel.decideGate(id, { ...who, gate_id: "gate-s2", decision: "reject" }),
  cancel: (t, id) => t.kernel.cancel(id, { ...who, reason: "enough" }),
};

/** Damage that lies in the contents alone is none for those who only pass rows on, or stop before it. */
const bytesAreSound = /under fitting hashes/;
const passesOn = new Set([
  "events",
  "live events",
  "export",
  "evidence",
  "audit",
  "tokens",
  "progress",
  "live progress",
]);

describe.each(damages)("%s", (what, damage) => {
  it("[LED-02] [ERR-01] a read of the workflow is refused with a ledger code, and another workflow runs", async () => {
    const path = freshPath();
    await using t = await open(path);
    const { workflow_id, state } = await t.run("Test.Job");
    expect(state).toBe("waiting_for_user");
    harm(path, workflow_id, damage);
    for (const [name, read] of Object.entries(reads)) {
      if (bytesAreSound.test(what) && passesOn.has(name)) continue;
      const error = await refusal(read(t, workflow_id)).catch((other: unknown) => {
        throw new Error(`${name}: ${String(other)}`);
      });
      expectCoded(error, /later/.test(what) ? "T0_LEDGER_FORMAT" : "T0_LEDGER_CORRUPT");
      expect(error.message, name).toContain(workflow_id);
    }
    // Lists read no log.
    expect(await t.kernel.workflows({ intent_type: "Test.Job" })).toMatchObject([{ workflow_id }]);
    expect((await t.run("Test.Neighbour")).state).toBe("completed");
  });

  it("[LED-02] a process that starts on it takes up the others, and verify names the stream", async () => {
    const path = freshPath();
    const first = await open(path);
    const { workflow_id } = await first.run("Test.Job");
    await first.kernel.stop();
    harm(path, workflow_id, (db, stream) => {
      damage(db, stream);
      db.prepare("UPDATE workflows SET state = 'running', owner = NULL, due_at = NULL WHERE workflow_id = ?").run(
        stream,
      );
    });
    await using t = await open(path, 2);
    expect(t.logged.some(({ detail }) => JSON.stringify(detail).includes(workflow_id))).toBe(true);
    expect((await t.run("Test.Neighbour")).state).toBe("completed");
    // What a later release wrote is left to a process of that release.
    const holders = withDatabase(path, (db) =>
      db.prepare("SELECT owner FROM workflows WHERE workflow_id = ?").get(workflow_id),
    );
    if (/later/.test(what)) expect(holders?.["owner"]).toBe(null);
    const { broken } = await t.kernel.verify();
    expect(broken.filter(({ stream, reason }) => stream === workflow_id && reason !== "index")).toHaveLength(1);
  });

  it("[LED-02] the feed of all workflows goes on with the others", async () => {
    const path = freshPath();
    await using t = await open(path);
    const { workflow_id } = await t.run("Test.Job");
    harm(path, workflow_id, damage);
    const { workflow_id: other } = await t.run("Test.Neighbour");
    const told = new Set<string>();
    for await (const item of t.kernel.feed({ after: 0, live: false }))
      if (item.type === "workflow") told.add(item.workflow_id);
    expect(told.has(other)).toBe(true);
  });
});

it("[LED-02] verify says that no state follows from events whose payloads no kernel writes", async () => {
  const path = freshPath();
  await using t = await open(path);
  const { workflow_id } = await t.run("Test.Job");
  harm(path, workflow_id, noSteps);
  const { broken } = await t.kernel.verify();
  expect(broken.filter(({ reason }) => reason !== "index")).toMatchObject([{ stream: workflow_id, reason: "fold" }]);
});
