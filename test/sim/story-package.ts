/** The package of a story: its operators do to the outside what the story says, and one process runs them. */
import { z } from "zod";
import { KernelErrorException } from "../../src/contract/error.ts";
import type { OperatorCall } from "../../src/contract/operator.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import { defineOperator, operatorError } from "../../src/define/define-operator.ts";
import type { Behaviour, Story } from "./story.ts";
import { checkAs, type Hands, showAs } from "./story-host.ts";
import { baseOf, findStep, nameOf, planOf } from "./story-plan.ts";

export const storyIntent = "Story.Sim.Play";
export const timeoutSec = 5;

const Params = z.record(z.string(), z.unknown());
const Output = z.object({ by: z.string() }).nullable();

export function storyPackage(hands: Hands) {
  const { story } = hands;
  return defineCapability({
    intentType: storyIntent,
    version: "1.0",
    input: z.record(z.string(), z.unknown()),
    operators: story.operators.map((_, i) => storyOperator(hands, i)),
    outcomes: { "Story.Draft": z.unknown() },
    plan: ({ situation }) => planOf(story, situation.round),
  });
}

function storyOperator(hands: Hands, index: number) {
  const operator = hands.story.operators[index] as Story["operators"][number];
  const { effect, idempotent, honoursAbort, retry, check = null, preview = null, cost = 0 } = operator;
  return defineOperator({
    name: nameOf(index),
    effect,
    idempotent,
    honoursAbort,
    retry,
    timeoutSec,
    estimatedCost: cost,
    resources: { tokens: cost },
    input: Params,
    output: Output,
    run: (call) => perform(hands, index, call) as never,
    ...(check === null ? {} : { check: () => checkAs(hands, index, check) }),
    ...(preview === null ? {} : { preview: () => showAs(hands, index, preview) }),
  });
}

type Call = OperatorCall<Record<string, unknown>>;

function perform({ story, world, process }: Hands, operator: number, call: Call): unknown {
  const { workflow_id, step_id } = call.context;
  const step = findStep(story, step_id);
  const { idempotencyKey: key, input } = call;
  const called = world.call({ process, workflow_id, step_id, key, operator, input });
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
