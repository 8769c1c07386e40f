/** Texts of Cedar that are wrong are refused when the set is made, each mistake with its policy and its place. */
import { describe, expect, it } from "vitest";
import type { KernelErrorException } from "../../src/index.ts";
import { type CedarOptions, cedar } from "../../src/packages/policies/cedar/index.ts";
import { cedarSchema } from "./one-policy.ts";

const base = '@id("base") permit(principal, action, resource);';

/** Returns the code and the problems that the options are refused with. */
function refusalOf(options: object) {
  try {
    cedar(options as CedarOptions);
  } catch (thrown) {
    const { code, detail } = (thrown as KernelErrorException).error;
    return { code, problems: detail["problems"] };
  }
  throw new Error("it was taken");
}

const refused = (rule: string | null, field: string, problem: string) => ({
  code: "T5_POLICY_INVALID",
  problems: [{ rule, field, problem: expect.stringContaining(problem) }],
});

describe("policies", () => {
  it("that cannot be parsed are refused with line and column, counted in characters", () => {
    const text = `${base}\n// é 😀\n@id("b") forbid(principal, acti)`;
    expect(refusalOf({ policies: text })).toEqual(refused(null, "policies:3:33", "unexpected end of input"));
  });

  it.each([
    ["without an id", "permit(principal, action, resource);", null, "policies:2:1", "needs an id"],
    ["with an empty id", '@id("") permit(principal, action, resource);', null, "policies:2:1", "needs an id"],
    [
      "with an annotation that nobody knows",
      '  @id("b") @require_aproval permit(principal, action, resource);',
      "b",
      "policies:2:3",
      "did you mean @require_approval?",
    ],
    [
      "that forbids and asks",
      '@id("b") @require_approval("x") forbid(principal, action, resource);',
      "b",
      "policies:2:1",
      "write @require_approval on a permit",
    ],
    [
      "with care that no face knows",
      '@id("b") @require_approval @confirm("twice") permit(principal, action, resource);',
      "b",
      "policies:2:1",
      '@confirm is "type" or "second_step"',
    ],
    [
      "with care and no approval",
      '@id("b") @confirm("type") permit(principal, action, resource);',
      "b",
      "policies:2:1",
      "stands beside @require_approval",
    ],
    ["whose id another has", '@id("base") forbid(principal, action, resource);', "base", "policies:2:1", "another"],
    [
      "that is a template",
      '@id("t") permit(principal == ?principal, action, resource);',
      null,
      "policies:2:1",
      "template",
    ],
  ])("a policy %s is refused", (_name, policy, rule, field, problem) => {
    expect(refusalOf({ policies: `${base}\n${policy}` })).toEqual(refused(rule, field, problem));
  });

  it("of which there are none are refused, since they would deny everything", () => {
    expect(refusalOf({ policies: "// nothing yet\n" })).toEqual(refused(null, "policies:1:1", "holds no policy"));
  });

  it("beyond the tenth keep their places", () => {
    const many = Array.from({ length: 12 }, (_, i) => `@id("p${i}") permit(principal, action, resource);`);
    const text = [...many, '@id("p12") @nonsense permit(principal, action, resource);'].join("\n");
    expect(refusalOf({ policies: text })).toEqual(refused("p12", "policies:13:1", "unknown annotation @nonsense"));
  });
});

describe("a schema", () => {
  const scoped = (when: string) =>
    `${base}\n@id("b") permit(principal, action == Action::"Pay.Send", resource) when { ${when} };`;

  it("that names an unknown type is refused with line and column of the host's own text", () => {
    expect(refusalOf({ policies: base, schema: "\n  entity X in [Nobody];" })).toEqual(
      refused(null, "schema:2:16", "Nobody"),
    );
  });

  it("refuses a policy that reads a member which the payload does not have", () => {
    const found = refusalOf({ policies: scoped("resource.payload.summ > 3"), schema: cedarSchema });
    expect(found).toEqual(refused("b", "policies:2:75", "did you mean `sum`?"));
  });

  it("refuses a policy that compares values of different types", () => {
    const found = refusalOf({ policies: scoped('resource.payload.sum > "3"'), schema: cedarSchema });
    expect(found).toEqual(refused("b", "policies:2:98", "expected"));
  });

  it("refuses a policy that could never hold", () => {
    const found = refusalOf({ policies: scoped("resource is Mail"), schema: cedarSchema });
    expect(found).toEqual(refused("b", expect.stringContaining("policies:2:"), "impossible"));
  });

  it("refuses entities that do not conform to it", () => {
    const entities = [{ uid: { type: "Nobody", id: "x" } }];
    expect(refusalOf({ policies: base, schema: cedarSchema, entities })).toEqual(refused(null, "entities", "Nobody"));
  });
});

it.each([
  [{ policy: base }, "policy"],
  [{ policies: base, entities: [{ uid: { type: "Role", id: "x" }, parent: [] }] }, "entities"],
  [{ policies: base, stages: ["before"] }, "stages"],
  [{ policies: base, stages: [] }, "stages"],
])("options %j are refused with the key", (options, key) => {
  const { code, problems } = refusalOf(options);
  expect(code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
  expect(JSON.stringify(problems)).toContain(key);
});

describe("the version", () => {
  const versionOf = (more: object): string => cedar({ policies: base, ...more }).version;

  it("changes with each text, with the stages and with the entities, and with nothing else", () => {
    const entities = [{ uid: { type: "Role", id: "x" } }];
    const versions = [
      versionOf({}),
      versionOf({ policies: `${base} ` }),
      versionOf({ schema: cedarSchema }),
      versionOf({ stages: ["action", "gate"] }),
      versionOf({ entities }),
    ];
    expect(new Set(versions).size).toBe(versions.length);
    expect(versionOf({ entities: structuredClone(entities) })).toBe(versions.at(-1));
    expect(versions[0]).toMatch(/^cedar-[0-9a-f]{12}$/);
  });
});
