/**
 * What a running operator says on its way: chunks for people and sub-progress, batched into STEP_STREAMED before anybody
 * sees them.
 *
 * S1  Nothing is shown that is not in the ledger; batches carry a sequence that rises over the workflow.
 * S2  With an output validator and no validateChunk, chunks are held until the output has passed, and dropped if it does
 *     not (SEC-04).
 */
import { draft } from "../../contract/event.ts";
import { isPromise } from "../../runtime/within.ts";
import { oodaRef, type Run, stepOf } from "./run.ts";
import { sanitizedMarker } from "./screen-output.ts";

export interface StepStream {
  readonly write: (chunk: string) => void;
  readonly report: (percent: number) => void;
  /** Writes what is left. `clean` is false when the attempt failed. */
  readonly end: (clean: boolean) => Promise<void>;
}

export function createStepStream(
  run: Run,
  { stepId, attempt }: { readonly stepId: string; readonly attempt: number },
): StepStream {
  const { security, holdsStreams } = run.desk;
  const held = holdsStreams && security.validateChunk === undefined;
  let chunks: string[] = [];
  let percent: number | null = null;
  let scheduled = false;
  let written = 0;
  let ended = false;

  const flush = (final: boolean): void => {
    scheduled = false;
    const batch = { chunks, percent };
    if ((batch.chunks.length === 0 && batch.percent === null) || !isRunning(run, stepId)) return;
    chunks = [];
    percent = null;
    const sequence = run.log.record.streamed + 1;
    run.log.note(draft("STEP_STREAMED", { attempt, sequence, ...batch, final }, stepId));
    run.commitSoon();
    tellArtifactBus(run, batch.chunks.join(""), { sequence, final });
  };

  const schedule = (): void => {
    if (scheduled || held) return;
    scheduled = true;
    setImmediate(() => !ended && flush(false));
  };

  return {
    write(chunk) {
      if (ended || written >= run.kit.limits.maxStreamChunks) return;
      written += 1;
      const take = (text: string): void => {
        chunks.push(text);
        schedule();
      };
      if (security.validateChunk === undefined) return take(String(chunk));
      const verdict = security.validateChunk(String(chunk));
      if (isPromise(verdict))
        void verdict.then(
          (v) => take(v.ok ? String(chunk) : sanitizedMarker),
          () => take(sanitizedMarker),
        );
      else take(verdict.ok ? String(chunk) : sanitizedMarker);
    },
    report(value) {
      if (ended || !Number.isFinite(value)) return;
      percent = Math.min(100, Math.max(0, value));
      schedule();
    },
    async end(clean) {
      ended = true;
      if (held && (!clean || wasSanitized(run, stepId))) chunks = [];
      flush(true);
    },
  };
}

const isRunning = (run: Run, stepId: string): boolean =>
  run.log.lost === null && stepOf(run, stepId).state === "running";

function wasSanitized(run: Run, stepId: string): boolean {
  const { action_id } = stepOf(run, stepId);
  const result = action_id === null ? null : run.log.record.actions.get(action_id)?.record.result_payload;
  return (
    typeof result === "object" && result !== null && "output_text" in result && result.output_text === sanitizedMarker
  );
}

function tellArtifactBus(
  run: Run,
  text: string,
  { sequence, final }: { readonly sequence: number; readonly final: boolean },
): void {
  if (text === "") return;
  run.kit.send(
    6,
    run.kit.signals.createStreamSignal(text, sequence, final, oodaRef("act"), run.log.identity.correlation_id, {
      parentId: run.parentId,
    }),
  );
}
