/** The guide's query for Postgres tells who decided what, from the rows alone. */
import { Client } from "pg";
import { describe, expect, it } from "vitest";
import { createKernel } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { intent, publishing } from "../gates/story.ts";
import { filesOf, readBlocks } from "../guide/read-blocks.ts";
import { readSource } from "../tidy/source-files.ts";
import { freshLedger, freshSchema, serverUrl } from "./server.ts";

const files = filesOf(readBlocks(readSource("src/guide/ledger-format.md").text));

describe("the query of the ledger's format for Postgres", () => {
  it("shows a decision with the person, their comment, the operator and the payload that the gate showed", async () => {
    const schema = freshSchema();
    const kernel = await createKernel({ ledger: freshLedger(schema), capabilities: [publishing().capability] });
    const { workflow_id } = await kernel.submit({ ...testCaller, intent_hint: { intent_type: intent, inputs: {} } });
    await kernel.settled(workflow_id);
    const gate = await kernel.gate(workflow_id, "gate-publish", testCaller);
    const payload = { payload_digest: gate.payload_digest, comment: "as agreed" };
    await kernel.decideGate(workflow_id, { ...testCaller, gate_id: gate.gate_id, decision: "approve", payload });
    await kernel.settled(workflow_id);
    await kernel.stop();

    const client = new Client({ connectionString: serverUrl });
    await client.connect();
    const query = (files.get("who-approved.postgres.sql") ?? "").replace("countersign.events", `${schema}.events`);
    const { rows } = await client.query(query);
    await client.end();
    const { type, id, role } = testCaller.principal;
    const who = { decided_by: type, id: String(id), role, comment: "as agreed" };
    expect(rows).toMatchObject([{ workflow: workflow_id, decision: "USER_APPROVED", operator: gate.operator, ...who }]);
    expect(JSON.parse(rows[0].payload)).toEqual(gate.payload);
  });
});
