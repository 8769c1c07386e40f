/**
 * How a command ends badly: the message on stderr and the exit code.
 *
 * 1.  1: the kernel refused, or the workflow failed. 2: wrong usage. 128 + n: ended by signal n.
 * 2.  With --json the message is one line of problem details, of wrong usage too; else what happened, the code, and
 *        the next step. An interruption is told in words.
 */
import { CommanderError } from "commander";
import { KernelErrorException } from "../../contract/error.ts";
import { errorCodes, isErrorCode } from "../../contract/error-codes.ts";
import type { KernelError } from "../../contract/kernel-error.ts";
import { errorToProblemDetails } from "../../protocol/error-to-problem-details.ts";
import { showLine, showText } from "../../protocol/visible-text.ts";
import { hangLines, toJsonText, wrapLines } from "./render-text.ts";
import { Interrupted, OutputError, type Terminal } from "./terminal.ts";

/** The command cannot be understood, or names something that is not there. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UsageError";
  }
}

/** Tells what was thrown and gives the exit code for it. */
export function reportError(thrown: unknown, terminal: Terminal, json: boolean): number {
  if (thrown instanceof Interrupted) return reportInterrupted(thrown, terminal);
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
  const told = json ? toJsonText(problemOf(thrown)) : renderThrown(thrown);
  if (told !== null) terminal.complain(told);
  return isWrongUsage(thrown) ? 2 : 1;
}

const isWrongUsage = (thrown: unknown): boolean => thrown instanceof UsageError || thrown instanceof CommanderError;

/** Null for what commander has told already. */
function renderThrown(thrown: unknown): string | null {
  if (thrown instanceof CommanderError) return null;
  if (thrown instanceof KernelErrorException) return renderError(thrown.error);
  if (thrown instanceof UsageError) return `error: ${hangLines(thrown.message, 7)}`;
  return thrown instanceof OutputError ? `error: ${thrown.message}` : describeUnexpected(thrown);
}

/** After Ctrl-C what is safe, and how to go on; others who end a program know what they do. */
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

/** Problem details without a type of their own (RFC 7807): no row of the catalogue stands for it. */
function kindOf(thrown: unknown): { readonly title: string; readonly status: number } {
  if (isWrongUsage(thrown)) return { title: "wrong usage", status: 400 };
  return { title: thrown instanceof OutputError ? "output failure" : "unexpected failure", status: 500 };
}

/** What happened, the code, the causes, the next step. */
export function renderError(error: KernelError): string {
  const lines = [`error: ${hangLines(error.message, 11)}`, `  code     ${showLine(error.code)}`];
  for (let cause = error.cause; cause !== null; cause = cause.cause) {
    lines.push(`  because  ${hangLines(`${cause.code}: ${cause.message}`, 11)}`);
  }
  const next = findNextStep(error);
  if (next !== null) lines.push(`  next     ${next}`);
  return lines.join("\n");
}

/** The next step of the error's own code, else that of the nearest cause that has one. */
function findNextStep(error: KernelError): string | null {
  if (isErrorCode(error.code)) return errorCodes[error.code].next;
  return error.cause === null ? null : findNextStep(error.cause);
}
