/** The package of a story: its operators do to the outside what the story says, and one process runs them. */
import { z } from "zod";
import type { OperatorCall } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import type { PolicyRule } from "../../src/contract/policy.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Behaviour, Story, StoryStep } from "./story.ts";

export const storyIntent = "Story.Sim.Play";
export const timeoutSec = 5;

export const baseOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");
const nameOf = (operator: number): string => `Story.Op${operator}`;

const Params = z.record(z.string(), z.unknown());
const Output = z.object({ by: z.string() }).nullable();

/** Whose hands: the process that makes the call. */
interface Hands {
  readonly story: Story;
  readonly world: OutsideWorld;
  readonly process: string;
}

export function storyPackage(hands: Hands) {
  const { story } = hands;
  return defineCapability({
    intentType: storyIntent,
    version: "1.0",
    input: z.record(z.string(), z.unknown()),
    operators: story.operators.map((_, i) => storyOperator(hands, i)),
    outcomes: { "Story.Draft": z.unknown() },
    plan: () => ({ reasoning: "as the story has it", steps: story.steps.map(draftOf) }),
  });
}

const draftOf = (step: StoryStep): PlanStepDraft => ({
  step_id: step.id,
  name: step.id,
  operator: nameOf(step.operator),
  params: { of: step.id, from: step.depends_on.map((id) => `{{${id}.output.by}}`) },
  depends_on: [...step.depends_on],
  ...(step.gate === null ? {} : { gate: step.gate as never }),
  ...(step.outcome ? { outcome: "Story.Draft" } : {}),
  ...(step.applies === null ? {} : { applies: step.applies }),
});

function storyOperator(hands: Hands, index: number) {
  const { effect, idempotent, honoursAbort, retry } = hands.story.operators[index] as Story["operators"][number];
  return defineOperator({
    name: nameOf(index),
    effect,
    idempotent,
    honoursAbort,
    retry,
    timeoutSec,
    input: Params,
    output: Output,
    run: (call) => perform(hands, index, call) as never,
  });
}

type Call = OperatorCall<Record<string, unknown>>;

function perform({ story, world, process }: Hands, operator: number, call: Call): unknown {
  const { workflow_id, step_id } = call.context;
  const step = story.steps.find(({ id }) => id === baseOf(step_id));
  const called = world.call({ process, workflow_id, step_id, key: call.idempotencyKey, operator });
  const how = step?.behaviours[world.count(`${workflow_id} ${baseOf(step_id)}`)] ?? "ok";
  const honours = story.operators[operator]?.honoursAbort === true;
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
};

/** One rule that says what the story has for each operator, at once or a little later. */
export function storyRules({ operators }: Story): PolicyRule[] {
  const rulings = new Map(operators.map(({ ruling }, i) => [nameOf(i), ruling]));
  return [
    {
      name: "story",
      stages: ["action"],
      evaluate({ subject }) {
        const ruling = rulings.get(subject.operator ?? "") ?? "none";
        if (ruling === "none") return null;
        if (ruling === "later") return Promise.resolve(null);
        const transform = ruling === "TRANSFORM" ? { ...(subject.payload as object), transformed: true } : null;
        return { decision: ruling, reason: `the story says ${ruling}`, transform };
      },
    },
  ];
}
