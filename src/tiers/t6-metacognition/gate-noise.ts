/**
 * Judges the final text: the calibrator and the monitor write their tags, and the noise gate reads them and nothing
 * else (SIG-11, SIG-12).
 *
 * 1.  Below a threshold the text passes as PARTIAL with the error that gives the reason, never as plain OK.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, partial, type Result } from "../../contract/result.ts";
import type { Signal } from "../../contract/signal.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { Scorers } from "../../ports/perception.ts";

export interface NoiseThresholds {
  readonly confidence: number;
  readonly grounding: number;
}

const noiseRef = moduleRef(6, "noise_gate", "filter_output");

/** Judges a Signal. Its own tags are kept; the scorers supply those that are missing. */
export function gateNoise(
  signal: Signal,
  runtime: Runtime,
  { scorers, thresholds }: { readonly scorers: Scorers; readonly thresholds: NoiseThresholds },
): Result {
  const text = String(signal.body["text"]);
  const evidence = Number(signal.tags["evidence"] ?? "0") > 0 ? [text] : [];
  const confidence = signal.tags["confidence"] ?? String(scorers.confidence({ text, evidence, stated: null }));
  const grounding = signal.tags["grounding"] ?? String(scorers.grounding({ text, evidence }));
  const out = runtime.signals.createTextSignal(
    text,
    noiseRef,
    signal.trace_id,
    { confidence, grounding },
    { parentId: signal.id },
  );
  return filterByTags(out, thresholds);
}

/** Applies the thresholds, by the two tags alone. */
export function filterByTags(signal: Signal, thresholds: NoiseThresholds): Result {
  const [confidence, grounding] = [Number(signal.tags["confidence"] ?? "1"), Number(signal.tags["grounding"] ?? "1")];
  const metrics = metricsOf(noiseRef);
  if (grounding < thresholds.grounding) {
    return partial(
      [signal],
      kernelError(
        "T6_HALLUCINATION_DETECTED",
        `the answer is grounded to ${grounding}, below ${thresholds.grounding}`,
        moduleRef(6, "hallucination_monitor", "check"),
        { detail: { grounding } },
      ),
      metrics,
    );
  }
  if (confidence < thresholds.confidence) {
    return partial(
      [signal],
      kernelError(
        "T6_OVERCONFIDENCE_DETECTED",
        `the answer is sure of itself to ${confidence}, below ${thresholds.confidence}`,
        moduleRef(6, "confidence_calibrator", "calibrate"),
        { detail: { confidence } },
      ),
      metrics,
    );
  }
  return ok([signal], metrics);
}
