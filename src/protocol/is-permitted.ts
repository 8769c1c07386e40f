/** Whether the kernel lets something be done: its refusal is a no, and any other error is passed on. */
import { KernelErrorException } from "../contract/kernel-error.ts";

/** Returns false where the kernel refuses. */
export async function isPermitted(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return false;
    throw thrown;
  }
}
