import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, digest, maxJsonDepth, sha256 } from "../../src/contract/digest.ts";
import { KernelErrorException } from "../../src/contract/error.ts";
import { jsonValue, nest, thrown } from "./samples.ts";

const refusal = (value: unknown) => {
  const error = thrown(() => canonicalJson(value));
  expect(error).toBeInstanceOf(KernelErrorException);
  return (error as KernelErrorException).error;
};

describe("canonicalJson", () => {
  it("agrees with the canonicalize package on any JSON value", () => {
    const wellFormed = fc.jsonValue({ stringUnit: "grapheme" });
    fc.assert(
      fc.property(wellFormed, (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
    );
  });

  it("does not depend on the order of keys, and is JSON of the same value", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), jsonValue, { noNullPrototype: true }), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse());
        expect(canonicalJson(turned)).toBe(canonicalJson(value));
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("sorts keys by UTF-16 code units and writes numbers as ECMAScript does (RFC 8785)", () => {
    expect(
      canonicalJson({ "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\ud83d\ude00": 5, "\u0080": 6, "\u00f6": 7 }),
    ).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}');
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 1e21])).toBe(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21]",
    );
  });

  it("drops what JSON drops and honours toJSON", () => {
    const at = new Date(0);
    const value = { b: undefined, a: [undefined, () => 1, Symbol("x")], c: at, d: () => 1 };
    expect(canonicalJson(value)).toBe('{"a":[null,null,null],"c":"1970-01-01T00:00:00.000Z"}');
    // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
    expect(canonicalJson([, 1])).toBe("[null,1]");
  });

  it("keeps an own __proto__ key", () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"a":2}}'))).toBe('{"__proto__":{"a":2},"b":1}');
  });

  it("refuses what has no canonical form with an input error", () => {
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const bad = [Number.NaN, Infinity, 1n, undefined, () => 1, "\ud800", { "\udc00": 1 }, [{ a: -Infinity }], cycle];
    for (const value of bad) expect(refusal(value).category).toBe("input");
    expect(refusal(cycle).code).toBe("T0_VALIDATION_PAYLOAD_TOO_LARGE");
  });

  it("nesting has a limit, and crossing it is a coded error", () => {
    expect(canonicalJson(nest(maxJsonDepth))).toHaveLength(6 * maxJsonDepth + 1);
    expect(refusal(nest(maxJsonDepth + 1)).code).toBe("T0_VALIDATION_PAYLOAD_TOO_LARGE");
    expect(refusal(nest(200_000)).detail).toEqual({ limit: maxJsonDepth });
  });
});

describe("sha256 and digest", () => {
  it("are the published SHA-256 in lower-case hex, of text and of bytes", () => {
    const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    expect(sha256("abc")).toBe(abc);
    expect(sha256(new TextEncoder().encode("abc"))).toBe(abc);
    expect(digest({ b: 1, a: 2 })).toBe(sha256('{"a":2,"b":1}'));
  });
});
