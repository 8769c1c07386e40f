/**
 * What a running operator says on its way: chunks for people and sub-progress, batched into STEP_STREAMED before anybody
 * sees them.
 *
 * S1  Nothing is shown that is not in the ledger; batches carry a sequence that rises over the workflow.
 * S2  With an output validator and no validateChunk, chunks are held until the output has passed, and dropped if it does
 *     not (SEC-04).
 * S3  With validateChunk each chunk waits for its own check; chunks keep their order, whichever check ends first.
 */
import { draft } from "../../contract/event.ts";
import { callWithin, isPromise } from "../../runtime/within.ts";
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
  let closed = false;
  let checking: Promise<void> | null = null;

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

  const take = (text: string): void => {
    if (closed) return;
    chunks.push(text);
    schedule();
  };

  return {
    write(chunk) {
      if (ended || written >= run.kit.limits.maxStreamChunks) return;
      written += 1;
      const shown = checkChunk(run, String(chunk));
      if (checking === null && !isPromise(shown)) return take(shown);
      const before = checking;
      checking = (async () => {
        await before;
        take(await shown);
      })();
    },
    report(value) {
      if (ended || !Number.isFinite(value)) return;
      percent = Math.min(100, Math.max(0, value));
      schedule();
    },
    async end(clean) {
      ended = true;
      if (clean && checking !== null) await checking;
      closed = true;
      if (held && (!clean || wasSanitized(run, stepId))) chunks = [];
      flush(true);
    },
  };
}

/** The chunk as it may be shown; what the check refuses, or fails on, becomes the marker. */
function checkChunk({ kit, desk: { security } }: Run, chunk: string): string | Promise<string> {
  const { validateChunk } = security;
  if (validateChunk === undefined) return chunk;
  const within = {
    clock: kit.clock,
    timeoutMs: kit.limits.securityTimeoutMs,
    source: oodaRef("stream"),
    onTimeout: "T4_OUTPUT_INVALID",
    onThrow: "T4_OUTPUT_INVALID",
    what: "security.validateChunk",
  } as const;
  const read = ({ ok }: { readonly ok: boolean }): string => (ok ? chunk : sanitizedMarker);
  try {
    const verdict = callWithin(() => validateChunk(chunk), within);
    return isPromise(verdict) ? verdict.then(read, () => sanitizedMarker) : read(verdict);
  } catch {
    return sanitizedMarker;
  }
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
