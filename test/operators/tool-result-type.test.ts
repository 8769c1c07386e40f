/** What the MCP SDK gives as the result of a call is a ToolResult, by type: hosts hand it on without a cast. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { ToolResult, toolResultToSignal } from "../../src/index.ts";

describe("a CallToolResult of the MCP SDK", () => {
  it("[OPR-06] is a ToolResult", () => {
    const answer: CallToolResult = {
      content: [
        { type: "text", text: "seen", annotations: { audience: ["user"] } },
        { type: "image", data: "AAAA", mimeType: "image/png" },
        { type: "resource_link", uri: "file:///a", name: "a" },
        { type: "resource", resource: { uri: "file:///b", blob: "AAAA" } },
      ],
      structuredContent: { n: 1 },
      _meta: { any: true },
    };
    const result: ToolResult = answer;
    const signals = toolResultToSignal(result, "look", "trc_1");
    expect(signals.map(({ kind }) => kind)).toEqual(["text", "file", "file", "file", "data"]);
    expect(ToolResult.safeParse(answer).success).toBe(true);
  });
});
