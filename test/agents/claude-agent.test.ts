/** The real Claude Code under the Claude Agent SDK, with its API on this machine and tools that a kernel judges. */
import { createSdkMcpServer, query, type SDKResultMessage, tool } from "@anthropic-ai/claude-agent-sdk";
import { expect, it } from "vitest";
import { z } from "zod";
import { countersigned } from "../../src/faces/agents/claude-agent/index.ts";
import { makeTempFolder } from "../fixtures.ts";
import { allowing, decideElsewhere, denying, ledgerPath, openDesk } from "./agents-fixture.ts";
import { serveClaude, type Use } from "./mock-claude.ts";

const refundTool = "mcp__shop__refund";
const use = (id: string): Use => [id, refundTool, { order: "A7", cents: 900 }];

type Desk = Awaited<ReturnType<typeof openDesk>>;

/** Runs Claude once, and returns what the tool was called with, what the model read, and the end. */
async function runClaude({ support }: Pick<Desk, "support">, uses: readonly Use[]) {
  await using api = await serveClaude(uses);
  using home = makeTempFolder();
  const refunds: unknown[] = [];
  const refund = tool("refund", "Refunds.", { order: z.string(), cents: z.number() }, async (args) => {
    refunds.push(args);
    return { content: [{ type: "text", text: `refunded ${args.cents}` }] };
  });
  const messages = query({
    prompt: "Refund order A7.",
    options: {
      ...countersigned(support.thread("chat-1")),
      mcpServers: { shop: createSdkMcpServer({ name: "shop", tools: [refund] }) },
      settingSources: [],
      cwd: home.path,
      maxTurns: 6,
      env: {
        HOME: home.path,
        CLAUDE_CONFIG_DIR: home.path,
        ANTHROPIC_BASE_URL: api.url,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      },
    },
  });
  let end: SDKResultMessage | undefined;
  for await (const message of messages) if (message.type === "result") end = message;
  return { refunds, prompts: api.prompts, text: end?.subtype === "success" ? end.result : end?.subtype };
}

it("denies a use that waits, and makes it once with the approved payload when it is asked again", async () => {
  const path = ledgerPath();
  {
    await using desk = await openDesk({ path });
    const { refunds, prompts } = await runClaude(desk, [use("toolu_1")]);
    expect(refunds).toEqual([]);
    expect(prompts[1]).toMatch(/waits for a person's decision at https:\/\/desk\.example\/#\/w\/wf_/);
  }
  const gate = await decideElsewhere(path, "approve");
  await using desk = await openDesk({ path, seed: 7 });
  const { refunds, prompts, text } = await runClaude(desk, [use("toolu_2"), use("toolu_3")]);
  expect(refunds).toEqual([(gate.payload as { arguments: unknown }).arguments]);
  expect(prompts[1]).toContain("refunded 900");
  expect(prompts[2]).toContain("waits for a person's decision");
  expect(text).toBe("It is done.");
  expect((await desk.kernel.verify()).ok).toBe(true);
});

it("takes a rejection's words to the model, and calls nothing", async () => {
  const path = ledgerPath();
  await using desk = await openDesk({ path });
  await runClaude(desk, [use("toolu_1")]);
  await desk.decide("reject", { comment: "ask the customer first" });
  const { refunds, prompts } = await runClaude(desk, [use("toolu_2")]);
  expect(refunds).toEqual([]);
  expect(prompts[1]).toContain("user ann rejected the call: ask the customer first");
});

it("runs edited input, and tells the model", async () => {
  await using desk = await openDesk();
  await runClaude(desk, [use("toolu_1")]);
  await desk.decide("approve", { edit: { arguments: { order: "A7", cents: 100 } } });
  const { refunds, prompts } = await runClaude(desk, [use("toolu_2")]);
  expect(refunds).toEqual([{ order: "A7", cents: 100 }]);
  expect(prompts[1]).toContain("user ann changed the arguments");
});

it.each([
  ["a rule lets it", allowing(refundTool), [{ order: "A7", cents: 900 }], "refunded 900"],
  ["a rule denies it", denying(refundTool), [], "refunds are closed in November"],
] as const)("asks nobody where %s", async (_case, rules, expected, told) => {
  await using desk = await openDesk({ policies: [rules] });
  const { refunds, prompts } = await runClaude(desk, [use("toolu_1")]);
  expect(refunds).toEqual(expected);
  expect(prompts[1]).toContain(told);
});

it("runs nothing without its kernel", async () => {
  const desk = await openDesk({ policies: [allowing(refundTool)] });
  await desk.kernel.stop();
  const { refunds, prompts } = await runClaude(desk, [use("toolu_1")]);
  expect(refunds).toEqual([]);
  expect(prompts[1]).toMatch(/T\d_[A-Z_]+/);
});
