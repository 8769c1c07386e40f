// What a tool may do, from its server's annotations and its host's word.
// Laws: without trust no server lowers an effect or promises idempotency; the host's own word goes before all.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { effects } from "../../src/contract/operator.ts";
import { judgeAnnotations } from "../../src/packages/operators/mcp/judge-annotations.ts";
import { mcpOperators } from "../../src/packages/operators/mcp/mcp-operators.ts";
import { refusal } from "../actors/fixture.ts";
import { scripted, tool } from "./mcp-fixture.ts";

const hint = fc.option(fc.boolean(), { nil: undefined });
const Hints = fc.option(
  fc.record({ readOnlyHint: hint, destructiveHint: hint, openWorldHint: hint, idempotentHint: hint }),
  { nil: undefined },
);
const rankOf = (effect: (typeof effects)[number]): number => effects.indexOf(effect);

describe("without trust", () => {
  it("no annotations, whatever they say, lower the effect below the host's word or promise idempotency", () => {
    fc.assert(
      fc.property(Hints, fc.constantFrom(...effects), (hints, effect) => {
        const stance = judgeAnnotations(hints as never, { effect, trustAnnotations: false });
        expect(rankOf(stance.effect)).toBeGreaterThanOrEqual(rankOf(effect));
        expect(stance.idempotent).toBe(false);
      }),
    );
  });

  it.each([
    [{ destructiveHint: true }, "final_write"],
    [{ readOnlyHint: false }, "final_write"],
    [{ openWorldHint: true, destructiveHint: true }, "external_send"],
    [{ readOnlyHint: true, openWorldHint: true }, "read"],
    [undefined, "read"],
  ] as const)("a server that is said to read is believed when it warns: %j is %s", (hints, effect) => {
    expect(judgeAnnotations(hints, { effect: "read", trustAnnotations: false }).effect).toBe(effect);
  });
});

describe("with trust", () => {
  it.each([
    [undefined, "external_send", false, "high"],
    [{ title: "Only a title" }, "external_send", false, "high"],
    [{ readOnlyHint: true }, "read", false, "low"],
    [{ readOnlyHint: false }, "external_send", false, "high"],
    [{ readOnlyHint: true, destructiveHint: true, openWorldHint: true }, "read", false, "low"],
    [{ openWorldHint: false }, "final_write", false, "high"],
    [{ openWorldHint: false, destructiveHint: false, idempotentHint: true }, "final_write", true, "medium"],
    [{ destructiveHint: false }, "external_send", false, "medium"],
  ] as const)("%j is %s, idempotent %s, of %s risk", (hints, effect, idempotent, riskLevel) => {
    const stance = judgeAnnotations(hints, { effect: "external_send", trustAnnotations: true });
    expect(stance).toEqual({ effect, idempotent, riskLevel });
  });
});

describe("the host's word", () => {
  const listed = [
    tool("reads", { annotations: { readOnlyHint: true, idempotentHint: true } }),
    tool("sends", { annotations: { openWorldHint: true } }),
    tool("silent"),
  ];
  const metadataOf = async (more: Partial<Parameters<typeof mcpOperators>[0]>) => {
    await using mcp = await mcpOperators({ transport: scripted(listed).transport, name: "Far", ...more });
    const shown = mcp.operators.map(({ metadata }) => [metadata.name.slice(4), metadata.effect, metadata.idempotent]);
    return { shown, leftOut: mcp.leftOut };
  };

  it("is external_send for every tool where it says nothing", async () => {
    expect((await metadataOf({})).shown).toEqual([
      ["reads", "external_send", false],
      ["sends", "external_send", false],
      ["silent", "external_send", false],
    ]);
  });

  it("on one tool goes before trust, annotations and the server's default", async () => {
    const tools = {
      reads: { effect: "credential_use", idempotent: false },
      sends: { effect: "none" },
      silent: false,
    } as const;
    expect(await metadataOf({ trustAnnotations: true, tools })).toEqual({
      shown: [
        ["reads", "credential_use", false],
        ["sends", "none", false],
      ],
      leftOut: [{ tool: "silent", reason: "the host left it out" }],
    });
  });

  it("on a tool that is not there is refused: the one that was meant would go without it", async () => {
    const server = scripted(listed);
    const error = await refusal(mcpOperators({ transport: server.transport, tools: { red: { effect: "read" } } }));
    await expect(server.tell({ method: "notifications/tools/list_changed" })).rejects.toThrow("Not connected");
    expect(error).toMatchObject({ code: "T4_OPERATOR_UNKNOWN", message: expect.stringContaining("red") });
  });

  it.each(["", "a b", "a..b", ".a", "x".repeat(61)])(
    "for a name is made of plain parts: %j is refused",
    async (name) => {
      expect((await refusal(metadataOf({ name }))).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    },
  );

  it("left undefined is no word", async () => {
    const tools = { silent: { effect: undefined, idempotent: undefined } } as never;
    expect((await metadataOf({ tools })).shown[2]).toEqual(["silent", "external_send", false]);
  });

  it("that trusts takes what the server says", async () => {
    expect((await metadataOf({ trustAnnotations: true })).shown).toEqual([
      ["reads", "read", true],
      ["sends", "external_send", false],
      ["silent", "external_send", false],
    ]);
  });

  it("sets timeout, retry and tags for all, and for one", async () => {
    const defaults = { timeoutSec: 9, retry: "NONE", policyTags: ["far"] };
    const tools = { sends: { timeoutSec: 3 } };
    await using mcp = await mcpOperators({ transport: scripted(listed).transport, name: "Far", defaults, tools });
    expect(mcp.operator("reads").metadata).toMatchObject({ timeout_sec: 9, retry: "NONE", policy_tags: ["far"] });
    expect(mcp.operator("sends").metadata).toMatchObject({ timeout_sec: 3, retry: "NONE" });
  });
});
