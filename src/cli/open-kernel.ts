/**
 * Opens the kernel for one command, and stops it however the command ends.
 *
 * Owns: what a command's kernel is made of: the ledger, the shipped packages, what `--capabilities` and `--policies`
 *       bring.
 * INV-1  Without `recover` nothing unfinished is taken up: a command that reads runs nothing.
 * INV-2  Only commands that start work make a ledger (`create`); the others refuse a place where there is none.
 * INV-3  An interruption ends the work at once, but for work that ends in an order of its own; the kernel is then stopped
 *        before the program ends.
 */
import { folderInventory, projectHandover, releaseNotes } from "../capabilities/index.ts";
import type { Caller } from "../contract/auth-context.ts";
import type { Kernel } from "../index.ts";
import type { Notifier } from "../ports/notifier.ts";
import type { Logger, Telemetry } from "../ports/telemetry.ts";
import { readApproverKeys } from "./approver-keys.ts";
import { type ChosenLedger, chooseLedger } from "./choose-ledger.ts";
import { closeAll, type Loaded, loadModules, loadPolicies } from "./load-modules.ts";
import { type CommonOptions, callerOf, type Session } from "./options.ts";
import { toJsonText } from "./render-text.ts";

export interface Opening {
  readonly recover?: boolean;
  readonly create?: boolean;
  /** In place of the log of errors. */
  readonly logger?: Logger;
  readonly telemetry?: Telemetry;
  readonly notifiers?: readonly Notifier[];
  /** The work hears of an interruption itself, and ends. */
  readonly endsItself?: boolean;
  /** How long steps that run may go on once the command is over, in ms. */
  readonly drainMs?: number;
}

/** The open kernel, and who asks it. */
export interface CommandContext {
  readonly kernel: Kernel;
  readonly ledger: ChosenLedger;
  readonly caller: Caller;
}

export async function withKernel<T>(
  session: Session,
  work: (context: CommandContext) => Promise<T>,
  opening: Opening = {},
): Promise<T> {
  const { signal } = session.terminal;
  signal.throwIfAborted();
  const ledger = chooseLedger(session.options.db, { create: opening.create ?? false });
  return withRules(session.options, async (rules) => {
    const kernel = await openKernel(session, opening, { ledger, ...rules });
    try {
      const working = work({ kernel, ledger, caller: callerOf(session.options) });
      return await (opening.endsItself === true ? working : Promise.race([working, rejectOnAbort(signal)]));
    } finally {
      await kernel.stop({ drainMs: opening.drainMs ?? 2000 });
    }
  });
}

async function openKernel(
  { options, terminal }: Session,
  { recover = false, logger, telemetry, notifiers = [] }: Opening,
  parts: Rules & { readonly ledger: ChosenLedger },
): Promise<Kernel> {
  // Only now: help, wrong usage and the check of a file need no kernel.
  const { createKernel } = await import("../index.ts");
  return createKernel({
    ...parts,
    ...(options.keys === undefined ? {} : { approverKeys: readApproverKeys(options.keys) }),
    recover,
    notifiers,
    logger: logger ?? logErrors((line) => terminal.complain(line)),
    ...(telemetry === undefined ? {} : { telemetry }),
  });
}

export type Rules = Omit<Loaded, "closables">;

/** Works with the shipped packages and what `--capabilities` and `--policies` name; what those opened is closed after. */
export async function withRules<T>(
  options: Pick<CommonOptions, "capabilities" | "policies">,
  work: (rules: Rules) => Promise<T>,
): Promise<T> {
  const policies = await loadPolicies(options.policies);
  const { closables, ...loaded } = await loadModules(options.capabilities);
  try {
    return await work({
      capabilities: [releaseNotes, folderInventory, projectHandover, ...loaded.capabilities],
      operators: loaded.operators,
      policies: [...policies, ...loaded.policies],
    });
  } finally {
    await closeAll(closables);
  }
}

/** Commands tell their own story; of the kernel's log only what went wrong inside it is shown, and only when asked for. */
function logErrors(complain: (line: string) => void): Logger {
  const silent = () => undefined;
  if (process.env["COUNTERSIGN_LOG"] === undefined) return { debug: silent, info: silent, warn: silent, error: silent };
  const log = (level: string) => (detail: object, message?: string) =>
    complain(toJsonText({ level, message, ...detail }));
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
