/**
 * How far narrow scopes reach: a role that names none has them with the wider scope; one that names any has what it
 * names.
 */
import { describe, expect, it } from "vitest";
import { grantsScope, lackedScope, reachOf, requireCredentialScope } from "../../src/contract/auth-context.ts";
import { moduleRef } from "../../src/index.ts";

describe("[ATH-04] the reach of a narrow scope", () => {
  it.each([
    [["workflow:execute"], "any"],
    [["workflow:*"], "any"],
    [["*"], "any"],
    [["workflow:cancel"], "any"],
    [["workflow:cancel:*"], "any"],
    [["workflow:execute", "workflow:cancel:own"], "own"],
    [["*", "workflow:cancel:own"], "own"],
    [["workflow:cancel:own", "workflow:cancel"], "any"],
    [["workflow:execute", "workflow:cancel:none"], null],
    [["workflow:execute", "workflow:cancellation"], "any"],
    [["workflow:retry"], null],
    [[], null],
  ] as const)("of %j over cancelling is %s", (scopes, reach) => {
    expect(reachOf(scopes, "workflow:cancel")).toBe(reach);
    expect(grantsScope(scopes, "workflow:cancel")).toBe(reach !== null);
  });

  it("says in a refusal which scope is lacking: the wider one where nothing is said of the narrow one", () => {
    expect(lackedScope(["outcome:read"], "workflow:retry")).toBe("workflow:execute");
    expect(lackedScope(["workflow:retry:none"], "workflow:retry")).toBe("workflow:retry");
    expect(lackedScope([], "intent:submit")).toBe("intent:submit");
  });

  it("is not asked of a credential: one that is held to its own work gives no such command", () => {
    const caller = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const from = moduleRef(0, "test", "ask");
    const give = (scopes: readonly string[]) => () =>
      requireCredentialScope({ ...caller, scopes }, "workflow:cancel", from);
    expect(give(["workflow:execute"])).not.toThrow();
    expect(give(["workflow:cancel"])).not.toThrow();
    expect(give(["workflow:execute", "workflow:cancel:own"])).toThrow("T5_AUTHZ_FORBIDDEN");
  });
});
