import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createError, isKernelError } from "../../src/contract/error.ts";
import {
  fail,
  Metrics,
  metricsOf,
  ok,
  partial,
  Result,
  ResultStatus,
  skip,
  validateResult,
} from "../../src/contract/result.ts";
import { createSignal, createTextSignal } from "../../src/contract/signal.ts";
import { kernelErrors, ref, signals, throughJson } from "./samples.ts";

const signal = createTextSignal("hi", ref, "cor_1");
const error = createError("T4_TOOL_TIMEOUT", "external", "transient", "late", ref, true);
const metrics = metricsOf(ref, { duration_ms: 25, token_count: 120, cache_hit: true });
const all = [ok([signal], metrics), partial([signal], error, metrics), fail(error, metrics), skip("dormant", metrics)];
const asResult = (value: object) => value as unknown as Result;

describe("schemas", () => {
  it("[RES-01] there are exactly four statuses", () => {
    expect(ResultStatus.options).toEqual(["ok", "partial", "error", "skip"]);
    for (const bad of ["OK", "failed", "", null]) expect(ResultStatus.safeParse(bad).success).toBe(false);
  });

  it("[RES-02] metrics have three defaults and need module_ref", () => {
    const bare = { duration_ms: 0, token_count: 0, cache_hit: false, module_ref: ref };
    expect(Metrics.parse({ module_ref: ref })).toEqual(bare);
    expect(metricsOf(ref)).toEqual(bare);
    expect(Metrics.safeParse({ duration_ms: 1 }).success).toBe(false);
    expect(Metrics.safeParse({ module_ref: ref, token_count: 1.5 }).success).toBe(false);
  });

  it("[RES-03] a Result needs status and metrics; signals and error have defaults", () => {
    expect(Result.parse({ status: "ok", metrics })).toMatchObject({ signals: [], error: null });
    expect(Result.safeParse({ status: "ok" }).success).toBe(false);
    expect(Result.safeParse({ metrics }).success).toBe(false);
  });

  it("[RES-04] what the makers give always parses as a Result and is frozen", () => {
    for (const result of all) {
      expect(Result.parse(result)).toStrictEqual(result);
      expect(Object.isFrozen(result) && Object.isFrozen(result.signals)).toBe(true);
    }
  });

  it("[SIG-23] any Result survives JSON, signals, errors and causes included", () => {
    fc.assert(
      fc.property(
        fc.array(signals, { minLength: 1, maxLength: 3 }),
        kernelErrors,
        fc.string(),
        (some, failure, reason) => {
          const made = [
            ok(some, metrics),
            partial(some, failure, metrics),
            fail(failure, metrics),
            skip(reason, metrics),
          ];
          for (const result of made) expect(Result.parse(throughJson(result))).toStrictEqual(result);
        },
      ),
    );
  });
});

describe("makers", () => {
  it("[RES-05] ok has the signals and no error", () => {
    expect(ok([signal], metrics)).toStrictEqual({ status: "ok", signals: [signal], error: null, metrics });
  });

  it("[RES-06] partial has both signals and error", () => {
    const result = partial([signal], error, metrics);
    expect(result).toStrictEqual({ status: "partial", signals: [signal], error, metrics });
    expect(validateResult(result)).toBe(result);
  });

  it("[RES-07] fail has the error and no signals", () => {
    expect(fail(error, metrics)).toStrictEqual({ status: "error", signals: [], error, metrics });
  });

  it("[RES-08] skip has neither, and its reason can be read, also after JSON", () => {
    const result = skip("dormant", metrics);
    expect(result).toStrictEqual({ status: "skip", signals: [], error: null, metrics, reason: "dormant" });
    expect(Result.parse(throughJson(result)).reason).toBe("dormant");
    expect(validateResult(result)).toBe(result);
  });

  it("[RES-05] the list of signals is the Result's own", () => {
    const list = [signal];
    const result = ok(list, metrics);
    list.pop();
    expect(result.signals).toEqual([signal]);
  });
});

describe("validateResult", () => {
  it("[VAL-04] conforming Results are returned by reference", () => {
    for (const result of all) expect(validateResult(result)).toBe(result);
  });

  it("[VAL-04] status, signals and error must agree", () => {
    const violations = [
      { status: "error", signals: [], error: null, metrics },
      { status: "ok", signals: [signal], error, metrics },
      { status: "partial", signals: [], error, metrics },
      { status: "partial", signals: [signal], error: null, metrics },
      { status: "skip", signals: [signal], error: null, metrics },
      { status: "done", signals: [], error: null, metrics },
      { status: "ok", signals: [], error: null },
      { status: "ok", signals: [], error: null, metrics: { ...metrics, module_ref: { tier: 9 } } },
      { status: "ok", signals: {}, error: null, metrics },
      { status: "error", signals: [], error: new Error("plain"), metrics },
    ];
    for (const violation of violations) {
      const checked = validateResult(asResult(violation));
      expect(isKernelError(checked) && checked.category).toBe("input");
    }
  });

  it("[VAL-05] a bad signal inside fails the Result, and the error points to it", () => {
    const bad = createSignal("data", { data: 1 }, ref, "cor_1");
    const checked = validateResult(ok([signal, bad], metrics));
    if (!isKernelError(checked)) throw new Error("expected a refusal");
    expect(checked.detail).toMatchObject({ signal_id: bad.id, index: 1, missing: ["schema"] });
    expect(checked.cause?.message).toContain("schema");
    expect(isKernelError(validateResult(asResult({ ...ok([], metrics), signals: [null] })))).toBe(true);
  });

  it("[RES-04] never throws, whatever it is given", () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), fc.anything(), (value, inner) => {
        expect(isKernelError(validateResult(value as Result))).toBe(true);
        expect(isKernelError(validateResult(asResult({ ...fail(error, metrics), metrics: inner })))).toBe(true);
      }),
    );
  });
});
