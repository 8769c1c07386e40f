/**
 * `--host`: the options of `createKernel` that a module exports as `host`.
 *
 * Owns: the definition of a host. Never: opens its ledger or calls any of its functions.
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
  /**
   * Open resources that the module exports, such as the operators of an MCP server; they are closed when the command
   * ends.
   */
  readonly closables: readonly AsyncDisposable[];
}

/**
 * Loads the host that `--host` names; null if none is named. @throws KernelErrorException T0_HOST_INVALID,
 * T0_VALIDATION_SCHEMA_MISMATCH.
 */
export async function loadHost(name: string | undefined): Promise<LoadedHost | null> {
  if (name === undefined) return null;
  const exported = await importHost(name);
  if (typeof exported.host !== "object" || exported.host === null) return refuse(`${name} exports no host`);
  const { defineHost } = await import("../../index.ts");
  const options = defineHost(exported.host as HostOptions);
  return { options, closables: sortExports(exported).closables.filter((one: object) => one !== options.ledger) };
}

/**
 * Imports the module. An error of the kernel that the module throws keeps its code; any other error means that the
 * module cannot be loaded.
 */
async function importHost(name: string): Promise<{ readonly host?: unknown }> {
  try {
    return await importNamed(name);
  } catch (thrown) {
    // The error is recognized by its shape, because the module may bring its own copy of the package.
    const error = thrown instanceof Error && "error" in thrown ? thrown.error : null;
    if (isKernelError(error)) return raise(error);
    return refuse(`${name} cannot be loaded: ${messageOf(thrown)}`);
  }
}

const refuse = (message: string): never => raise(kernelError("T0_HOST_INVALID", message, moduleRef(0, "cli", "host")));
