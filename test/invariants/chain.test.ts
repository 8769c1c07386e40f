/**
 * Before an operator is called: the chain has passed, a timer is armed, what it gets was validated. Over random
 * stories.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createVirtualClock, type VirtualClock } from "../../src/testing/index.ts";
import { moreThan, runs } from "../properties/property-runs.ts";
import { anyStory, baseOf, type Call, holdsFor, type Play, playStory } from "./stories.ts";

/** Names of the before-hooks of a call's attempt, in order, since the call before it. */
function chainBefore({ t }: Play, call: Call): readonly string[] {
  const mine = t.marks.slice(0, call.marksBefore).filter((m) => m["step_id"] === call.step_id);
  const own = mine.slice(
    0,
    mine.findLastIndex((m) => m.stage === "skill.execute"),
  );
  const since = own.slice(own.findLastIndex((m) => m.stage === "skill.execute") + 1);
  return since
    .filter((m) => m.stage === "middleware.before" && m["attempt"] === call.attempt)
    .map((m) => String(m["name"]));
}

const custom = { name: "Custom", before: () => undefined };

describe("an operator is called", () => {
  it("[INV-01] only after the whole chain for that attempt; on a retry Policy and Approval stand", async () => {
    await holdsFor(
      anyStory(),
      async (play) => {
        for (const call of play.world.calls) {
          const chain = chainBefore(play, call);
          const first = ["Trace", "Policy", "Approval", "Custom", "Timeout"];
          const wanted = call.attempt === 1 ? first : ["Trace", "Custom", "Timeout"];
          expect(chain.slice(-wanted.length)).toEqual(wanted);
        }
      },
      { play: { middleware: [custom] } },
    );
  });

  it("[INV-01] never for an attempt that the chain refused, nor after a denial", async () => {
    const refused = new Set<string>();
    const moody = {
      name: "Moody",
      before({ step_id, attempt }: { readonly step_id: string; readonly attempt: number }) {
        if ((step_id.charCodeAt(1) + attempt) % 3 !== 0) return;
        refused.add(`${step_id} ${attempt}`);
        throw new Error("not in the mood");
      },
    };
    await holdsFor(
      anyStory(),
      async ({ world, events }) => {
        expect(world.calls.filter((c) => refused.has(`${c.step_id} ${c.attempt}`))).toEqual([]);
        const denied = (await events()).filter(
          (e) => e.event_type === "STEP_FAILED" && /DENIED|FORBIDDEN/.test(JSON.stringify(e.payload["error"])),
        );
        const ids = denied.map((e) => e.step_id);
        expect(world.calls.filter((c) => ids.includes(c.step_id))).toEqual([]);
      },
      { play: { middleware: [moody] } },
    );
  });

  it("[INV-02] [INV-08] with a timer armed at exactly its metadata's timeout, 60 s where there is none", async () => {
    const timeouts = fc.constantFrom(0, 0.5, 1, 7, 90, 1_000);
    await fc.assert(
      fc.asyncProperty(anyStory(), timeouts, async (story, timeout) => {
        const wanted = timeout === 0 ? 60_000 : timeout * 1_000;
        const { clock, armedFor } = watchedClock();
        const due: number[] = [];
        const bare: Call[] = [];
        // As many timers stand at the deadline as calls have it, this one included, when its first line runs.
        const onCall = (call: Call): void => {
          due.push(call.at + wanted);
          if (armedFor(call.at + wanted) < due.filter((at) => at === call.at + wanted).length) bare.push(call);
        };
        await using play = await playStory(story, { timeout, clock, onCall });
        expect(bare).toEqual([]);
        const written = play.t.marks.filter((m) => m.stage === "skill.execute").map((m) => m["timeout_ms"]);
        expect(written.filter((ms) => ms !== wanted)).toEqual([]);
      }),
      { numRuns: runs(25) },
    );
  });

  it("[INV-03] with params that validateParams has passed, as policy or a person changed them", async () => {
    const validated: string[] = [];
    const validateParams = (params: unknown) => {
      validated.push(JSON.stringify(params));
      return { ok: true } as const;
    };
    let transformed = 0;
    await holdsFor(
      anyStory(),
      async ({ world }) => {
        for (const { input } of world.calls) expect(validated).toContain(JSON.stringify(input));
        transformed += world.calls.filter((c) => (c.input as { transformed?: boolean }).transformed === true).length;
        validated.length = 0;
      },
      { play: { security: { validateParams } } },
    );
    expect(transformed).toBeGreaterThan(moreThan(0));
  });

  it("[INV-03] never with params that validateParams refuses, a policy's transform included", async () => {
    const validateParams = (params: unknown) =>
      (params as { transformed?: boolean }).transformed === true
        ? ({ ok: false, reason: "smells of a transform" } as const)
        : ({ ok: true } as const);
    await holdsFor(
      anyStory({ ruling: fc.constantFrom("TRANSFORM", "NONE") }),
      async ({ world, state }, story) => {
        expect(world.calls.filter((c) => (c.input as { transformed?: boolean }).transformed === true)).toEqual([]);
        const transforming = story.steps.filter((s) => s.ruling === "TRANSFORM").map((s) => s.id);
        const { steps } = await state();
        const ran = steps.filter((s) => transforming.includes(baseOf(s.step_id)) && s.state === "succeeded");
        // An edited payload is checked like any other and policy is not asked to change it again.
        const edited = story.steps.filter((s) => s.choice === "edit").map((s) => s.id);
        expect(ran.filter((s) => !edited.includes(baseOf(s.step_id)))).toEqual([]);
      },
      { play: { security: { validateParams } } },
    );
  });
});

/** A clock that counts the timers ever set for an instant. */
function watchedClock(): { readonly clock: VirtualClock; readonly armedFor: (at: number) => number } {
  const clock = createVirtualClock();
  const armed: number[] = [];
  const setLimit: VirtualClock["setLimit"] = (at, fire) => {
    armed.push(at);
    return clock.setLimit(at, fire);
  };
  return { clock: { ...clock, setLimit }, armedFor: (at) => armed.filter((a) => a === at).length };
}
