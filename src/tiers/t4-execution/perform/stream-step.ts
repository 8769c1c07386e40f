/**
 * The stream of a running operator: chunks for people and sub-progress, batched into STEP_STREAMED before anybody sees
 * them.
 *
 * 1.  Nothing is shown that is not in the ledger; batches are numbered over the whole workflow.
 * 2.  With an output validator and no validateChunk, chunks are held until the output has passed, and dropped if it
 *     does not (SEC-04). Only text is taken, and at most `limits.maxOutputChars` of it.
 * 3.  A chunk after the operator's end is dropped, however long its output is checked.
 * 4.  With validateChunk each chunk waits for its own check; chunks keep their order, whichever check ends first.
 */
import { raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { draft } from "../../../contract/event.ts";
import { isPromise } from "../../../contract/maybe-promise.ts";
import { inNextTurn } from "../../../engine/actors/next-turn.ts";
import { invokerRef } from "../decide/call/answer-key.ts";
import type { CallOf } from "../decide/run/input.ts";
import { sanitizedMarker } from "../decide/run/redact.ts";
import type { Calling } from "./call-operator.ts";
import { callHost } from "./services.ts";

export class StepStream {
  readonly #at: Calling;
  readonly #call: CallOf;
  readonly #held: boolean;
  #chunks: string[] = [];
  #percent: number | null = null;
  #scheduled = false;
  #written = 0;
  #chars = 0;
  #isOpen = true;
  #ended = false;
  #closed = false;
  #checking: Promise<void> | null = null;

  constructor(at: Calling, call: CallOf) {
    this.#at = at;
    this.#call = call;
    this.#held = at.run.settings.holdsStreams && at.services.security.validateChunk === undefined;
  }

  /**
   * Writes a chunk. The error for a chunk that is no text is thrown into the operator. @throws KernelErrorException
   * T0_VALIDATION_SCHEMA_MISMATCH.
   */
  write(chunk: string): void {
    const { maxStreamChunks, maxOutputChars } = this.#at.runtime.limits;
    if (typeof chunk !== "string") refuseChunk(chunk);
    if (!this.#isOpen || this.#written >= maxStreamChunks || this.#chars + chunk.length > maxOutputChars) return;
    this.#written += 1;
    this.#chars += chunk.length;
    const shown = checkChunk(this.#at, chunk.toWellFormed());
    if (this.#checking === null && !isPromise(shown)) return this.#take(shown);
    const before = this.#checking;
    this.#checking = (async () => {
      await before;
      this.#take(await shown);
    })();
  }

  report(percent: number): void {
    if (!this.#isOpen || !Number.isFinite(percent)) return;
    this.#percent = Math.min(100, Math.max(0, percent));
    this.#schedule();
  }

  /** Closes the stream at the operator's end; later chunks are dropped. */
  stop(): void {
    this.#isOpen = false;
  }

  /**
   * Writes the rest of the stream; returns null unless a check has to be waited for. `clean` is false if the attempt
   * failed.
   */
  end(clean: boolean): Promise<void> | null {
    if (this.#ended) return null;
    this.#isOpen = false;
    this.#ended = true;
    if (clean && this.#checking !== null) return this.#checking.then(() => this.#close(clean));
    this.#close(clean);
    return null;
  }

  #take(text: string): void {
    if (this.#closed) return;
    this.#chunks.push(text);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#held) return;
    this.#scheduled = true;
    inNextTurn(() => !this.#ended && this.#flush(false));
  }

  #flush(final: boolean): void {
    this.#scheduled = false;
    const [chunks, percent] = [this.#chunks, this.#percent];
    if (chunks.length === 0 && percent === null) return;
    this.#chunks = [];
    this.#percent = null;
    const { attempt, step_id } = this.#call;
    const streamed = draft("STEP_STREAMED", { attempt, sequence: 0, chunks, percent, final }, step_id);
    this.#at.note(this.#call, [streamed]).catch(() => undefined);
  }

  #close(clean: boolean): void {
    this.#closed = true;
    if (this.#held && !clean) this.#chunks = [];
    this.#flush(true);
  }
}

const refuseChunk = (chunk: unknown): never =>
  raise(
    kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `stream takes text, not a value of type ${typeof chunk}`, invokerRef),
  );

/** Returns the chunk as it may be shown; if its check refuses it or fails, it becomes the marker. */
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
