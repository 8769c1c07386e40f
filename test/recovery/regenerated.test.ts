/** Regenerated work whose process dies: at whichever commit, the order stands for one call with its own feedback. */
import { expect, it } from "vitest";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import { counted, intent, step, story } from "../gates/story.ts";
import { mortal } from "./mortal-store.ts";
import { minute, start } from "./shared-file.ts";

const nextPath = freshPaths();
const key = "shorter";

/** Returns the keys that were called, the text that the work ended with, and whether the first process died. */
async function regenerateAndDie(left: number, side: string) {
  const draft = counted("Note.Draft", { effect: "write_draft", idempotent: true }, ({ context }) => ({
    text: context.feedback ?? "first",
  }));
  const capabilities = [story([draft], [step("draft", draft)])];
  const path = nextPath();
  const { fate, ledger } = mortal(sqliteLedger({ path }));
  const one = await createTestKernel({ seed: 1, capabilities, ledger, clock: createVirtualClock(start) });
  const { workflow_id: first } = await one.run(intent);
  const order = {
    ...testCaller,
    mode: "regenerate" as const,
    step_ids: ["draft"],
    feedback: key,
    idempotency_key: key,
  };
  Object.assign(fate, { left, side });
  void one.kernel.retry(first, order).catch(() => undefined);
  await one.clock.settle();
  await using two = await createTestKernel({
    seed: 2,
    capabilities,
    ledger: sqliteLedger({ path }),
    clock: createVirtualClock(start + 30 * minute),
  });
  await two.clock.advance(minute);
  const { workflow_id } = await two.kernel.retry(first, order);
  const { state, steps } = await two.rest(workflow_id);
  const replay = await two.kernel.replay(workflow_id);
  if (!fate.isDead) await one.kernel.stop({ drainMs: 0 });
  return {
    died: fate.isDead,
    ended: [state, JSON.parse(steps[0]?.output_text as string).text, replay.identical],
    keys: new Set(draft.calls.map((call) => call.idempotencyKey)).size,
  };
}

it.each(["before", "after"])(
  "a process that dies %s any commit of a regeneration leaves one call of it",
  async (side) => {
    let commits = 1;
    for (let died = true; died; commits += 1) {
      const { died: hasDied, ...told } = await regenerateAndDie(commits, side);
      expect([commits, told]).toEqual([commits, { ended: ["completed", key, true], keys: 2 }]);
      died = hasDied;
    }
    expect(commits).toBeGreaterThan(3);
  },
);
