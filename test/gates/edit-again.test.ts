/** An edit that moved the basis, sent again; and what revises a gate without changing its payload. */
import { describe, expect, it } from "vitest";
import type { GatePreview } from "../../src/contract/operator.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { ann, approve, bob } from "./people.ts";
import { counted, gateOf, intent, payloads, refusalOf, step, story } from "./story.ts";

const gateId = "gate-publish";

function board() {
  const world = { hangs: "nothing" };
  const preview = ({ input }: { readonly input: unknown }): GatePreview => {
    const { to } = input as { readonly to: string };
    return { preview: "a note", basis: [{ name: to, digest: `${to}:${world.hangs}` }] };
  };
  const publish = counted("Note.Publish", { effect: "final_write", preview });
  const plan = [step("publish", publish, { params: { text: "a", to: "board" } })];
  return { world, publish, capability: story([publish], plan) };
}

describe("a revised gate", () => {
  it("[GAT-03] repeats the answer for a repeated edit that changed the basis, and approves nothing", async () => {
    const { capability, publish } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    const { payload_digest } = await gateOf(t, id, gateId);
    const payload = { edit: { to: "street" }, payload_digest };
    const first = await approve(t, id, ann, payload);
    expect(first.status).toBe("revised");
    expect(await approve(t, id, ann, payload)).toEqual(first);
    expect(await payloads(t, id, "GATE_REVISED")).toHaveLength(1);
    expect(publish.calls).toEqual([]);
    const shown = await gateOf(t, id, gateId);
    expect((await refusalOf(approve(t, id, bob, { payload_digest: shown.payload_digest }))).code).toBe(
      "T5_GATE_CONFLICT",
    );
  });

  it("[GAT-03] on another basis is no other payload: the basis is what an approval must name", async () => {
    const { capability, publish, world } = board();
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id: id } = await t.run(intent);
    world.hangs = "a poster";
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    const { revised_from, basis_digest } = await gateOf(t, id, gateId);
    expect(revised_from).toBeUndefined();
    expect((await refusalOf(approve(t, id, ann))).code).toBe("T5_GATE_CONFLICT");
    await approve(t, id, ann, { basis_digest });
    expect((await t.rest(id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(1);
  });
});
