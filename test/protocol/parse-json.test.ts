/** JSON text keeps the meaning that its writer gave it, or is refused. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { NotJson } from "../../src/contract/json.ts";
import { parseSafeJson } from "../../src/protocol/parse-json.ts";

describe("JSON text", () => {
  it.each([
    "1e-400",
    "-3.5E-999",
    "[0.1e-400]",
    '{"a":{"b":2e-330}}',
    `0.${"0".repeat(400)}1`,
    "1e400",
    "12345678901234567890",
  ])("with the number %s, which no double holds, is refused", (text) => {
    expect(() => parseSafeJson(text)).toThrow(NotJson);
  });

  it.each(["0", "0.0", "0e-400", "-0", "5e-324", "1e-300", '"1e-400"', '{"1e-400":"0.000"}', `0.${"0".repeat(300)}`])(
    "with %s is read as it is written",
    (text) => {
      expect(parseSafeJson(text)).toEqual(JSON.parse(text));
    },
  );

  it("is read as JSON.parse reads it, whatever JSON it is", () => {
    // Numbers of 16 digits and more, and a member of this name, are refused.
    const value = fc.jsonValue().filter((one) => !/__proto__|\d{16}|e\+/.test(JSON.stringify(one)));
    fc.assert(
      fc.property(value, (one) => {
        const text = JSON.stringify(one);
        expect(parseSafeJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});
