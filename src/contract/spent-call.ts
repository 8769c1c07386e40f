/** A call that is spent: it was made, it answered, and its answer is of no use. */
import type { KernelError } from "./kernel-error.ts";

/**
 * Returns whether a failed call was made and answered with an unusable result: a further call would achieve nothing.
 */
export const isSpent = (error: KernelError | null): boolean =>
  error !== null && (error.code === "T4_OUTPUT_INVALID" || error.detail["answered"] === true);
