/** What the kernel runs, told over the API: capabilities with their schemas, the machines' definitions. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { createActor, createMachine } from "xstate";
import { z } from "zod";
import { allMachines, workflowMachine } from "../../machines/index.ts";
import { CapabilityView, defineCapability, describeCapability } from "../../src/index.ts";
import { counted, intent, publishing, step } from "../gates/story.ts";
import { codeOf, openEdge } from "./edge-fixture.ts";

const path = "/v1/kernel/capabilities";
const twoVersions = () => {
  const { capability, publish } = publishing();
  const input = z.object({ board: z.string().min(3), copies: z.int().default(1) });
  return [
    capability,
    defineCapability({
      ...capability,
      plan: capability.plan as never,
      version: "1.10",
      input,
      operators: [publish.operator, "Note.Elsewhere"],
    }),
  ];
};

describe("registered capabilities", () => {
  it("[REG-04] are all listed, each version, with keywords, operators with their effects, and outcomes", async () => {
    await using edge = await openEdge({ capabilities: twoVersions() });
    const told = await edge.ask<{ capabilities: CapabilityView[] }>(path);
    expect(told.status).toBe(200);
    const views = told.body.capabilities.map((one) => z.strictObject(CapabilityView.shape).parse(one));
    expect(views.map((one) => `${one.intent_type}@${one.version}`)).toEqual([`${intent}@1.0`, `${intent}@1.10`]);
    expect(views[0]?.operators.map(({ name, effect }) => [name, effect])).toEqual([
      ["Note.Draft", "write_draft"],
      ["Note.Publish", "final_write"],
    ]);
    expect(Object.keys(views[0]?.outcomes ?? {})).toEqual(["Draft.Note"]);
    expect(views[1]?.missing_operators).toEqual(["Note.Elsewhere"]);
  });

  it("show the schema of their input: it takes what the kernel takes", async () => {
    await using edge = await openEdge({ capabilities: twoVersions() });
    const { body } = await edge.ask<CapabilityView>(`${path}/${intent}`);
    const check = new Ajv2020().compile(body.input);
    for (const inputs of [
      { board: "wall" },
      { board: "wall", copies: 2 },
      { board: "w" },
      {},
      { board: "wall", copies: "2" },
    ]) {
      const { status } = await edge.post("/v1/kernel/submit", { intent_hint: { intent_type: intent, inputs } });
      expect([inputs, status]).toEqual([inputs, check(inputs) ? 202 : 400]);
    }
  });

  it("one is read in its newest or in a named version; another name, or no version, is refused", async () => {
    await using edge = await openEdge({ capabilities: twoVersions() });
    const version = async (query: string) => (await edge.ask<CapabilityView>(`${path}/${intent}${query}`)).body.version;
    expect([await version(""), await version("?version=1.0")]).toEqual(["1.10", "1.0"]);
    for (const [rest, status, code] of [
      [`${intent}?version=2.0`, 404, "T0_HTTP_NAME_UNKNOWN"],
      ["No.Such", 404, "T0_HTTP_NAME_UNKNOWN"],
      ["__proto__", 404, "T0_HTTP_NAME_UNKNOWN"],
      [`${intent}?version=new`, 400, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ] as const) {
      const told = await edge.ask(`${path}/${rest}`);
      expect([rest, told.status, codeOf(told)]).toEqual([rest, status, code]);
    }
  });

  it("finds operators that are registered elsewhere, and tells what cannot be told as anything", () => {
    const draft = counted("Note.Draft");
    const strange = z.object({ when: z.custom<string>() });
    const steps = [step("draft", draft)];
    const capability = defineCapability({
      intentType: intent,
      version: "1.0",
      input: strange,
      operators: ["Note.Draft"],
      plan: { reasoning: "none", steps },
    });
    const view = describeCapability(capability, (name) => (name === "Note.Draft" ? draft.operator : null));
    expect(view.operators.map(({ name }) => name)).toEqual(["Note.Draft"]);
    expect(view.input).toMatchObject({ type: "object", properties: { when: {} } });
  });
});

describe("the machines' definitions", () => {
  it("[CARD-16] are all listed, and each makes the machine that it tells of", async () => {
    await using edge = await openEdge();
    const { body } = await edge.ask<{ machines: { id: string }[] }>("/v1/kernel/machines");
    expect(body.machines.map(({ id }) => id)).toEqual(allMachines.map(({ id }) => id));
    const { body: told } = await edge.ask("/v1/kernel/machines/workflow");
    const actor = createActor(createMachine(told as never)).start();
    expect(actor.getSnapshot().value).toEqual(createActor(workflowMachine).start().getSnapshot().value);
    for (const name of ["sandwich", "constructor"])
      expect(codeOf(await edge.ask(`/v1/kernel/machines/${name}`))).toBe("T0_HTTP_NAME_UNKNOWN");
  });

  it("neither is for those who may not read", async () => {
    await using edge = await openEdge();
    for (const address of [path, "/v1/kernel/machines", "/v1/kernel/machines/gate"]) {
      expect((await edge.ask(address, { as: null })).status).toBe(401);
      expect((await edge.ask(address, { as: "stranger" })).status).toBe(401);
    }
  });
});
