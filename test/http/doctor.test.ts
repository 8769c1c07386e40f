/** The doctor over HTTP: what a deployment asks of a kernel that runs, each tenant about its own. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { codeOf, type EdgeUnderTest, openEdge } from "./edge-fixture.ts";
import { readMessages } from "./sse-reader.ts";

const input = z.object({ text: z.string() });

/** Its only step waits for a person. */
function mail(version: string) {
  const send = defineOperator({ name: "Mail.Send", version, input, effect: "final_write", run: () => 1 });
  const plan = {
    reasoning: "one note",
    steps: [{ step_id: "send", name: "Send", operator: "Mail.Send", params: { text: "hello" } }],
  };
  return defineCapability({ intentType: "Mail.Note", version, input, operators: [send], plan });
}

/** A kernel whose package is newer than the workflows that wait in its ledger: so many of each tenant. */
async function openStranded(tenants: readonly number[], limits = {}) {
  const ledger = memoryLedger();
  const kept = Object.assign(Object.create(ledger), { close: async () => undefined });
  await using before = await createTestKernel({ capabilities: [mail("1.0")], ledger: kept });
  const ids: string[] = [];
  for (const tenant_id of tenants) {
    const principal = { type: "user", id: "ann", role: "user" };
    const intent_hint = { intent_type: "Mail.Note", inputs: { text: "hello" } };
    const { workflow_id } = await before.kernel.submit({ tenant_id, principal, intent_hint });
    await before.rest(workflow_id);
    ids.push(workflow_id);
  }
  return { ids, edge: await openEdge({ capabilities: [mail("2.0")], ledger: kept, seed: 2 }, { limits }) };
}

const examine = (edge: EdgeUnderTest, body: object = {}, as = "own") => edge.fetch("/v1/kernel/doctor", { body, as });

describe("the doctor", () => {
  it("finds the workflows of the caller's tenant that cannot continue, and the ways out; no others", async () => {
    const { ids, edge } = await openStranded([1, 2]);
    await using _ = edge;
    const [finding, report, ...more] = (await readMessages(await examine(edge))).map(({ data }) => data);
    expect(finding).toMatchObject({
      workflow_id: ids[0],
      version: "1.0",
      state: "waiting_for_user",
      obstacles: [{ what: "package" }, { what: "operator", name: "Mail.Send", registered: ["2.0"] }],
      remedies: [{ kind: "pin" }, { kind: "pin" }, { kind: "migrate", version: "2.0" }, { kind: "end" }],
    });
    expect(report).toMatchObject({ kind: "report", ok: false, workflows: 1, stranded: 1, reported: 1 });
    expect(report).toMatchObject({ presenting: [{ name: "Mail.Note", what: "raw" }, { name: "Mail.Send" }] });
    expect(more).toEqual([]);
    const other = await edge.post("/v1/kernel/doctor", { workflow_id: ids[1] });
    expect([other.status, codeOf(other)]).toEqual([404, "T4_WORKFLOW_NOT_FOUND"]);
  });

  it("looks at one workflow, or at those of one intent; all is well where nothing is stranded", async () => {
    const { ids, edge } = await openStranded([1, 1]);
    await using _ = edge;
    const reportOf = async (body: object) => (await readMessages(await examine(edge, body))).at(-1)?.data;
    expect(await reportOf({ workflow_id: ids[1] })).toMatchObject({ stranded: 1 });
    expect(await reportOf({ intent_type: "Mail.Note" })).toMatchObject({ stranded: 2 });
    expect(await reportOf({ intent_type: "Other.Thing" })).toMatchObject({ ok: true, workflows: 0 });
    const wrong = await edge.post("/v1/kernel/doctor", { workflow: ids[1] });
    expect([wrong.status, codeOf(wrong)]).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
  });

  it("lists a limited number of findings and counts the others; a caller has one search at a time", async () => {
    const { edge } = await openStranded([1, 1, 1], { maxDoctorFindings: 1 });
    await using _ = edge;
    const left = await examine(edge);
    const busy = await edge.post("/v1/kernel/doctor", {});
    expect([busy.status, codeOf(busy)]).toEqual([429, "T0_HTTP_CALLER_BUSY"]);
    await left.body?.cancel();
    expect((await readMessages(await examine(edge))).at(-1)?.data).toMatchObject({ stranded: 3, reported: 1 });
  });
});
