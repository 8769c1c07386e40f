/**
 * Checks the runtime that a kernel needs: Node 24, or an equivalent; Bun and Deno state the Node version that they
 * implement.
 */
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { moduleRef } from "../contract/module-ref.ts";

const neededMajor = 24;
const runtimeRef = moduleRef(0, "kernel", "require_runtime");

/** Checks the version. @throws KernelErrorException T0_RUNTIME_UNSUPPORTED for the version of an older Node. */
export function requireRuntime(version: string): void {
  if (Number.parseInt(version, 10) >= neededMajor) return;
  const message = `a kernel runs on Node ${neededMajor} or newer; this is ${version}`;
  raise(kernelError("T0_RUNTIME_UNSUPPORTED", message, runtimeRef, { detail: { version } }));
}
