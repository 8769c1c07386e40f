/** Plain JSON, copied: what is none is refused by name, and the depth that is allowed is allowed to its last level. */
import { describe, expect, it } from "vitest";
import { NotJson, toJson } from "../../src/contract/json.ts";

const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)]);

describe("a copy as plain JSON", () => {
  it("goes as deep as it may, and no deeper", () => {
    expect(toJson(nested(3), 3)).toEqual([[[1]]]);
    expect(() => toJson(nested(4), 3)).toThrow(new NotJson("nested too deeply or in a cycle", "[0][0][0]"));
  });
});
