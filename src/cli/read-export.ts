/**
 * The rows of an export: JSON Lines as `export` writes them, the evidence behind them left out.
 *
 * INV-1  A line that is no row is named; what the rows say is judged by who opens them.
 */
import { readFileSync, statSync } from "node:fs";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject } from "../contract/json.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { TurnRow } from "../contract/turn.ts";
import { UsageError } from "./report-error.ts";

const exportRef = moduleRef(0, "cli", "read_export");

/** Those of one workflow, or all. @throws UsageError, KernelErrorException T0_LEDGER_CORRUPT. */
export function readExport(path: string, workflowId?: string): readonly TurnRow[] {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() !== true) throw new UsageError(`${path} is not a file`);
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n").map(parse);
  const rows = lines.filter(isRow);
  const odd = lines.findIndex((line) => line !== undefined && !isRow(line) && !isEvidence(line));
  // Without the beginning of a row it is a file of another kind, whatever else is wrong with it.
  if (odd >= 0 && /^\{"stream":/m.test(text)) refuseLine(`${path}, line ${odd + 1}`);
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

const texts = ["stream", "envelope", "body_hash", "prev_hash", "hash"] as const;

const isRow = (read: unknown): read is TurnRow =>
  isPlainObject(read) &&
  !isEvidence(read) &&
  texts.every((key) => typeof read[key] === "string") &&
  (read["body"] === null || typeof read["body"] === "string") &&
  Number.isSafeInteger(read["first_sequence"]) &&
  Number.isSafeInteger(read["last_sequence"]);

const refuseLine = (place: string): never =>
  raise(kernelError("T0_LEDGER_CORRUPT", `${place}: this is no row of a ledger`, exportRef));
