/** Edits whose decision is judged in time: what was shown of them, and what policy masked of them, replays. */
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { anyObject, counted, decide, intent, step, story } from "../gates/story.ts";

const approve = (t: TestKernel, id: string, edit: object) =>
  decide(t, id, { decision: "approve", payload: { edit: edit as never } });

function payloadAlone() {
  const write = counted("Note.Write", { effect: "final_write", input: anyObject });
  return story([write], [step("w", write, { params: { text: "a" } })]);
}

describe("an edit", () => {
  it("[INV-12] replays with what was shown of it, where its decision is judged in time", async () => {
    const preview = ({ input }: { readonly input: unknown }) => ({ preview: JSON.stringify(input) });
    const write = counted("Note.Write", { effect: "final_write", input: anyObject, preview });
    const slow = definePolicy({ name: "slow", stages: ["gate"], evaluate: () => Promise.resolve(null) });
    const capability = story([write], [step("w", write, { params: { text: "a" } })]);
    await using t = await createTestKernel({ capabilities: [capability], policies: [slow] });
    const { workflow_id } = await t.run(intent);
    await approve(t, workflow_id, { text: "b" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });

  it("[INV-12] that policy masked before its process was gone is put to it again, and replays", async () => {
    const mask = definePolicy({
      name: "mask",
      stages: ["action"],
      evaluate: ({ subject }) =>
        JSON.stringify(subject.payload).includes("DE02") ? { decision: "REDACT", redactions: ["iban"] } : null,
    });
    const slow = (answers: (payload: string) => null | Promise<null>) =>
      definePolicy({
        name: "slow",
        stages: ["gate"],
        evaluate: ({ subject }) => answers(JSON.stringify(subject.payload)),
      });
    const ledger = memoryLedger();
    const never = slow((shown) => (shown.includes("redacted") ? new Promise(() => undefined) : null));
    const first = await createTestKernel({ ledger, capabilities: [payloadAlone()], policies: [mask, never] });
    const { workflow_id } = await first.run(intent);
    const lost = approve(first, workflow_id, { iban: "DE02" }).catch(() => undefined);
    await letRun();
    await first.kernel.stop({ drainMs: 0 });
    await lost;
    const policies = [mask, slow(() => null)];
    await using t = await createTestKernel({
      ledger,
      random: seededRandom(2),
      capabilities: [payloadAlone()],
      policies,
    });
    await approve(t, workflow_id, { iban: "DE02" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
  });
});
