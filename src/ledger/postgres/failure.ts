/**
 * Maps failures of a Postgres ledger to coded errors.
 *
 * Owns: the table from SQLSTATE to T0_LEDGER_ codes.
 * Never: passes on a driver's error, or reveals a password.
 * 1.  Anything thrown becomes a KernelErrorException with a T0_LEDGER_ code.
 */
import { KernelErrorException } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";

/** The ledger and the function of the port that failed. */
export interface FailurePlace {
  readonly name: string;
  readonly fn: string;
}

/** Codes by the whole state, or by its class: its first two characters. */
const codes: Readonly<Record<string, ErrorCode>> = {
  "08P01": "T0_LEDGER_POOLED",
  "22": "T0_LEDGER_CONFLICT",
  "23": "T0_LEDGER_CONFLICT",
  "25006": "T0_LEDGER_READ_ONLY",
  "26000": "T0_LEDGER_POOLED",
  "28": "T0_LEDGER_FORBIDDEN",
  "3F": "T0_LEDGER_REPLACED",
  "40": "T0_LEDGER_CONFLICT",
  "42501": "T0_LEDGER_FORBIDDEN",
  "42P05": "T0_LEDGER_POOLED",
  "42P01": "T0_LEDGER_REPLACED",
  "53": "T0_LEDGER_UNAVAILABLE",
  "53100": "T0_LEDGER_DISK_FULL",
  "55P03": "T0_LEDGER_LOCKED",
  "57014": "T0_LEDGER_LOCKED",
  P0001: "T0_LEDGER_CONFLICT",
  XX001: "T0_LEDGER_CORRUPT",
  XX002: "T0_LEDGER_CORRUPT",
};

const meanings: Partial<Record<ErrorCode, string>> = {
  T0_LEDGER_READ_ONLY: "cannot be written",
  T0_LEDGER_FORBIDDEN: "does not let this role in",
  T0_LEDGER_POOLED: "is behind a pooler that keeps no sessions",
  T0_LEDGER_REPLACED: "is not there any more: its tables were dropped or moved",
  T0_LEDGER_CONFLICT: "refused a row that contradicts another",
  T0_LEDGER_DISK_FULL: "has no room left to grow",
  T0_LEDGER_LOCKED: "made this wait for too long",
  T0_LEDGER_CORRUPT: "is damaged",
};

/** Makes a coded failure with its own message. */
export function ledgerFailure(code: ErrorCode, reason: string, { name, fn }: FailurePlace): KernelErrorException {
  const source = moduleRef(0, "postgres", fn);
  return new KernelErrorException(
    kernelError(code, `ledger ${name} ${reason}`, source, { detail: { ledger: name, cause: reason } }),
  );
}

/** Translates anything thrown while the ledger was used. */
export function toLedgerFailure(thrown: unknown, { name, fn }: FailurePlace): KernelErrorException {
  if (thrown instanceof KernelErrorException) return thrown;
  const state = stateOf(thrown);
  const code = codes[state] ?? codes[state.slice(0, 2)] ?? "T0_LEDGER_UNAVAILABLE";
  const cause = causeOf(thrown);
  const message = `ledger ${name} ${meanings[code] ?? "cannot be used"} (${cause})`;
  const detail = { ledger: name, cause, ...(state === "" ? {} : { sqlstate: state }) };
  return new KernelErrorException(kernelError(code, message, moduleRef(0, "postgres", fn), { detail }));
}

/** Returns the cause of a failure to connect, which may be a list of failures, one per address. */
function causeOf(thrown: unknown): string {
  if (thrown instanceof AggregateError && thrown.message === "") return thrown.errors.map(causeOf).join("; ");
  return thrown instanceof Error ? thrown.message : String(thrown);
}

/** Returns the SQLSTATE, which has five characters; codes of the system, such as ECONNREFUSED, have more. */
function stateOf(thrown: unknown): string {
  const code = typeof thrown === "object" && thrown !== null && "code" in thrown ? thrown.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : "";
}

/** Returns whether two transactions conflicted: nothing was written, and the same batch may be tried again. */
export const isRace = (thrown: unknown): boolean => ["23505", "40001", "40P01"].includes(stateOf(thrown));

/** Returns whether the server cannot be reached, or refuses connections just now: it ends, starts, or is full. */
export const isAway = (thrown: unknown): boolean =>
  !(thrown instanceof KernelErrorException) && /^(08...|57P0.|53300)?$/.test(stateOf(thrown));
