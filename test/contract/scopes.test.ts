/**
 * What a scope grants: its own name, all of a prefix, or everything; said here without asking the function that says
 * it.
 */
import { describe, expect, it } from "vitest";
import { hasScope } from "../../src/contract/auth-context.ts";

describe("a scope", () => {
  it.each([
    [["gate:approve"], "gate:approve", true],
    [["gate:*"], "gate:approve", true],
    [["outcome:read", "gate:*"], "gate:approve", true],
    [["*"], "gate:approve", true],
    [[], "gate:approve", false],
    [["gate"], "gate:approve", false],
    [["gate:"], "gate:approve", false],
    [["gate:approve"], "gate:approve:all", false],
    [["gat*"], "gate:approve", false],
    [["gate:*"], "gates:read", false],
    [["workflow:*"], "gate:approve", false],
    [["gate:approv"], "gate:approve", false],
  ])("[ATH-07] %j grants %s: %s", (scopes, wanted, grants) => {
    expect(hasScope(scopes, wanted)).toBe(grants);
  });
});
