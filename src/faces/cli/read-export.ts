/**
 * The rows of an export: JSON Lines as `export` writes them, without the evidence.
 *
 * 1.  Nothing is read from an export that is damaged or cut: the error names the first wrong line.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { TurnRow } from "../../contract/turn.ts";
import { readFileLines } from "./read-lines.ts";
import { refuseFile } from "./refuse-file.ts";

const exportRef = moduleRef(0, "cli", "read_export");
/** The beginning of a row. A file without any such line is not an export. */
const rowStart = '{"stream":';

/** Reads the rows of one workflow, or of all. @throws KernelErrorException T0_CLI_FILE_INVALID, T0_LEDGER_CORRUPT. */
export async function readExport(path: string, signal: AbortSignal, workflowId?: string): Promise<readonly TurnRow[]> {
  const lines = await Array.fromAsync(readFileLines(path, signal));
  const start = workflowId === undefined ? rowStart : `${rowStart}${JSON.stringify(workflowId)},`;
  if (!lines.some((line) => line.startsWith(start)))
    refuseFile(path, `it holds no row${workflowId === undefined ? "" : ` of ${workflowId}`}`);
  const { verifyEvidence } = await import("../../index.ts");
  const { broken } = await verifyEvidence(lines, { stream: workflowId });
  const [first] = broken;
  if (first !== undefined) {
    const { line, stream, sequence, reason } = first;
    const message = `${path}, line ${line}: ${stream} at sequence ${sequence} is not sound (${reason})`;
    raise(kernelError("T0_LEDGER_CORRUPT", message, exportRef, { detail: { broken } }));
  }
  return lines.filter((line) => line.startsWith(start)).map((line) => JSON.parse(line) as TurnRow);
}
