import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createError, isKernelError, KernelError, KernelErrorException } from "../../src/contract/error.ts";
import { createIdSource, idPattern } from "../../src/contract/ids.ts";
import { ModuleRef, moduleRef } from "../../src/contract/module-ref.ts";
import {
  createCommandSignal,
  createDataSignal,
  createErrorSignal,
  createFileSignal,
  createSignal,
  createSignalFactory,
  createStreamSignal,
  createTextSignal,
  isSignal,
  reviveSignal,
  Signal,
  type SignalData,
  SignalKind,
  streamChunk,
  validateSignal,
} from "../../src/contract/signal.ts";
import { signalBodies } from "../../src/contract/signal-body.ts";
import { runs } from "../properties/property-runs.ts";
import { bodies, countingFactory, fixedNow, nest, ref, seededRandom, signals, throughJson, thrown } from "./samples.ts";

const kinds = SignalKind.options;
const without = (value: object, key: string) => Object.fromEntries(Object.entries(value).filter(([at]) => at !== key));
const inputErrorOf = (call: () => unknown) => {
  const error = thrown(call);
  expect(error).toBeInstanceOf(KernelErrorException);
  expect((error as KernelErrorException).error.category).toBe("input");
  return (error as KernelErrorException).error;
};
const refusalOf = (value: Signal) => {
  const checked = validateSignal(value);
  if (!isKernelError(checked)) throw new Error("expected a refusal");
  return checked;
};

describe("schemas", () => {
  it("[SIG-01] there are exactly five kinds", () => {
    expect(kinds).toEqual(["text", "data", "file", "command", "stream"]);
    for (const bad of ["event", "TEXT", "", null, 1]) expect(SignalKind.safeParse(bad).success).toBe(false);
  });

  it("[SIG-02] a ModuleRef has a tier from 0 to 7, a module and a function", () => {
    for (const tier of [0, 7]) expect(ModuleRef.parse({ tier, module: "m", function: "f" }).tier).toBe(tier);
    for (const tier of [8, -1, 1.5, "1"])
      expect(ModuleRef.safeParse({ tier, module: "m", function: "f" }).success).toBe(false);
    for (const key of ["tier", "module", "function"])
      expect(ModuleRef.safeParse(without(ref, key)).success).toBe(false);
    expect(() => moduleRef(8, "m", "f")).toThrow();
  });

  it("[SIG-03] tags and parent_id have defaults; every other field is required", () => {
    const data = throughJson(createTextSignal("hi", ref, "cor_1")) as SignalData;
    const bare = without(without(data, "tags"), "parent_id");
    expect(Signal.parse(bare)).toMatchObject({ tags: {}, parent_id: null });
    for (const key of Object.keys(bare)) expect(Signal.safeParse(without(bare, key)).success).toBe(false);
  });
});

describe("ids and time", () => {
  it("[SIG-04] ids match sig_ULID, are unique and sort by creation time", () => {
    const ids = Array.from({ length: 1000 }, () => createTextSignal("x", ref, "cor_1").id);
    for (const id of ids) expect(id).toMatch(/^sig_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(new Set(ids).size).toBe(1000);
    expect([...ids].sort()).toEqual(ids);
  });

  it("[SIG-08] created_at is the injected clock's instant in UTC, ending in Z", () => {
    let now = fixedNow;
    const make = createSignalFactory({
      ids: createIdSource({ now: () => now, random: seededRandom() }),
      now: () => now,
    });
    expect(make.createTextSignal("x", ref, "t").created_at).toBe("2026-03-04T05:06:07.089Z");
    now += 1;
    expect(make.createTextSignal("x", ref, "t").created_at).toBe("2026-03-04T05:06:07.090Z");
    now -= 1000;
    expect(make.createTextSignal("x", ref, "t").created_at).toBe("2026-03-04T05:06:06.090Z");
    expect(JSON.stringify(make.createTextSignal("x", ref, "t"))).toMatch(/"created_at":"[^"]+Z"/);
  });
});

describe("immutability", () => {
  it("[SIG-05] nothing of a Signal can be changed: envelope, tags, origin, body at any depth", () => {
    const signal = createDataSignal({ a: { b: [1, { c: 2 }] } }, "X", { ...ref }, "cor_1", { urgency: "high" });
    const before = JSON.stringify(signal);
    const loose = signal as unknown as Record<string, Record<string, unknown>>;
    const data = signal.body["data"] as { a: { b: unknown[] } };
    const attacks = [
      () => Object.assign(loose, { kind: "text" }),
      () => Object.assign(loose["tags"]!, { urgency: "low" }),
      () => Object.assign(loose["origin"]!, { tier: 1 }),
      () => Object.assign(loose["body"]!, { data: 1 }),
      () => Object.assign(data.a, { b: 1 }),
      () => data.a.b.push(3),
      () => Object.assign(data.a.b[1] as object, { c: 3 }),
      () => Object.defineProperty(loose, "extra", { value: 1 }),
    ];
    for (const attack of attacks) expect(attack).toThrow(TypeError);
    expect(JSON.stringify(signal)).toBe(before);
  });

  it("[SIG-05] a revived Signal is as frozen as a made one; bodies with cycles or bytes do not hang or throw", () => {
    const revived = reviveSignal(throughJson(createDataSignal({ a: [1] }, "X", ref, "t")));
    expect(() => Object.assign((revived.body["data"] as { a: number[] }).a, { 0: 2 })).toThrow(TypeError);
    const cycle: Record<string, unknown> = { bytes: new Uint8Array([1]) };
    cycle["self"] = cycle;
    expect(Object.isFrozen(createDataSignal(cycle, "X", ref, "t").body["data"])).toBe(true);
    expect(isSignal(createDataSignal(nest(200_000), "X", ref, "t"))).toBe(true);
  });

  it("[SIG-05] class instances of the host are not frozen", () => {
    const map = new Map([["a", 1]]);
    class Host {
      count = 0;
    }
    const host = new Host();
    createDataSignal({ map, host }, "X", ref, "t");
    host.count += 1;
    expect(host.count).toBe(1);
  });
});

describe("bodies", () => {
  it("[SIG-09] each kind's keys are required, path alone may be null or absent", () => {
    for (const kind of kinds) {
      const body = bodies[kind];
      expect(isKernelError(validateSignal(createSignal(kind, { ...body }, ref, "t")))).toBe(false);
      for (const key of Object.keys(body)) {
        const checked = validateSignal(createSignal(kind, without(body, key), ref, "t"));
        const optional = key === "path" || key === "count";
        expect([kind, key, isKernelError(checked)]).toEqual([kind, key, !optional]);
      }
    }
    expect(isKernelError(validateSignal(createFileSignal("f", "pdf", null, ref, "t")))).toBe(false);
  });

  it("[SIG-09] the body schemas and validateSignal accept the same bodies", () => {
    const value = fc.oneof(fc.constantFrom("x", 1, 1.5, true, null, undefined, "base64"), fc.constant({ ...ref }));
    const keys = ["text", "data", "schema", "file_id", "file_type", "path", "action", "target", "chunk", "sequence"];
    const shape = Object.fromEntries([...keys, "final", "encoding"].map((key) => [key, value]));
    const body = fc.record(shape, { requiredKeys: [] });
    fc.assert(
      fc.property(fc.constantFrom(...kinds), body, (kind, candidate) => {
        const accepted = signalBodies[kind].safeParse(candidate).success;
        expect(isKernelError(validateSignal(createSignal(kind, { ...candidate }, ref, "t")))).toBe(!accepted);
      }),
      { numRuns: runs(500) },
    );
  });
});

describe("tags", () => {
  it("[SIG-10] a tag that is not text is refused", () => {
    for (const bad of [0.82, 1, true, null, undefined, {}]) {
      const tags = { confidence: bad } as unknown as Record<string, string>;
      expect(inputErrorOf(() => createTextSignal("x", ref, "t", tags)).detail).toEqual({ invalid: ["confidence"] });
      expect(Signal.safeParse({ ...createTextSignal("x", ref, "t"), tags: { other: bad } }).success).toBe(false);
    }
    expect(createTextSignal("x", ref, "t", { confidence: "0.82" }).tags["confidence"]).toBe("0.82");
  });

  it("[SIG-11] standard tags take their legal values and no others; other tags take any text", () => {
    const legal = {
      urgency: ["low", "normal", "high", "critical"],
      complexity: ["trivial", "simple", "moderate", "complex"],
      source_type: ["user", "tool", "agent", "system"],
      confidence: ["0.0", "1.0", "0", "1", "0.5", String(1e-7)],
      grounding: ["0.0", "1.0", "0.123456789"],
      domain: ["finance", "code", "general", "law"],
    };
    const illegal = {
      urgency: ["", "urgent", "HIGH"],
      complexity: ["hard", "Simple"],
      source_type: ["human", "toString"],
      confidence: ["1.1", "-0.1", "", "NaN", "high", "1e1", " 0.5"],
      grounding: ["2", "Infinity", "0x1"],
    };
    for (const [key, values] of Object.entries(legal)) {
      for (const value of values) expect(createTextSignal("x", ref, "t", { [key]: value }).tags[key]).toBe(value);
    }
    for (const [key, values] of Object.entries(illegal)) {
      for (const value of values) inputErrorOf(() => createTextSignal("x", ref, "t", { [key]: value }));
    }
  });

  it("[SIG-14] the origin's tier and module are tags, and the caller's tags win", () => {
    expect(createSignal("text", { text: "x" }, ref, "t", { urgency: "high" }).tags).toEqual({
      tier: "4",
      module: "ooda_loop",
      urgency: "high",
    });
    expect(createTextSignal("x", ref, "t", { module: "mine" }).tags).toEqual({ tier: "4", module: "mine" });
  });
});

describe("factories", () => {
  it("[SIG-13] createSignal assembles id, time and lineage around the body it was given", () => {
    const body = { text: "hi", more: { a: [1] } };
    const signal = createSignal("text", body, ref, "cor_1", { domain: "code" }, "sig_X");
    expect(signal).toMatchObject({ kind: "text", body, origin: ref, trace_id: "cor_1", parent_id: "sig_X" });
    expect(signal.id).toMatch(idPattern("sig"));
    expect(new Date(signal.created_at).toISOString()).toBe(signal.created_at);
    expect(createSignal("text", { text: "hi" }, ref, "cor_1").parent_id).toBeNull();
  });

  it("[SIG-15] every factory draws exactly one id, and reviving draws none", () => {
    const { signals: make, drawn } = countingFactory();
    const error = createError("T1_A_B", "input", "transient", "m", ref);
    const calls = [
      () => make.createSignal("text", { text: "x" }, ref, "t"),
      () => make.createTextSignal("x", ref, "t"),
      () => make.createDataSignal([1], "X", ref, "t"),
      () => make.createFileSignal("f", "pdf", null, ref, "t"),
      () => make.createCommandSignal("retry", ref, ref, "t"),
      () => make.createErrorSignal(error, ref, "t"),
      () => make.createStreamSignal("c", 0, true, ref, "t"),
    ];
    for (const [at, call] of calls.entries()) {
      const signal = call();
      expect(drawn()).toBe(at + 1);
      expect(reviveSignal(throughJson(signal)).id).toBe(signal.id);
      expect(drawn()).toBe(at + 1);
    }
  });

  it("[SIG-15] a hand-made object is not a Signal, to the compiler and at run time", () => {
    const signal = createTextSignal("x", ref, "t");
    const literal = { ...signal };
    // @ts-expect-error a literal lacks the brand
    const refused: Signal = literal;
    expect(isSignal(refused)).toBe(false);
    for (const value of [null, undefined, 1, "x", [], Object.create(signal), throughJson(signal)]) {
      expect(isSignal(value)).toBe(false);
    }
    expect(isSignal(signal)).toBe(true);
    expect(isSignal(reviveSignal(literal))).toBe(true);
  });

  it("[SIG-16] createTextSignal has body exactly {text}", () => {
    const signal = createTextSignal("hi", ref, "t");
    expect([signal.kind, signal.body]).toStrictEqual(["text", { text: "hi" }]);
    expect(validateSignal(signal)).toBe(signal);
  });

  it("[SIG-17] createDataSignal counts lists and keeps the schema as given", () => {
    const list = createDataSignal([1, 2, 3], "list[AtomicInsight]", ref, "t");
    expect(list.body).toStrictEqual({ data: [1, 2, 3], schema: "list[AtomicInsight]", count: 3 });
    expect(createDataSignal({ length: 3 }, "X", ref, "t").body).toStrictEqual({ data: { length: 3 }, schema: "X" });
    expect(createDataSignal(undefined, "X", ref, "t").body).toStrictEqual({ data: null, schema: "X" });
  });

  it("[SIG-18] createFileSignal holds the reference and nothing else", () => {
    const body = createFileSignal("report.pdf", "pdf", null, ref, "t").body;
    expect(body).toStrictEqual({ file_id: "report.pdf", file_type: "pdf", path: null });
  });

  it("[SIG-19] createCommandSignal spreads the payload, and action and target win", () => {
    const body = createCommandSignal("activate", ref, ref, "t", { pipeline: "enhanced" }).body;
    expect(body).toEqual({ action: "activate", target: { ...ref }, pipeline: "enhanced" });
    const clash = createCommandSignal("abort", ref, ref, "t", { action: "retry", target: null });
    expect(clash.body).toEqual({ action: "abort", target: { ...ref } });
    expect(validateSignal(clash)).toBe(clash);
  });

  it("[SIG-21] an error travels as a DATA Signal and is read back unchanged, cause included", () => {
    const cause = createError("T1_A_B", "external", "transient", "root", ref, true, { a: 1 });
    const error = createError("T4_C_D", "external", "degraded", "outer", ref, false, {}, cause);
    const signal = createErrorSignal(error, ref, "t");
    expect(validateSignal(signal)).toBe(signal);
    expect([signal.kind, signal.body["schema"], signal.tags["source_type"]]).toEqual(["data", "KernelError", "system"]);
    expect(KernelError.parse(throughJson(signal.body["data"]))).toEqual(error);
  });
});

describe("JSON", () => {
  it("[SIG-23] any Signal of any kind survives JSON", () => {
    fc.assert(
      fc.property(signals, (signal) => {
        expect(Signal.parse(throughJson(signal))).toStrictEqual(signal);
        expect(reviveSignal(throughJson(signal))).toStrictEqual(signal);
      }),
    );
  });

  it("[SIG-23] a bytes chunk comes back byte-identical, and text stays text", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const signal = createStreamSignal(bytes, 0, true, ref, "t");
        expect(signal.body["encoding"]).toBe("base64");
        expect(streamChunk(reviveSignal(throughJson(signal)))).toStrictEqual(bytes);
      }),
    );
    expect(streamChunk(createStreamSignal("aGk=", 0, true, ref, "t"))).toBe("aGk=");
    const whole = createSignal("stream", { chunk: new Uint8Array([0, 255]), sequence: 0, final: true }, ref, "t");
    expect(streamChunk(reviveSignal(throughJson(whole)))).toEqual(new Uint8Array([0, 255]));
  });

  it("[SIG-23] an own __proto__ key is carried as data and pollutes nothing", () => {
    const payload = JSON.parse('{"__proto__":{"polluted":1},"constructor":2}') as Record<string, unknown>;
    const text = JSON.stringify(createCommandSignal("pivot", ref, ref, "t", payload));
    expect(JSON.stringify(reviveSignal(JSON.parse(text)))).toBe(text);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  it("[SIG-23] reviving refuses bad data with an input error", () => {
    const good = throughJson(createTextSignal("x", ref, "t")) as Record<string, unknown>;
    const bad = [null, [], "x", {}, { ...good, kind: "event" }, { ...good, body: {} }, { ...good, created_at: "now" }];
    for (const data of bad) inputErrorOf(() => reviveSignal(data));
  });
});

describe("validateSignal", () => {
  it("[VAL-01] checks every kind's body", () => {
    for (const kind of kinds) {
      const good = createSignal(kind, { ...bodies[kind] }, ref, "t");
      expect(validateSignal(good)).toBe(good);
      expect(refusalOf(createSignal(kind, {}, ref, "t")).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    }
    expect(refusalOf(createSignal("event" as never, {}, ref, "t")).detail).toMatchObject({ invalid: ["kind"] });
  });

  it("[VAL-02] a valid Signal is returned by reference, a violation is an input error naming the keys", () => {
    const signal = createTextSignal("x", ref, "t");
    expect(validateSignal(signal)).toBe(signal);
    const literal = throughJson(signal) as Signal;
    expect(validateSignal(literal)).toBe(literal);
    const refused = refusalOf(createSignal("command", { action: 1 }, ref, "t"));
    expect([refused.category, refused.detail["missing"], refused.detail["invalid"]]).toEqual([
      "input",
      ["target"],
      ["action"],
    ]);
    expect(refusalOf(createSignal("data", { data: 1 }, ref, "t")).detail["missing"]).toEqual(["schema"]);
    const nameless = refusalOf({ ...without(literal, "trace_id"), kind: 7 } as unknown as Signal);
    expect([nameless.detail["missing"], nameless.detail["invalid"]]).toEqual([["trace_id"], ["kind"]]);
    expect(nameless.message).toBe("unknown signal: missing trace_id; invalid kind");
    expect(refusalOf(createSignal("data", { data: 1 }, ref, "t")).message).toBe("data signal: missing schema");
  });

  it("[VAL-02] a branded Signal with a broken envelope is refused too", () => {
    const broken = [
      createTextSignal("x", { tier: 9, module: "m", function: "f" }, "t"),
      createTextSignal("x", ref, ""),
      createSignal("text", { text: "x" }, ref, "t", null, 5 as never),
      createSignal("text", [] as never, ref, "t"),
    ];
    for (const signal of broken) expect(refusalOf(signal).category).toBe("input");
  });

  it("[VAL-02] never throws, whatever it is given", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withMap: true }), (value) => {
        expect(isKernelError(validateSignal(value as Signal))).toBe(true);
      }),
    );
  });
});
