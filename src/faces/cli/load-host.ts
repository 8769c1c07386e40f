/**
 * `--host`: the options of `createKernel` that a module exports as `host`.
 *
 * Owns: what counts as a host. Never: opens its ledger or calls anything of it.
 * 1.  A module without a host, or with options that `createKernel` refuses, is refused before anything is opened.
 */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isKernelError, messageOf } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HostOptions } from "../../index.ts";
import { importNamed, sortExports } from "./load-modules.ts";

export interface LoadedHost {
  readonly options: HostOptions;
  /** What the module exports that is open, such as the operators of an MCP server; closed when the command is over. */
  readonly closables: readonly AsyncDisposable[];
}

/** @throws KernelErrorException T0_HOST_INVALID, T0_VALIDATION_SCHEMA_MISMATCH. */
export async function loadHost(name: string | undefined): Promise<LoadedHost | null> {
  if (name === undefined) return null;
  const exported = await importHost(name);
  if (typeof exported.host !== "object" || exported.host === null) return refuse(`${name} exports no host`);
  const { defineHost } = await import("../../index.ts");
  const options = defineHost(exported.host as HostOptions);
  return { options, closables: sortExports(exported).closables.filter((one: object) => one !== options.ledger) };
}

/** What the module itself refuses, by its code; else that it cannot be loaded. */
async function importHost(name: string): Promise<{ readonly host?: unknown }> {
  try {
    return await importNamed(name);
  } catch (thrown) {
    // By its shape: the module may bring a copy of the package of its own.
    const error = thrown instanceof Error && "error" in thrown ? thrown.error : null;
    if (isKernelError(error)) return raise(error);
    return refuse(`${name} cannot be loaded: ${messageOf(thrown)}`);
  }
}

const refuse = (message: string): never => raise(kernelError("T0_HOST_INVALID", message, moduleRef(0, "cli", "host")));
