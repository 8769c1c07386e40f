/** The indexes beside the log: verify makes them again from the rows and names each that says otherwise. */
import type { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { renderVerdict } from "../../src/faces/cli/verify.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { gateColumns } from "../../src/ledger/tables/columns.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { openKernel } from "../bad-input/fixture.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";

const freshPath = freshPaths();
/** The columns of the index of workflows, without the workflow's id. */
const workflowColumns = [
  "tenant_id, thread_id, principal_id, intent_id, intent_type, correlation_id, state, created_at, updated_at, due_at",
  "owner, epoch, principal_type, title, percent, search",
].join(", ");
const completed = "SELECT workflow_id FROM workflows WHERE state = 'completed'";
const world = createWorld();
const asked = job(
  [
    step("s1", "Test.Look", { outcome: "Note" }),
    step("s2", "Test.Write", {
      depends_on: ["s1"],
      applies: "s1",
      gate: { reason: "look", expiry: { after_ms: 60_000, action: "deny" } },
    }),
  ],
  [work(world, "Test.Look", { effect: "read" }), work(world, "Test.Write")],
);

/** A ledger with something in every index: an open gate, an applied outcome, memory, a document, a submit key. */
async function fill(t: TestKernel): Promise<void> {
  const first = await t.run("Test.Job", {}, { thread_id: "t", idempotency_key: "once" });
  await t.approve(first.workflow_id, "gate-s2");
  await t.rest(first.workflow_id);
  await t.run("Test.Job");
  await t.kernel.memory.write({
    tenant_id: 1,
    thread_id: null,
    workflow_id: null,
    key: "k",
    type: "fact",
    value: 1,
    source: "host",
    confidence: 1,
  });
  await t.kernel.documents.record({
    tenant_id: 1,
    document_id: "d",
    workflow_id: null,
    title: "one",
    media_type: "text/plain",
    processed_content: { hash: "0".repeat(64), bytes: 1, summary: "" },
  } as never);
}

const forgeries: readonly (readonly [string, string, string, object])[] = [
  [
    "a workflow that is there no more",
    "workflows",
    "DELETE FROM workflows WHERE state = 'completed'",
    { wrong: "missing" },
  ],
  [
    "a workflow that never was",
    "workflows",
    `INSERT INTO workflows (workflow_id, ${workflowColumns})
       SELECT 'wf_other', ${workflowColumns} FROM workflows LIMIT 1`,
    { wrong: "extra" },
  ],
  [
    "a workflow of another tenant",
    "workflows",
    "UPDATE workflows SET tenant_id = '2' WHERE state = 'completed'",
    { wrong: "forged", columns: ["tenant_id"] },
  ],
  [
    "a workflow in another state",
    "workflows",
    "UPDATE workflows SET state = 'running' WHERE state = 'completed'",
    { wrong: "forged", columns: ["state"] },
  ],
  [
    "a workflow of another person",
    "workflows",
    "UPDATE workflows SET principal_id = '9' WHERE state = 'completed'",
    { wrong: "forged", columns: ["principal_id"] },
  ],
  [
    "another instant of the last change",
    "workflows",
    "UPDATE workflows SET updated_at = 1 WHERE state = 'completed'",
    { wrong: "forged", columns: ["updated_at"] },
  ],
  ["a gate that is gone", "gates", "DELETE FROM gates", { wrong: "missing" }],
  [
    "a gate that lets anybody decide",
    "gates",
    "UPDATE gates SET record = json_set(record, '$.roles', json('[\"user\"]'))",
    { wrong: "forged", columns: ["record"] },
  ],
  [
    "a gate that is listed as another",
    "gates",
    "UPDATE gates SET listed = json_set(record, '$.title', 'harmless')",
    { wrong: "forged", columns: ["listed"] },
  ],
  [
    "a workflow of another title",
    "workflows",
    "UPDATE workflows SET title = 'harmless' WHERE state = 'completed'",
    { wrong: "forged", columns: ["title"] },
  ],
  [
    "a gate that was decided",
    "gates",
    `INSERT INTO gates (${gateColumns.join(", ")})
       SELECT (${completed}), ${gateColumns.slice(1).join(", ")} FROM gates LIMIT 1`,
    { wrong: "extra" },
  ],
  [
    "a key of another action",
    "keys",
    "UPDATE keys SET action_id = 'act_other' WHERE key LIKE '%apply:%'",
    { wrong: "forged", columns: ["action_id"] },
  ],
  ["a key that is gone", "keys", "DELETE FROM keys WHERE key LIKE '%apply:%'", { wrong: "missing" }],
  [
    "a budget that was given back",
    "charges",
    "UPDATE charges SET invocations = 0",
    { wrong: "forged", columns: ["invocations"] },
  ],
  [
    "a memory that says something else",
    "memory",
    "UPDATE memory SET record = json_set(record, '$.value', 2) WHERE key = '\"k\"'",
    { wrong: "forged", columns: ["record"] },
  ],
  [
    "a document of another title",
    "documents",
    "UPDATE documents SET record = json_set(record, '$.title', 'two')",
    { wrong: "forged", columns: ["record"] },
  ],
  [
    "a counter that stands still",
    "counters",
    "UPDATE counters SET position = 1 WHERE thread_id = ''",
    { wrong: "forged", columns: ["position"] },
  ],
];

const open = (path: string): Promise<TestKernel> =>
  openKernel({
    ledger: sqliteLedger({ path }),
    capabilities: [asked],
    budgets: { limits: [{ scope: "tenant", invocations: 100 }] },
  });

describe("verify of the whole ledger", () => {
  it("[LED-02] finds indexes that were written with the log as the log tells them", async () => {
    await using t = await open(freshPath());
    await fill(t);
    expect(await t.kernel.verify()).toMatchObject({ ok: true, broken: [] });
  });

  it.each(forgeries)("[LED-02] names %s", async (_what, table, sql, found) => {
    const path = freshPath();
    await using t = await open(path);
    await fill(t);
    withDatabase(path, (db: DatabaseSync) => expect(Number(db.prepare(sql).run().changes), sql).toBeGreaterThan(0));
    const verdict = await t.kernel.verify();
    expect(verdict.ok).toBe(false);
    expect(verdict.broken.map(({ reason }) => reason)).toEqual(verdict.broken.map(() => "index"));
    expect(verdict.broken[0]?.index).toMatchObject({ table, ...found });
    const told = renderVerdict(verdict, { paint: (_colour: string, text: string) => text } as never);
    expect(told).toContain(table);
  });

  it("[LED-02] a stream marked as another tenant's beside its envelope is named", async () => {
    const path = freshPath();
    await using t = await open(path);
    await fill(t);
    withDatabase(path, (db) => {
      db.exec("DROP TRIGGER events_keep_on_update; UPDATE events SET tenant_id = '2' WHERE stream LIKE 'wf_%'");
    });
    const { broken } = await t.kernel.verify();
    expect(broken.map(({ index }) => index?.table)).toContain("events");
  });

  it("[LED-02] the end of a log that was cut off shows in its indexes", async () => {
    const path = freshPath();
    await using t = await open(path);
    await fill(t);
    withDatabase(path, (db) => {
      db.exec("DROP TRIGGER events_keep_on_delete");
      const last = `SELECT max(position) FROM events WHERE stream = (${completed})`;
      db.exec(`DELETE FROM events WHERE position = (${last})`);
    });
    const { broken } = await t.kernel.verify();
    expect(broken.some(({ index }) => index?.table === "workflows")).toBe(true);
  });
});
