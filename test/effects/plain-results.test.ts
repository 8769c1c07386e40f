/**
 * What JSON has no form for is refused with its path wherever host code hands it over, and nothing is written without
 * bound.
 */
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { NotJson, toJson, toSafeJson } from "../../src/contract/json.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, gateOf, intent, payloads, refusalOf, step, story } from "../gates/story.ts";

/** 2^levels leaves, made of so many objects. */
function shared(levels: number): unknown {
  let at: unknown = "a leaf";
  for (let i = 0; i < levels; i += 1) at = { l: at, r: at };
  return at;
}

class Money {
  readonly cents = 5;
}

const unfit: readonly (readonly [string, unknown, string])[] = [
  ["a Map", new Map([["a", 1]]), "an instance of Map"],
  ["a Set", new Set([1]), "an instance of Set"],
  ["an Error", new Error("no"), "an instance of Error"],
  ["a Response", new Response("body"), "an instance of Response"],
  ["a stream", new ReadableStream(), "an instance of ReadableStream"],
  ["bytes", new Uint8Array([1]), "an instance of Uint8Array"],
  ["a Buffer", Buffer.from("a"), "an instance of Buffer"],
  ["an ArrayBuffer", new ArrayBuffer(1), "an instance of ArrayBuffer"],
  ["an invalid date", new Date(Number.NaN), "an invalid date"],
  ["a String object", Object("text"), "an instance of String"],
  ["a Number object", Object(7), "an instance of Number"],
  ["a RegExp", /a/, "an instance of RegExp"],
  ["a promise", Promise.resolve(1), "an instance of Promise"],
  ["an instance of a class", new Money(), "an instance of Money"],
  ["an instance of a class without a name", new (class {})(), "an instance of class without a name"],
  ["a Map of another realm", runInNewContext("new Map()"), "an instance of Map"],
  ["a function", () => 1, "a function"],
  ["a symbol", Symbol("s"), "a symbol"],
  ["a bigint", 7n, "a bigint"],
  ["NaN", Number.NaN, "a number must be finite"],
];

describe("the copy as plain JSON", () => {
  it.each(unfit)("refuses %s, with its path", (_what, value, words) => {
    for (const copy of [toJson, toSafeJson]) {
      expect(() => copy({ list: [{ value }] })).toThrow(words);
      expect(() => copy({ list: [{ value }] })).toThrow(/ at list\[0\]\.value$/);
    }
  });

  it("calls toJSON if there is one, and takes plain objects of other realms and without a prototype", () => {
    const at = new Date(0);
    const given = {
      at,
      url: new URL("https://a.test/b"),
      far: runInNewContext("({ a: [1] })"),
      bare: Object.create(null),
    };
    expect(toJson(given)).toEqual({
      at: "1970-01-01T00:00:00.000Z",
      url: "https://a.test/b",
      far: { a: [1] },
      bare: {},
    });
    expect(() => toJson({ self: { toJSON: () => new Map() } })).toThrow("an instance of Map");
  });

  it("writes a value that stands in two places twice, and refuses in no time what that makes too large", () => {
    expect(toJson(shared(2))).toEqual({ l: { l: "a leaf", r: "a leaf" }, r: { l: "a leaf", r: "a leaf" } });
    for (const copy of [toJson, toSafeJson]) {
      expect(() => copy(shared(60), 64, 10_000)).toThrow("more than 10000 characters of JSON");
      expect(() => copy(new Array(1_000_000), 64, 10_000)).toThrow(NotJson);
    }
  });

  it("counts no more than JSON.stringify writes: what fits is never refused", () => {
    const given = {
      text: 'with "quotes" and ü',
      n: -12.5,
      yes: true,
      no: false,
      none: null,
      list: [1, [], {}, "a"],
      o: { a: { b: 0 } },
    };
    expect(toJson(given, 64, JSON.stringify(given).length)).toEqual(given);
  });
});

const looking = { gate: { reason: "look" } };

describe("what is no plain data", () => {
  it.each(unfit.filter(([what]) => what !== "a promise"))(
    "as a result (%s) fails its call, and says where it is",
    async (_what, value, words) => {
      const work = counted("Note.Work", { effect: "read" }, () => ({ deep: [value] }));
      await using t = await createTestKernel({
        capabilities: [story([work], [step("s1", work)])],
        limits: { maxReplans: 0 },
      });
      const { state, error } = await t.run(intent);
      expect([state, error?.code]).toEqual(["failed", "T4_OUTPUT_INVALID"]);
      expect(error?.message).toContain(words);
      expect(error?.message).toContain("at deep[0]");
    },
  );

  it("as inputs is refused before anything is begun", async () => {
    const work = counted("Note.Work");
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work)])] });
    const refused = await refusalOf(t.submit(intent, { who: new Map([["a", 1]]) }));
    expect(refused).toMatchObject({ code: "T0_VALIDATION_SCHEMA_MISMATCH" });
    expect(refused.message).toContain("an instance of Map is not JSON");
    expect(refused.message).toContain("inputs.who");
  });

  it("as params of a plan ends planning with a code", async () => {
    const work = counted("Note.Work");
    const plan = { reasoning: "r", steps: [{ ...step("s1", work), params: { who: new Set([1]) } }] };
    await using t = await createTestKernel({ capabilities: [story([work], [], { plan: () => plan })] });
    const { state, error } = await t.run(intent);
    expect([state, error?.code]).toEqual(["failed", "T3_PLAN_INVALID"]);
    expect(error?.message).toContain("an instance of Set is not JSON");
  });

  it("as a transform of policy denies", async () => {
    const work = counted("Note.Work");
    const evaluate = () => ({ decision: "TRANSFORM" as const, reason: "r", transform: { at: new Map() } as never });
    const rule = definePolicy({ name: "t", stages: ["action"], evaluate });
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work)])], policies: [rule] });
    const { state, error } = await t.run(intent);
    expect([state, error?.code, work.calls.length]).toEqual(["failed", "T5_POLICY_DENIED", 0]);
    expect(error?.message).toContain("an instance of Map is not JSON");
  });

  it("as a piece of a stream fails the call that wrote it; half a surrogate pair is shown as what it is", async () => {
    const work = counted("Note.Work", { effect: "read" }, ({ input, stream }) => {
      stream(input["odd"] === true ? ({ a: 1 } as never) : "half \ud800");
      return {};
    });
    const steps = [step("s1", work), step("s2", work, { params: { odd: true } })];
    await using t = await createTestKernel({ capabilities: [story([work], steps)], limits: { maxReplans: 0 } });
    const { workflow_id, error } = await t.run(intent);
    expect(error?.message).toContain("stream takes text, not a value of type object");
    const chunks = (await payloads(t, workflow_id, "STEP_STREAMED")).flatMap((one) => one.chunks);
    expect(chunks).toEqual(["half \ufffd"]);
  });
});

describe("a value whose shared parts make it huge", () => {
  const limits = { maxReplans: 0, maxOutputChars: 10_000 };

  it("as a result fails its call at once", async () => {
    const work = counted("Note.Work", { effect: "read" }, () => shared(50));
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work)])], limits });
    const { error } = await t.run(intent);
    expect(error).toMatchObject({ code: "T4_OUTPUT_INVALID", message: expect.stringContaining("characters of JSON") });
  });

  it("as an event or a checkpoint is refused to the call that records it", async () => {
    const work = counted("Note.Work", { effect: "read" }, ({ input, emit, checkpoint }) => {
      if (input["saves"] === true) checkpoint(shared(50));
      else emit("Note.done", { at: shared(50) });
      return {};
    });
    for (const saves of [true, false]) {
      const steps = [step("s1", work, { params: { saves } })];
      await using t = await createTestKernel({ capabilities: [story([work], steps)], limits });
      expect((await t.run(intent)).error?.message).toContain("more than 10000 characters of JSON");
    }
  });

  it("as inputs is refused, as params ends planning, as a transform denies", async () => {
    const work = counted("Note.Work");
    const package_ = story([work], [], {
      plan: ({ input }: { readonly input: unknown }) => ({
        reasoning: "r",
        steps: [
          step("s1", work, { params: (input as { plain?: true }).plain ? {} : { at: shared(50), text: "{{x}}" } }),
        ],
      }),
    } as never);
    const evaluate = () => ({ decision: "TRANSFORM" as const, reason: "r", transform: shared(50) as never });
    const rule = definePolicy({ name: "t", stages: ["action"], evaluate });
    await using t = await createTestKernel({ capabilities: [package_], policies: [rule], limits });
    expect((await refusalOf(t.submit(intent, { at: shared(50) }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await t.run(intent)).state).toBe("failed");
    expect((await t.run(intent, { plain: true })).error?.code).toBe("T5_POLICY_DENIED");
    expect(work.calls).toEqual([]);
  });

  it("as a preview is not shown: the payload is, and why", async () => {
    const preview = () => ({ preview: "p", more: shared(50) }) as never;
    const work = counted("Note.Work", { effect: "final_write", preview, output: z.unknown() });
    await using t = await createTestKernel({ capabilities: [story([work], [step("s1", work, looking)])], limits });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("waiting_for_user");
    const { preview: shown } = await gateOf(t, workflow_id, "gate-s1");
    expect(shown).toBe("{}\n\n(no preview: more than 10000 characters of JSON)");
  });
});
