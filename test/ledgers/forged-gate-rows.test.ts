/**
 * A row of the gate index that somebody forged: lists show what the log says, and approving what they show runs exactly
 * that.
 */
import { describe, expect, it } from "vitest";
import { createHttpApp } from "../../src/faces/http/index.ts";
import type { Gate, ListedGate } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { gateColumns } from "../../src/ledger/tables/columns.ts";
import { createTestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { readHere, runHere } from "../cli/command-line.ts";
import { gatedSteps, intent, publishing } from "../gates/story.ts";
import { freshPaths, withDatabase } from "./ledger-files.ts";

const freshPath = freshPaths();
const who = testCaller;

/** Two workflows that wait, each at a gate; `text` is what their calls would send. */
async function waiting(text = "to Ann") {
  const path = freshPath();
  const { capability, send } = gatedSteps(1, { params: { text } });
  const t = await createTestKernel({ capabilities: [capability], ledger: sqliteLedger({ path }) });
  const [{ workflow_id: id }, { workflow_id: other }] = [await t.run(intent), await t.run(intent)];
  return { t, id, other, send, path, [Symbol.asyncDispose]: () => t.kernel.stop({ drainMs: 0 }) };
}

/** Changes the gate's row in the index, in the form that lists read too. */
function forge(path: string, id: string, change: (gate: Gate) => Partial<Gate>): void {
  withDatabase(path, (db) => {
    const row = db.prepare("SELECT record, listed FROM gates WHERE workflow_id = ?").get(id) as Record<string, string>;
    for (const column of ["record", "listed"]) {
      const gate = row[column] == null ? null : (JSON.parse(row[column]) as Gate);
      if (gate === null) continue;
      const text = JSON.stringify({ ...gate, ...change(gate) });
      db.prepare(`UPDATE gates SET ${column} = ? WHERE workflow_id = ?`).run(text, id);
    }
  });
}

const forgeries: readonly (readonly [string, Partial<Gate>])[] = [
  ["payload", { payload: { text: "nothing of note" } }],
  ["preview", { preview: "Nothing of note." }],
  ["title, operator and effect", { title: "Look", operator: "Note.Look", effect: "read", risk_level: "low" }],
  ["reasons", { reasons: [] }],
  ["digest", { payload_digest: "0".repeat(64) }],
  ["payload, digest and all", { payload: { text: "x" }, payload_digest: "1".repeat(64), preview: "x", title: "x" }],
];

const strip = ({ checked: _1, truncated: _2, intent_type: _3, ...gate }: ListedGate): Gate => gate;

describe.each(["to Ann", "x".repeat(2_000)])("a forged row of the gate index", (text) => {
  it.each(forgeries)("[GAT-05] shows its %s to no list: each says what the log says", async (_what, change) => {
    await using w = await waiting(text);
    const { t, id, other, path, send } = w;
    const whole = await t.kernel.gate(id, "gate-s1", who);
    const before = await t.kernel.gates({}, who);
    forge(path, id, () => change);
    const one = await t.kernel.gates({ workflow_id: id }, who);
    expect(one).toEqual([{ ...whole, truncated: false, checked: true, intent_type: intent }]);
    const all = await t.kernel.gates({}, who);
    expect(all).toEqual(before);
    expect(all.map(({ workflow_id, checked }) => [workflow_id, checked])).toEqual([
      [other, true],
      [id, true],
    ]);
    if (text.length < 1_000) expect(strip(all[1] as ListedGate)).toEqual(whole);
    // Who approves what the list shows approves what runs.
    const { payload_digest } = all[1] as ListedGate;
    await t.kernel.decideGate(id, { ...who, decision: "approve", payload: { payload_digest } });
    await t.rest(id);
    expect(send.calls.map(({ input }) => input)).toEqual([{ text }]);
    expect(all[1]?.payload).toEqual(text.length < 1_000 ? { text } : null);
  });
});

describe("a row that the log does not bear out", () => {
  it("[GAT-05] of a gate that the log does not hold says that it was not checked", async () => {
    await using w = await waiting();
    const { t, id, other, path } = w;
    withDatabase(path, (db) => {
      const columns = gateColumns.slice(2).join(", ");
      db.exec(`INSERT INTO gates (workflow_id, gate_id, ${columns})
        SELECT workflow_id, 'gate-s9', ${columns} FROM gates WHERE workflow_id = '${id}'`);
    });
    forge(path, id, (gate) => ({ ...gate }));
    withDatabase(path, (db) => {
      db.exec("UPDATE gates SET record = replace(record, 'gate-s1', 'gate-s9') WHERE gate_id = 'gate-s9'");
    });
    const listed = await t.kernel.gates({}, who);
    expect(listed.map((gate) => [gate.workflow_id, gate.gate_id, gate.checked])).toEqual([
      [other, "gate-s1", true],
      [id, "gate-s1", true],
      [id, "gate-s9", false],
    ]);
    expect(listed[2]).toMatchObject({ editable: null, payload_digest: "" });
    expect(listed[2]).not.toHaveProperty("seat");
    const said = t.kernel.decideGate(id, { ...who, gate_id: "gate-s9", decision: "approve" });
    await expect(said).rejects.toMatchObject({ error: { code: "T5_GATE_NOT_FOUND" } });
  });

  it("[GAT-05] of a gate that is decided, or of another tenant, says that it was not checked", async () => {
    await using w = await waiting();
    const { t, id, other, path } = w;
    withDatabase(path, (db) => db.exec("CREATE TABLE kept AS SELECT * FROM gates"));
    await t.kernel.decideGate(id, { ...who, gate_id: "gate-s1", decision: "approve" });
    await t.rest(id);
    withDatabase(path, (db) => db.exec(`INSERT INTO gates SELECT * FROM kept WHERE workflow_id = '${id}'`));
    const shown = (gates: readonly ListedGate[]) => gates.map((gate) => [gate.workflow_id, gate.checked]);
    expect(shown(await t.kernel.gates({}, who))).toEqual([
      [other, true],
      [id, false],
    ]);
    withDatabase(path, (db) => db.exec("UPDATE gates SET tenant_id = '2'"));
    const foreign = { ...who, tenant_id: 2 };
    expect(shown(await t.kernel.gates({}, foreign))).toEqual([
      [other, false],
      [id, false],
    ]);
  });

  it("[GAT-05] beyond limits.maxListedLog says that it was not checked, in a list over many alone", async () => {
    const { capability } = gatedSteps(1);
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxListedLog: 1 } });
    const [{ workflow_id }] = [await t.run(intent), await t.run(intent)];
    expect((await t.kernel.gates({}, who)).map((gate) => [gate.checked, gate.payload_digest])).toEqual([
      [false, ""],
      [false, ""],
    ]);
    const whole = await t.kernel.gate(workflow_id, "gate-s1", who);
    const checked = { truncated: false, checked: true, intent_type: intent };
    expect(await t.kernel.gates({ workflow_id }, who)).toEqual([{ ...whole, ...checked }]);
    const said = t.kernel.decideGate(workflow_id, { ...who, decision: "approve", payload: { payload_digest: "" } });
    await expect(said).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
  });

  it("[GAT-05] has no digest to decide with, of what its preview rests on neither", async () => {
    const preview = () => ({ preview: "p", basis: [{ name: "board", digest: "1" }] });
    const { capability } = publishing({}, {}, { preview });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxListedLog: 1 } });
    const { workflow_id } = await t.run(intent);
    expect(await t.kernel.gate(workflow_id, "gate-publish", who)).toHaveProperty("basis_digest");
    const [listed] = await t.kernel.gates({}, who);
    expect(listed).toMatchObject({ checked: false, payload_digest: "" });
    expect(listed).not.toHaveProperty("basis_digest");
  });

  it("[GAT-05] of a workflow whose log is damaged says that it was not checked, and hides no other", async () => {
    await using w = await waiting();
    const { t, id, other, path } = w;
    withDatabase(path, (db) => {
      db.exec("DROP TRIGGER IF EXISTS events_keep_on_update");
      db.prepare("UPDATE events SET body = NULL WHERE stream = ?").run(id);
    });
    const listed = await t.kernel.gates({}, who);
    expect(listed.map(({ workflow_id, checked }) => [workflow_id, checked])).toEqual([
      [other, true],
      [id, false],
    ]);
    const said = t.kernel.decideGate(id, { ...who, gate_id: "gate-s1", decision: "approve" });
    await expect(said).rejects.toMatchObject({ error: { code: "T0_LEDGER_CORRUPT" } });
  });

  it("[GAT-05] is marked over HTTP, and on the command line", async () => {
    await using w = await waiting();
    const { t, id, path } = w;
    const app = createHttpApp(t.kernel, { tokens: [{ token: "a-secret-of-some-length", ...who }] });
    const ask = async (): Promise<readonly ListedGate[]> => {
      const response = await app.fetch(
        new Request("http://127.0.0.1/v1/kernel/gates", {
          headers: { authorization: "Bearer a-secret-of-some-length" },
        }),
      );
      return ((await response.json()) as { gates: readonly ListedGate[] }).gates;
    };
    expect((await ask()).map(({ checked }) => checked)).toEqual([true, true]);
    withDatabase(path, (db) => {
      db.exec("DROP TRIGGER IF EXISTS events_keep_on_update");
      db.prepare("UPDATE events SET body = NULL WHERE stream = ?").run(id);
    });
    expect((await ask()).map(({ checked }) => checked)).toEqual([true, false]);
    await t.kernel.stop();
    const { gates } = await readHere<{ gates: readonly ListedGate[] }>("gates", "--db", path, "--tenant", "1");
    expect(gates.map(({ checked }) => checked)).toEqual([true, false]);
    const { out } = await runHere("gates", "--db", path, "--tenant", "1");
    expect(out).toContain(`gate-s1 of ${id}: what is shown here was not checked against its log`);
  });
});
