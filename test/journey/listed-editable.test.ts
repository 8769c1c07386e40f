/** What may be edited at a gate, where gates are listed: whole where they are, and nothing of what was cut. */
import { expect, it } from "vitest";
import { z } from "zod";
import { maxListedGateChars } from "../../src/contract/listed-gate.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intent, step, story } from "../gates/story.ts";

const wide = z
  .object(
    Object.fromEntries(
      Array.from({ length: 2000 }, (_, i) => [`a field with a long name ${i}`, z.string().optional()]),
    ),
  )
  .extend({ text: z.string() });

it.each([
  ["a schema of 2000 fields", wide, "short"],
  ["a text of 50,000 characters", z.object({ text: z.string() }), "x".repeat(50_000)],
])("[API-08] with %s a list over many stays bounded, and its own reads have all", async (_what, input, text) => {
  const send = counted("Note.Send", { effect: "final_write", input: input as never });
  await using t = await createTestKernel({
    capabilities: [story([send], [step("send", send, { params: { text }, gate: {} })])],
  });
  const { workflow_id } = await t.run(intent);
  const [cut] = await t.kernel.gates();
  expect(cut).toMatchObject({ truncated: true, editable: null });
  expect(JSON.stringify(cut).length).toBeLessThan(maxListedGateChars);
  const [whole] = await t.kernel.gates({ workflow_id });
  expect(whole).toMatchObject({ truncated: false, editable: { target: "payload", value: { text } } });
  expect(whole?.editable?.schema).not.toBeNull();
  expect((await t.kernel.gate(workflow_id, "gate-send")).editable).toEqual(whole?.editable);
});
