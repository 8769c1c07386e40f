/** The log of a command that speaks a protocol over its stdout: errors of the connection go to stderr. */
import type { Logger } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import type { Terminal } from "./terminal.ts";

/** Returns a logger that prints errors of the connection itself. The error of a call is part of its answer. */
export function complainTo({ complain }: Terminal): Logger {
  const tell = (detail: object, message = ""): void =>
    complain(showLine(`${message}: ${String((detail as { readonly error?: unknown }).error ?? "")}`));
  return { debug: () => undefined, info: () => undefined, warn: tell, error: tell };
}
