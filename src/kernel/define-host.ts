/**
 * A host's options as a module exports them for the command line (`--host`).
 *
 * Owns: the division of `createKernel`'s options between the host and the commands.
 * 1.  Options that `createKernel` refuses are refused here, when the module is loaded and before anything is opened.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { type KernelOptions, resolveOptions } from "./options.ts";

/** The options of `createKernel` without `recover`: each command decides whether unfinished work is taken up. */
export type HostOptions = Omit<KernelOptions, "recover">;

const hostRef = moduleRef(0, "kernel", "define_host");

/**
 * Checks the options of a host and freezes them: `export const host = defineHost({ … })` for `countersign … --host
 * app.ts`. A program passes the same object to `createKernel`.
 * @throws KernelErrorException T0_HOST_INVALID for `recover`; T0_VALIDATION_SCHEMA_MISMATCH for options that
 * `createKernel` refuses.
 */
export function defineHost(options: HostOptions): HostOptions {
  resolveOptions(options);
  if ("recover" in options)
    raise(kernelError("T0_HOST_INVALID", "a host has no option recover: each command says what it takes up", hostRef));
  return Object.freeze({ ...options });
}
