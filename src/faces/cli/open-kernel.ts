/**
 * Opens the kernel for one command, and stops it however the command ends.
 *
 * Owns: what a command's kernel is made of: the ledger, the shipped packages or those of `--host`, what `--capabilities` and
 *       `--policies` bring.
 * 1.  Without `recover` nothing unfinished is taken up and nobody is notified: a command that reads runs nothing.
 * 2.  Only commands that start work make a ledger (`create`); the others refuse a place where there is none. A host's own
 *        ledger is opened as the host made it.
 * 3.  An interruption ends the work at once, but for work that ends in an order of its own; the kernel is then stopped
 *        before the program ends.
 */

import { guardTelemetry } from "../../adapters/quiet-telemetry.ts";
import type { Caller } from "../../contract/auth-context.ts";
import type { HostOptions, Kernel, KernelLedger, SessionStore } from "../../index.ts";
import { folderInventory, projectHandover, releaseNotes } from "../../packages/capabilities/index.ts";
import type { Notifier } from "../../ports/notifier.ts";
import type { Logger, Telemetry } from "../../ports/telemetry.ts";
import { readApproverKeys } from "./approver-keys.ts";
import { chooseLedger } from "./choose-ledger.ts";
import { loadHost } from "./load-host.ts";
import { closeAll, type Loaded, loadModules, loadPolicies } from "./load-modules.ts";
import { type CommonOptions, callerOf, ledgerNamed, type Session } from "./options.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";

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

/** A ledger that a kernel works on, and where browsers' sessions are kept if it keeps any. */
export type OpenLedger = KernelLedger & { readonly sessions?: SessionStore };

/** The open kernel, and who asks it. */
export interface CommandContext {
  readonly kernel: Kernel;
  readonly ledger: OpenLedger;
  readonly caller: Caller;
  /** Those that tell people of gates while the command runs. */
  readonly notifiers: readonly Notifier[];
}

export async function withKernel<T>(
  session: Session,
  work: (context: CommandContext) => Promise<T>,
  opening: Opening = {},
): Promise<T> {
  const { signal } = session.terminal;
  signal.throwIfAborted();
  const host = (await loadHost(session.options.host))?.options ?? {};
  const ledger = ledgerOf(session.options, host, opening);
  return withRules(session.options, async (rules) => {
    // A command that takes nothing up tells nobody of anything either: those who serve do.
    const notifiers = opening.recover === true ? [...(host.notifiers ?? []), ...(opening.notifiers ?? [])] : [];
    const kernel = await openKernel(session, opening, { ...host, ...rules, ledger, notifiers });
    try {
      const working = work({ kernel, ledger, caller: callerOf(session.options), notifiers });
      return await (opening.endsItself === true ? working : Promise.race([working, rejectOnAbort(signal)]));
    } finally {
      await kernel.stop({ drainMs: opening.drainMs ?? 2000 });
    }
  });
}

/** @throws UsageError where two ledgers are named. */
function ledgerOf(options: CommonOptions, { ledger }: HostOptions, { create = false }: Opening): OpenLedger {
  if (ledger === undefined) return chooseLedger(ledgerNamed(options), { create });
  if (options.db !== undefined) throw new UsageError("the host has a ledger of its own: leave --db out");
  return ledger;
}

async function openKernel(
  { options, terminal }: Session,
  { recover = false, logger = logErrors((line) => terminal.complain(line)), telemetry }: Opening,
  host: HostOptions,
): Promise<Kernel> {
  if (options.keys !== undefined && host.approverKeys !== undefined)
    throw new UsageError("the host has the approvers' keys: leave --keys out");
  // Only now: help, wrong usage and the check of a file need no kernel.
  const { createKernel } = await import("../../index.ts");
  return createKernel({
    logger,
    ...host,
    ...(options.keys === undefined ? {} : { approverKeys: readApproverKeys(options.keys) }),
    recover,
    ...(telemetry === undefined ? {} : { telemetry: tellBoth(telemetry, host.telemetry) }),
  });
}

/** Tells the command's own telemetry, and the host's. */
function tellBoth(own: Telemetry, host: Telemetry | undefined): Telemetry {
  if (host === undefined) return own;
  const both = [own, host].map(guardTelemetry);
  return {
    mark: (stage, detail) => both.forEach(({ mark }) => void mark?.(stage, detail)),
    committed: (commit) => both.forEach(({ committed }) => void committed?.(commit)),
  };
}

/** What a kernel judges and plans by, without a ledger, without whom it tells, and without where it drives. */
export type Rules = Omit<HostOptions, "ledger" | "notifiers" | "host"> & Omit<Loaded, "closables">;

/**
 * Works with what `--host`, `--capabilities` and `--policies` name, and without a host with the shipped packages; what those
 * opened is closed after.
 */
export async function withRules<T>(
  options: Pick<CommonOptions, "host" | "capabilities" | "policies">,
  work: (rules: Rules) => Promise<T>,
): Promise<T> {
  const host = await loadHost(options.host);
  const policies = await loadPolicies(options.policies);
  const { closables, ...loaded } = await loadModules(options.capabilities);
  const { ledger: _1, notifiers: _2, host: _3, ...rules }: HostOptions = host?.options ?? { capabilities: shipped };
  try {
    return await work({
      ...rules,
      capabilities: [...(rules.capabilities ?? []), ...loaded.capabilities],
      operators: [...(rules.operators ?? []), ...loaded.operators],
      policies: [...policies, ...(rules.policies ?? []), ...loaded.policies],
    });
  } finally {
    await closeAll([...closables, ...(host?.closables ?? [])]);
  }
}

const shipped = [releaseNotes, folderInventory, projectHandover];

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
