/** A call that was put right is another call: policy is asked about it, and what it demands stands. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import type { PolicyRule, RuleAnswer } from "../../src/contract/policy.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { errand, eventsOf, intentType, rpcError, step, tool } from "./fixture.ts";

const inputSchema = { type: "object", properties: { size: { type: "integer" } } };

/** A tool that refuses a size which is a text, and answers anything else. */
function pickyTool() {
  const asked: JsonObject[] = [];
  const request = async (_method: string, params: JsonObject) => {
    const args = params["arguments"] as JsonObject;
    asked.push(args);
    if (typeof args["size"] === "string") throw rpcError(-32602, "size must be an integer");
    return { content: [{ type: "text", text: "done" }] };
  };
  return { asked, operator: tool("Test.Get", { request }, { inputSchema }) };
}

/** Answers so where the size is a number, as only the repaired call has it. */
const ofRepaired = (answer: RuleAnswer): PolicyRule =>
  definePolicy({
    name: "of the repaired call",
    stages: ["action"],
    evaluate: ({ subject }) =>
      typeof (subject.payload as { readonly size: unknown }).size === "number" ? answer : null,
  });

async function runUnder(answer: RuleAnswer) {
  const { asked, operator } = pickyTool();
  const capabilities = [errand([step("s1", "Test.Get", { params: { size: "3" } })], [operator])];
  await using t = await createTestKernel({ capabilities, policies: [ofRepaired(answer)], limits: { maxReplans: 0 } });
  const { state, error, gates, workflow_id } = await t.run(intentType);
  const decided = (await eventsOf(t, workflow_id)).filter(({ event_type }) => event_type === "POLICY_DECIDED");
  return { asked, state, error, gates, decision: decided.at(-1)?.payload["decision"] };
}

describe("a repaired tool call", () => {
  it.each(["REQUIRE_HUMAN_APPROVAL", "DENY"] as const)(
    "[PLC-05] is not sent where policy answers %s to it, and the refusal of the first stands",
    async (decision) => {
      const ended = await runUnder({ decision, reason: "not this one" });
      expect(ended.asked).toEqual([{ size: "3" }]);
      expect(ended.decision).toBe(decision);
      expect(ended.state).toBe("failed");
      expect(ended.error?.message).toContain("size must be an integer");
    },
  );

  it("[PLC-06] is sent as policy transforms it", async () => {
    const ended = await runUnder({ decision: "TRANSFORM", transform: { size: 2 } });
    expect(ended.asked).toEqual([{ size: "3" }, { size: 2 }]);
    expect(ended.state).toBe("completed");
  });
});
