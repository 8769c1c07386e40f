/** The real Claude Code under the Claude Agent SDK, with its API on this machine and tools that a kernel judges. */
import { expect, it } from "vitest";
import { keepsLaws } from "./adapter-laws.ts";
import { openDesk } from "./agents-fixture.ts";
import { claudeAgent } from "./drivers/claude-agent.ts";
import type { Call } from "./drivers/driver.ts";

keepsLaws(claudeAgent);

it("hands an approval to one use: the same call made again waits for a decision of its own", async () => {
  await using desk = await openDesk();
  const refunds: unknown[] = [];
  const asked: Call = ["", claudeAgent.tool, { order: "A7", cents: 900 }];
  const run = (...calls: Call[]) =>
    claudeAgent.run({
      support: desk.support,
      refund: (args) => refunds.push(args),
      calls: calls.map((call) => [call]),
    });
  await run(asked);
  await desk.decide("approve");
  const { prompts, waiting } = await run(asked, asked);
  expect([refunds, waiting === null]).toEqual([[{ order: "A7", cents: 900 }], false]);
  expect(prompts[2]).toContain("waits for a person's decision");
});
