/**
 * What a host brings may throw, answer nonsense or never answer: classifier, security, authenticator, policy, preview,
 * middleware, scorers, logger, telemetry and listeners. Each becomes a coded error or does no harm at all.
 */
import { describe, expect, it } from "vitest";
import type { PolicyRule } from "../../src/contract/policy.ts";
import type { KernelOptions } from "../../src/kernel/options.ts";
import type { Classifier, Security } from "../../src/ports/perception.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { endOf, expectAlive, expectOnly, expectRefused, never, openKernel, throws, who } from "./fixture.ts";

const boom = throws(new Error("not today"));
const rejects = () => Promise.reject(new Error("not today"));
const said = { ...who, input: { text: "a neighbour please" } };

/** Throws at whoever looks at a member, but for the one that tells a promise. */
const unreadable = (): object =>
  new Proxy({}, { get: (_, name) => (name === "then" ? undefined : boom()), getPrototypeOf: boom, ownKeys: boom });

/** Ways to fail, as a host's function may; the last answers nonsense. */
const failures = (code: string, nonsense = code) =>
  [
    ["throws", boom, code],
    ["throws nothing", throws(undefined), code],
    ["rejects", rejects, code],
    ["never answers", never, code],
    ["answers what cannot be read", unreadable, code],
    ["answers later what cannot be read", async () => unreadable(), code],
    ["answers nothing", () => undefined, nonsense],
  ] as const;

async function openActing(options: KernelOptions = {}, more: Parameters<typeof work>[2] = {}) {
  const world = createWorld();
  const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act", more)])];
  const t = await openKernel({ capabilities, ...options });
  return { t, world };
}

/** Submits, and moves time until the answer, whatever it is, has come. */
async function submitted(t: Awaited<ReturnType<typeof openKernel>>, request: object): Promise<unknown> {
  const answer = t.kernel.submit(request as never);
  answer.catch(() => undefined);
  await t.clock.advance(60_000);
  return answer;
}

describe("a classifier", () => {
  it.each(failures("T1_CLASSIFY_TIMEOUT", "T1_CLASSIFY_LOW_CONFIDENCE"))(
    "that %s: the request is refused with a code",
    async (_how, classify, code) => {
      const { t } = await openActing({ classifier: { classify: classify as Classifier["classify"] } });
      await using _ = t;
      await expectRefused(submitted(t, said), code);
      await expectOnly(t, []);
      await expectAlive(t);
    },
  );

  it.each([
    [{ intent_type: "Test.Nobody", domain: "d", confidence: 1 }, "T1_NORMALIZE_UNKNOWN_INTENT"],
    [{ intent_type: "Test.Neighbour", domain: "d", confidence: Number.NaN }, "T1_CLASSIFY_LOW_CONFIDENCE"],
    [{ intent_type: 7, domain: "d", confidence: 1 }, "T1_CLASSIFY_LOW_CONFIDENCE"],
    [{ intent_type: "Test.Neighbour", domain: 1n, confidence: 1 }, "T1_CLASSIFY_LOW_CONFIDENCE"],
    [{}, "T1_CLASSIFY_LOW_CONFIDENCE"],
  ])("that answers %o: the request is refused with a code", async (answer, code) => {
    const { t } = await openActing({ classifier: { classify: () => answer as never } });
    await using _ = t;
    await expectRefused(submitted(t, said), code);
    await expectAlive(t);
  });
});

describe("a security validator", () => {
  const refused = "T1_SECURITY_INPUT_REFUSED";
  it.each(failures(refused))("of the input that %s refuses: no workflow, no planner", async (_how, validate, code) => {
    const once = failingFirst(validate, () => ({ ok: true }));
    const { t, world } = await openActing({ security: { validate: once as Security["validate"] } });
    await using _ = t;
    await expectRefused(submitted(t, { ...said, intent_hint: { intent_type: "Test.Job" } }), code);
    expect(world.calls).toEqual([]);
    await expectOnly(t, []);
    await expectAlive(t);
  });

  it.each(failures("T4_PARAMS_REFUSED"))(
    "of params that %s refuses: the operator is not called",
    async (_how, validateParams, code) => {
      const once = failingFirst(validateParams, () => ({ ok: true }));
      const { t, world } = await openActing({
        security: { validateParams: once as Security["validateParams"] },
        limits: { maxReplans: 0 },
      });
      await using _ = t;
      await endOf(t, code);
      expect(world.calls).toEqual([]);
      await expectAlive(t);
    },
  );

  it.each(failures("T4_OUTPUT_INVALID"))(
    "of output that %s fails the step: nothing unchecked is kept or shown",
    async (_how, validateOutput, code) => {
      const { t } = await openActing(
        {
          security: { validateOutput: failingFirst(validateOutput, () => ({ ok: true })) as never },
          limits: { maxReplans: 0 },
        },
        { effect: "read", run: () => ({ secret: "hunter2" }) },
      );
      await using _ = t;
      const { workflow_id: id } = await endOf(t, code);
      expect(JSON.stringify(await Array.fromAsync(t.kernel.export(id)))).not.toContain("hunter2");
      await expectAlive(t);
    },
  );
});

/** Fails at its first call and works from then on. */
function failingFirst(fail: () => unknown, then: () => unknown): () => unknown {
  let calls = 0;
  return () => {
    calls += 1;
    return calls === 1 ? fail() : then();
  };
}

describe("an authenticator", () => {
  it.each(failures("T5_AUTHN_FAILED"))("that %s: nobody gets in", async (_how, authorize, code) => {
    const { t } = await openActing({ authenticator: { authorize: authorize as never } });
    await using _ = t;
    await expectRefused(submitted(t, { ...who, intent_hint: { intent_type: "Test.Job" } }), code);
    await expectOnly(t, []);
  });

  it.each([
    { tenant_id: 1 },
    {
      tenant_id: 2,
      principal_id: 1,
      principal_type: "user",
      role: "user",
      scopes: ["*"],
      data_policy: { allow_pii: true, allow_external_send: true },
    },
    { tenant_id: 1, principal_id: 1, role: "user", scopes: "*" },
    "yes",
  ])("that answers %o: nobody gets in", async (answer) => {
    const { t } = await openActing({ authenticator: { authorize: () => answer as never } });
    await using _ = t;
    await expectRefused(submitted(t, { ...who, intent_hint: { intent_type: "Test.Job" } }));
    await expectOnly(t, []);
  });
});

describe("a policy that fails denies", () => {
  const stages = ["plan", "action", "outcome"] as const;
  const isJob: PolicyRule["evaluate"] = ({ intent }) => (intent?.type === "Test.Job" ? null : { decision: "ALLOW" });
  const ruleOf = (stage: (typeof stages)[number], fail: () => unknown): PolicyRule => ({
    name: "shaky",
    stages: [stage],
    evaluate: (question) => (isJob(question) === null ? (fail() as never) : null),
  });
  const ways = [
    ...failures("T5_POLICY_DENIED").slice(0, 6),
    ["answers another word", () => ({ decision: "PERHAPS" }), "T5_POLICY_DENIED"],
    ["answers a text", () => "ALLOW", "T5_POLICY_DENIED"],
    ["answers true", () => true, "T5_POLICY_DENIED"],
    ["changes it into what is no JSON", () => ({ decision: "TRANSFORM", transform: { n: 1n } }), "T5_POLICY_DENIED"],
  ] as const;

  it.each(stages.flatMap((stage) => ways.map(([how, fail, code]) => [stage, how, fail, code] as const)))(
    "at stage %s, when it %s",
    async (stage, _how, fail, code) => {
      const world = createWorld();
      const plan = [step("s1", "Test.Act", { outcome: "Test.Draft" }), step("s2", "Test.Act", { depends_on: ["s1"] })];
      await using t = await openKernel({
        capabilities: [job(plan, [work(world, "Test.Act")])],
        policies: [ruleOf(stage, fail)],
      });
      const state = await endOf(t, code);
      expect(state.status).toBe("blocked");
      expect(world.calls).toHaveLength(stage === "outcome" ? 1 : 0);
      expect(state.outcomes).toEqual([]);
      await expectAlive(t);
    },
  );

  it("at stage gate: the decision is refused and the gate stays open", async () => {
    let shaky = true;
    const world = createWorld();
    await using t = await openKernel({
      capabilities: [job([step("s1", "Test.Act", { gate: {} })], [work(world, "Test.Act")])],
      policies: [{ name: "shaky", stages: ["gate"], evaluate: () => (shaky ? boom() : null) }],
    });
    const { workflow_id: id } = await t.run("Test.Job");
    await expectRefused(t.approve(id), "T5_POLICY_DENIED");
    expect(world.calls).toEqual([]);
    shaky = false;
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
  });
});

describe("a preview", () => {
  it.each<readonly [string, () => unknown]>([
    ...failures("").map(([how, fail]) => [how, fail] as const),
    ["answers a number", () => 7],
    ["answers a difference that is no text", () => ({ preview: "x", diff: 1n })],
  ])("that %s: the person sees the payload itself", async (_how, preview) => {
    const world = createWorld();
    const act = work(world, "Test.Act", { preview: preview as never });
    await using t = await openKernel({
      capabilities: [job([step("s1", "Test.Act", { gate: {}, params: { to: "Ada" } })], [act])],
    });
    const { workflow_id: id, state } = await t.run("Test.Job");
    expect(state).toBe("waiting_for_user");
    expect((await t.kernel.gates({ workflow_id: id }))[0]?.preview).toContain("Ada");
    await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    await expectAlive(t);
  });
});

describe("a middleware", () => {
  const ways = failures("").slice(0, 4);

  it.each(ways)("whose before %s: the operator is not called and the step fails with a code", async (_how, before) => {
    const { t, world } = await openActing({
      middleware: [
        { name: "shaky", before: ({ skill_name }) => (skill_name === "Test.Act" ? before() : undefined) as never },
      ],
      limits: { maxReplans: 0 },
    });
    await using _ = t;
    await endOf(t);
    expect(world.calls).toEqual([]);
    await expectAlive(t);
  });

  it.each(ways)("whose after or onError %s: what the operator did stands, once", async (_how, hook) => {
    const { t, world } = await openActing({
      middleware: [{ name: "shaky", after: hook as never, onError: hook as never }],
    });
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
    await expectAlive(t);
  });
});

describe("what a hook or a check gives", () => {
  const ended = (): never => {
    throw new Error("hands off");
  };
  it.each<readonly [string, () => unknown]>([
    ["a bigint", () => 1n],
    ["a cycle", () => Object.assign([] as unknown[], { 0: globalThis })],
    ["what cannot be read", () => ({ toJSON: ended })],
    ["a secret", () => "hunter2"],
  ])("%s is nobody's business: the work ends, and the ledger holds none of it", async (_what, give) => {
    const hook = async (): Promise<never> => give() as never;
    const world = createWorld();
    await using t = await openKernel({
      capabilities: [job([step("s1", "Test.Act", { gate: {} })], [work(world, "Test.Act", { check: hook })])],
      middleware: [{ name: "giver", before: hook, after: hook, onError: hook }],
    });
    const { workflow_id: id } = await t.run("Test.Job");
    await t.approve(id);
    expect([(await t.rest(id)).state, world.calls.length]).toEqual(["completed", 1]);
    expect(JSON.stringify(await Array.fromAsync(t.kernel.export(id)))).not.toContain("hunter2");
    expect((await t.kernel.replay(id)).identical).toBe(true);
    await expectAlive(t);
  });
});

describe("a verdict of security", () => {
  it("is what it was when it was read: a refusal holds members that are no JSON, and the work ends", async () => {
    const verdict = { ok: false, reason: "no", sanitized: 1n };
    const { t, world } = await openActing({
      security: { validateParams: async () => verdict as never },
      limits: { maxReplans: 0 },
    });
    await using _ = t;
    const { workflow_id: id, error } = await endOf(t, "T4_PARAMS_REFUSED");
    expect([error?.message, world.calls]).toEqual(["params refused: no", []]);
    expect((await t.kernel.replay(id)).identical).toBe(true);
  });

  it.each([{ ok: "yes" }, { ok: 1 }, {}])("of %o refuses: only true lets something pass", async (verdict) => {
    const { t } = await openActing({
      security: { validateOutput: () => verdict as never },
      limits: { maxReplans: 0 },
    });
    await using _ = t;
    expect((await t.run("Test.Job")).state).not.toBe("completed");
  });

  it("keeps the beginning of its reason, however long that is", async () => {
    const reason = "y".repeat(1_000_000);
    const { t } = await openActing({ security: { validateOutput: () => ({ ok: false, reason }) } });
    await using _ = t;
    const { workflow_id: id } = await t.run("Test.Job");
    expect(JSON.stringify(await Array.fromAsync(t.kernel.export(id))).length).toBeLessThan(100_000);
  });
});

describe("what only listens, or scores, does no harm", () => {
  const listeners: readonly (readonly [string, KernelOptions])[] = [
    ["a logger that throws", { logger: { debug: boom, info: boom, warn: boom, error: boom } }],
    ["a telemetry that throws", { telemetry: { mark: boom } }],
    ["a notification listener that throws", { notify: boom }],
    ["a notification listener that never ends", { notify: never as never }],
    ["an inspector that throws", { inspect: boom }],
  ];

  it.each(listeners)("%s: every workflow completes and each effect happens once", async (_what, options) => {
    const { t, world } = await openActing(options);
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
    await expectAlive(t);
  });

  it("a bus subscriber that throws: the others hear all, and the kernel goes on", async () => {
    const { t } = await openActing();
    await using _ = t;
    const before = t.items.length;
    t.kernel.bus.signals.subscribe(boom);
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(t.items.length).toBeGreaterThan(before);
    await expectAlive(t);
  });

  it.each(["urgency", "complexity", "confidence", "grounding"] as const)(
    "a scorer of %s that throws or answers nonsense ends in a code, not in a hang",
    async (name) => {
      for (const fail of [boom, () => undefined, () => Number.NaN, () => "loud"]) {
        const { t } = await openActing({
          scorers: {
            [name]: failingFirst(fail, () => (name === "urgency" ? "normal" : name === "complexity" ? "simple" : 1)),
          },
        });
        await using _ = t;
        const answer = submitted(t, { ...who, input: { text: "x" }, intent_hint: { intent_type: "Test.Job" } });
        const accepted = (await answer.catch(() => null)) as { readonly workflow_id: string } | null;
        if (accepted !== null) expect(["completed", "failed"]).toContain((await t.rest(accepted.workflow_id)).state);
        else await expectRefused(answer);
        await expectAlive(t);
      }
    },
  );

  it("an initialisation that fails ends the run that needed it, and is tried again by the next one", async () => {
    const initialize = failingFirst(boom, () => undefined) as () => void;
    const { t, world } = await openActing({ initialize });
    await using _ = t;
    await endOf(t);
    expect(world.calls).toEqual([]);
    await expectAlive(t);
  });
});
