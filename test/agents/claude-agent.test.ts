/** The real Claude Code under the Claude Agent SDK, with its API on this machine and tools that a kernel judges. */
import { expect, it } from "vitest";
import { keepsLaws } from "./adapter-laws.ts";
import { allowing, openDesk } from "./agents-fixture.ts";
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

function throwError(): unknown {
  throw new Error("no such order");
}
it.each([
  ["returned", (): unknown => "paid", { output: [{ type: "text", text: '"paid"' }] }],
  ["threw", throwError, { error: "no such order" }],
] as const)("records what the tool %s as the outcome of its run", async (_case, refund, expected) => {
  await using desk = await openDesk({ policies: [allowing(claudeAgent.tool)] });
  await claudeAgent.run({ support: desk.support, refund, calls: [[["", "", { order: "A7", cents: 900 }]]] });
  const [run] = await desk.kernel.workflows({ intent_type: "Agent.Run" });
  const { state, outcomes } = await desk.rest(run?.workflow_id ?? "");
  expect([state, outcomes.map(({ content }) => content)]).toEqual(["completed", [expected]]);
});
