/** The trace tells every attempt, and never takes back what it has told. Over random stories. */
import { describe, expect, it } from "vitest";
import type { AttemptTrace, StepTrace } from "../../src/contract/trace.ts";
import { moreThan } from "../properties/property-runs.ts";
import { anyStory, type Behaviour, baseOf, holdsFor, type Play, type Story } from "./stories.ts";

const callsOf = ({ t }: Play, stepId: string): number =>
  t.marks.filter((m) => m.stage === "skill.execute" && m["step_id"] === stepId).length;

/** Attempts in runs: 1, 2, 3, then 1 again where a restart began a new run. */
function expectNumbered(attempts: readonly AttemptTrace[]): void {
  attempts.forEach(({ attempt }, i) => {
    expect([1, (attempts[i - 1]?.attempt ?? 0) + 1]).toContain(attempt);
  });
}

const outcomes: Readonly<Record<Behaviour, readonly string[]>> = {
  succeed: ["succeeded"],
  flake: ["failed"],
  fail: ["failed"],
  throw: ["failed"],
  late: ["timed_out"],
  never: ["timed_out"],
};

/** What the calls of an operator did, in order, is what the trace says of the attempts that made them. */
function expectOutcomes({ world }: Play, story: Story, { step_id, attempts }: StepTrace): void {
  const step = story.steps.find((s) => s.id === baseOf(step_id));
  const made = world.calls.filter((c) => baseOf(c.step_id) === baseOf(step_id));
  if (made.some((c) => c.step_id !== step_id) || made.length !== attempts.length) return;
  attempts.forEach((attempt, i) => {
    expect(outcomes[step?.behaviours[i] ?? "succeed"]).toContain(attempt.outcome);
  });
}

describe("the trace of a step", () => {
  it("[INV-05] has one numbered attempt with an outcome for each call of the invoker or stored answer", async () => {
    let attempts = 0;
    await holdsFor(anyStory(), async (play, story) => {
      const { steps } = await play.t.kernel.trace(play.id);
      for (const step of steps) {
        expect(step.attempts).toHaveLength(callsOf(play, step.step_id));
        expect(step.attempts.filter((a) => a.outcome === "running")).toEqual([]);
        expectNumbered(step.attempts);
        expectOutcomes(play, story, step);
        attempts += step.attempts.length;
      }
    });
    expect(attempts).toBeGreaterThan(moreThan(25));
  });

  it("[INV-09] is never overwritten by a replan, a decision or a retry: attempts are only added", async () => {
    const copies: StepTrace[][] = [];
    const copy = async ({ t, id }: Play): Promise<void> => {
      copies.push(structuredClone((await t.kernel.trace(id)).steps));
    };
    let compared = 0;
    await holdsFor(
      anyStory(),
      async ({ t, id }) => {
        const { steps } = await t.kernel.trace(id);
        for (const earlier of copies.splice(0)) compared += expectKept(earlier, steps);
      },
      { play: { onRest: copy } },
    );
    expect(compared).toBeGreaterThan(moreThan(50));
  });
});

/** Entries keep their place and their id; those that were done and had no further attempt are equal. */
function expectKept(earlier: readonly StepTrace[], now: readonly StepTrace[]): number {
  earlier.forEach((before, i) => {
    const after = now[i] as StepTrace;
    expect(after.step_id).toBe(before.step_id);
    const done = before.attempts.filter((a) => a.outcome !== "running");
    expect(after.attempts.slice(0, done.length)).toEqual(done);
    for (const told of ["policy_events", "approval_events"] as const)
      expect(after[told].slice(0, before[told].length)).toEqual(before[told]);
    const isDone = before.status === "COMPLETED" || before.status === "BLOCKED";
    if (isDone) expect(after).toEqual(before);
  });
  return earlier.length;
}
