/**
 * Files that the command line names: rules, servers, tokens, keys, JSON, exports, modules.
 *
 * 1.  One law holds for all: a file that is not there, cannot be read, or is not what it should be, is wrong usage with
 *     one code. The message names the file and what is wrong with it, and nothing is started.
 */
import { readFileSync } from "node:fs";
import { kernelError } from "../../contract/error-codes.ts";
import { KernelErrorException, messageOf, raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { decodeUtf8 } from "../../protocol/decode-utf8.ts";

const fileRef = moduleRef(0, "cli", "file");

/** Refuses a file by the name that the message shows. @throws KernelErrorException T0_CLI_FILE_INVALID always. */
export const refuseFile = (what: string, reason: string): never =>
  raise(kernelError("T0_CLI_FILE_INVALID", `${what}: ${reason.trimEnd()}`, fileRef));

/** Returns whether a file was refused. */
export const isFileRefusal = (thrown: unknown): thrown is KernelErrorException =>
  thrown instanceof KernelErrorException && thrown.error.code === "T0_CLI_FILE_INVALID";

/** Reads a file of UTF-8. @throws KernelErrorException T0_CLI_FILE_INVALID. */
export function readTextFile(path: string, what: string): string {
  try {
    return decodeUtf8(readFileSync(path));
  } catch (error) {
    return refuseFile(what, `The file cannot be read: ${messageOf(error)}.`);
  }
}
