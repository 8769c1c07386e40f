/** A redaction masks the place that it names, wherever that is, and denies where there is none. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import type { PolicyDecision, PolicyRule, PolicyStage } from "../../src/contract/policy.ts";
import { evaluatePolicies } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep, ruleOf } from "../journey/parts.ts";
import { question } from "./questions.ts";

const mask = (paths: string[], stages: readonly PolicyStage[] = ["action"]): PolicyRule =>
  ruleOf(stages, () => ({ decision: "ALLOW_WITH_REDACTION", redactions: paths }), `mask ${paths}`);
const ask = (rules: readonly PolicyRule[], payload: Json, stage: PolicyStage = "action"): PolicyDecision =>
  evaluatePolicies({ rules, version: "v" }, question({ stage, subject: { payload } })) as PolicyDecision;

const people = { people: [{ phone: "1" }, { phone: "2" }, { name: "Cy" }] };

describe("a redaction", () => {
  it.each([
    ["a field", "name", { name: "Ann", by: 1 }, { name: "[redacted]", by: 1 }],
    ["a field of a field", "person.phone", { person: { phone: "1" } }, { person: { phone: "[redacted]" } }],
    [
      "one item of a list, by its index, and no other",
      "people.1.phone",
      people,
      { people: [{ phone: "1" }, { phone: "[redacted]" }, { name: "Cy" }] },
    ],
    ["a whole item", "people.0", people, { people: ["[redacted]", { phone: "2" }, { name: "Cy" }] }],
    [
      "the field of each item that has it",
      "people.*.phone",
      people,
      { people: [{ phone: "[redacted]" }, { phone: "[redacted]" }, { name: "Cy" }] },
    ],
    [
      "an item of a list in a list",
      "rows.1.0",
      {
        rows: [
          [1, 2],
          [3, 4],
        ],
      },
      {
        rows: [
          [1, 2],
          ["[redacted]", 4],
        ],
      },
    ],
    ["no item of an empty list", "people.*.phone", { people: [] }, { people: [] }],
    ["a field that is null", "name", { name: null }, { name: "[redacted]" }],
  ] as const)("masks %s", async (_what, path, payload, masked) => {
    const write = counted("Notes.Write");
    const capability = oneStep(write, { params: payload as never });
    await using t = await createTestKernel({ capabilities: [capability], policies: [mask([path])] });
    const { workflow_id } = await t.run(intentType);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map(({ input }) => input)).toEqual([masked]);
    const [decided] = ofType(await eventsOf(t, workflow_id), "POLICY_DECIDED").slice(-1);
    expect(decided?.payload["redactions"]).toEqual([path]);
  });

  it.each([
    ["a field that is not there", "phnoe", { phone: "1" }],
    ["a field of a text", "phone.number", { phone: "1" }],
    ["a field of null", "phone.number", { phone: null }],
    ["an index beyond the list", "people.3.phone", people],
    ["an index that is spelled otherwise", "people.01.phone", people],
    ["a field that no item of the list has", "people.*.phnoe", people],
    ["every item of what is no list", "person.*.phone", { person: { phone: "1" } }],
    ["a field of the prototype", "constructor", { phone: "1" }],
    ["nothing", "", { phone: "1" }],
  ] as const)("denies where it names %s, and says which rule and which path", (_what, path, payload) => {
    const decision = ask([mask([path])], payload as Json);
    expect(decision).toMatchObject({ decision: "DENY", decided_by: `mask ${path}`, redactions: [], transform: null });
    expect(decision.reason).toContain(`no place for the redaction ${path}`);
  });

  it("denies so at stage outcome too, and beside others that find theirs", () => {
    const decision = ask([mask(["name"], ["outcome"]), mask(["phnoe"], ["outcome"])], { name: "Ann" }, "outcome");
    expect(decision).toMatchObject({ decision: "DENY", decided_by: "mask phnoe" });
  });

  it("finds its place in what a rule transforms, and in what another masks or removes", () => {
    const add = ruleOf(["action"], () => ({ decision: "TRANSFORM", transform: { person: { phone: "1" } } }), "add");
    expect(ask([mask(["person.phone"]), add], {}).transform).toEqual({ person: { phone: "[redacted]" } });
    const both = ask([mask(["person"]), mask(["person.phone"])], { person: { phone: "1" } });
    expect(both).toMatchObject({ decision: "ALLOW_WITH_REDACTION", redactions: ["person", "person.phone"] });
    expect(ask([mask(["person.phone"])], { person: "[redacted]" }).decision).toBe("ALLOW_WITH_REDACTION");
    const remove = ruleOf(["action"], () => ({ decision: "TRANSFORM", transform: { kept: true } }), "remove");
    expect(ask([mask(["person.phone"]), remove], { person: { phone: "1" }, kept: true })).toMatchObject({
      decision: "ALLOW_WITH_REDACTION",
      transform: { kept: true },
    });
  });

  it("that an earlier decision on the payload has made needs no place any more, and no other does", () => {
    const on = (path: string) =>
      evaluatePolicies({ rules: [mask([path])], version: "v" }, question({ subject: { payload: { kept: true } } }), [
        "person.phone",
      ]) as PolicyDecision;
    expect([on("person.phone").decision, on("person.name").decision]).toEqual(["ALLOW_WITH_REDACTION", "DENY"]);
  });

  it.each(["plan", "gate"] as const)("denies at stage %s beside ALLOW, since nothing there can be masked", (stage) => {
    const odd = ruleOf([stage], () => ({ decision: "ALLOW", redactions: ["steps"] }), "odd");
    const decision = ask([odd], { steps: [] }, stage);
    expect(decision).toMatchObject({ decision: "DENY" });
    expect(decision.reason).toContain(`redactions cannot be honoured at stage ${stage}`);
  });

  it("of a field that another rule removes holds from the gate to the call, where policy is asked again", async () => {
    const write = counted("Notes.Write");
    const remove = ruleOf(["action"], () => ({ decision: "TRANSFORM", transform: { kept: true } }), "remove");
    const params = { person: { phone: "1" } };
    const capability = oneStep(write, { params, gate: { reason: "look" } });
    const policies = [remove, mask(["person.phone"])];
    await using t = await createTestKernel({ capabilities: [capability], policies });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(write.calls.map(({ input }) => input)).toEqual([{ kept: true }]);
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });
});

describe("a transform", () => {
  it.each(["ALLOW", "REQUIRE_HUMAN_APPROVAL", "ALLOW_WITH_REDACTION"] as const)(
    "beside %s denies: nobody would apply it",
    (decision) => {
      const odd = ruleOf(["action"], () => ({ decision, transform: { a: 1 } }), "odd");
      const answer = ask([odd], { a: 0 });
      expect(answer).toMatchObject({ decision: "DENY", policies: ["odd"] });
      expect(answer.reason).toContain(`a transform needs TRANSFORM, not ${decision}`);
    },
  );

  it("beside DENY is a denial for the rule's own reason", () => {
    const odd = ruleOf(["action"], () => ({ decision: "DENY", reason: "no", transform: { a: 1 } }), "odd");
    expect(ask([odd], { a: 0 })).toMatchObject({ decision: "DENY", reason: "no", transform: null });
  });
});
