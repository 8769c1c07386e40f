/** Signals of every kind are checked at every tier's door, commands to the tier itself among them. */
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { createSignal, type Signal } from "../../src/contract/signal.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { allTiers, intentType, oneStep, patchDoors, testRef } from "./fixture.ts";

/** Each kind with a body that lacks what it needs, and what that is. */
const malformed: readonly (readonly [string, Signal["kind"], JsonObject, string])[] = [
  ["a TEXT without text", "text", { words: "x" }, "text"],
  ["a DATA without schema", "data", { data: 1 }, "schema"],
  ["a FILE without type", "file", { file_id: "f" }, "file_type"],
  ["a STREAM without final", "stream", { chunk: "c", sequence: 1 }, "final"],
  ["a COMMAND without target", "command", { action: "abort" }, "target"],
  ["an activation without target", "command", { action: "activate" }, "target"],
  ["a sleep without target", "command", { action: "sleep" }, "target"],
];
const cases = malformed.flatMap((row) => allTiers.map((tier) => [...row, tier] as const));

describe("a malformed Signal", () => {
  it.each(cases)(
    "[VAL-03] %s (%s %j lacks %s) reaches no handler of T%i, and changes nothing there",
    async (...row) => {
      const [, kind, body, lacks, tier] = row;
      const calls: Signal[] = [];
      const patchTier = patchDoors((door) => ({
        ...door,
        handle: (signal, runtime) => {
          calls.push(signal);
          return door.handle(signal, runtime);
        },
      }));
      await using t = await createTestKernel({ capabilities: [oneStep()], patchTier });
      const result = await t.kernel.ask(tier, createSignal(kind, body, testRef, "cor_test"));
      expect(result).toMatchObject({ status: "error", error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } });
      expect(result.error?.detail["missing"]).toEqual([lacks]);
      expect(calls).toEqual([]);
      expect((await t.run(intentType)).state).toBe("completed");
    },
  );

  it("[VAL-03] well formed, the same commands put a tier to sleep and wake it", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const command = (action: string) =>
      createSignal("command", { action, target: moduleRef(1, "perception", "tier") }, testRef, "cor_test");
    expect((await t.kernel.ask(1, command("sleep"))).status).toBe("ok");
    expect((await t.kernel.ask(1, createSignal("text", { text: "hello" }, testRef, "cor_test"))).status).toBe("skip");
    expect((await t.kernel.ask(1, command("activate"))).status).toBe("ok");
  });
});
