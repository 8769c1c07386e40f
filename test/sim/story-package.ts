/** The package of a story: its operators do to the outside what the story says, and one process runs them. */
import { z } from "zod";
import type { PlanQuestion } from "../../src/contract/capability.ts";
import type { ContextBundle } from "../../src/contract/context-bundle.ts";
import { KernelErrorException } from "../../src/contract/error.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import type { ExecutionPlan } from "../../src/contract/plan.ts";
import type { QueuePolicy } from "../../src/contract/queue.ts";
import { StepResult } from "../../src/contract/step.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import type { Behaviour, Story, StoryOperator } from "./story.ts";
import { childIntent } from "./story-children.ts";
import type { StoryRelease } from "./story-deploy.ts";
import { checkAs, type Hands, showAs } from "./story-host.ts";
import { havingRead } from "./story-messages.ts";
import { askModel, asksModel } from "./story-models.ts";
import { baseOf, findStep, findUndo, indexOf, nameOf, planOf, planOfChild } from "./story-plan.ts";
import { childQueue, ownQueue } from "./story-queues.ts";
import { isUndoing } from "./story-undo.ts";

export const storyIntent = "Story.Sim.Play";
const timeout = 5;

const Params = z.record(z.string(), z.unknown());
const Given = z.object({ by: z.string() });
const Output = z.union([Given, StepResult.extend({ data: Given })]).nullable();

type Operators = readonly ReturnType<typeof storyOperator>[];

/**
 * What a process brings: its release's package, and that of before where it pins it. What did not change they share.
 */
export function storyPackages(hands: Hands) {
  const { story, first, release } = hands;
  const operators = story.operators.map((operator, i) => storyOperator(hands, i, operator));
  const { version = "1.0", pins = false, lacks = [] } = release ?? ({} as Partial<StoryRelease>);
  const known = operators.filter((_, i) => !lacks.includes(i));
  const own = storyPackage([storyIntent, version], limitsOf(story), known, ({ situation, context }) =>
    havingRead(story, knowing(story, planOf(story, situation.round, release), context), situation),
  );
  const child = childPackage(hands, known);
  if (!pins) return [own, ...child];
  const isShared = (i: number): boolean => story.operators[i]?.version !== "2.0" && !lacks.includes(i);
  const older = first.operators.map(
    (one, i) => (isShared(i) ? operators[i] : undefined) ?? storyOperator(hands, i, one),
  );
  // A host that changed its package under its version has no other of that name to bring; what it called is known all
  // the same.
  const intentType = version === "1.0" ? `${storyIntent}.Older` : storyIntent;
  return [
    own,
    storyPackage([intentType, "1.0"], limitsOf(story), older, ({ situation, context }) =>
      havingRead(first, knowing(first, planOf(first, situation.round, null), context), situation),
    ),
    ...child,
  ];
}

/** The package of the children, which all releases have in one version; none where no step runs any. */
function childPackage({ story, release }: Hands, operators: Operators) {
  if (story.childSteps.length === 0) return [];
  const plan = ({ input }: Question) => planOfChild(story, Number(input["depth"]), release);
  return [storyPackage([childIntent, "1.0"], limitsOf(story, childQueue(story)), operators, plan)];
}

/** A plan says what its author was told. */
const knowing = ({ memory }: Story, plan: ExecutionPlan, { context_hash }: ContextBundle): ExecutionPlan =>
  memory ? { ...plan, reasoning: context_hash } : plan;

type Question = PlanQuestion<Readonly<Record<string, unknown>>>;

interface PackageBounds {
  readonly limits: Story["packageLimits"];
  readonly queue?: QueuePolicy;
  readonly takesInput: boolean;
}

/** Returns what a package says of its workflows: limits, messages, and their queue if they have one. */
const limitsOf = (story: Story, queue = ownQueue(story)): PackageBounds => ({
  limits: story.packageLimits,
  takesInput: story.takesInput,
  ...(queue !== null && { queue }),
});

const storyPackage = (
  [intentType, version]: readonly [string, string],
  limits: PackageBounds,
  operators: Operators,
  plan: (question: Question) => ExecutionPlan,
) =>
  defineCapability({
    intentType,
    version,
    input: z.record(z.string(), z.unknown()),
    operators,
    ...limits,
    outcomes: { "Story.Draft": z.unknown() },
    plan,
  });

function storyOperator(hands: Hands, index: number, operator: StoryOperator) {
  const { effect, idempotent, honoursAbort, retry, check = null, preview = null, cost = 0 } = operator;
  const { timeoutSec = timeout, version = "1.0" } = operator;
  // Rules are by name, whichever version is called; what they said of the first attempt stands for the rest.
  const ruling = rulingOf(hands, index);
  return defineOperator({
    name: nameOf(index),
    version,
    effect,
    idempotent,
    honoursAbort,
    retry,
    timeoutSec,
    estimatedCost: cost,
    resources: { tokens: cost },
    policyTags: operator.asks === true ? ["human_approval"] : [],
    input: Params,
    output: Output,
    run: (call) => {
      const act = () => perform(hands, { ...operator, ...(call.attempt > 1 ? {} : { ruling }) }, call) as never;
      return asksModel(hands, index) ? askModel(hands, call).then(act) : act();
    },
    ...(check === null ? {} : { check: () => checkAs(hands, index, check) }),
    ...(preview === null ? {} : { preview: () => showAs(hands, index, preview) }),
  });
}

/** What rules say of an operator; where they were changed under their name no approval can be bound to them. */
function rulingOf({ story, first: { operators, deploy } }: Hands, index: number): StoryOperator["ruling"] {
  const { ruling = "none" } = story.operators[index] ?? {};
  const was = operators[index]?.ruling;
  const isChanged = (deploy?.release.operators[index]?.ruling ?? was) !== was;
  const isForgotten = isChanged && deploy?.release.policyVersion === null;
  return isForgotten ? "none" : ruling;
}

type Call = OperatorCall<Record<string, unknown>>;

function perform({ story, world, process }: Hands, operator: StoryOperator, call: Call): unknown {
  const { workflow_id, step_id, bundle } = call.context;
  const { bundle: recorded = null } = world.records.get(workflow_id) ?? {};
  // Without effect a call may be made before what led to it is committed.
  if (recorded !== null && bundle?.context_hash !== recorded.context_hash)
    world.broken.push(`known: ${step_id} of ${workflow_id} was given another context than is on record`);
  const made = findUndo(story, step_id) ?? findStep(story, step_id);
  const { idempotencyKey: key, input } = call;
  const called = world.call({ process, workflow_id, step_id, key, operator, input, attempt: call.attempt });
  const first = isUndoing(step_id) ? 0 : indexOf(step_id);
  const how = made?.behaviours[first + world.count(`${workflow_id} ${baseOf(step_id)}`)] ?? "ok";
  const honours = operator.honoursAbort;
  const send = (): { readonly by: string } => {
    called.sent = true;
    return { by: step_id };
  };
  const later = (onAbort: "nothing" | "send"): unknown =>
    new Promise((resolve, reject) => {
      const pending = { process, called, end: () => resolve(send()) };
      world.pending.push(pending);
      call.signal.addEventListener("abort", () => {
        if (onAbort === "send") resolve(send());
        else if (honours) reject(call.signal.reason);
        else return;
        world.take(pending);
      });
    });
  return acts[how]({ call, send, later, honours });
}

interface Acting {
  readonly call: Call;
  readonly send: () => { readonly by: string };
  /** Ends when the story says so, or on its abort. */
  readonly later: (onAbort: "nothing" | "send") => unknown;
  readonly honours: boolean;
}

const untilAborted = ({ call, honours }: Acting): unknown =>
  new Promise((_, reject) => {
    if (honours) call.signal.addEventListener("abort", () => reject(call.signal.reason));
  });

/** A call may record so much and no more. */
function mayBeRefused(record: () => void): void {
  try {
    record();
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
  }
}

function raise(thrown: unknown): never {
  throw thrown;
}

const acts: Readonly<Record<Behaviour, (acting: Acting) => unknown>> = {
  ok: ({ send }) => send(),
  nothing({ send }) {
    send();
    return null;
  },
  slow: ({ later }) => later("nothing"),
  talks({ call, later }) {
    call.report(30);
    call.stream("a piece");
    call.checkpoint({ at: 1 });
    call.usage({ cost: { total: 1 } });
    return later("nothing");
  },
  odd({ send }) {
    send();
    return { by: 7n };
  },
  throws: () => raise(new Error("a plain throw")),
  sent_throws({ send }) {
    send();
    return raise(new Error("a plain throw behind its effect"));
  },
  transient: () => raise(operatorError({ code: "BUSY", message: "not now", category: "transient" })),
  fatal: () => raise(operatorError({ code: "NO", message: "never", category: "dependency", retryable: false })),
  never: (acting) => untilAborted(acting),
  sent_never(acting) {
    if (!acting.honours) acting.send();
    return untilAborted(acting);
  },
  ok_on_abort: ({ later }) => later("send"),
  emits({ call, send }) {
    mayBeRefused(() => call.emit("seen", { by: call.capabilityUsage().invocations }));
    mayBeRefused(() => call.checkpoint({ before: call.restored, at: call.attempt }));
    return send();
  },
  uses({ call, send }) {
    call.usage({ tokens: { in: 3, out: 4, total: 7 }, cost: { total: 1.1 } });
    call.usage({ tokens: { in: 1, out: 1, total: 2 }, cost: { total: 0.2 } });
    return send();
  },
  talks_much({ call, later }) {
    for (let i = 0; i < 40; i += 1) call.stream(`piece ${i}`);
    for (const percent of [Number.NaN, -5, 250, 30]) call.report(percent);
    return later("nothing");
  },
  blocked: ({ send }) => ({ data: send(), output_text: "no further", status: "BLOCKED" }),
};
