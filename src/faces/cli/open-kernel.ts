/**
 * Opens the kernel for one command, and stops it however the command ends.
 *
 * Owns: the parts of a command's kernel: the ledger, the shipped packages or those of `--host`, and the exports of
 * `--capabilities` and `--policies`.
 * 1.  Without `recover`, no unfinished work is taken up and nobody is notified: a command that reads runs nothing.
 * 2.  Only commands that start work make a ledger (`create`); the others refuse a place without one. A host's own
 *     ledger is opened as the host made it.
 * 3.  An interruption ends the work at once, except work that has its own order of ending; the kernel is stopped before
 *     the program ends.
 */

import { guardTelemetry } from "../../adapters/quiet-telemetry.ts";
import type { Caller } from "../../contract/auth-context.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import type { RuleSet } from "../../contract/policy.ts";
import type { HostOptions, Kernel, KernelLedger, PushStore, SessionStore } from "../../index.ts";
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
  /** Replaces the log of errors. */
  readonly logger?: Logger;
  readonly telemetry?: Telemetry;
  readonly notifiers?: readonly Notifier[];
  /** True if the work handles an interruption itself and ends in its own order. */
  readonly endsItself?: boolean;
  /** The packages of the command itself, in place of the shipped ones. */
  readonly packages?: readonly CapabilityDefinition[];
  /** Rules of the command itself, beside those of the options. */
  readonly rules?: readonly RuleSet[];
  /** The longest time that running steps may take after the command's work has ended, in ms. */
  readonly drainMs?: number;
}

/** The time for running steps after a command's work, unless it says another, in ms. */
export const usualDrainMs = 2000;

/** The ledger of a kernel, and its stores of browsers' sessions and of notified addresses if it has them. */
export type OpenLedger = KernelLedger & { readonly sessions?: SessionStore; readonly pushes?: PushStore };

/** The open kernel, its ledger, and the caller of the command. */
export interface CommandContext {
  readonly kernel: Kernel;
  readonly ledger: OpenLedger;
  readonly caller: Caller;
  /** The notifiers that announce gates while the command runs. */
  readonly notifiers: readonly Notifier[];
  /** The intent types whose workflows other processes drive. */
  readonly elsewhere: readonly string[];
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
  return withRules({ ...session.options, ...opening }, async (rules) => {
    // Only a command that takes up work notifies people; otherwise the processes that serve the ledger do.
    const notifiers = opening.recover === true ? [...(host.notifiers ?? []), ...(opening.notifiers ?? [])] : [];
    const kernel = await openKernel(session, opening, { ...host, ...rules, ledger, notifiers });
    try {
      const caller = callerOf(session.options);
      const working = work({ kernel, ledger, caller, notifiers, elsewhere: rules.elsewhere ?? [] });
      return await (opening.endsItself === true ? working : Promise.race([working, rejectOnAbort(signal)]));
    } finally {
      await kernel.stop({ drainMs: opening.drainMs ?? usualDrainMs });
    }
  });
}

/** Returns the ledger of the command. @throws UsageError if both the host and `--db` name one. */
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
  // The kernel is loaded here, because help, usage errors and the check of a file do not need it.
  const { createKernel } = await import("../../index.ts");
  return createKernel({
    logger,
    ...host,
    ...(options.keys === undefined ? {} : { approverKeys: readApproverKeys(options.keys) }),
    recover,
    ...(telemetry === undefined ? {} : { telemetry: tellBoth(telemetry, host.telemetry) }),
  });
}

/** Combines the command's own telemetry with the host's. */
function tellBoth(own: Telemetry, host: Telemetry | undefined): Telemetry {
  if (host === undefined) return own;
  const both = [own, host].map(guardTelemetry);
  return {
    mark: (stage, detail) => both.forEach(({ mark }) => void mark?.(stage, detail)),
    committed: (commit) => both.forEach(({ committed }) => void committed?.(commit)),
  };
}

/** The options by which a kernel judges and plans: a host without its ledger, its notifiers and its drivers. */
export type Rules = Omit<HostOptions, "ledger" | "notifiers" | "host"> & Omit<Loaded, "closables">;

/**
 * Runs `work` with the exports of `--host`, `--capabilities` and `--policies`, or with the shipped packages if there is
 * no host. Resources that the modules opened are closed afterwards.
 */
export async function withRules<T>(
  options: Pick<CommonOptions, "host" | "agents" | "capabilities" | "policies"> & Pick<Opening, "packages" | "rules">,
  work: (rules: Rules) => Promise<T>,
): Promise<T> {
  const host = await loadHost(options.host);
  const policies = await loadPolicies(options.policies);
  const { closables, ...loaded } = await loadModules(options.capabilities);
  const agents = await agentPackages(options);
  const {
    ledger: _1,
    notifiers: _2,
    host: _3,
    ...rules
  }: HostOptions = host?.options ?? { capabilities: options.packages === undefined ? shipped : [] };
  try {
    return await work({
      ...rules,
      elsewhere: [...(rules.elsewhere ?? []), ...agents.elsewhere],
      capabilities: [
        ...(options.packages ?? []),
        ...(rules.capabilities ?? []),
        ...agents.capabilities,
        ...loaded.capabilities,
      ],
      operators: [...(rules.operators ?? []), ...loaded.operators],
      policies: [...policies, ...(options.rules ?? []), ...(rules.policies ?? []), ...loaded.policies],
    });
  } finally {
    await closeAll([...closables, ...(host?.closables ?? [])]);
  }
}

/** Returns the packages of agents' and guards' calls, for processes that decide their gates. */
async function agentPackages({ agents, packages }: Pick<CommonOptions, "agents"> & Pick<Opening, "packages">) {
  if (agents !== true || packages !== undefined) return { capabilities: [], elsewhere: [] };
  const { createAgents } = await import("../agents/create-agents.ts");
  const { decidePackages, guardDriven } = await import("../guard/decide-package.ts");
  return { capabilities: [...createAgents().capabilities, ...decidePackages()], elsewhere: guardDriven };
}

const shipped = [releaseNotes, folderInventory, projectHandover];

/**
 * Returns the kernel's logger: silent, unless COUNTERSIGN_LOG is set. Each command prints its own messages, so only the
 * kernel's warnings and errors are of use to a person.
 */
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
