/**
 * What a running operator says on its way: chunks for people and sub-progress, batched into STEP_STREAMED before anybody
 * sees them.
 *
 * S1  Nothing is shown that is not in the ledger; batches carry a sequence that rises over the workflow.
 * S2  With an output validator and no validateChunk, chunks are held until the output has passed, and dropped if it does
 *     not (SEC-04).
 * S3  What is said after the operator's end is told to nobody, however long its output is checked.
 * S4  With validateChunk each chunk waits for its own check; chunks keep their order, whichever check ends first.
 */
import { draft } from "../../../contract/event.ts";
import { isPromise } from "../../../contract/maybe-promise.ts";
import type { CallOf } from "../decide/input.ts";
import { sanitizedMarker } from "../decide/redact.ts";
import type { Calling } from "./call-operator.ts";
import { callHost } from "./services.ts";

export interface StepStream {
  readonly write: (chunk: string) => void;
  readonly report: (percent: number) => void;
  /** The operator has ended: what it says from here on is nobody's. */
  readonly stop: () => void;
  /** Writes what is left; null where nothing had to be waited for. `clean` is false when the attempt failed. */
  readonly end: (clean: boolean) => Promise<void> | null;
}

export function createStepStream(at: Calling, call: CallOf): StepStream {
  const held = at.run.settings.holdsStreams && at.services.security.validateChunk === undefined;
  const limit = at.runtime.limits.maxStreamChunks;
  let chunks: string[] = [];
  let percent: number | null = null;
  let scheduled = false;
  let written = 0;
  let isOpen = true;
  let ended = false;
  let closed = false;
  let checking: Promise<void> | null = null;

  const flush = (final: boolean): void => {
    scheduled = false;
    const batch = { chunks, percent };
    if (batch.chunks.length === 0 && batch.percent === null) return;
    chunks = [];
    percent = null;
    const streamed = { attempt: call.attempt, sequence: 0, ...batch, final };
    at.note(call, [draft("STEP_STREAMED", streamed, call.step_id)]).catch(() => undefined);
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

  const close = (clean: boolean): null => {
    closed = true;
    if (held && !clean) chunks = [];
    flush(true);
    return null;
  };

  return {
    write(chunk) {
      if (!isOpen || written >= limit) return;
      written += 1;
      const shown = checkChunk(at, String(chunk));
      if (checking === null && !isPromise(shown)) return take(shown);
      const before = checking;
      checking = (async () => {
        await before;
        take(await shown);
      })();
    },
    report(value) {
      if (!isOpen || !Number.isFinite(value)) return;
      percent = Math.min(100, Math.max(0, value));
      schedule();
    },
    stop() {
      isOpen = false;
    },
    end(clean) {
      if (ended) return null;
      isOpen = false;
      ended = true;
      return clean && checking !== null ? checking.then(() => void close(clean)) : close(clean);
    },
  };
}

/** The chunk as it may be shown; what the check refuses, or fails on, becomes the marker. */
function checkChunk(at: Calling, chunk: string): string | Promise<string> {
  const { validateChunk } = at.services.security;
  if (validateChunk === undefined) return chunk;
  const read = ({ ok }: { readonly ok: boolean }): string => (ok ? chunk : sanitizedMarker);
  try {
    const verdict = callHost(at, { fn: "stream", what: "security.validateChunk", call: () => validateChunk(chunk) });
    return isPromise(verdict) ? verdict.then(read).catch(() => sanitizedMarker) : read(verdict);
  } catch {
    return sanitizedMarker;
  }
}
