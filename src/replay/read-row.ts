/**
 * A ledger row as a replay reads it: its inputs, with the references to its events resolved.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { readReferences } from "../contract/event-reference.ts";
import type { Json } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Turn } from "../contract/turn.ts";
import { type TurnAnswer, TurnCause, type TurnInput } from "../contract/turn-input.ts";
import type { Answered, CallEnd, Input } from "../tiers/t4-execution/decide/run/input.ts";
import { usualEnd } from "../tiers/t4-execution/record-input.ts";

export interface RecordedRow {
  /** Instant of the row; epoch ms. */
  readonly now: number;
  readonly last: number;
  readonly inputs: readonly TurnInput[];
}

const rowsRef = moduleRef(0, "kernel", "replay");

/**
 * Reads a row. @throws KernelErrorException T0_LEDGER_CORRUPT if the inputs do not have their form. A row without any
 * was appended by a host.
 */
export function readRow({ envelope, events, inputs = [] }: Turn): RecordedRow {
  const { stream, now, first, count } = envelope;
  const cause = TurnCause.safeParse({ inputs });
  if (!cause.success)
    return raise(kernelError("T0_LEDGER_CORRUPT", `what led to event ${first} of ${stream} cannot be read`, rowsRef));
  const payloads = events.map(({ payload }) => payload);
  const resolved = readReferences(cause.data as unknown as Json, payloads) as unknown as RecordedRow;
  return { now, last: first + count - 1, inputs: resolved.inputs };
}

export const readAnswer = ({ data = null, error = null, tags = {} }: Partial<TurnAnswer>): Answered =>
  ({ data, error, tags }) as Answered;

/** Nobody waits for the answer to a replayed input. */
const noOne = -1;

const unrecorded = kernelError("T4_TOOL_EXECUTION_FAILED", "the end of this call was not recorded", rowsRef);

/** Returns the input as the mailbox took it. `nr` is the number of the question that it answers. */
export function readInput(recorded: TurnInput, nr: number): Input {
  const { in: type, at: _at, asks: _asks, ids: _ids, host: _host, answers: _answers, ...members } = recorded;
  if (recorded.in === "answered") {
    const { scope, key, ...answer } = recorded;
    return { type: recorded.in, scope, key, nr, answer: readAnswer(answer) };
  }
  if (recorded.in === "ended") return { run: 1, ...members, type, end: readEnd(recorded.end) } as Input;
  return { re: noOne, run: 1, ...members, type } as Input;
}

function readEnd(recorded: Json): CallEnd {
  const end = { ...usualEnd, ...(recorded as object) } as CallEnd;
  return end.status === "failed" ? { ...end, error: end.error ?? unrecorded } : end;
}
