/** What curiosity makes of a refused request: only what a schema says is wrong is converted, and only what can be. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../src/contract/json.ts";
import { repairRequest } from "../../src/tiers/t2-cognition/repair-request.ts";

const repaired = (value: Json, type: string) => {
  const input_schema = { type: "object", properties: { it: { type } } };
  const { params, changed } = repairRequest({ params: { it: value }, message: "refused", data: {}, input_schema });
  return [params["it"], changed];
};

describe("a refused request", () => {
  it.each<[Json, string, Json, boolean]>([
    ["3", "integer", 3, true],
    [" 3.5 ", "number", 3.5, true],
    ["", "number", "", false],
    ["  ", "number", "  ", false],
    ["three", "number", "three", false],
    ["Infinity", "number", "Infinity", false],
    [3, "number", 3, false],
    [3, "string", "3", true],
    [{ a: 1 }, "string", '{"a":1}', true],
    ["true", "boolean", true, true],
    ["false", "boolean", false, true],
    ["yes", "boolean", "yes", false],
    ["a", "array", ["a"], true],
    [["a"], "array", ["a"], false],
  ])("[RPC-15] with %j for a %s is sent with %j (changed: %s)", (value, type, sent, changed) => {
    expect(repaired(value, type)).toEqual([sent, changed]);
  });

  it("[RPC-15] loses the members that its schema or the refusal names as unknown, and gains required presets", () => {
    const properties = { size: { type: "integer", default: 5 }, city: { type: "string" } };
    const input_schema = { type: "object", properties, required: ["size", "city"] };
    const asked = { params: { town: "Linz" }, message: "town is unknown", data: {} };
    expect(repairRequest({ ...asked, input_schema })).toEqual({ params: { size: 5 }, changed: true });
    const bare = { ...asked, params: { town: "Linz", country: "AT" }, input_schema: null };
    expect(repairRequest(bare)).toEqual({ params: { country: "AT" }, changed: true });
    expect(repairRequest({ ...bare, message: "no" })).toMatchObject({ changed: false });
  });
});
