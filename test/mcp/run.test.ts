/** A whole gated run, driven by the official client over streamable HTTP. */
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { call, openMcp, told, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";

describe("a capability as a tool", () => {
  it("runs to its gate, is decided by the digest that was shown, and ends with its outcomes", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect();
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain(name);
    const waiting = workflowOf(await call(client, name, {}));
    expect(waiting.state).toBe("waiting_for_user");
    const [gate] = waiting.gates;
    const decided = await told(client, "decide-gate", {
      workflow_id: waiting.workflow_id,
      gate_id: gate?.gate_id,
      decision: "approve",
      payload_digest: gate?.payload_digest,
    });
    expect(decided).toMatchObject({ status: "resumed" });
    await face.t.rest(waiting.workflow_id);
    expect(await told(client, "read-workflow", { workflow_id: waiting.workflow_id })).toMatchObject({
      state: "completed",
    });
    const { outcomes } = await told<{ outcomes: { outcome_type: string }[] }>(client, "read-outcomes", {
      workflow_id: waiting.workflow_id,
    });
    expect(outcomes.map((outcome) => outcome.outcome_type)).toContain("Draft.Note");
    expect(intent).toBe("Story.Note.Publish");
  });
});
