/**
 * The driver of the Claude Agent SDK: the real Claude Code with its API on this machine. Claude keeps no call that
 * waits, so that going on is another run of the conversation in which the model makes the same calls again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSdkMcpServer, query, type SDKResultMessage, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { countersigned } from "../../../src/faces/agents/claude-agent/index.ts";
import { serveClaude } from "../mock-claude.ts";
import { type Call, type Conversation, type Driver, type Ran, request } from "./driver.ts";

const refundTool = "mcp__shop__refund";

let uses = 0;
/** Returns the call as Claude names it: each use has an id of its own. */
function nameUse([, , args]: Call): Call {
  uses += 1;
  return [`toolu_${process.pid}_${uses}`, refundTool, args];
}

/** The environment in which Claude Code reads and writes nothing but this folder and this API. */
export const claudeEnvironment = (home: string, url: string): Record<string, string> => ({
  HOME: home,
  CLAUDE_CONFIG_DIR: home,
  ANTHROPIC_BASE_URL: url,
  ANTHROPIC_API_KEY: "none",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
});

export const claudeAgent: Driver = {
  name: "the Claude Agent SDK",
  tool: refundTool,
  oddCall: null,
  isRunByKernel: false,
  async run({ support, refund, calls, stored, isClaimed = false, thread = "chat-1" }: Conversation): Promise<Ran> {
    const asked: readonly (readonly Call[])[] = stored === undefined ? calls : JSON.parse(stored);
    await using api = await serveClaude(asked.map((answer) => answer.map(nameUse)));
    const home = mkdtempSync(join(tmpdir(), "countersign-claude-"));
    const schema = { order: z.string(), cents: z.number() };
    const own = tool("refund", "Refunds.", schema, async (args) => ({
      content: [{ type: "text", text: JSON.stringify((await refund(args)) ?? null) }],
    }));
    const messages = query({
      prompt: request,
      options: {
        ...countersigned(support.thread(thread)),
        // The permissions by which Claude itself would run the tool.
        ...(isClaimed && { allowedTools: [refundTool] }),
        mcpServers: { shop: createSdkMcpServer({ name: "shop", tools: [own] }) },
        settingSources: [],
        cwd: home,
        maxTurns: 6,
        env: claudeEnvironment(home, api.url),
      },
    });
    let end: SDKResultMessage | undefined;
    for await (const message of messages) if (message.type === "result") end = message;
    rmSync(home, { recursive: true, force: true, maxRetries: 5 });
    const { prompts } = api;
    const waits = prompts.at(-1)?.includes("T0_AGENT_WAITING") === true;
    const text = end?.subtype === "success" ? end.result : String(end?.subtype);
    return { waiting: waits ? (prompts.at(-1) ?? "") : null, stored: JSON.stringify(asked), prompts, text };
  },
};
