/** The driver of Mastra: its agent over the tools of `countersigned`, and its storage as bytes. */
import { deserialize, serialize } from "node:v8";
import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { InMemoryStore } from "@mastra/core/storage";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { countersigned } from "../../../src/faces/agents/mastra/index.ts";
import { scriptedModel } from "../mock-model.ts";
import { type Conversation, type Driver, lastWords, noJson, type Ran, request } from "./driver.ts";

/** The tables of the storage that a suspended run is kept in. */
const tables = ["threads", "messages", "resources", "workflows"] as const;
type Table = Map<string, unknown>;

function openStorage(stored: string | undefined) {
  const storage = new InMemoryStore();
  const { db } = storage.stores.workflows as unknown as { db: Record<(typeof tables)[number], Table> };
  const kept = stored === undefined ? undefined : deserialize(Buffer.from(stored, "base64"));
  const { rows = {}, runId = "" } = (kept ?? {}) as { rows?: Record<string, Table>; runId?: string };
  for (const table of tables) for (const [key, row] of rows[table] ?? []) db[table].set(key, row);
  const store = (run: string | undefined): string =>
    serialize({ rows: Object.fromEntries(tables.map((table) => [table, db[table]])), runId: run }).toString("base64");
  return { storage, runId, store };
}

export const mastra: Driver = {
  name: "Mastra",
  tool: "refund",
  oddCall: { call: ["call-1", "odd", { order: "A7" }], words: noJson },
  isRunByKernel: true,
  async run({ support, refund, calls, stored, isClaimed = false, thread = "chat-1" }: Conversation): Promise<Ran> {
    const { storage, runId, store } = openStorage(stored);
    const { model, prompts } = scriptedModel([...calls, lastWords]);
    const tools = {
      refund: createTool({
        id: "refund",
        description: "Refunds.",
        inputSchema: z.object({ order: z.string(), cents: z.number() }),
        execute: async (args) => refund(args),
      }),
      odd: createTool({
        id: "odd",
        description: "Takes what is no JSON.",
        inputSchema: z.object({ order: z.unknown().transform((order) => () => order) }),
        execute: async () => refund({ order: "odd", cents: 0 }),
      }),
    };
    const agents = {
      support: new Agent({
        id: "support",
        name: "support",
        instructions: "Help.",
        model: model as never,
        tools: countersigned(support, tools),
      }),
    };
    const agent = new Mastra({ agents, storage, logger: false }).getAgent("support");
    const result = await (stored === undefined
      ? agent.generate(request, { memory: { thread, resource: "eve" } })
      : agent.resumeGenerate(isClaimed ? { approved: true } : {}, { runId }));
    const { finishReason, suspendPayload, text } = result;
    const waiting = finishReason === "suspended" ? JSON.stringify(suspendPayload) : null;
    return { waiting, stored: store(result.runId), prompts, text };
  },
};
