/** Whatever goes wrong between a question and Cedar's answer denies, and the reason says what it was. */
import { describe, expect, it, vi } from "vitest";
import type { PolicyDecision } from "../../src/contract/policy.ts";
import { evaluatePolicies } from "../../src/index.ts";
import { assemblePolicies } from "../../src/kernel/policies.ts";
import { type CedarOptions, cedar } from "../../src/packages/policies/cedar/index.ts";
import { type Case, fortyCases, questionOf } from "./forty-cases.ts";
import { cedarSchema, cedarText } from "./one-policy.ts";

const base = '@id("base") permit(principal, action, resource);';
const small = fortyCases[0]?.[1] as Case;

const decide = async (options: Partial<CedarOptions>, asked: Case = small): Promise<PolicyDecision> =>
  evaluatePolicies(
    assemblePolicies([cedar({ policies: base, ...options })], { withDefault: false }),
    questionOf(asked),
  );
const denied = (decided_by: string, reason: string) =>
  expect.objectContaining({ decision: "DENY", decided_by, reason: expect.stringContaining(reason) });
const withPayload = (payload: unknown): Case => ({
  ...small,
  subject: { ...small.subject, payload: payload as never },
});
const wants = (when: string) => `${base}\n@id("b") forbid(principal, action, resource) when { ${when} };`;

describe("denied is", () => {
  it("what no policy permits", async () => {
    const policies = '@id("other") permit(principal == Principal::"user/bo", action, resource);';
    expect(await decide({ policies })).toEqual(denied("cedar", "no policy permits it"));
  });

  it("a question at which a policy fails, even if another permits; the reason names that policy", async () => {
    expect(await decide({ policies: wants("resource.payload.nothing > 3") })).toEqual(denied("b", "nothing"));
    expect(await decide({ policies: wants('resource.payload.sum == "a" || resource.payload.to > 1') })).toEqual(
      denied("b", "policy b failed, which denies: type error"),
    );
  });

  it.each([
    ["a member that the schema does not have", { sum: 1, to: "a", more: 1 }, "more"],
    ["a missing member", { sum: 1 }, "to"],
    ["a fraction where the schema has a whole number", { sum: 1.5, to: "a" }, "decimal"],
    ["a text where the schema has a number", { sum: "1", to: "a" }, "type mismatch"],
  ])("a payload with %s", async (_name, payload, reason) => {
    expect(await decide({ schema: cedarSchema }, withPayload(payload))).toEqual(denied("cedar", reason));
  });

  it("an operator that the schema does not have, and one with another effect than it says", async () => {
    const unknown = { subject: { operator: "Pay.Take", effect: "final_write" } };
    expect(await decide({ schema: cedarSchema }, unknown)).toEqual(denied("cedar", "no action Pay.Take"));
    const other = { subject: { ...small.subject, effect: "external_send" } };
    expect(await decide({ schema: cedarSchema }, other)).toEqual(denied("cedar", "the group external_send"));
  });

  it("an operator with the name of another action", async () => {
    const posing = { subject: { operator: "approve", effect: "none" } };
    expect(await decide({}, posing)).toEqual(denied("cedar", "an operator called approve"));
  });

  it.each([
    ["an entity", { who: { __entity: { type: "Role", id: "admin" } } }, "__entity"],
    ["the call of a function", { sum: { __extn: { fn: "decimal", arg: "1.0" } } }, "__extn"],
    ["a number that Cedar would round", { sum: 1.00001 }, "1.00001"],
    ["a whole number beyond the exact ones", { sum: 2 ** 60 }, "exactly"],
    ["null in a list", { all: [null] }, "null"],
  ])("a payload that holds %s", async (_name, payload, reason) => {
    expect(await decide({}, withPayload(payload))).toEqual(denied("cedar", reason));
  });

  it("a question whose entities cannot be had", async () => {
    const thrown = () => {
      throw new Error("the directory is down");
    };
    expect(await decide({ entities: thrown })).toEqual(denied("cedar", "the directory is down"));
    const rejected = () => Promise.reject(new Error("the directory hung up"));
    expect(await decide({ entities: rejected })).toEqual(denied("cedar", "the directory hung up"));
    const nonsense = () => [{ id: "x" }] as never;
    expect(await decide({ entities: nonsense })).toEqual(denied("cedar", "uid"));
  });

  it.each([900, 8000])(
    "a question that the engine cannot hold, %i levels deep; the next one is decided",
    async (depth) => {
      let deep: object = { sum: 1 };
      for (let level = 0; level < depth; level += 1) deep = { deep };
      expect(await decide({}, withPayload(deep))).toEqual(denied("cedar", "failed, which denies"));
      expect(await decide({})).toMatchObject({ decision: "ALLOW" });
    },
  );

  it("a permit with an approval at a stage that asks nobody", async () => {
    const policies = `${base}\n@id("b") @require_approval permit(principal, action, resource);`;
    const asked: Case = { stage: "outcome", subject: { name: "Note" } };
    expect(await decide({ policies, stages: ["outcome"] }, asked)).toEqual(denied("b", "cannot be honoured"));
  });
});

describe("entities of a host", () => {
  const policies =
    '@id("group") permit(principal in Group::"staff", action, resource) when { principal.getTag("desk") == "7" };';
  const staff = { uid: { type: "Principal", id: "user/ann" }, parents: [{ type: "Group", id: "staff" }] };

  it("add groups and tags to a principal, from a list or a function, and a schema knows them", async () => {
    const entities = [{ ...staff, tags: { desk: "7" } }];
    const asked = [entities, () => entities, () => Promise.resolve(entities)];
    const checks = `principal.hasTag("desk") && principal.getTag("desk")`;
    const safe = policies.replace('principal.getTag("desk")', checks);
    for (const one of asked)
      expect(await decide({ policies: safe, entities: one, schema: cedarSchema })).toMatchObject({ decision: "ALLOW" });
    expect(await decide({ policies: safe, entities: [staff], schema: cedarSchema })).toMatchObject({
      decision: "DENY",
    });
  });

  it("do not change the role, the id or the tenant of a principal", async () => {
    const entities = [{ ...staff, attrs: { role: "admin", id: "root" } }];
    const only = '@id("admin") permit(principal, action, resource) when { principal.role == "admin" };';
    expect(await decide({ policies: only, entities })).toEqual(denied("cedar", "no policy permits it"));
  });

  it("are asked for once a question, however many policies there are", async () => {
    const entities = vi.fn(() => []);
    await decide({ policies: cedarText, entities });
    expect(entities).toHaveBeenCalledTimes(1);
  });
});

it('tenants 7 and "7", and principals whose names could be confused, are different', async () => {
  const only = (scope: string) => `@id("only") permit(${scope}, action, resource);`;
  const seven = only('principal in Tenant::"7"');
  expect(await decide({ policies: seven }, { ...small, tenant: 7 })).toMatchObject({ decision: "ALLOW" });
  expect(await decide({ policies: seven }, { ...small, tenant: "7" })).toMatchObject({ decision: "DENY" });
  const quoted = only('principal in Tenant::"\\"7\\""');
  expect(await decide({ policies: quoted }, { ...small, tenant: "7" })).toMatchObject({ decision: "ALLOW" });
  expect(await decide({ policies: quoted }, { ...small, tenant: '"7"' })).toMatchObject({ decision: "DENY" });
});

it("a number is a decimal wherever the schema says so", async () => {
  const schema = `entity Payment in [Capability, Tenant] = { payload: { sum: decimal, to: String } };
action "Pay.Send" in [call, final_write] appliesTo { principal: Principal, resource: Payment, context: Question };`;
  const policies = `@id("small") permit(principal, action == Action::"Pay.Send", resource)
when { resource.payload.sum.lessThan(decimal("20.01")) };`;
  const decisionOn = async (sum: number) =>
    (await decide({ policies, schema }, withPayload({ sum, to: "a" }))).decision;
  expect(await Promise.all([20, 20.0099, 20.01, -3.5].map(decisionOn))).toEqual(["ALLOW", "ALLOW", "DENY", "ALLOW"]);
});
