/** A no is final: no retry policy, no replan and no retry of the workflow calls what policy or a person has denied. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { moreThan } from "../properties/property-runs.ts";
import { anyStory, baseOf, holdsFor, type Play, type Story } from "./stories.ts";

const eager = { retry: fc.constant("AGGRESSIVE") };
const idsWhere = (story: Story, is: (step: Story["steps"][number]) => boolean): readonly string[] =>
  story.steps.filter(is).map((s) => s.id);
const count = async ({ events }: Play, type: string, stepId: string | null): Promise<number> =>
  (await events()).filter((e) => e.event_type === type && e.step_id === stepId).length;

describe("a denial", () => {
  it("[INV-06] by policy is never retried, whatever the retry policy, the rounds and the restarts", async () => {
    let denied = 0;
    await holdsFor(anyStory({ ...eager, ruling: fc.constantFrom("DENY", "NONE", "ALLOW") }), async (play, story) => {
      const ids = idsWhere(story, (s) => s.ruling === "DENY");
      expect(play.world.calls.filter((c) => ids.includes(baseOf(c.step_id)))).toEqual([]);
      for (const step of (await play.state()).steps.filter((s) => ids.includes(baseOf(s.step_id)))) {
        expect(["failed", "skipped", "queued"]).toContain(step.state);
        expect(step.attempts).toBe(0);
        if (step.state !== "failed") continue;
        denied += 1;
        expect(await count(play, "STEP_STARTED", step.step_id)).toBe(1);
        expect(await count(play, "POLICY_DECIDED", step.step_id)).toBe(1);
      }
    });
    expect(denied).toBeGreaterThan(moreThan(5));
  });

  it("[INV-06] by policy alone, under AGGRESSIVE: asked once, called never, planned once", async () => {
    const alone = anyStory({ ...eager, ruling: fc.constant("DENY"), behaviours: fc.constant([]) }, { maxReplans: 2 });
    await holdsFor(alone, async (play) => {
      expect(play.world.calls).toEqual([]);
      expect(await count(play, "PLAN_CREATED", null)).toBe(1);
      const state = await play.state();
      expect(state).toMatchObject({ state: "failed", error: { code: "T5_POLICY_DENIED" } });
      for (const { step_id, state: end } of state.steps.filter((s) => s.depends_on.length === 0)) {
        expect(end).toBe("failed");
        expect(await count(play, "POLICY_DECIDED", step_id)).toBe(1);
      }
    });
  });

  it("[INV-07] by a person is never retried: asked once, never called, and nothing is planned again", async () => {
    let rejected = 0;
    const stories = anyStory({ ...eager, choice: fc.constantFrom("reject", "approve"), gated: fc.constant(true) });
    await holdsFor(stories, async (play, story) => {
      const ids = idsWhere(story, (s) => s.choice === "reject" && s.ruling !== "DENY");
      const gates = (await play.state()).gates.filter((g) => g.kind === "approval" && g.status === "rejected");
      for (const gate of gates) {
        expect(ids).toContain(baseOf(gate.step_id));
        expect(await count(play, "GATE_OPENED", gate.step_id)).toBe(1);
        expect(await count(play, "STEP_STARTED", gate.step_id)).toBe(1);
        rejected += 1;
      }
      const uncalled = gates.map((g) => g.step_id);
      expect(play.world.calls.filter((c) => uncalled.includes(c.step_id))).toEqual([]);
      await expectNoPlanAfterRejection(play);
    });
    expect(rejected).toBeGreaterThan(moreThan(5));
  });
});

async function expectNoPlanAfterRejection({ events }: Play): Promise<void> {
  const types = (await events()).map((e) => (isHumanDenial(e) ? "DENIED" : e.event_type));
  const at = types.indexOf("DENIED");
  if (at >= 0) expect(types.slice(at)).not.toContain("PLAN_CREATED");
}

const isHumanDenial = ({ payload }: { readonly payload: Readonly<Record<string, unknown>> }): boolean =>
  (payload["error"] as { readonly code?: string } | undefined)?.code === "T5_HUMAN_DENIED";
