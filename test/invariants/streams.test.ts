/** What people saw live is what the ledger tells again. Over random stories. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Follow } from "../../src/kernel/kernel-interface.ts";
import { memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { moreThan, runs } from "../properties/property-runs.ts";
import { anyStory, beginStory, playStory } from "./stories.ts";

const channels = ["events", "progress", "assistant"] as const;

/** Collects a channel until it ends, or is told to. */
async function collect(
  t: TestKernel,
  id: string,
  channel: (typeof channels)[number],
  options: Follow,
): Promise<unknown[]> {
  const got: unknown[] = [];
  for await (const item of t.kernel[channel](id, options)) got.push(item);
  return got;
}

describe("the three streams", () => {
  it("[INV-16] of a finished run, read from its ledger alone, are what subscribers received live", async () => {
    let items = 0;
    await fc.assert(
      fc.asyncProperty(anyStory({}, { retries: 0 }), async (story) => {
        const ledger = memoryLedger();
        const follow = new AbortController();
        let live: Promise<unknown[][]> | null = null;
        const options = {
          ledger,
          onRest: async ({ t, id }: { readonly t: TestKernel; readonly id: string }) => {
            live ??= Promise.all(channels.map((channel) => collect(t, id, channel, { signal: follow.signal })));
          },
        };
        await using play = await playStory(story, options);
        await play.t.clock.settle();
        follow.abort();
        const seen = await (live as Promise<unknown[][]> | null);
        const again = await Promise.all(channels.map((channel) => collect(play.t, play.id, channel, { live: false })));
        expect(again).toEqual(seen);
        items += again.flat().length;
      }),
      { numRuns: runs(25) },
    );
    expect(items).toBeGreaterThan(moreThan(200));
  });

  it("[INV-16] received from the first moment on lack nothing and repeat nothing", async () => {
    await fc.assert(
      fc.asyncProperty(
        anyStory({ gated: fc.constant(false), ruling: fc.constantFrom("NONE", "ALLOW"), retry: fc.constant("NONE") }),
        async (story) => {
          await using play = await beginStory(story);
          const follow = new AbortController();
          const live = Promise.all(
            channels.map((channel) => collect(play.t, play.id, channel, { signal: follow.signal })),
          );
          await play.t.rest(play.id);
          await play.t.clock.settle();
          follow.abort();
          const again = channels.map((channel) => collect(play.t, play.id, channel, { live: false }));
          expect(await Promise.all(again)).toEqual(await live);
        },
      ),
      { numRuns: runs(20) },
    );
  });
});
