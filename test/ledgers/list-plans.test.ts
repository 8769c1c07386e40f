/** Lists are read off indexes: what SQLite plans for each of them, and how many rows that is. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { createTables } from "../../src/ledger/sqlite/schema.ts";
import { gatePageQuery, seatQuery } from "../../src/ledger/tables/gate-queries.ts";
import type { Query } from "../../src/ledger/tables/list-queries.ts";
import { headPageQuery } from "../../src/ledger/tables/list-queries.ts";

const tenant_id = "acme";
const place = { created_at: 5, workflow_id: "wf_1" };
const gate = { workflow_id: "wf_1", gate_id: "gate-a" };
const page = { tenant_id, limit: 50 };

function planOf({ text, values }: Query): string {
  const db = new DatabaseSync(":memory:");
  try {
    createTables(db);
    const rows = db.prepare(`EXPLAIN QUERY PLAN ${text}`).all(...values);
    return rows.map(({ detail }) => String(detail)).join("\n");
  } finally {
    db.close();
  }
}

const newest = "workflows_newest";

describe("[LED-09] a list is read off an index in its own order", () => {
  it.each([
    ["all of a tenant", headPageQuery(page), newest],
    ["the next page", headPageQuery({ ...page, after: place }), newest],
    ["the page before", headPageQuery({ ...page, before: place }), newest],
    ["since and until", headPageQuery({ ...page, since: 1, until: 9 }), newest],
    ["a state", headPageQuery({ ...page, states: ["failed"] }), `${newest}_by_state`],
    ["a state, the next page", headPageQuery({ ...page, states: ["failed"], after: place }), `${newest}_by_state`],
    ["an intent type", headPageQuery({ ...page, intent_type: "a", after: place }), `${newest}_by_type`],
    ["a principal", headPageQuery({ ...page, principal_id: 1, since: 3 }), `${newest}_by_principal`],
    ["a thread", headPageQuery({ ...page, thread_id: "t" }), `${newest}_by_thread`],
    ["a thread of a principal", headPageQuery({ ...page, thread_id: "t", principal_id: 1 }), `${newest}_by_thread`],
    ["a thread, the page before", headPageQuery({ ...page, thread_id: "t", before: place }), `${newest}_by_thread`],
  ])("workflows: %s", (_name, query, index) => {
    const plan = planOf(query);
    expect(plan).toMatch(new RegExp(`SEARCH w USING INDEX ${index} `));
    expect(plan).toMatch(/SEARCH g USING (COVERING INDEX|PRIMARY KEY)/);
    // The few halts that hold one workflow are listed once each.
    expect(plan.replaceAll("TEMP B-TREE FOR json_group_array(DISTINCT)", "")).not.toMatch(/SCAN|TEMP B-TREE/);
  });

  it("one workflow: by its id", () => {
    expect(planOf(headPageQuery({ ...page, workflow_id: "wf" }))).toContain(
      "SEARCH w USING PRIMARY KEY (workflow_id=?",
    );
  });

  it("workflows of several states: each off its index, the pages of all merged", () => {
    const plan = planOf(headPageQuery({ ...page, states: ["failed", "running"], after: place }));
    expect(plan.match(/SEARCH w USING INDEX workflows_newest_by_state /g)).toHaveLength(2);
    expect(plan).not.toMatch(/SCAN w\b/);
  });

  const selective = { intent_type: "a", principal_id: 1, risk: "low", text: "x", seats: ["{}"], due_before: 9 };
  it.each([
    ["all of a tenant", gatePageQuery(page), "newest"],
    ["the next page", gatePageQuery({ ...page, after: gate }), "newest"],
    ["the page before", gatePageQuery({ ...page, before: gate }), "newest"],
    ["an operator", gatePageQuery({ ...page, operator: "pay", after: gate }), "newest"],
    ["opened last", gatePageQuery({ ...page, sort: "newest", after: { ...gate, at: 1 } }), "opened"],
    ["opened first", gatePageQuery({ ...page, sort: "oldest", ...selective }), "opened"],
    ["opened first, the page before", gatePageQuery({ ...page, sort: "oldest", before: { ...gate, at: 1 } }), "opened"],
    ["due first", gatePageQuery({ ...page, sort: "due", ...selective }), "due"],
    ["due first, the next page", gatePageQuery({ ...page, sort: "due", after: { ...gate, at: 1 } }), "due"],
  ])("gates: %s", (_name, query, index) => {
    const plan = planOf(query);
    expect(plan).toMatch(new RegExp(`SEARCH gates USING COVERING INDEX gates_${index} `));
    // The gates of the page are sorted once more after their records are read.
    expect(plan.replace("USE TEMP B-TREE FOR ORDER BY", "").replace("SCAN page", "")).not.toMatch(/SCAN gates|TEMP/);
  });

  it("the people of gates: each set once, off an index in its order", () => {
    const plan = planOf(seatQuery({ tenant_id }, 9));
    expect(plan).toMatch(/SEARCH gates USING COVERING INDEX gates_seats \(tenant_id=\?\)/);
    expect(plan).toMatch(/SEARCH g USING COVERING INDEX gates_seats \(tenant_id=\? AND seat>\?\)/);
    const ofSelection = planOf(seatQuery({ tenant_id, intent_type: "a", text: "x" }, 9));
    expect(ofSelection).toMatch(/SEARCH gates USING COVERING INDEX gates_seats /);
    expect([plan, ofSelection].join()).not.toMatch(/TEMP B-TREE/);
  });
});
