/** Refuses files that the command line names: with one code, whatever is wrong with them. */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const fileRef = moduleRef(0, "cli", "file");

/** Refuses a file, named with its option. @throws KernelErrorException T0_CLI_FILE_INVALID always. */
export const refuseFile = (what: string, reason: string): never =>
  raise(kernelError("T0_CLI_FILE_INVALID", `${what}: ${reason.trimEnd()}`, fileRef));
