/**
 * Random stories: plans of one to eight steps with gates, operators that succeed, fail, throw or never answer, policies
 * that deny or change, people who approve, reject or edit; and the play that runs one on the real kernel to its end.
 *
 * Owns: the arbitraries, the record of what reached an operator. Never: asserts anything.
 */
import fc from "fast-check";
import { z } from "zod";
import type { OperatorCall } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import type { DecisionName, PolicyRule } from "../../src/contract/policy.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import { type Gate, KernelErrorException, type LedgerEvent, type WorkflowState } from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import { runs } from "../properties/property-runs.ts";

export const intent = "Story.Random.Play";
export const timeoutSec = 7;

/** `late` takes its effect once the call has been given up; `never` takes none and never answers. */
export type Behaviour = "succeed" | "flake" | "fail" | "throw" | "late" | "never";
export type Choice = "approve" | "reject" | "edit";
type Ruling = "NONE" | "ALLOW" | "DENY" | "TRANSFORM" | "REQUIRE_APPROVAL";

export interface StoryStep {
  readonly id: string;
  readonly depends_on: readonly string[];
  readonly gated: boolean;
  readonly retry: "NONE" | "STANDARD" | "AGGRESSIVE";
  readonly effect: "none" | "read" | "write_draft" | "external_send";
  readonly honoursAbort: boolean;
  /** What its calls do, in order; afterwards they succeed. */
  readonly behaviours: readonly Behaviour[];
  readonly ruling: Ruling;
  readonly choice: Choice;
}

export interface Story {
  readonly steps: readonly StoryStep[];
  readonly maxReplans: number;
  /** How often a failed workflow is taken up again. */
  readonly retries: number;
  readonly seed: number;
}

const behaviour = fc.constantFrom<Behaviour>("succeed", "succeed", "flake", "fail", "throw", "late", "never");

const stepAt = (i: number, narrow: Partial<Record<keyof StoryStep, fc.Arbitrary<unknown>>>): fc.Arbitrary<StoryStep> =>
  fc.record({
    id: fc.constant(`s${i}`),
    depends_on: fc.subarray(
      Array.from({ length: i }, (_, j) => `s${j}`),
      { maxLength: Math.min(3, i) },
    ),
    gated: fc.boolean(),
    retry: fc.constantFrom("NONE" as const, "STANDARD" as const, "AGGRESSIVE" as const),
    effect: fc.constantFrom("none" as const, "read" as const, "write_draft" as const, "external_send" as const),
    honoursAbort: fc.boolean(),
    behaviours: fc.array(behaviour, { maxLength: 4 }),
    ruling: fc.constantFrom<Ruling>("NONE", "NONE", "ALLOW", "DENY", "TRANSFORM", "REQUIRE_APPROVAL"),
    choice: fc.constantFrom<Choice>("approve", "approve", "reject", "edit"),
    ...(narrow as object),
  }) as fc.Arbitrary<StoryStep>;

/** Stories; `narrow` fixes or limits what a law is about. */
export const anyStory = (
  narrow: Partial<Record<keyof StoryStep, fc.Arbitrary<unknown>>> = {},
  more: { readonly retries?: number; readonly maxReplans?: number } = {},
): fc.Arbitrary<Story> =>
  fc
    .integer({ min: 1, max: 8 })
    .chain((n) => fc.tuple(...Array.from({ length: n }, (_, i) => stepAt(i, narrow))))
    .chain((steps) =>
      fc.record({
        steps: fc.constant(steps),
        maxReplans: more.maxReplans === undefined ? fc.integer({ min: 0, max: 2 }) : fc.constant(more.maxReplans),
        retries: more.retries === undefined ? fc.integer({ min: 0, max: 2 }) : fc.constant(more.retries),
        seed: fc.integer({ min: 1, max: 1_000_000 }),
      }),
    );

/** One call that reached an operator. */
export interface Call {
  readonly step_id: string;
  readonly attempt: number;
  readonly key: string;
  readonly input: unknown;
  readonly workflow_id: string;
  /** Marks made until then. */
  readonly marksBefore: number;
  readonly at: number;
}

/** What happened outside the kernel. */
export interface World {
  readonly calls: Call[];
  /** Effects taken, by idempotency key. */
  readonly effects: Map<string, number>;
  /** Lets the calls that were given up take their effect. */
  readonly releaseLate: () => void;
}

export interface Play extends AsyncDisposable {
  readonly t: TestKernel;
  readonly id: string;
  readonly world: World;
  readonly state: () => Promise<WorkflowState>;
  readonly events: () => Promise<readonly LedgerEvent[]>;
}

export const baseOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");
const Anything = z.record(z.string(), z.unknown());

interface Stage {
  readonly story: Story;
  readonly world: World;
  readonly kernel: { t: TestKernel | null };
  readonly onCall: (call: Call) => void;
  readonly late: (() => void)[];
}

export function createStage(story: Story, onCall: (call: Call) => void = () => undefined): Stage {
  const late: (() => void)[] = [];
  const releaseLate = (): void => {
    for (const release of late.splice(0)) release();
  };
  return { story, late, onCall, kernel: { t: null }, world: { calls: [], effects: new Map(), releaseLate } };
}

function perform(stage: Stage, how: Behaviour, call: OperatorCall<Record<string, unknown>>): unknown {
  const { effects } = stage.world;
  const key = call.idempotencyKey;
  const take = () => {
    effects.set(key, (effects.get(key) ?? 0) + 1);
    return { by: call.context.step_id, key };
  };
  if (how === "fail")
    throw operatorError({ code: "BROKEN", message: "never", category: "dependency", retryable: false });
  if (how === "flake") throw operatorError({ code: "FLAKY", message: "not now", category: "transient" });
  if (how === "throw") throw new Error("a plain throw");
  if (how === "succeed") return take();
  return new Promise((resolve, reject) => {
    const step = stage.story.steps.find((s) => s.id === baseOf(call.context.step_id));
    if (step?.honoursAbort === true) call.signal.addEventListener("abort", () => reject(call.signal.reason));
    else if (how === "late") stage.late.push(() => resolve(take()));
  });
}

function operatorOf(stage: Stage, step: StoryStep, timeout: number) {
  const queue = [...step.behaviours];
  return defineOperator({
    name: `Story.${step.id.toUpperCase()}`,
    input: Anything,
    effect: step.effect,
    retry: step.retry,
    honoursAbort: step.honoursAbort,
    timeoutSec: timeout,
    run(call) {
      const { step_id, workflow_id } = call.context;
      const t = stage.kernel.t as TestKernel;
      const { attempt, idempotencyKey: key, input } = call;
      const where = { marksBefore: t.marks.length, at: t.clock.now() };
      stage.world.calls.push({ step_id, workflow_id, attempt, key, input, ...where });
      stage.onCall(stage.world.calls.at(-1) as Call);
      return perform(stage, queue.shift() ?? "succeed", call as OperatorCall<Record<string, unknown>>);
    },
  });
}

const draftOf = (step: StoryStep): PlanStepDraft => ({
  step_id: step.id,
  name: step.id,
  operator: `Story.${step.id.toUpperCase()}`,
  params: { of: step.id, from: step.depends_on.map((id) => `{{${id}.output.by}}`) },
  depends_on: [...step.depends_on],
  ...(step.gated ? { gate: {} } : {}),
});

/** Each step's ruling, by its operator's name: it holds in every round. */
function rulesOf({ steps }: Story): PolicyRule[] {
  const rulings = new Map(steps.map((s) => [`Story.${s.id.toUpperCase()}`, s.ruling]));
  return [
    {
      name: "story",
      stages: ["action"],
      evaluate({ subject }) {
        const ruling = rulings.get(subject.operator ?? "") ?? "NONE";
        if (ruling === "NONE") return null;
        const transform = ruling === "TRANSFORM" ? { ...(subject.payload as object), transformed: true } : null;
        return { decision: ruling as DecisionName, reason: `the story says ${ruling}`, transform };
      },
    },
  ];
}

export function optionsOf(stage: Stage, timeout = timeoutSec): TestKernelOptions {
  const { story } = stage;
  const capability = defineCapability({
    intentType: intent,
    version: "1.0",
    input: Anything,
    operators: story.steps.map((s) => operatorOf(stage, s, timeout)),
    plan: { reasoning: "a random story", steps: story.steps.map(draftOf) },
  });
  return {
    capabilities: [capability],
    policies: rulesOf(story),
    defaultPolicies: false,
    seed: story.seed,
    limits: { maxReplans: story.maxReplans },
  };
}

export interface PlayOptions extends TestKernelOptions {
  readonly timeout?: number;
  readonly onCall?: (call: Call) => void;
  /** Called at each rest, before the next decision. */
  readonly onRest?: (play: Play) => Promise<void>;
  /** Decides the open gates in another way. */
  readonly decide?: (play: Play, gate: Gate) => Promise<void>;
}

/** Begins a story; nothing has been decided yet. */
export async function beginStory(
  story: Story,
  { timeout, onCall, onRest: _r, decide: _d, ...more }: PlayOptions = {},
): Promise<Play> {
  const stage = createStage(story, onCall);
  const t = await createTestKernel({ ...optionsOf(stage, timeout), ...more });
  stage.kernel.t = t;
  const id = await t.submit(intent);
  return {
    t,
    id,
    world: stage.world,
    state: () => t.kernel.workflow(id),
    async events() {
      const events: LedgerEvent[] = [];
      for await (const event of t.kernel.events(id, { live: false })) events.push(event);
      return events;
    },
    async [Symbol.asyncDispose]() {
      stage.world.releaseLate();
      await t[Symbol.asyncDispose]();
    },
  };
}

const isOver = ({ state }: WorkflowState): boolean => ["completed", "failed", "cancelled"].includes(state);

/** What the story's people do at a gate. */
export function choiceAt(story: Story, gate: Gate): { decision: "approve" | "reject"; payload: object } {
  const choice = story.steps.find((s) => s.id === baseOf(gate.step_id))?.choice ?? "approve";
  if (gate.kind === "in_doubt")
    return choice === "reject"
      ? { decision: "reject", payload: {} }
      : {
          decision: "approve",
          payload: choice === "edit" ? { resolution: "retry" } : { resolution: "done", result: { by: "a person" } },
        };
  if (choice === "edit") return { decision: "approve", payload: { edit: { of: "an editor" } } };
  return { decision: choice, payload: {} };
}

export const decideAs = (play: Play, gate: Gate, { decision, payload }: ReturnType<typeof choiceAt>) =>
  play.t.kernel.decideGate(play.id, { ...testCaller, gate_id: gate.gate_id, decision, payload });

/** A decision about a gate that another one closed meanwhile is a conflict, and nothing else is. */
export async function ignoreConflict(asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException && thrown.error.code === "T5_GATE_CONFLICT")) throw thrown;
  }
}

/** Plays a story to its end, its retries included. */
export async function playStory(story: Story, options: PlayOptions = {}): Promise<Play> {
  const play = await beginStory(story, options);
  const { onRest, decide = (p, gate) => ignoreConflict(decideAs(p, gate, choiceAt(story, gate))) } = options;
  let retries = story.retries;
  for (let turns = 0; turns < 60; turns += 1) {
    const state = await play.t.rest(play.id);
    await onRest?.(play);
    const open = state.gates.filter((g) => g.status === "open");
    if (!isOver(state)) for (const gate of open) await decide(play, gate);
    else if (state.state !== "failed" || retries === 0 || !(await retry(play))) return play;
    else retries -= 1;
  }
  throw new Error(`the story does not end: ${JSON.stringify(await play.state())}`);
}

/** False when nothing may run again. */
async function retry({ t, id }: Play): Promise<boolean> {
  try {
    await t.kernel.retry(id, testCaller);
    return true;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && thrown.error.code === "T4_WORKFLOW_CONFLICT") return false;
    throw thrown;
  }
}

/** Plays each sample, holds the law against it, and stops its kernel. */
export const holdsFor = (
  stories: fc.Arbitrary<Story>,
  law: (play: Play, story: Story) => Promise<void>,
  { numRuns = 25, play: options = {} }: { readonly numRuns?: number; readonly play?: PlayOptions } = {},
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(stories, async (story) => {
      await using play = await playStory(story, options);
      await law(play, story);
    }),
    { numRuns: runs(numRuns) },
  ) as Promise<void>;
