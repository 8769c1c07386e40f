/**
 * Reads that are under way when the kernel stops: errors of the closing ledger are reported as the stop of the kernel.
 *
 * Never: keeps a reader from leaving; changes other errors of a read.
 */
import { kernelError } from "../contract/error-codes.ts";
import { KernelErrorException, raise } from "../contract/kernel-error.ts";
import { isPromise } from "../contract/maybe-promise.ts";
import { moduleRef } from "../contract/module-ref.ts";

type Reading = (...given: readonly unknown[]) => unknown;

/** Returns the same reads, with these errors replaced. */
export function tellStopped<T extends object>(reads: T, isStopping: () => boolean): T {
  const fail = (thrown: unknown): never => {
    const isClosed = thrown instanceof KernelErrorException && thrown.error.code === "T0_LEDGER_UNAVAILABLE";
    if (isClosed && isStopping()) refuseStopped();
    throw thrown;
  };
  const reported = Object.entries(reads).map(([name, read]) => {
    const tell: Reading = (...given) => {
      const answer: unknown = (read as Reading)(...given);
      return isPromise(answer) ? answer.then(undefined, fail) : tellItems(answer as Items, fail);
    };
    return [name, tell];
  });
  return Object.fromEntries(reported) as T;
}

type Items = AsyncGenerator<unknown, void, void>;

function tellItems(items: Items, fail: (thrown: unknown) => never): Items {
  const reported: Items = {
    next: () => items.next().then(undefined, fail),
    return: (value) => items.return(value),
    throw: (thrown) => items.throw(thrown),
    [Symbol.asyncIterator]: () => reported,
    [Symbol.asyncDispose]: () => items[Symbol.asyncDispose](),
  };
  return reported;
}

/** Raises the error of a stopped kernel. @throws KernelErrorException T0_KERNEL_STOPPED. */
export const refuseStopped = (): never =>
  raise(kernelError("T0_KERNEL_STOPPED", "the kernel has stopped", moduleRef(0, "kernel", "createKernel")));
