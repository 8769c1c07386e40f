/** Who may say what: scopes that hold a role to operators, effects, capabilities and its own work, at every command. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, digest, type GateSpec } from "../../src/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { ann, type Person, person } from "./people.ts";
import { counted, gateOf, intent, held as promised, refusalOf, step, story } from "./story.ts";

const everything = ["intent:submit", "workflow:execute", "outcome:read", "gate:approve"];
const held = (...more: readonly string[]) => ({ scopes: [...everything, ...more] });
const roles = {
  user: held(),
  operators: held("operator:Other.Op"),
  effects: held("effect:read"),
  capabilities: held("capability:Other.Work"),
  fitting: held("operator:Erp.Make", "effect:final_write", `capability:${intent}`),
};
const strangers = ["operators", "effects", "capabilities"].map((role) => person(role, role));
const fitting = person("fitting", "fitting");

/** `Erp.Make` behind a gate; its first call fails, is lost, or succeeds. */
function erp(how: "fails" | "lost" | "succeeds", gate: Partial<GateSpec> = {}) {
  const make = counted("Erp.Make", { effect: "final_write", timeoutSec: 1 }, () => {
    if (how === "lost") return new Promise(() => undefined);
    if (how === "fails") throw Object.assign(new Error("down"), { code: "X" });
    return {};
  });
  return { make, capability: story([make], [step("make", make, { gate, params: { of: "one" } })]) };
}

const tenant_id = testCaller.tenant_id;
const at = (t: TestKernel, id: string, principal: Person, request: object) =>
  t.kernel.decideGate(id, { tenant_id, principal, ...request } as never);

/** A word at the open gate of a workflow. */
const words: Readonly<Record<string, (t: TestKernel, id: string, who: Person) => Promise<unknown>>> = {
  approve: (t, id, who) => at(t, id, who, { decision: "approve" }),
  reject: (t, id, who) => at(t, id, who, { decision: "reject" }),
  edit: (t, id, who) => at(t, id, who, { decision: "approve", payload: { edit: { of: "two" } } }),
  delegate: (t, id, who) =>
    t.kernel.delegateGate(id, { tenant_id, principal: who, to: { id: "x" }, expires_at: "2030-01-01T00:00:00.000Z" }),
  comment: (t, id, who) => t.kernel.noteGate(id, { tenant_id, principal: who, comment: { text: "hm" } }),
};
const settlements: typeof words = {
  done: (t, id, who) => at(t, id, who, { decision: "approve", payload: { resolution: "done" } }),
  retry: (t, id, who) => at(t, id, who, { decision: "approve", payload: { resolution: "retry" } }),
  failed: (t, id, who) => at(t, id, who, { decision: "reject" }),
};

async function refuses(word: (who: Person) => Promise<unknown>, who: readonly Person[] = strangers): Promise<void> {
  for (const one of who) expect([one.id, (await refusalOf(word(one))).code]).toEqual([one.id, "T5_AUTHZ_FORBIDDEN"]);
}

describe("[ATH-04] a role that is held to other operators, effects or capabilities", () => {
  it.each(Object.keys(words))("may not %s at a gate, and its own role may", async (name) => {
    const { capability, make } = erp("succeeds");
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    const word = words[name] as (typeof words)["approve"];
    await refuses((who) => word(t, id, who));
    expect([(await gateOf(t, id, "gate-make")).status, make.calls.length]).toEqual(["open", 0]);
    await word(t, id, fitting);
  });

  it("may not vote, and not on a seat that was lent to it", async () => {
    const { capability } = erp("succeeds", { quorum: { approvals: 2 } });
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    const expires_at = "2030-01-01T00:00:00.000Z";
    const to = { type: "user", id: "operators" };
    await t.kernel.delegateGate(id, { tenant_id, principal: ann, to, expires_at });
    await refuses((who) => at(t, id, who, { decision: "approve" }));
    expect((await gateOf(t, id, "gate-make")).votes).toEqual([]);
  });

  it("may not advise", async () => {
    const { capability } = erp("succeeds", { advisors: ["operators"] });
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    await refuses((who) => at(t, id, who, { decision: "approve" }), [person("operators", "operators")]);
  });

  it("decides nothing by a word that is kept ahead of the gate", async () => {
    const before = promised<object>();
    const first = counted("Erp.Wait", { timeoutSec: 60 }, () => before.promise);
    const make = counted("Erp.Make", { effect: "final_write" });
    const rows = [step("wait", first), step("make", make, { depends_on: ["wait"], gate: {}, params: { of: "one" } })];
    await using t = await createTestKernel({ capabilities: [story([first, make], rows)], roles });
    const id = await t.submit(intent);
    await t.clock.settle();
    const payload_digest = digest({ of: "one" });
    const ahead = { decision: "approve", gate_id: "gate-make", payload: { payload_digest } };
    const kept = await Promise.all(strangers.map((who) => at(t, id, who, ahead)));
    expect(kept.map(({ status }) => status)).toEqual(["kept", "kept", "kept"]);
    before.release({});
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    expect(make.calls).toEqual([]);
  });

  it.each(Object.keys(settlements))("may not say that a lost call is to be told as %s", async (name) => {
    const { capability } = erp("lost");
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    const word = settlements[name] as (typeof words)["approve"];
    await refuses((who) => word(t, id, who));
    expect((await gateOf(t, id, "gate-make_doubt1")).status).toBe("open");
    await word(t, id, fitting);
  });

  it("may not cancel, nor have anything done again", async () => {
    const { capability } = erp("succeeds");
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    for (const mode of ["resume_failed_steps", "regenerate", "replay", "migrate"] as const)
      await refuses((principal) => t.kernel.retry(id, { tenant_id, principal, mode }));
    await refuses((principal) => t.kernel.cancel(id, { tenant_id, principal }));
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    expect((await t.kernel.cancel(id, { tenant_id, principal: fitting })).status).toBe("cancelled");
  });

  it("may command no workflow whose child uses them, in no way", async () => {
    const { make, capability } = erp("succeeds");
    const parent = defineCapability({
      intentType: "Erp.Order",
      version: "1.0",
      input: z.looseObject({}),
      operators: [],
      plan: ({ run }) => ({
        reasoning: "one child",
        steps: [run({ step_id: "child", name: "Child", capability, input: {} })],
      }),
    });
    await using t = await createTestKernel({ capabilities: [parent, capability], roles });
    const id = await t.submit("Erp.Order");
    await t.clock.settle();
    const { cancel, pause, resume, fork, retry } = t.kernel;
    for (const command of [cancel, pause, resume] as const)
      await refuses((principal) => command(id, { tenant_id, principal }));
    await refuses((principal) => fork(id, { tenant_id, principal, at: "child" }));
    await refuses((principal) => retry(id, { tenant_id, principal, mode: "migrate" }));
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "waiting", paused: null });
    expect((await cancel(id, { tenant_id, principal: testCaller.principal })).status).toBe("cancelling");
    expect((await t.rest(id)).state).toBe("cancelled");
    await refuses((principal) => t.kernel.rollback(id, { tenant_id, principal }));
    expect(make.calls).toEqual([]);
  });

  it("may not submit such work, or has it refused where it would be called", async () => {
    const { capability, make } = erp("succeeds");
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const submit = (principal: Person) =>
      t.kernel.submit({ tenant_id, principal, intent_hint: { intent_type: intent } });
    await refuses(submit, [person("capabilities", "capabilities")]);
    for (const who of ["operators", "effects"]) {
      const { workflow_id } = await submit(person(who, who));
      expect((await t.rest(workflow_id)).steps[0]?.error?.code).toBe("T5_AUTHZ_FORBIDDEN");
    }
    expect(make.calls).toEqual([]);
  });

  it("is told at the gate that it has no seat, and not asked in its inbox", async () => {
    const { capability } = erp("succeeds");
    await using t = await createTestKernel({ capabilities: [capability], roles });
    const { workflow_id: id } = await t.run(intent);
    const seen = async (principal: Person) => ({
      seat: (await t.kernel.gate(id, "gate-make", { tenant_id, principal })).seat?.may,
      mine: (await t.kernel.gates({ mine: true }, { tenant_id, principal })).length,
    });
    expect(await seen(person("operators", "operators"))).toEqual({ seat: false, mine: 0 });
    expect(await seen(person("effects", "effects"))).toEqual({ seat: false, mine: 0 });
    expect(await seen(fitting)).toEqual({ seat: true, mine: 1 });
  });
});

describe("a role that is held to its own work", () => {
  const own = {
    user: held("workflow:cancel:own", "workflow:retry:own", "gate:settle:own"),
    none: held("workflow:cancel:none", "workflow:retry:none", "gate:settle:none"),
    desk: { scopes: ["outcome:read", "workflow:cancel", "workflow:retry"] },
    admin: held(),
  };
  const bob = person("bob");
  const by = (t: TestKernel, principal: Person) =>
    t.kernel.submit({ tenant_id, principal, intent_hint: { intent_type: intent } });

  it("cancels what it has asked for, and nothing else", async () => {
    const { capability } = erp("succeeds");
    await using t = await createTestKernel({ capabilities: [capability], roles: own });
    const ids = [await by(t, ann), await by(t, ann), await by(t, ann)].map(({ workflow_id }) => workflow_id);
    for (const id of ids) await t.rest(id);
    const [one = "", two = "", three = ""] = ids;
    await refuses((principal) => t.kernel.cancel(one, { tenant_id, principal }), [bob, person("n", "none")]);
    expect((await t.kernel.cancel(one, { tenant_id, principal: ann })).status).toBe("cancelled");
    expect((await t.kernel.cancel(two, { tenant_id, principal: person("a", "admin") })).status).toBe("cancelled");
    expect((await t.kernel.cancel(three, { tenant_id, principal: person("d", "desk") })).status).toBe("cancelled");
  });

  it("cancels it under each of its names, where the host says who is one person", async () => {
    const { capability } = erp("succeeds");
    const samePerson = () => true;
    await using t = await createTestKernel({ capabilities: [capability], roles: own, samePerson });
    const { workflow_id } = await by(t, ann);
    await t.rest(workflow_id);
    expect((await t.kernel.cancel(workflow_id, { tenant_id, principal: bob })).status).toBe("cancelled");
  });

  it.each(["resume_failed_steps", "regenerate", "replay", "migrate"] as const)(
    "has what it has asked for done again, and nothing else: %s",
    async (mode) => {
      const { capability } = erp("succeeds");
      await using t = await createTestKernel({ capabilities: [capability], roles: own });
      const { workflow_id: id } = await by(t, ann);
      await t.rest(id);
      const others = [bob, person("n", "none")];
      await refuses((principal) => t.kernel.retry(id, { tenant_id, principal, mode }), others);
      const told = await t.kernel.retry(id, { tenant_id, principal: ann, mode }).catch((thrown) => thrown.error.code);
      expect(told).not.toBe("T5_AUTHZ_FORBIDDEN");
    },
  );

  it.each(Object.keys(settlements))("says what became of its own calls, and of no other: %s", async (name) => {
    const { capability } = erp("lost");
    await using t = await createTestKernel({ capabilities: [capability], roles: own });
    const { workflow_id: id } = await by(t, ann);
    await t.rest(id);
    await at(t, id, bob, { decision: "approve", gate_id: "gate-make" });
    expect((await t.rest(id)).state).toBe("waiting_for_user");
    const word = settlements[name] as (typeof words)["approve"];
    await refuses((who) => word(t, id, who), [bob, person("n", "none")]);
    await word(t, id, ann);
    expect((await gateOf(t, id, "gate-make_doubt1")).status).not.toBe("open");
  });
});

describe("an operator that says who settles its calls in doubt", () => {
  function lost(gate: Partial<GateSpec>) {
    const call = () => new Promise(() => undefined);
    const doubt = { roles: ["support"] };
    const make = counted("Erp.Make", { effect: "final_write", timeoutSec: 1, doubt }, call);
    return story([make], [step("make", make, { gate })]);
  }

  it.each([
    ["roles", { roles: ["user"] }],
    ["approvers", { approvers: [{ id: 1 }] }],
    ["that very role as an adviser", { advisors: ["support"] }],
  ] as [string, Partial<GateSpec>][])("asks these roles alone, though its gate named %s", async (_what, gate) => {
    await using t = await createTestKernel({ capabilities: [lost(gate)] });
    const { workflow_id: id } = await t.run(intent);
    await t.approve(id);
    await t.rest(id);
    expect(await gateOf(t, id, "gate-make_doubt1")).toMatchObject({ roles: ["support"], approvers: null });
    const done = { decision: "approve", payload: { resolution: "done" } };
    expect((await refusalOf(at(t, id, testCaller.principal, done))).code).toBe("T5_AUTHZ_FORBIDDEN");
    await at(t, id, person("sue", "support"), done);
    expect((await t.rest(id)).state).toBe("completed");
  });

  it("is refused when it is defined without a role", () => {
    for (const doubt of [{ roles: [] }, {}, { roles: ["support"], people: [] }])
      expect(() => counted("Erp.Make", { doubt } as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});

describe("a call in doubt whose gate was escalated", () => {
  it("is settled by the role that was added, too", async () => {
    const { capability } = erp("lost", { roles: ["user"], escalation: [{ after_ms: 1_000, role: "admin" }] });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    await t.clock.advance(1_000);
    await at(t, id, person("boss", "admin"), { decision: "approve" });
    await t.rest(id);
    await at(t, id, person("boss", "admin"), { decision: "approve", payload: { resolution: "done" } });
    expect((await t.rest(id)).state).toBe("completed");
  });
});
