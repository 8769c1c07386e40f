/**
 * What a host brings may be an object of a class, may answer later where it should at once, may give a thenable that is
 * no whole promise, and may throw what cannot be looked at. None of it is passed over, and none harms the process.
 */
import { describe, expect, it } from "vitest";
import type { KernelOptions } from "../../src/kernel/options.ts";
import { type SqliteLedger, sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { endOf, expectAlive, expectRefused, openKernel, who } from "./fixture.ts";
import { untouchable } from "./hostile.ts";

async function openActing(options: KernelOptions, more: Parameters<typeof work>[2] = {}) {
  const world = createWorld();
  const capabilities = [job([step("s1", "Test.Act")], [work(world, "Test.Act", more)])];
  return { t: await openKernel({ capabilities, ...options }), world };
}

/** What the last event of a job that completes says. */
async function endingOf(t: TestKernel): Promise<unknown> {
  const { workflow_id: id, state } = await t.run("Test.Job");
  expect(state).toBe("completed");
  return (await Array.fromAsync(t.kernel.events(id, { live: false }))).at(-1)?.payload;
}

const messages = (t: TestKernel): readonly unknown[] => t.logged.map(({ message }) => message);

const request = { ...who, input: { text: "say hunter2" }, intent_hint: { intent_type: "Test.Job" } };

/** The same store as an object whose methods are its class's and need their `this`. */
function ofItsOwn(inner: SqliteLedger): SqliteLedger {
  class Ledger {
    readonly inner = inner;
  }
  for (const [name, member] of Object.entries(inner)) {
    if (typeof member !== "function") Object.defineProperty(Ledger.prototype, name, { value: member });
    else
      Object.defineProperty(Ledger.prototype, name, {
        value(this: Ledger, ...args: readonly unknown[]) {
          return Reflect.apply(Reflect.get(this.inner, name), this.inner, args);
        },
      });
  }
  return new Ledger() as unknown as SqliteLedger;
}

describe("a part of a class of its own is asked as itself", () => {
  class Validator {
    readonly #secret = "hunter2";
    #judge(text: string) {
      return text.includes(this.#secret) ? ({ ok: false, reason: "a secret" } as const) : ({ ok: true } as const);
    }
    validate(text: string) {
      return this.#judge(text);
    }
    validateParams(params: unknown) {
      return this.#judge(JSON.stringify(params));
    }
    validateOutput(output: string) {
      return this.#judge(output);
    }
  }
  const secret = { run: () => ({ secret: "hunter2" }) };

  it("security: what its methods refuse is refused", async () => {
    const { t } = await openActing({ security: new Validator() }, secret);
    await using _ = t;
    await expectRefused(t.kernel.submit(request), "T1_SECURITY_INPUT_REFUSED");
    const { workflow_id: id } = await t.run("Test.Job");
    expect(JSON.stringify(await Array.fromAsync(t.kernel.export(id)))).not.toContain("hunter2");
    await expectAlive(t);
  });

  it("security: what is no function is refused when the kernel is made", async () => {
    await expectRefused(openKernel({ security: { validate: true as never } }), "T0_VALIDATION_SCHEMA_MISMATCH");
  });

  it("scorers: what its methods say counts", async () => {
    class Doubt {
      readonly #sure = 0.1;
      confidence() {
        return this.#sure;
      }
    }
    const { t } = await openActing({ scorers: new Doubt() });
    await using _ = t;
    expect(await endingOf(t)).toMatchObject({ confidence: "0.1" });
  });

  it("a ledger, whatever the durability", async () => {
    const { t, world } = await openActing({ ledger: ofItsOwn(sqliteLedger()), durability: "effects" });
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
    await expectAlive(t);
  });
});

describe("what cannot be looked at", () => {
  const ways: readonly (readonly [string, () => never])[] = [
    ["throws", () => { throw untouchable(); }], // biome-ignore format: one line each
    ["rejects with", (() => Promise.reject(untouchable())) as () => never],
    ["answers", untouchable as () => never],
  ];
  const parts: readonly (readonly [string, (fail: () => never) => KernelOptions, string])[] = [
    ["classifier", (classify) => ({ classifier: { classify } }), "T1_CLASSIFY_TIMEOUT"],
    ["authenticator", (authorize) => ({ authenticator: { authorize } }), "T5_AUTHN_FAILED"],
    ["validator", (validate) => ({ security: { validate } }), "T1_SECURITY_INPUT_REFUSED"],
  ];
  it.each(parts.flatMap(([part, made, code]) => ways.map(([way, fail]) => [part, way, made(fail), code] as const)))(
    "a %s %s it: the request is refused with its code, and no tier crashes",
    async (_part, _way, options, code) => {
      const { t } = await openActing(options);
      await using _ = t;
      await expectRefused(t.kernel.submit({ ...who, input: { text: "a neighbour please" } }), code);
      expect(messages(t)).not.toContain("tier crashed");
    },
  );

  it.each(ways)("a hook that %s it fails its step with a code", async (_way, before) => {
    const { t, world } = await openActing({ middleware: [{ name: "shaky", before }], limits: { maxReplans: 0 } });
    await using _ = t;
    if (_way === "answers") expect((await t.run("Test.Job")).state).toBe("failed");
    else await endOf(t);
    expect(world.calls).toEqual([]);
  });
});

describe("what answers later where it should at once, or listens", () => {
  const fails = async (): Promise<never> => {
    throw new Error("not today");
  };

  it("an inspector and a bus subscriber that fail later are logged, and all goes on", async () => {
    const { t } = await openActing({ inspect: fails });
    await using _ = t;
    t.kernel.bus.signals.subscribe(fails);
    expect((await t.run("Test.Job")).state).toBe("completed");
    await expectAlive(t);
    const told = ["an inspector threw", "a bus subscriber threw"];
    expect(messages(t)).toEqual(expect.arrayContaining(told));
  });

  it.each<readonly [string, () => unknown]>([
    ["promises", async () => 1],
    ["fails later", fails],
    ["throws", () => expect.fail("not today")],
    ["says NaN", () => Number.NaN],
  ])("a scorer that %s lets no output pass as sound, and no tier crashes of it", async (_how, score) => {
    const scorers = { urgency: score, complexity: score, confidence: score, grounding: score } as never;
    const { t } = await openActing({ scorers });
    await using _ = t;
    const warnings = [{ code: "T6_HALLUCINATION_DETECTED" }];
    expect(await endingOf(t)).toMatchObject({ confidence: "0", grounding: "0", warnings });
    expect((await t.kernel.submit(request)).status).toBe("accepted");
    expect(messages(t)).toContain("a scorer gave no score");
    expect(messages(t)).not.toContain("tier crashed");
  });

  it.each([undefined, null, "yes", {}])(
    "a chunk of which a check says %o later is not shown, and the call ends",
    async (said) => {
      const validateChunk = (async () => said) as never;
      const { t } = await openActing({ security: { validateChunk } }, { run: ({ stream }) => void stream("hunter2") });
      await using _ = t;
      const { workflow_id: id, state } = await t.run("Test.Job");
      expect(state).toBe("completed");
      expect(JSON.stringify(await Array.fromAsync(t.kernel.export(id)))).not.toContain("hunter2");
    },
  );
});

describe("a thenable that is no whole promise", () => {
  const later = (value: unknown) => ({
    // biome-ignore lint/suspicious/noThenProperty: a thenable is what is tested
    then: (resolve: (value: unknown) => void) => queueMicrotask(() => resolve(value)),
  });

  it("is an answer like any other, of a hook, a preview and a validator", async () => {
    const security = { validateOutput: () => later({ ok: true }), validate: () => later({ ok: true }) } as never;
    const middleware = [{ name: "slow", before: () => later(undefined), after: () => later(undefined) }] as never;
    const { t, world } = await openActing(
      { security, middleware },
      { preview: () => later({ preview: "p" }) as never },
    );
    await using _ = t;
    expect((await t.run("Test.Job")).state).toBe("completed");
    expect(world.calls).toHaveLength(1);
    expect(messages(t)).toEqual([]);
  });

  it("with nonsense in it fails the step, and not the process", async () => {
    const security = { validateOutput: (() => later(null)) as never };
    const { t } = await openActing({ security, limits: { maxReplans: 0 } }, { effect: "read" });
    await using _ = t;
    await endOf(t, "T4_OUTPUT_INVALID");
  });
});
