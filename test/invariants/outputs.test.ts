/**
 * What leaves a step has passed validateOutput, wherever it came from; over random stories, and for an answer from the
 * store.
 */
import { describe, expect, it } from "vitest";
import { payloadOf } from "../../src/contract/event.ts";
import { anyStory, beginStory, holdsFor, type Story } from "./stories.ts";

/** One step whose only call takes effect after it was given up. */
const doubtful: Story = {
  steps: [
    {
      id: "s0",
      depends_on: [],
      gated: false,
      retry: "NONE",
      effect: "external_send",
      honoursAbort: false,
      behaviours: ["late"],
      ruling: "NONE",
      choice: "approve",
    },
  ],
  maxReplans: 0,
  retries: 0,
  seed: 1,
};

describe("an output", () => {
  it("[INV-04] leaves its step only as validateOutput has seen it", async () => {
    const seen: string[] = [];
    const validateOutput = (text: string) => {
      seen.push(text);
      return { ok: true } as const;
    };
    await holdsFor(
      anyStory(),
      async ({ events }) => {
        const left = (await events()).filter((e) => e.event_type === "STEP_SUCCEEDED");
        for (const event of left) expect(seen).toContain(payloadOf(event, "STEP_SUCCEEDED").output_text);
        seen.length = 0;
      },
      { play: { security: { validateOutput } } },
    );
  });

  it("[INV-04] that validateOutput refuses leaves no step, no template and no answer", async () => {
    const validateOutput = (text: string) =>
      text.includes('"by":"s0"') ? ({ ok: false, reason: "names s0" } as const) : ({ ok: true } as const);
    await holdsFor(
      anyStory(),
      async ({ events, world, state }) => {
        const told = JSON.stringify([await events(), await state(), world.calls.map((c) => c.input)]);
        expect(told).not.toContain('"by":"s0"');
        expect(told).not.toContain('\\"by\\":\\"s0\\"');
      },
      { play: { security: { validateOutput } } },
    );
  });

  it("[INV-04] that the key store answers with is validated again before it becomes the step's", async () => {
    let strict = false;
    let asked = 0;
    const validateOutput = () => {
      asked += 1;
      return strict ? ({ ok: false, reason: "no more" } as const) : ({ ok: true } as const);
    };
    await using play = await beginStory(doubtful, { security: { validateOutput } });
    await play.t.rest(play.id);
    play.world.releaseLate();
    await play.t.clock.settle();
    expect(asked).toBe(1);
    strict = true;
    await play.t.approve(play.id, undefined, { resolution: "retry" });
    const state = await play.t.rest(play.id);
    expect(play.world.calls).toHaveLength(1);
    expect(asked).toBe(2);
    expect(state.steps).toMatchObject([{ state: "succeeded", output_text: "[Output sanitized]" }]);
  });
});
