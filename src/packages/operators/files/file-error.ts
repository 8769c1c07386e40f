/**
 * The failures of the file operators: one coded operator error for each kind of trouble with a file.
 *
 * Owns: the codes FILE_… and which of them another attempt may cure. Never: hides an abort or an error that is already
 * coded.
 */
import { OperatorError, type OperatorErrorOptions, operatorError } from "../../../define/define-operator.ts";

type Row = Pick<OperatorErrorOptions, "code" | "category" | "message">;

const rows: Readonly<Record<string, Row>> = {
  ENOENT: { code: "FILE_NOT_FOUND", category: "dependency", message: "does not exist" },
  ENOTDIR: { code: "FILE_NOT_A_FOLDER", category: "validation", message: "lies below something that is not a folder" },
  ELOOP: { code: "FILE_NOT_A_FILE", category: "validation", message: "is a link" },
  EISDIR: { code: "FILE_NOT_A_FILE", category: "validation", message: "is a folder" },
  EACCES: { code: "FILE_FORBIDDEN", category: "authorization", message: "may not be opened" },
  EPERM: { code: "FILE_FORBIDDEN", category: "authorization", message: "may not be changed" },
  EROFS: { code: "FILE_FORBIDDEN", category: "authorization", message: "is on a read-only disk" },
  ENOSPC: { code: "FILE_NO_SPACE", category: "dependency", message: "does not fit: the disk is full" },
  ENAMETOOLONG: { code: "FILE_BAD_NAME", category: "validation", message: "has too long a name" },
};
const otherRow: Row = { code: "FILE_IO_FAILED", category: "transient", message: "could not be read or written" };

/** Runs `work`; a failure of the file system becomes an operator error that names `path`. */
export async function withFileErrors<T>(path: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    signal.throwIfAborted();
    return await work();
  } catch (failure) {
    signal.throwIfAborted();
    throw failure instanceof OperatorError ? failure : toFileError(path, failure);
  }
}

function toFileError(path: string, failure: unknown): OperatorError {
  const errno = errnoOf(failure);
  const { message, ...row } = rows[errno] ?? otherRow;
  return operatorError({ ...row, message: `${path} ${message}`, details: { path, errno } });
}

/** Returns the system's name of the failure, such as ENOENT; empty if there is none. */
export function errnoOf(failure: unknown): string {
  const code = failure instanceof Error ? (failure as NodeJS.ErrnoException).code : undefined;
  return typeof code === "string" ? code : "";
}
