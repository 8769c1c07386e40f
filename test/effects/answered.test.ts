/**
 * An operator that has answered has ended: its time runs no longer, it is not aborted, and its call is not made again.
 */
import { describe, expect, it } from "vitest";
import { createTestKernel, type TestKernel } from "../../src/testing/index.ts";
import type { AnyCall } from "../fixtures.ts";
import { type Counted, counted, intent, payloads, step, story } from "../gates/story.ts";

const second = 1_000;
const minute = 60_000;
const heeding = { effect: "write_draft", retry: "STANDARD", timeoutSec: 2, honoursAbort: true } as const;

const after = <T>({ clock }: TestKernel, ms: number, value: T): Promise<T> =>
  new Promise((resolve) => clock.setTimer(clock.now() + ms, () => resolve(value)));

/** A workflow of one step, whose operator answers after so many ms, or on its abort where that comes first. */
async function run(answer: unknown, ms: number, validateOutput: (t: TestKernel) => Promise<{ readonly ok: true }>) {
  const onAbort = ({ signal }: AnyCall): Promise<unknown> =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(answer)));
  const work: Counted = counted("Note.Work", heeding, (call) => Promise.race([after(t, ms, answer), onAbort(call)]));
  await using t: TestKernel = await createTestKernel({
    capabilities: [story([work], [step("s1", work)])],
    security: { validateOutput: () => validateOutput(t) },
    limits: { securityTimeoutMs: second },
  });
  const { workflow_id, state } = await t.run(intent);
  const { identical } = await t.kernel.replay(workflow_id);
  const aborted = work.calls.map(({ signal }) => signal.aborted);
  return { state, aborted, identical, failed: await payloads(t, workflow_id, "ACTION_FAILED") };
}

describe("a call that may not be repeated, of an operator that honours its abort and has answered", () => {
  it.each([
    ["before its time is over", 1.5 * second, false],
    ["on its abort", minute, true],
  ])("%s: [TMO-04] [RTY-02] its success is the result, though screening ends later", async (_when, ms, aborted) => {
    const ended = await run({ saved: true }, ms, (t) => after(t, 0.9 * second, { ok: true }));
    expect(ended).toEqual({ state: "completed", aborted: [aborted], identical: true, failed: [] });
  });

  const never = (): Promise<never> => new Promise(() => undefined);
  const passes = async () => ({ ok: true }) as const;

  it.each([
    ["before its time is over, with what is never screened", 1.5 * second, { saved: true }, never, false],
    ["so that its time ends with that of its screening", second, { saved: true }, never, false],
    ["on its abort, with what is never screened", minute, { saved: true }, never, true],
    ["on its abort, with what cannot be read", minute, { saved: 7n }, passes, true],
  ])("%s: [RTY-05] its call is in doubt and is not made again", async (_when, ms, answer, screen, aborted) => {
    const ended = await run(answer, ms, screen);
    expect(ended).toMatchObject({ state: "waiting_for_user", aborted: [aborted], identical: true });
    expect(ended.failed).toMatchObject([
      { error: { code: "T4_OUTPUT_INVALID", detail: { answered: true } }, final: false, pending: true },
    ]);
  });
});
