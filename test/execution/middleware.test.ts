// The middleware around every call: its fixed order, what each may touch, what a retry repeats (seed 002 section 6).

import { describe, expect, it } from "vitest";
import { definePolicy, KernelErrorException, type Middleware, type SkillExecutionContext } from "../../src/index.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createExecutionContext, writeTimeout } from "../../src/tiers/t4-execution/decide/call/execution-context.ts";
import { middlewareSpecVersion, orderOf } from "../../src/tiers/t4-execution/decide/call/middleware.ts";
import { fieldsOf, intent, named, oneStep, payloads, type SkillCall, skill } from "./flow.ts";

const order = ["Trace", "Policy", "Approval", "Timeout"];
const reversed = [...order].reverse();
const noReplans = { limits: { maxReplans: 0 } };

const hooks = (t: TestKernel, phase: "before" | "after" | "on_error") => named(t, `middleware.${phase}`);
const failing = (times: number) => (call: SkillCall) => {
  if (call.attempt <= times) throw new Error("not yet");
  return "done";
};
const idle = (): void => undefined;
const never = (): never => {
  throw new Error("never");
};

describe("the order", () => {
  it("[MID-01] before a call: Trace, Policy, Approval, Timeout", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", () => 1))] });
    await t.run(intent);
    expect(hooks(t, "before")).toEqual(order);
  });

  it("[MID-02] after a success: Timeout, Approval, Policy, Trace", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", () => 1))] });
    await t.run(intent);
    expect(hooks(t, "after")).toEqual(reversed);
    expect(hooks(t, "on_error")).toEqual([]);
  });

  it("[MID-02] on a failure: Timeout, Approval, Policy, Trace", async () => {
    const act = skill("Probe.Act", never, { retry: "NONE" });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], ...noReplans });
    await t.run(intent);
    expect(hooks(t, "on_error")).toEqual(reversed);
    expect(hooks(t, "after")).toEqual([]);
  });

  it("[MID-03] the order belongs to the spec version", () => {
    expect({ version: middlewareSpecVersion, order: orderOf([]) }).toEqual({ version: "1.1", order });
  });

  it.each([
    ["a fixed name taken", { middleware: [{ name: "Policy", before: idle }] }],
    ["a fixed name in other letters", { middleware: [{ name: "timeout" }] }],
    ["a place asked for", { middleware: [{ name: "early", position: "before:Trace" }] }],
    ["one dropped by name", { middleware: [{ name: "mine", replaces: "Approval" }] }],
    ["no name", { middleware: [{ before: idle }] }],
    ["two of one name", { middleware: [{ name: "mine" }, { name: "mine" }] }],
    ["a limit that names the order", { limits: { middlewareOrder: 1 } }],
  ])("[MID-03] no configuration moves one of the four: %s is refused", async (_what, options) => {
    await expect(createTestKernel(options as never)).rejects.toBeInstanceOf(KernelErrorException);
  });

  it("[MID-06] custom middleware goes between Approval and Timeout and leaves the four in order", async () => {
    const seen: string[] = [];
    const custom: Middleware = {
      name: "custom",
      before: ({ attempt }) => void seen.push(`before ${attempt}`),
      after: ({ attempt }) => void seen.push(`after ${attempt}`),
      onError: ({ attempt }) => void seen.push(`error ${attempt}`),
    };
    await using t = await createTestKernel({
      capabilities: [oneStep(skill("Probe.Act", failing(1)))],
      middleware: [custom],
    });
    await t.run(intent);
    expect(seen).toEqual(["before 1", "error 1", "before 2", "after 2"]);
    expect(hooks(t, "before").slice(0, 5)).toEqual(["Trace", "Policy", "Approval", "custom", "Timeout"]);
    expect(hooks(t, "after")).toEqual(["Timeout", "custom", "Approval", "Policy", "Trace"]);
    expect(hooks(t, "on_error")).toEqual(["Timeout", "custom", "Approval", "Policy", "Trace"]);
  });
});

describe("authority", () => {
  const fields: Readonly<Record<string, unknown>> = {
    request_id: "other",
    step_id: "other",
    skill_name: "Other.Skill",
    params: { forged: true },
    state: {},
    skill: "Other.Skill",
    metadata: {},
    trace: {},
    timeout: 1,
    attempt: 9,
    start_time: 0,
    is_retry: true,
    extra: 1,
  };
  const assign = (context: SkillExecutionContext, field: string): void => {
    (context as unknown as Record<string, unknown>)[field] = fields[field];
  };
  const fresh = () =>
    createExecutionContext({
      request_id: "w",
      step_id: "s1",
      skill_name: "Probe.Act",
      params: { p: 1 },
      metadata: skill("Probe.Act", () => 1).metadata,
      attempt: 1,
      start_time: 5,
      trace: {},
    });

  it.each(Object.keys(fields))("[MID-04] a write to ctx.%s is stopped and has no effect", (field) => {
    const context = fresh();
    const stopped = field === "extra" ? TypeError : KernelErrorException;
    expect(() => assign(context, field)).toThrow(stopped as never);
    expect(fieldsOf(context)).toEqual(fieldsOf(fresh()));
  });

  it("[MID-04] the Timeout middleware's pen writes ctx.timeout and nothing else", () => {
    const context = fresh();
    writeTimeout(context, 7);
    expect(fieldsOf(context)).toEqual({ ...fieldsOf(fresh()), timeout: 7 });
  });

  it.each(Object.keys(fields).filter((f) => f !== "extra"))(
    "[MID-04] a custom middleware that writes ctx.%s ends the attempt with a structured error, uncalled",
    async (field) => {
      const calls: unknown[] = [];
      const act = skill("Probe.Act", (call) => void calls.push(call));
      await using t = await createTestKernel({
        capabilities: [oneStep(act)],
        middleware: [{ name: "forger", before: (context) => assign(context, field) }],
        ...noReplans,
      });
      const state = await t.run(intent);
      expect(calls).toEqual([]);
      expect(state.steps[0]?.error).toMatchObject({
        code: "T4_MIDDLEWARE_VIOLATION",
        detail: { field, step_id: "s1" },
      });
    },
  );

  it("[MID-04] what hangs below the context is as closed as the context", async () => {
    const thrown: unknown[] = [];
    const inputs: unknown[] = [];
    const deep = (context: SkillExecutionContext): void => {
      const open = context as unknown as Record<string, Record<string, unknown>>;
      for (const [field, key] of [
        ["params", "p"],
        ["metadata", "timeout_sec"],
        ["trace", "forged"],
        ["state", "forged"],
      ] as const) {
        try {
          open[field]![key] = 99;
        } catch (error) {
          thrown.push(error);
        }
      }
    };
    const act = skill("Probe.Act", ({ input }) => void inputs.push(input), { timeoutSec: 5 });
    await using t = await createTestKernel({
      capabilities: [oneStep(act, { params: { p: 1 } })],
      middleware: [{ name: "deep", before: deep }],
    });
    const { workflow_id } = await t.run(intent);
    expect(thrown).toHaveLength(4);
    expect(inputs).toEqual([{ p: 1 }]);
    expect((await payloads(t, workflow_id, "ACTION_STARTED"))[0]?.timeout_ms).toBe(5_000);
  });

  it("[MID-04] a policy rule decides and changes nothing: neither payload nor authority", async () => {
    const inputs: unknown[] = [];
    const writes: string[] = [];
    const forge = definePolicy({
      name: "forge",
      stages: ["action"],
      evaluate: ({ subject, auth }) => {
        for (const [what, write] of [
          ["payload", () => Object.assign(subject.payload as object, { p: 2 })],
          ["scopes", () => (auth.scopes as string[]).push("*")],
          ["data_policy", () => Object.assign(auth.data_policy, { allow_external_send: true })],
        ] as const) {
          try {
            write();
            writes.push(what);
          } catch {}
        }
        return null;
      },
    });
    const act = skill(
      "Probe.Act",
      ({ input, context }) => void inputs.push([input, context.auth.scopes.includes("*")]),
    );
    await using t = await createTestKernel({ capabilities: [oneStep(act, { params: { p: 1 } })], policies: [forge] });
    await t.run(intent);
    expect(writes).toEqual([]);
    expect(inputs).toEqual([[{ p: 1 }, false]]);
  });
});

describe("retries and refusals", () => {
  it("[MID-05] a retry runs Trace and Timeout again, Policy and Approval not", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(skill("Probe.Act", failing(2)))] });
    expect((await t.run(intent)).state).toBe("completed");
    const count = (name: string) => hooks(t, "before").filter((n) => n === name).length;
    expect(Object.fromEntries(order.map((name) => [name, count(name)]))).toEqual({
      Trace: 3,
      Policy: 1,
      Approval: 1,
      Timeout: 3,
    });
  });

  it("[MID-07] a policy denial prevents the call, runs the on-error chain in order and blocks the step", async () => {
    const calls: unknown[] = [];
    const act = skill("Probe.Act", (call) => void calls.push(call));
    const deny = definePolicy({ name: "no", stages: ["action"], evaluate: () => ({ decision: "DENY", reason: "no" }) });
    await using t = await createTestKernel({ capabilities: [oneStep(act)], policies: [deny] });
    const state = await t.run(intent);
    expect(calls).toEqual([]);
    expect(hooks(t, "on_error")).toEqual(reversed);
    expect((await t.kernel.trace(state.workflow_id)).steps[0]).toMatchObject({ status: "BLOCKED", attempts: [] });
  });

  it("[MID-07] a throwing middleware prevents the call, and every on-error hook runs even if one fails", async () => {
    const seen: string[] = [];
    const act = skill("Probe.Act", () => void seen.push("called"), { retry: "NONE" });
    await using t = await createTestKernel({
      capabilities: [oneStep(act)],
      middleware: [
        { name: "outer", onError: () => void seen.push("outer") },
        { name: "inner", before: never, onError: never },
      ],
      ...noReplans,
    });
    const state = await t.run(intent);
    expect(seen).toEqual(["outer"]);
    expect(hooks(t, "on_error")).toEqual(["Timeout", "inner", "outer", "Approval", "Policy", "Trace"]);
    expect(state.steps[0]?.state).toBe("failed");
  });

  it("[MID-02] the first failure of a chain that runs back is told, after all of it has run", async () => {
    const broken = (name: string): Middleware => ({
      name,
      after: () => {
        throw new Error(name);
      },
    });
    const seen: string[] = [];
    await using t = await createTestKernel({
      capabilities: [oneStep(skill("Probe.Act", () => 1))],
      middleware: [{ name: "outer", after: () => void seen.push("outer") }, broken("between"), broken("inner")],
    });
    expect((await t.run(intent)).state).toBe("completed");
    expect([seen, hooks(t, "after")]).toEqual([
      ["outer"],
      ["Timeout", "inner", "between", "outer", "Approval", "Policy", "Trace"],
    ]);
    const told = t.logged.filter(({ message }) => message === "middleware failed after its attempt");
    expect(told).toMatchObject([{ detail: { step_id: "s1", error: { message: "middleware inner failed: inner" } } }]);
  });
});

describe("an abandoned call", () => {
  it("keeps running when a hook fails the next attempt: it is not repeated, and nothing is recorded", async () => {
    let calls = 0;
    const said: unknown[] = [];
    let speak: () => void = () => undefined;
    const send = skill(
      "Probe.Send",
      ({ emit }) => {
        calls += 1;
        speak = () => emit("still here");
        return new Promise(() => undefined);
      },
      { effect: "write_draft", timeoutSec: 1 },
    );
    const hook: Middleware = {
      name: "flaky",
      before: ({ attempt }) => {
        if (attempt === 2) throw new Error("not now");
      },
      onError: () => {
        try {
          speak();
        } catch (thrown) {
          said.push((thrown as KernelErrorException).error.code);
        }
      },
    };
    await using t = await createTestKernel({ capabilities: [oneStep(send)], middleware: [hook] });
    const { state, workflow_id } = await t.run(intent);
    expect([state, calls]).toEqual(["waiting_for_user", 1]);
    expect(said).toEqual(Array(3).fill("T0_VALIDATION_SCHEMA_MISMATCH"));
    expect(await payloads(t, workflow_id, "TOKEN_RECORDED")).toEqual([]);
  });
});
