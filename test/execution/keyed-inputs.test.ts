/** A message to a workflow with a key is added once, however often it is sent, and in whichever process. */
import { expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf } from "../fixtures.ts";

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };
const bo = { tenant_id: 1, principal: { type: "user", id: "bo", role: "admin" } };
const noting = defineCapability({
  ...{ intentType: "Deal.Note", version: "1.0", input: z.looseObject({}), operators: [counted("Deal.Note").operator] },
  takesInput: true,
  plan: () => ({ reasoning: "answer", steps: [], direct_response: "done" }),
});
const keyed = { ...ann, text: "B-8 too", idempotency_key: "m-1" };

it("[IDM-01] a message with a key is added once; the key stands for one text of one person", async () => {
  const ledger = memoryLedger();
  const kept: LedgerStore = Object.assign(Object.create(ledger), { close: async () => undefined });
  const first = await createTestKernel({ capabilities: [noting], ledger: kept });
  const start_at = new Date(first.clock.now() + 60_000).toISOString();
  const intent_hint = { intent_type: "Deal.Note", inputs: {} };
  const { workflow_id } = await first.kernel.submit({ ...ann, intent_hint, start_at });
  const say = (t: TestKernel, request: typeof keyed) => t.kernel.addInput(workflow_id, request);
  for (const _ of [1, 2]) expect(await say(first, keyed)).toMatchObject({ workflow_id, status: "received" });
  await first.kernel.stop({ drainMs: 0 });
  await using t = await createTestKernel({ capabilities: [noting], ledger, seed: 2 });
  expect(await say(t, keyed)).toMatchObject({ status: "received" });
  await expect(say(t, { ...keyed, text: "B-9 too" })).rejects.toMatchObject({
    error: { code: "T4_IDEMPOTENCY_PAYLOAD_MISMATCH" },
  });
  await say(t, { ...keyed, ...bo });
  await say(t, { ...keyed, idempotency_key: "m-2" });
  const added = (await eventsOf(t, workflow_id)).filter(({ event_type }) => event_type === "INPUT_ADDED");
  expect(added).toHaveLength(3);
  expect((await t.kernel.replay(workflow_id)).identical).toBe(true);
});
