/**
 * The package `Guard.Accept`: the definitions of servers' tools, as they were accepted: at first sight, or by a person
 * who was shown the difference.
 *
 * 1.  A definition is what a model reads and what a client judges by: description, schemas, annotations.
 * 2.  The payload that a person approves holds the definition itself, beside the one that was accepted before.
 */
import type { Tool } from "@modelcontextprotocol/server";
import { z } from "zod";
import { canonicalJson, digest } from "../../contract/digest.ts";
import { JsonObject } from "../../contract/json.ts";
import { defineCapability, defineOperator } from "../../index.ts";
import { unifiedDiff } from "../../packages/operators/files/unified-diff.ts";

export const acceptIntent = "Guard.Accept";

const Definition = z.strictObject({ name: z.string(), digest: z.string(), definition: JsonObject });
export type Definition = z.infer<typeof Definition>;

export const AcceptInput = z.strictObject({
  /** The server's name. */
  server: z.string(),
  /** The tools as the server defines them now. */
  tools: z.array(Definition).min(1),
  /** The definition that was accepted before, of a tool that has changed. */
  before: JsonObject.optional(),
  /** Whether a person is asked. */
  asks: z.boolean(),
});
export type AcceptInput = z.infer<typeof AcceptInput>;

/** Returns the definition of a tool, with its digest. */
export function defineSeen(tool: Tool): Definition {
  const { name, execution: _, ...definition } = tool as Tool & { readonly execution?: unknown };
  const seen = structuredClone(definition) as JsonObject;
  return { name, digest: digest(seen), definition: seen };
}

const pretty = (definition: JsonObject): string =>
  `${JSON.stringify(JSON.parse(canonicalJson(definition)), null, 2)}\n`.replaceAll("\\n", "\n");

const accept = defineOperator({
  name: "Guard.Accept",
  input: AcceptInput.omit({ asks: true }),
  effect: "none",
  description: "Accepts tools as their server defines them.",
  present: {
    title: ({ server, tools, before }) =>
      `${server}: ${tools.map(({ name }) => name).join(", ")} ${before === undefined ? "is new" : "has changed"}`,
    facts: [
      { label: "Server", value: "server" },
      { label: "Tool", value: "tools.*.name" },
    ],
  },
  preview: ({ input: { tools, before } }) => ({
    preview: "The server says this of its tools. Models read it, and calls are judged by its annotations.",
    diff: tools
      .map(({ name, definition }) =>
        unifiedDiff({ path: name, before: before === undefined ? null : pretty(before), after: pretty(definition) }),
      )
      .join("\n"),
  }),
  run: ({ input: { server, tools } }) => ({ server, accepted: tools.map(({ name }) => name) }),
});

/** The capability that records accepted tools. */
export const acceptPackage = defineCapability({
  intentType: acceptIntent,
  version: "1.0",
  description: "The tools of a server behind a guard, as they were accepted.",
  input: AcceptInput,
  operators: [accept],
  present: { title: ({ server, tools }) => `${server}: ${tools.length} tools accepted as they are` },
  plan: ({ input: { asks, ...params } }) => ({
    reasoning: asks ? "A person accepts what the server says now." : "These tools were seen for the first time.",
    steps: [
      {
        step_id: "accept",
        name: "Accept the tools",
        operator: "Guard.Accept",
        params,
        ...(asks && { gate: { reason: "a tool is not what it was when it was accepted" } }),
      },
    ],
  }),
});
