/**
 * Reports the error that ends a command: the message on stderr and the exit code.
 *
 * 1.  Exit code 1: the kernel refused, or the workflow failed. 2: wrong usage, which codes of `T0_CLI_` name too.
 *     128 + n: ended by signal n.
 * 2.  With --json the message is one line of problem details, for wrong usage too; else it has the event, the code and
 *     the next step. An interruption is always described in words.
 */
import { CommanderError } from "commander";
import { KernelErrorException } from "../../contract/error.ts";
import { errorCodes, isErrorCode } from "../../contract/error-codes.ts";
import type { KernelError } from "../../contract/kernel-error.ts";
import { errorToProblemDetails } from "../../protocol/error-to-problem-details.ts";
import { showLine, showText } from "../../protocol/visible-text.ts";
import { hangLines, toJsonText, wrapLines } from "./render-text.ts";
import { Interrupted, OutputError, type Terminal } from "./terminal.ts";

/** The error of a command that cannot be understood, or that names something that does not exist. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Reports a thrown error and returns the exit code for it. */
export function reportError(thrown: unknown, terminal: Terminal, json: boolean): number {
  if (thrown instanceof Interrupted) return reportInterrupted(thrown, terminal);
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
  const reported = json ? toJsonText(problemOf(thrown)) : renderThrown(thrown);
  if (reported !== null) terminal.complain(reported);
  return isWrongUsage(thrown) ? 2 : 1;
}

const isWrongUsage = (thrown: unknown): boolean =>
  thrown instanceof UsageError ||
  thrown instanceof CommanderError ||
  (thrown instanceof KernelErrorException && thrown.error.code.startsWith("T0_CLI_"));

/** Renders a thrown error; null if commander has printed it already. */
function renderThrown(thrown: unknown): string | null {
  if (thrown instanceof CommanderError) return null;
  if (thrown instanceof KernelErrorException) return renderError(thrown.error);
  if (thrown instanceof UsageError) return `error: ${hangLines(thrown.message, 7)}`;
  return thrown instanceof OutputError ? `error: ${thrown.message}` : describeUnexpected(thrown);
}

/** Reports after Ctrl-C what is safe and how to continue. Other signals come from programs, which need no message. */
function reportInterrupted({ exitCode }: Interrupted, { complain, safety, columns }: Terminal): number {
  if (exitCode === 130) complain(wrapLines(`\nStopped. ${safety.tell ?? "Nothing was changed."}`, columns));
  return exitCode;
}

function describeUnexpected(thrown: unknown): string {
  const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return `error: countersign failed in a way it should not; please report this.\n${showText(text)}`;
}

function problemOf(thrown: unknown): object {
  if (thrown instanceof KernelErrorException) return errorToProblemDetails(thrown.error);
  const detail = thrown instanceof Error ? thrown.message.replace(/^error: /, "") : String(thrown);
  return { type: "about:blank", ...kindOf(thrown), detail };
}

/**
 * Returns the title and status of an error without a row in the catalogue; its problem details (RFC 7807) have no type
 * of their own.
 */
function kindOf(thrown: unknown): { readonly title: string; readonly status: number } {
  if (isWrongUsage(thrown)) return { title: "wrong usage", status: 400 };
  return { title: thrown instanceof OutputError ? "output failure" : "unexpected failure", status: 500 };
}

/** Renders an error of the kernel: the message, the code, the causes and the next step. */
export function renderError(error: KernelError): string {
  const lines = [`error: ${hangLines(error.message, 11)}`, `  code     ${showLine(error.code)}`];
  for (let cause = error.cause; cause !== null; cause = cause.cause) {
    lines.push(`  because  ${hangLines(`${cause.code}: ${cause.message}`, 11)}`);
  }
  const next = findNextStep(error);
  if (next !== null) lines.push(`  next     ${next}`);
  return lines.join("\n");
}

/** Finds the next step of the error's own code, else that of the nearest cause that has one. */
function findNextStep(error: KernelError): string | null {
  if (isErrorCode(error.code)) return errorCodes[error.code].next;
  return error.cause === null ? null : findNextStep(error.cause);
}
