/** What may be edited at a gate is shown there, with its schema; an edit changes what the call gets, or is refused. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { digest, type Gate } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob } from "./people.ts";
import {
  anyObject,
  counted,
  decide,
  eventsOf,
  gateOf,
  intent,
  Note,
  payloads,
  publishing,
  refusalOf,
  step,
  story,
} from "./story.ts";

const edit = { text: "what I meant" };

/** Publishes what is rendered of the draft, or of the draft itself too. */
function rendered(params: Readonly<Record<string, string>>) {
  const draft = counted("Note.Draft", { effect: "write_draft" }, () => ({ text: "draft" }));
  const render = counted("Note.Render", {}, ({ input }) => ({ html: `<p>${String(input["text"])}</p>` }));
  const publish = counted("Note.Publish", { effect: "final_write" });
  const steps = [
    step("draft", draft, { outcome: "Draft.Note" }),
    step("render", render, { params: { text: "{{draft.output.text}}" }, depends_on: ["draft"] }),
    step("publish", publish, { applies: "draft", params, depends_on: ["draft", "render"] }),
  ];
  return { publish, capability: story([draft, render, publish], steps, { outcomes: { "Draft.Note": Note } }) };
}

/** The gate everywhere that it is read. */
async function readings(t: TestKernel, id: string, gateId: string): Promise<readonly Gate[]> {
  const { gates } = await t.kernel.workflow(id);
  const all: readonly Gate[] = [
    ...gates,
    ...(await t.kernel.gates()),
    ...(await t.kernel.gates({ workflow_id: id })),
    await t.kernel.gate(id, gateId),
  ];
  return all.filter((g) => g.gate_id === gateId);
}

describe("what may be edited at a gate", () => {
  it("[GAT-01] is the outcome if the step applies one: its content and schema, wherever the gate is read", async () => {
    const { capability } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const gate of await readings(t, workflow_id, "gate-publish")) {
      expect(gate?.editable).toMatchObject({ target: "outcome", value: { text: "draft 1" } });
      const isValid = new Ajv2020({ strict: false }).compile(gate?.editable?.schema ?? false);
      expect([isValid(edit), isValid({ text: 7 }), isValid({})]).toEqual([true, false, false]);
    }
  });

  it("[GAT-01] is the payload where the step applies none: as it would run, with the operator's schema", async () => {
    const write = counted("Note.Write", { effect: "final_write", input: z.object({ n: z.number().max(5) }) });
    const capability = story([write], [step("w", write, { params: { n: 1 } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const gate of await readings(t, workflow_id, "gate-w")) {
      expect(gate?.editable).toMatchObject({
        target: "payload",
        defined_by: { name: "Note.Write", version: "1.0" },
        value: { n: 1 },
        schema: { properties: { n: { maximum: 5 } } },
      });
    }
  });

  it("[GAT-01] no event and no row of the index holds a schema", async () => {
    const described = z.object({ text: z.string().describe("as the schema alone says") });
    const { capability } = publishing({}, { outcomes: { "Draft.Note": described } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect(JSON.stringify((await gateOf(t, workflow_id)).editable)).toContain("as the schema alone says");
    expect(JSON.stringify(await eventsOf(t, workflow_id))).not.toContain("as the schema alone says");
    expect((await payloads(t, workflow_id, "GATE_OPENED"))[0]?.gate).not.toHaveProperty("editable");
  });

  it("[GAT-01] is nothing at a closed gate, and if the call takes no part of the outcome unchanged", async () => {
    const { capability } = rendered({ text: "{{render.output.html}}" });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    expect((await gateOf(t, workflow_id)).editable).toBeNull();
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect((await gateOf(t, workflow_id)).editable).toBeNull();
  });
});

describe("an edit", () => {
  it("[GAT-05] of an outcome that a step applies is what the call gets, to the digest", async () => {
    const { capability, publish } = publishing();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    await decide(t, workflow_id, { decision: "approve", payload: { edit } });
    const done = await t.rest(workflow_id);
    const { payload_digest, target } = await gateOf(t, workflow_id);
    const applied = done.outcomes.find((outcome) => outcome.version === target?.version);
    expect(publish.calls.map(({ input }) => digest(input))).toEqual([payload_digest]);
    expect(applied?.content).toEqual(edit);
    expect(publish.calls[0]?.context.target?.version).toBe(target?.version);
    const judged = (await payloads(t, workflow_id, "POLICY_DECIDED")).filter(({ stage }) => stage === "outcome");
    expect(judged.map(({ payload }) => payload)).toEqual([undefined, edit]);
  });

  it.each([
    ["names what the payload calls it, not the outcome", () => publishing(), { to: "the street" }],
    ["says what stands there already", () => publishing(), { text: "draft 1" }],
    ["says nothing", () => publishing(), {}],
    [
      "is of an outcome that reaches the call through another step",
      () => rendered({ text: "{{render.output.html}}" }),
      edit,
    ],
    [
      "would leave what another step made of the outcome as it was",
      () => rendered({ text: "{{draft.output.text}}", html: "{{render.output.html}}" }),
      edit,
    ],
  ])(
    "[GAT-05] that %s is refused: nothing is noted of it, and the unedited call is not made",
    async (_why, make, wrong) => {
      const { capability, publish } = make();
      await using t = await createTestKernel({ capabilities: [capability] });
      const { workflow_id } = await t.run(intent);
      const before = await t.kernel.workflow(workflow_id);
      const asked = decide(t, workflow_id, { decision: "approve", payload: { edit: wrong } });
      expect((await refusalOf(asked)).code).toBe("T5_EDIT_WITHOUT_EFFECT");
      await t.clock.settle();
      const after = await t.kernel.workflow(workflow_id);
      expect([after.state, after.gates, after.outcomes]).toEqual(["waiting_for_user", before.gates, before.outcomes]);
      expect(publish.calls).toEqual([]);
    },
  );

  it("[GAT-05] of a member that the operator's schema drops changes no input, and is refused", async () => {
    const write = counted("Note.Write", { effect: "final_write", input: z.object({ text: z.string() }) });
    const capability = story([write], [step("w", write, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const asked = decide(t, workflow_id, { decision: "approve", payload: { edit: { txet: "b" } } });
    expect((await refusalOf(asked)).code).toBe("T5_EDIT_WITHOUT_EFFECT");
    await decide(t, workflow_id, { decision: "approve", payload: { edit: { text: "b" } } });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map(({ input }) => input)).toEqual([{ text: "b" }]);
  });

  it("[GAT-05] of which the schema drops all that it changes is refused: the call takes nothing of it", async () => {
    const write = counted("Note.Write", { effect: "final_write", input: z.object({ at: z.string().trim() }) });
    const capability = story([write], [step("w", write, { params: { at: "1" } })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    for (const same of [{ at: " 1 " }, { at: "1", more: 2 }]) {
      const refused = refusalOf(decide(t, workflow_id, { decision: "approve", payload: { edit: same } }));
      expect((await refused).code).toBe("T5_EDIT_WITHOUT_EFFECT");
    }
  });

  it("[GAT-03] repeated by its author is answered again and voids no vote; another's repetition is void", async () => {
    const { capability } = publishing({ gate: { quorum: { approvals: 3 } } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const first = await approve(t, workflow_id, ann, { edit });
    const { votes, payload_digest } = await gateOf(t, workflow_id);
    expect(votes).toHaveLength(1);
    expect(await approve(t, workflow_id, ann, { edit })).toEqual(first);
    expect(await approve(t, workflow_id, ann, { edit, payload_digest })).toEqual(first);
    const again = refusalOf(approve(t, workflow_id, bob, { edit, payload_digest }));
    expect((await again).code).toBe("T5_EDIT_WITHOUT_EFFECT");
    expect((await gateOf(t, workflow_id)).votes).toEqual(votes);
    expect(await payloads(t, workflow_id, "GATE_REVISED")).toHaveLength(1);
  });
});

it("[GAT-01] a package that defines no schema for the outcome leaves it open what it may say", async () => {
  const { capability } = publishing({}, { outcomes: { "Draft.Note": anyObject } });
  await using t = await createTestKernel({ capabilities: [capability] });
  const { workflow_id } = await t.run(intent);
  expect((await gateOf(t, workflow_id)).editable?.schema).toMatchObject({ type: "object" });
});
