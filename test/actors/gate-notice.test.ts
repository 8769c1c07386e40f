/** That somebody is asked is told to the artifact bus as the kernel's own word, in the trace of the request. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { gated, intentType, isDelivery } from "./fixture.ts";

describe("a gate that opened", () => {
  it("[SIG-11] is sent once to T6, by the system, with its reasons, as a child of the cause's Signal", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id, correlation_id } = await t.run(intentType);
    const told = t.items
      .filter(isDelivery)
      .map(({ to, signal }) => ({ to, signal, data: signal.body["data"] as { readonly type?: string } | undefined }))
      .filter(({ data }) => data?.type === "gate_opened");
    expect(told).toHaveLength(1);
    expect(told[0]).toMatchObject({
      to: 6,
      data: { workflow_id, gate_id: "gate-s2", reasons: [{ source: "plan", reason: "look first" }] },
      signal: { trace_id: correlation_id, tags: { source_type: "system" } },
    });
    const parents = t.items.filter(isDelivery).map(({ signal }) => signal.id);
    expect(parents).toContain(told[0]?.signal.parent_id);
  });
});
