/** A decision binds to the policy that its gate was shown under, also where that changes while it is judged. */
import { expect, it } from "vitest";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel, memoryLedger } from "../../src/testing/index.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { ann, bob } from "./people.ts";
import { asShown, counted, gateOf, intent, refusalOf, step, story } from "./story.ts";

it("two decisions on a gate of an earlier policy are both refused, though the first opens it again", async () => {
  const write = counted("Note.Write");
  const capability = story([write], [step("w", write, { gate: { reason: "look" } })]);
  const ledger = memoryLedger();
  const first = await createTestKernel({ ledger, capabilities: [capability] });
  const { workflow_id } = await first.run(intent);
  const payload = await asShown(first, workflow_id, "gate-w");
  await first.kernel.stop();
  const answers: (() => void)[] = [];
  const slow = definePolicy({
    name: "slow",
    stages: ["action"],
    evaluate: () => new Promise((end) => answers.push(() => end(null))),
  });
  await using t = await createTestKernel({ ledger, capabilities: [capability], policies: [slow], seed: 2 });
  const decide = (principal: typeof ann) =>
    refusalOf(
      t.kernel.decideGate(workflow_id, { tenant_id: 1, principal, gate_id: "gate-w", decision: "approve", payload }),
    );
  const codes = Promise.all([decide(ann), decide(bob)]);
  await letRun();
  expect(answers).toHaveLength(2);
  answers[0]?.();
  await letRun();
  answers[1]?.();
  expect((await codes).map(({ code }) => code)).toEqual(["T5_GATE_CONFLICT", "T5_GATE_CONFLICT"]);
  expect([(await gateOf(t, workflow_id, "gate-w")).status, write.calls]).toEqual(["open", []]);
  expect((await t.kernel.verify()).ok).toBe(true);
});
