/**
 * One key, one effect: over retries, resumes, late answers, repeated and contradicting decisions, and two kernels on
 * one file.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator } from "../../src/define/define-operator.ts";
import { type Gate, KernelErrorException } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import {
  createTestKernel,
  createVirtualClock,
  type TestKernel,
  testCaller,
  type VirtualClock,
} from "../../src/testing/index.ts";
import { moreThan, runs } from "../properties/property-runs.ts";
import {
  anyStory,
  baseOf,
  type Choice,
  choiceAt,
  decideAs,
  holdsFor,
  ignoreConflict,
  type Play,
  type Story,
} from "./stories.ts";

const folder = mkdtempSync(join(tmpdir(), "countersign-effects-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const intent = "Effect.Note.Send";
const anything = z.record(z.string(), z.unknown());

/** A note that waits at gate-send and is sent once; `sent` is the outside world. */
function sending(sent: string[]) {
  const send = defineOperator({
    name: "Note.Send",
    effect: "external_send",
    input: anything,
    run: ({ idempotencyKey }) => {
      sent.push(idempotencyKey);
      return { sent: true };
    },
  });
  const plan = { reasoning: "send it", steps: [{ step_id: "send", name: "send", operator: "Note.Send", gate: {} }] };
  return defineCapability({ intentType: intent, version: "1.0", input: anything, operators: [send], plan });
}

/** An answer, or the code it is refused with. */
async function answerOf(asked: Promise<unknown>): Promise<string> {
  try {
    return JSON.stringify(await asked);
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error.code;
    throw thrown;
  }
}

const isEffectful = (story: Story, stepId: string): boolean =>
  ["write_draft", "external_send"].includes(story.steps.find((s) => s.id === baseOf(stepId))?.effect ?? "none");

describe("an effect", () => {
  it("[INV-15] is taken once per key, whatever fails, comes late, is decided twice or is taken up again", async () => {
    let effects = 0;
    let rests = 0;
    // A person says of a lost call that it is done: it may yet come, but it is not made again.
    const decideThrice = async (story: Story, play: Play, gate: Gate): Promise<void> => {
      const wish = choiceAt(story, gate);
      const done = { decision: "approve" as const, payload: { resolution: "done", result: { by: "a person" } } };
      const said = gate.kind === "in_doubt" ? done : wish;
      await Promise.all([1, 2, 3].map(() => ignoreConflict(decideAs(play, gate, said))));
    };
    const onRest = async ({ world }: Play): Promise<void> => {
      rests += 1;
      if (rests % 2 === 0) world.releaseLate();
    };
    let now: Story | null = null;
    await holdsFor(
      anyStory({}, { retries: 2 }).map((story) => {
        now = story;
        return story;
      }),
      async ({ world, t, id }, story) => {
        world.releaseLate();
        await t.clock.settle();
        const actions = await t.kernel.actions(id);
        const keys = actions.filter((a) => isEffectful(story, a.step_id)).map((a) => a.idempotency_key);
        for (const key of keys) expect(world.effects.get(key) ?? 0).toBeLessThanOrEqual(1);
        const own = actions.filter((a) => (a.result_payload as { key?: string } | null)?.key === a.idempotency_key);
        for (const { idempotency_key: key } of own.filter((a) => isEffectful(story, a.step_id)))
          expect(world.effects.get(key)).toBe(1);
        effects += own.length;
      },
      {
        numRuns: runs(30),
        play: { onRest, decide: (play, gate) => decideThrice(now as unknown as Story, play, gate) },
      },
    );
    expect(effects).toBeGreaterThan(moreThan(10));
  });

  it("[INV-15] of 100 approvals at one moment is one: one transition, one effect, 100 equal answers", async () => {
    const sent: string[] = [];
    await using t = await createTestKernel({ capabilities: [sending(sent)], defaultPolicies: false });
    const { workflow_id } = await t.run(intent);
    const answers = await Promise.all(Array.from({ length: 100 }, () => answerOf(t.approve(workflow_id, "gate-send"))));
    expect(new Set(answers).size).toBe(1);
    expect(JSON.parse(answers[0] ?? "")).toMatchObject({ workflow_id, status: "resumed" });
    expect((await t.rest(workflow_id)).state).toBe("completed");
    const types = await t.types(workflow_id);
    for (const type of ["USER_APPROVED", "WORKFLOW_RESUMED", "ACTION_STARTED"])
      expect(types.filter((other) => other === type)).toHaveLength(1);
    expect(sent).toHaveLength(1);
  });

  it("[INV-15] follows the first of many contradicting decisions; others repeat its answer or conflict", async () => {
    const wishes = fc.array(fc.constantFrom<Choice>("approve", "reject", "edit"), { minLength: 2, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(wishes, fc.integer({ min: 1 }), async (choices, seed) => {
        const sent: string[] = [];
        await using t = await createTestKernel({ capabilities: [sending(sent)], defaultPolicies: false, seed });
        const { workflow_id } = await t.run(intent);
        const answers = await Promise.all(
          choices.map((choice) =>
            answerOf(
              choice === "reject"
                ? t.reject(workflow_id, "gate-send")
                : t.approve(workflow_id, "gate-send", choice === "edit" ? { edit: { text: "mine" } } : {}),
            ),
          ),
        );
        const state = await t.rest(workflow_id);
        const decided = (await t.types(workflow_id)).filter((type) => type.startsWith("USER_"));
        expect(decided).toHaveLength(1);
        expect(state.state).toBe(decided[0] === "USER_APPROVED" ? "completed" : "cancelled");
        expect(sent).toHaveLength(decided[0] === "USER_APPROVED" ? 1 : 0);
        expect(new Set(answers.filter((a) => a !== "T5_GATE_CONFLICT")).size).toBe(1);
        for (const [i, choice] of choices.entries()) {
          const sides = (choice === "reject") === (decided[0] === "USER_REJECTED");
          if (!sides) expect(answers[i]).toBe("T5_GATE_CONFLICT");
        }
      }),
      { numRuns: runs(40) },
    );
  });
});

describe("two kernels on one file", () => {
  let files = 0;

  /** Both have the file open; the first has brought the workflow to its gate. */
  async function openTwo(sent: string[], clock: VirtualClock): Promise<readonly [TestKernel, TestKernel, string]> {
    files += 1;
    const path = join(folder, `two-${files}.db`);
    const open = (seed: number) =>
      createTestKernel({
        ledger: sqliteLedger({ path }),
        capabilities: [sending(sent)],
        defaultPolicies: false,
        clock,
        seed,
      });
    const first = await open(1);
    const { workflow_id } = await first.run(intent);
    return [first, await open(2), workflow_id];
  }

  const decide = ({ kernel }: TestKernel, id: string, decision: "approve" | "reject"): Promise<string> =>
    answerOf(kernel.decideGate(id, { ...testCaller, gate_id: "gate-send", decision }));

  it.each([
    ["approve", "approve"],
    ["approve", "reject"],
    ["reject", "approve"],
    ["reject", "reject"],
  ] as const)(
    "[INV-15] that are told %s and %s at one moment take one of them, and one effect at most",
    async (one, other) => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: 6 }), fc.boolean(), async (ticks, secondFirst) => {
          const sent: string[] = [];
          const clock = createVirtualClock();
          const [a, b, id] = await openTwo(sent, clock);
          await using _a = a;
          await using _b = b;
          const [x, y] = secondFirst ? [b, a] : [a, b];
          const firstAnswer = decide(x, id, one);
          for (let i = 0; i < ticks; i += 1) await Promise.resolve();
          const answers = await Promise.all([firstAnswer, decide(y, id, other)]);
          await clock.advance(120_000);
          const decided = (await a.types(id)).filter((type) => type.startsWith("USER_"));
          expect(decided).toHaveLength(1);
          const approved = decided[0] === "USER_APPROVED";
          expect(sent).toHaveLength(approved ? 1 : 0);
          for (const t of [a, b])
            expect((await t.kernel.workflow(id)).state).toBe(approved ? "completed" : "cancelled");
          if (one === other) expect(answers[0]).toBe(answers[1]);
          else expect(answers.filter((answer) => answer === "T5_GATE_CONFLICT")).toHaveLength(1);
          expect((await b.kernel.verify()).ok).toBe(true);
        }),
        { numRuns: runs(12) },
      );
    },
  );
});
