/** The catalogue of messages: one declaration that the compiler checks both ends of a question against. */
import { describe, expect, it } from "vitest";
import type { Message, TierNumber } from "../../src/contract/messages/message.ts";
import { t0 } from "../../src/contract/messages/t0.ts";
import { t1 } from "../../src/contract/messages/t1.ts";
import { t2 } from "../../src/contract/messages/t2.ts";
import { t3 } from "../../src/contract/messages/t3.ts";
import { t4 } from "../../src/contract/messages/t4.ts";
import { t5 } from "../../src/contract/messages/t5.ts";
import { t6 } from "../../src/contract/messages/t6.ts";
import { t7 } from "../../src/contract/messages/t7.ts";
import { answerMessages, Reply } from "../../src/engine/actors/answer-messages.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { toTier } from "../../src/tiers/t4-execution/decide/run/intention.ts";
import { sourcesIn } from "../tidy/source-files.ts";
import { oneStep } from "./fixture.ts";

const catalogues = { 0: t0, 1: t1, 2: t2, 3: t3, 4: t4, 5: t5, 6: t6, 7: t7 } as const;
const repaired = { params: {}, changed: false };
const others = {
  buildContext: () => Promise.reject(new Error("not asked")),
  mergeChanges: () => Promise.reject(new Error("not asked")),
  checkGoals: () => ({ goals: 0 }),
} as const;

describe("a catalogue of messages", () => {
  it("the tiers have a door for each message, and for no other DATA and COMMAND", async () => {
    const doors = new Map<number, readonly string[]>();
    await using _t = await createTestKernel({
      capabilities: [oneStep()],
      patchTier(definition) {
        doors.set(definition.tier, Object.keys(definition.doors));
        return definition;
      },
    });
    for (const [tier, catalogue] of Object.entries(catalogues)) {
      const messages: readonly Message[] = Object.values(catalogue);
      const declared = messages.map(({ carrier, name }) => `${carrier}:${name}`);
      const opened = doors.get(Number(tier))?.filter((key) => key.includes(":")) ?? [];
      expect([...opened].sort(), `T${tier}`).toEqual([...declared].sort());
      expect(messages.every(({ to }) => to === (Number(tier) as TierNumber))).toBe(true);
    }
  });

  it("no tier casts the body of a Signal: one file of the engine each makes the question and the answer", () => {
    const casts = sourcesIn("src/tiers", "src/engine").filter(({ text }) => /body(\["data"\])?\s+as\b/.test(text));
    // The Signals of a tool's result are content, and no answer of a tier.
    const content = "src/tiers/t4-execution/perform/call-tool.ts";
    expect(casts.map(({ path }) => path)).toEqual([content, "src/engine/actors/runtime.ts"]);
  });

  it("the compiler refuses a handler that is missing, and one that answers another shape", () => {
    // @ts-expect-error: the handler of `repair` is missing.
    expect(() => answerMessages(t2, others)).not.toThrow();
    // @ts-expect-error: `repair` is answered with another shape.
    expect(() => answerMessages(t2, { ...others, repair: () => ({ params: {} }) })).not.toThrow();
    // @ts-expect-error: a reply has the declared shape as well.
    expect(() => answerMessages(t2, { ...others, repair: () => new Reply("done", {}) })).not.toThrow();
    expect(() => answerMessages(t2, { ...others, repair: () => repaired })).not.toThrow();
  });

  it("the compiler refuses a question of another shape, and knows the shape of the answer", () => {
    // @ts-expect-error: a question without goals.
    toTier(t2.checkGoals, { fn: "test", data: {} });
    const asked = toTier(t2.checkGoals, { fn: "test", data: { goals: [] } });
    const answers: { readonly goals: number } | undefined = asked.answers;
    // @ts-expect-error: the number of goals is no text.
    const text: string | undefined = asked.answers?.goals;
    expect([answers, text]).toEqual([undefined, undefined]);
  });
});
