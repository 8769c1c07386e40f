/**
 * Operators that throw, never end, or return what nobody can keep: a coded error, one record, and a kernel that goes
 * on.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { KernelErrorException } from "../../src/contract/error.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { operatorError } from "../../src/define/define-operator.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { endOf, expectAlive, expectCoded, neighbour, never, openKernel, throws } from "./fixture.ts";

const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

async function openActing(run: (call: OperatorCall<unknown>) => unknown, more: Parameters<typeof work>[2] = {}) {
  const world = createWorld();
  const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act", { ...more, run })])];
  const t = await openKernel({ capabilities, limits: { maxReplans: 0 } });
  return { t, world };
}

const deep = (): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < 10_000; i += 1) value = [value];
  return value;
};

const thrown: readonly (readonly [string, unknown])[] = [
  ["an error", new Error("no")],
  ["a text", "no"],
  ["nothing", undefined],
  ["null", null],
  ["a cycle", cyclic],
  ["a bigint", 1n],
  ["a proxy that throws", new Proxy({}, { get: throws(new Error("no")), getPrototypeOf: () => null })],
  [
    "an error whose message throws",
    Object.defineProperty(new Error("no"), "message", { get: throws(new Error("no")) }),
  ],
  ["an operator error of no known kind", operatorError({ code: "", message: "", category: "weather" as never })],
  ["a kernel error with a detail that is no JSON", new KernelErrorException({ ...bare(), detail: { n: 1n } })],
];

function bare() {
  return {
    code: "T4_TOOL_EXECUTION_FAILED",
    category: "external",
    severity: "transient",
    message: "no",
    source: { tier: 4, module: "test", function: "run" },
    retry_eligible: false,
    detail: {},
    cause: null,
  } as const;
}

/** The workflow waits for a person's word on its one call. */
async function expectDoubt(t: Awaited<ReturnType<typeof openKernel>>) {
  const { state, gates, steps, workflow_id } = await t.run("Test.Job");
  expect(state).toBe("waiting_for_user");
  expect(gates).toMatchObject([{ kind: "in_doubt", status: "open" }]);
  expect(steps).toMatchObject([{ state: "running" }]);
  return workflow_id;
}

describe("an operator", () => {
  it.each(thrown)(
    "that throws %s: whether it took effect is not known, so a person is asked and nothing is called again",
    async (_what, value) => {
      const { t, world } = await openActing(throws(value));
      await using _ = t;
      await expectDoubt(t);
      expect(world.calls).toHaveLength(1);
      await expectAlive(t);
    },
  );

  it("that throws an operator error: the step fails with a code, and its action is recorded as failed", async () => {
    const error = operatorError({ code: "NO", message: "no", category: "dependency" });
    const { t, world } = await openActing(throws(error));
    await using _ = t;
    const { workflow_id: id, steps } = await endOf(t);
    expectCoded(steps[0]?.error);
    expect(world.calls).toHaveLength(1);
    expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["failed"]);
    await expectAlive(t);
  });

  it.each(thrown)("that rejects with %s: the same", async (_what, value) => {
    const { t } = await openActing(() => Promise.reject(value));
    await using _ = t;
    await expectDoubt(t);
    await expectAlive(t);
  });

  it.each([
    ["a bigint", { n: 1n }],
    ["a cycle", cyclic],
    ["a function", { f: () => 1 }],
    ["no number", { n: Number.NaN }],
    ["what is too deep", deep()],
    ["what is too large", { text: "x".repeat(4_000_001) }],
    ["a toJSON that throws", { toJSON: throws(new Error("no")) }],
  ])("that returns %s: nothing of it is kept, and a person is asked, since the call was made", async (_what, value) => {
    const { t } = await openActing(() => value);
    await using _ = t;
    const id = await expectDoubt(t);
    const [action] = await t.kernel.actions(id);
    expectCoded(action?.error);
    expect([action?.status, action?.result_payload]).toEqual(["in_doubt", null]);
    await expectAlive(t);
  });

  it("that returns odd but lawful things is kept as JSON keeps them", async () => {
    for (const [value, kept] of [
      [undefined, null],
      [new Date(0), "1970-01-01T00:00:00.000Z"],
      [{ a: undefined, b: -0 }, { b: 0 }],
      ["\ud800", "\ufffd"],
    ]) {
      const { t } = await openActing(() => value);
      await using _ = t;
      const { workflow_id: id } = await t.run("Test.Job");
      expect((await t.kernel.actions(id))[0]).toMatchObject({ status: "succeeded", result_payload: kept });
      await expectAlive(t);
    }
  });

  it("whose output its own schema refuses: T4_OUTPUT_INVALID", async () => {
    const world = createWorld();
    const act = {
      ...work(world, "Test.Act", { effect: "read", run: () => ({ text: 7 }) }),
      output: z.object({ text: z.string() }),
    };
    await using t = await openKernel({
      capabilities: [job([step("s1", "Test.Act")], [act])],
      limits: { maxReplans: 0 },
    });
    await endOf(t, "T4_OUTPUT_INVALID");
    await expectAlive(t);
  });

  it("whose schemas throw: a coded error", async () => {
    const world = createWorld();
    const bad = z.unknown().transform(throws(new Error("no")));
    for (const schemas of [{ input: bad }, { output: bad }]) {
      const act = { ...work(world, "Test.Act", { effect: "read" }), ...schemas };
      await using t = await openKernel({
        capabilities: [job([step("s1", "Test.Act")], [act])],
        limits: { maxReplans: 0 },
      });
      await endOf(t);
      await expectAlive(t);
    }
  });

  it("that never ends and has no effect times out; others are served meanwhile", async () => {
    const { t, world } = await openActing(never, { effect: "read", timeoutSec: 10 });
    await using _ = t;
    const hurt = await t.submit("Test.Job");
    await t.clock.settle();
    const other = await t.submit("Test.Neighbour");
    await t.clock.settle();
    expect((await t.kernel.workflow(other)).state).toBe("completed");
    expect(await t.rest(hurt)).toMatchObject({ state: "failed", error: { code: "T4_TOOL_TIMEOUT" } });
    expect(world.calls).toHaveLength(1);
    await expectAlive(t);
  });

  it("that never ends and may take effect is not failed but asked about", async () => {
    const { t } = await openActing(never, { timeoutSec: 10 });
    await using _ = t;
    const hurt = await t.submit("Test.Job");
    // Who waits for it is told, by no timer that would not keep a process alive.
    const settled = t.kernel.settled(hurt);
    while (await t.clock.advanceToNext());
    expect(await Promise.race([settled, t.clock.settle()])).toMatchObject({ state: "waiting_for_user" });
    expect(await t.kernel.gates({ workflow_id: hurt })).toMatchObject([{ kind: "in_doubt" }]);
    await expectAlive(t);
  });

  it("that never ends does not keep the kernel from stopping, nor a workflow from being cancelled", async () => {
    const { t } = await openActing(never);
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    const who = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    expect(await t.kernel.cancel(id, who)).toMatchObject({ status: "cancelling" });
    await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.stop({ drainMs: 0 });
  });

  it("that keeps streaming is cut at the limit, gets errors for chunks that are no text, does no harm", async () => {
    const { t } = await openActing(({ stream, report }) => {
      for (let i = 0; i < 50_000; i += 1) stream("x");
      for (const value of [undefined, null, 7, {}, Symbol("s")])
        expect(() => stream(value as never)).toThrow("stream takes text");
      for (const value of [Number.NaN, -1, 1e9, "half" as never]) report(value);
      return { ok: true };
    });
    await using _ = t;
    const state = await t.run("Test.Job");
    expect(state.state).toBe("completed");
    const shown = await Array.fromAsync(t.kernel.assistant(state.workflow_id, { live: false }));
    expect(JSON.stringify(shown).length).toBeLessThan(100_000);
    await expectAlive(t);
  });

  it.each([null, "much", { tokens: { in: -1, out: 1, total: 0 } }, { cost: { total: 1n } }, { cost: { total: -1 } }])(
    "that reports the usage %o hears so, and its step fails with a code",
    async (used) => {
      const { t } = await openActing(({ usage }) => usage(used as never));
      await using _ = t;
      const { workflow_id: id, spent } = await endOf(t, "T0_VALIDATION_SCHEMA_MISMATCH");
      expect(spent).toBeGreaterThanOrEqual(0);
      expect((await t.kernel.actions(id)).map((a) => a.status)).toEqual(["failed"]);
      await expectAlive(t);
    },
  );

  it("that goes on after its workflow has ended as cancelled changes nothing any more", async () => {
    let finish: (value: unknown) => void = () => undefined;
    const { t } = await openActing(() => new Promise((resolve) => (finish = resolve)));
    await using _ = t;
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    await t.kernel.cancel(id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } });
    await t.clock.advance(3_600_000);
    const [gate] = await t.kernel.gates({ workflow_id: id });
    await t.reject(id, gate?.gate_id);
    await t.clock.settle();
    const before = await t.types(id);
    expect(before.at(-1)).toBe("WORKFLOW_CANCELLED");
    finish({ late: true });
    await t.clock.settle();
    expect(await t.types(id)).toEqual(before);
    await expectAlive(t);
  });

  it("that changes its input, its context or its result afterwards changes nothing that is kept", async () => {
    const result = { list: [1] };
    const { t } = await openActing((call) => {
      try {
        (call.input as Record<string, unknown>)["sneaked"] = true;
      } catch {
        return result;
      }
      return result;
    });
    await using _ = t;
    const { workflow_id: id } = await t.run("Test.Job");
    result.list.push(2);
    expect((await t.kernel.actions(id))[0]).toMatchObject({ input_payload: {}, result_payload: { list: [1] } });
    await expectAlive(t);
  });
});

describe("a package that is no package", () => {
  it.each([
    ["an operator that is none", { operators: [7] }],
    ["an intent type that is no name", { intentType: "nope" }],
    ["a version that is no version", { version: "one" }],
    ["a schema that is none", { input: {} }],
    ["a plan that is none", { plan: 7 }],
  ])("with %s is refused with a code when it is defined", async (_what, wrong) => {
    const { defineCapability } = await import("../../src/define/define-capability.ts");
    const { defineOperator } = await import("../../src/define/define-operator.ts");
    expect(() => defineCapability({ ...neighbour, ...wrong } as never)).toThrow(KernelErrorException);
    expect(() => defineOperator({ name: "", input: z.unknown(), run: () => null })).toThrow(KernelErrorException);
  });
});
