/**
 * Maps failures of a ledger file to coded errors.
 *
 * Owns: the table from SQLite's result codes to T0_LEDGER_ codes.
 * Never: passes on a driver's error, or reveals the whole path of a file (only its base name).
 * 1.  Anything thrown becomes a KernelErrorException with a T0_LEDGER_ code.
 */
import { accessSync, constants, existsSync } from "node:fs";
import { basename, dirname } from "node:path";
import { KernelErrorException } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";

/** The file and the function of the port that failed. */
export interface FailurePlace {
  readonly path: string;
  readonly fn: string;
}

const codes: ReadonlyMap<number, ErrorCode> = new Map([
  [5, "T0_LEDGER_LOCKED"], // BUSY
  [6, "T0_LEDGER_LOCKED"], // LOCKED
  [8, "T0_LEDGER_READ_ONLY"], // READONLY
  [11, "T0_LEDGER_CORRUPT"], // CORRUPT
  [13, "T0_LEDGER_DISK_FULL"], // FULL
  [19, "T0_LEDGER_CONFLICT"], // CONSTRAINT
  [26, "T0_LEDGER_NOT_A_DATABASE"], // NOTADB
]);

const meanings: Partial<Record<ErrorCode, string>> = {
  T0_LEDGER_LOCKED: "is locked by another process",
  T0_LEDGER_READ_ONLY: "cannot be written",
  T0_LEDGER_CORRUPT: "is damaged",
  T0_LEDGER_DISK_FULL: "has no room left to grow",
  T0_LEDGER_CONFLICT: "refused a row that contradicts another",
  T0_LEDGER_NOT_A_DATABASE: "is not a Countersign ledger: it is not a SQLite database",
};

const ioError = 10;
const cannotOpen = 14;
// The shared index of the write-ahead log could not grow: in practice a full disk.
const sharedMemorySize = 4874;

export const ledgerName = (path: string): string => (path === ":memory:" ? path : basename(path));

/** Makes a coded failure with its own message. */
export function ledgerFailure(code: ErrorCode, reason: string, { path, fn }: FailurePlace): KernelErrorException {
  const name = ledgerName(path);
  const detail = { path: name, cause: reason };
  return new KernelErrorException(
    kernelError(code, `ledger ${name} ${reason}`, moduleRef(0, "sqlite", fn), { detail }),
  );
}

/** Translates anything thrown while the ledger was used. */
export function toLedgerFailure(thrown: unknown, place: FailurePlace): KernelErrorException {
  if (thrown instanceof KernelErrorException) return thrown;
  const code = codeOf(thrown, place.path);
  const cause = thrown instanceof Error ? thrown.message : String(thrown);
  const name = ledgerName(place.path);
  const message = `ledger ${name} ${meanings[code] ?? "cannot be used"} (${cause})`;
  const detail = { path: name, cause, ...sqliteCode(thrown) };
  return new KernelErrorException(kernelError(code, message, moduleRef(0, "sqlite", place.fn), { detail }));
}

function codeOf(thrown: unknown, path: string): ErrorCode {
  const { errcode } = sqliteCode(thrown);
  if (errcode === undefined) return "T0_LEDGER_UNAVAILABLE";
  const primary = errcode & 0xff;
  if (primary === ioError) return isOutOfSpace(errcode, thrown) ? "T0_LEDGER_DISK_FULL" : "T0_LEDGER_UNAVAILABLE";
  if (primary === cannotOpen) return isUnwritable(path) ? "T0_LEDGER_READ_ONLY" : "T0_LEDGER_UNAVAILABLE";
  return codes.get(primary) ?? "T0_LEDGER_UNAVAILABLE";
}

export const isLocked = (thrown: unknown): boolean => ((sqliteCode(thrown).errcode ?? 0) & 0xff) === 5;

function sqliteCode(thrown: unknown): { readonly errcode?: number } {
  if (typeof thrown !== "object" || thrown === null || !("errcode" in thrown)) return {};
  return typeof thrown.errcode === "number" ? { errcode: thrown.errcode } : {};
}

function isOutOfSpace(errcode: number, thrown: unknown): boolean {
  return errcode === sharedMemorySize || (thrown instanceof Error && /ENOSPC|no space/i.test(thrown.message));
}

/** Returns whether the file, or the folder that must take the files beside it, exists and refuses writes. */
export function isUnwritable(path: string): boolean {
  return [path, dirname(path)].some((place) => existsSync(place) && !canWrite(place));
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
