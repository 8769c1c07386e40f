/**
 * The rows of an export: JSON Lines as `export` writes them, the evidence behind them left out.
 *
 * INV-1  A line that is no row is named; what the rows say is judged by who opens them.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { TurnRow } from "../contract/turn.ts";
import { readFileLines } from "./read-lines.ts";
import { UsageError } from "./report-error.ts";

const exportRef = moduleRef(0, "cli", "read_export");

/** Those of one workflow, or all. @throws UsageError, KernelErrorException T0_LEDGER_CORRUPT. */
export async function readExport(path: string, signal: AbortSignal, workflowId?: string): Promise<readonly TurnRow[]> {
  const texts = await Array.fromAsync(readFileLines(path, signal));
  const lines = texts.map(parse);
  const rows = lines.filter(isRow);
  const odd = lines.findIndex((line) => line !== undefined && !isRow(line) && !isEvidence(line));
  // Without the beginning of a row it is a file of another kind, whatever else is wrong with it.
  if (odd >= 0 && texts.some((text) => text.startsWith('{"stream":'))) refuseLine(`${path}, line ${odd + 1}`);
  const own = rows.filter(({ stream }) => workflowId === undefined || stream === workflowId);
  if (own.length === 0)
    throw new UsageError(`${path} holds no row${workflowId === undefined ? "" : ` of ${workflowId}`}`);
  return own;
}

/** What a line holds: undefined for an empty one, null for what is no JSON. */
function parse(line: string): unknown {
  if (line.trim() === "") return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

const isEvidence = (read: unknown): boolean => isPlainObject(read) && "evidence" in read;

const textKeys = ["stream", "envelope", "body_hash", "prev_hash", "hash"] as const;

const isRow = (read: unknown): read is TurnRow =>
  isPlainObject(read) &&
  !isEvidence(read) &&
  textKeys.every((key) => typeof read[key] === "string") &&
  (read["body"] === null || typeof read["body"] === "string") &&
  Number.isSafeInteger(read["first_sequence"]) &&
  Number.isSafeInteger(read["last_sequence"]);

const refuseLine = (place: string): never =>
  raise(kernelError("T0_LEDGER_CORRUPT", `${place}: this is no row of a ledger`, exportRef));
