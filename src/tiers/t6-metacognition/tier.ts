/**
 * T6, metacognition and exchange: chooses the pipeline, judges the answer, and notifies others.
 *
 * Owns: the activation router, the confidence calibrator, the hallucination monitor, the noise gate, the load monitor
 * and the artifact bus. Never: executes, decides authority, waits for a listener.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { t6 } from "../../contract/messages/t6.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, partial, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import { escalateFrom } from "../../engine/actors/answer.ts";
import { answerMessages } from "../../engine/actors/answer-messages.ts";
import type { TierDefinition } from "../../engine/actors/define-tier.ts";
import type { Scorers } from "../../ports/perception.ts";
import { signalToNotification } from "../../protocol/signal-to-notification.ts";
import { gateNoise, type NoiseThresholds } from "./gate-noise.ts";
import { type Pipeline, routeActivation } from "./route-activation.ts";

export interface MetacognitionTierOptions {
  readonly scorers: Scorers;
  readonly thresholds: NoiseThresholds;
  readonly domainPipelines: Readonly<Record<string, Pipeline>>;
  /** Publishes a notification, without waiting. */
  readonly publish: (notification: ReturnType<typeof signalToNotification>) => void;
}

const refs = {
  router: moduleRef(6, "activation_router", "route"),
  noise: moduleRef(6, "noise_gate", "filter_output"),
  load: moduleRef(6, "load_monitor", "review"),
  bus: moduleRef(6, "artifact_bus", "publish"),
} as const;

export function createMetacognitionTier({
  scorers,
  thresholds,
  domainPipelines,
  publish,
}: MetacognitionTierOptions): TierDefinition {
  const tell = (signal: Signal): Result => {
    publish(signalToNotification(signal));
    return ok([], metricsOf(refs.bus));
  };
  const answering = answerMessages(t6, {
    routeActivation: (intake, visit) =>
      ok([routeActivation(intake, visit, { scorers, domainPipelines })], metricsOf(refs.router)),
    reviewPlan: ({ calls }, { signal }) => reviewPlan(calls, signal),
    reviewReplan: ({ plans }, { signal }) => reviewReplan(plans, signal),
    notify: (_notification, { signal }) => tell(signal),
    alertSync: (_alert, { signal }) => tell(signal),
    escalate: escalateFrom(refs.router),
  });
  return {
    tier: 6,
    name: "metacognition",
    doors: {
      ...answering,
      text: {
        module: "noise_gate",
        function: "filter_output",
        handle: (signal, runtime) => gateNoise(signal, runtime, { scorers, thresholds }),
      },
      file: { module: "artifact_bus", function: "publish", handle: tell },
      stream: { module: "artifact_bus", function: "publish", handle: tell },
    },
  };
}

/**
 * Reviews a plan of the enhanced pipeline before it runs: calling one operator twice with the same params is a loop.
 */
function reviewPlan(calls: readonly string[], signal: Signal): Result {
  const repeated = calls.filter((call, i) => calls.indexOf(call) !== i);
  if (repeated.length === 0) return ok([], metricsOf(refs.load));
  const message = `the plan makes the same call more than once: ${repeated[0]}`;
  return partial(
    [signal],
    kernelError("T6_LOOP_DETECTED", message, refs.load, { detail: { repeated } }),
    metricsOf(refs.load),
  );
}

/** Reviews a replan: repeating a plan after its failure is a loop, which is reported and left to the limit on plans. */
function reviewReplan(plans: readonly (readonly string[])[], signal: Signal): Result {
  const [last, before] = [plans.at(-1), plans.at(-2)];
  const loops = before !== undefined && JSON.stringify(last) === JSON.stringify(before);
  if (!loops) return ok([], metricsOf(refs.load));
  return partial(
    [signal],
    kernelError("T6_LOOP_DETECTED", "the plan that failed is being tried again unchanged", refs.load, {
      detail: { rounds: plans.length },
    }),
    metricsOf(refs.load),
  );
}
