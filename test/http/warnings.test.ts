/** A planner's plan that was cut is told of at every face: in process, over HTTP, over MCP and on the command line. */
import { expect, it } from "vitest";
import { renderWorkflow } from "../../src/faces/cli/render-workflow.ts";
import { describeWorkflow, toMcpWorkflow } from "../../src/faces/mcp/describe-workflow.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { openEdge } from "./edge-fixture.ts";

it("[PLN-04] a cut plan of a planner is a warning in the state of the workflow, at every face", async () => {
  const write = counted("Note.Write");
  const steps = Array.from({ length: 12 }, (_, i) => step(`s${i + 1}`, write));
  const planner = { plan: async () => ({ plan: { reasoning: "long", steps }, usage: { total_cost: 0 } }) };
  await using edge = await openEdge({ capabilities: [story([write], [])], planner });
  const state = await edge.t.run(intent);
  expect([state.state, write.calls.length]).toEqual(["completed", 10]);
  const { body } = await edge.ask(`/v1/kernel/workflows/${state.workflow_id}`);
  const warning = { code: "T3_PLAN_TRUNCATED", detail: { limit: "maxSteps", dropped: ["s11", "s12"] } };
  for (const { warnings } of [state, body as typeof state, toMcpWorkflow(state)])
    expect(warnings).toMatchObject([warning]);
  const look = { paint: (_style: unknown, text: string) => text, columns: 200, now: () => 0 };
  for (const words of [describeWorkflow(state), renderWorkflow(state, look as never)])
    expect(words).toMatch(/warning: T3_PLAN_TRUNCATED: .*limits\.maxSteps = 10; left out: s11, s12/);
});
