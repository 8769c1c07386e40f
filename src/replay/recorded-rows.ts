/**
 * The rows of a record with what led to them: which inputs, when, in which order, and where their events lie.
 *
 * Never: says what an input carried; that is read from its events (`read-inputs.ts`).
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { Turn } from "../contract/turn.ts";
import { plainInput, type TurnInput, TurnInputs } from "../contract/turn-input.ts";

/** An input as its row tells it. `from` and `until` are the sequences that lie before its first and at its last event. */
export interface RecordedInput {
  readonly told: TurnInput;
  readonly from: number;
  readonly until: number;
  /** Epoch ms. */
  readonly now: number;
}

export interface RecordedRow {
  readonly inputs: readonly RecordedInput[];
  readonly foreign: boolean;
  readonly last: number;
}

const rowsRef = moduleRef(0, "kernel", "replay");

/** @throws KernelErrorException T0_LEDGER_CORRUPT for a row that does not say in our words what led to it. */
export const readRows = (turns: readonly Turn[]): readonly RecordedRow[] => turns.map(readRow);

function readRow({ envelope, events, inputs }: Turn): RecordedRow {
  const { stream, now, first, count } = envelope;
  const told = inputs === undefined ? [plainInput(events[0]?.type ?? "", count)] : TurnInputs.safeParse(inputs).data;
  if (told === undefined)
    return raise(kernelError("T0_LEDGER_CORRUPT", `${stream} does not say what led to its event ${first}`, rowsRef));
  let from = first - 1;
  const placed = told.map((one) => {
    const until = from + (one.left ?? 0);
    const input = { told: one, from, until, now: one.at ?? now };
    from = until;
    return input;
  });
  return { inputs: placed, foreign: told.some((one) => one.in === "foreign"), last: first + count - 1 };
}

/** The rows behind the first of these that its run may have written: who was given the workflow writes as its owner from there on. */
function rowsOfRun([first, ...rows]: readonly RecordedRow[]): readonly RecordedRow[] {
  const isTaken = (row: RecordedRow | undefined): boolean =>
    row?.inputs.some(({ told }) => told.in === "owned") === true;
  let isForeign = first?.foreign === true && !isTaken(first);
  return rows.filter((row) => {
    const isOwn = row.foreign === isForeign;
    if (isOwn && isTaken(row)) isForeign = false;
    return isOwn;
  });
}

/**
 * The answers that the same run heard behind this input, of the questions that fit: those of its own rows, up to where it
 * began anew or asked everything again.
 */
export function answersAfter(
  rows: readonly RecordedRow[],
  input: RecordedInput,
  fits: (question: string) => boolean,
): readonly RecordedInput[] {
  const at = rows.findIndex(({ inputs }) => inputs.includes(input));
  const row = rows[at];
  const found: RecordedInput[] = [];
  if (row === undefined) return found;
  const later = rowsOfRun(rows.slice(at)).flatMap(({ inputs }) => inputs);
  for (const one of [...row.inputs.slice(row.inputs.indexOf(input) + 1), ...later]) {
    if (one.told.in === "opened" || one.told.in === "again") return found;
    if (one.told.in === "answered" && fits(one.told.of ?? "")) found.push(one);
  }
  return found;
}
