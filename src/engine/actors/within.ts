/**
 * A host's code, called with a limit: its time is bounded, its throws become KernelErrors, its late answer is dropped.
 * Ports and policies may be async; a synchronous endless loop in a host's code is outside the guarantee.
 */
import { boundError, type KernelError, KernelErrorException, messageOf } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { isPromise } from "../../contract/maybe-promise.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import type { Clock } from "../../ports/clock.ts";
import { armLimit } from "./kernel-clock.ts";

export { messageOf };

export interface Within {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly source: ModuleRef;
  readonly onTimeout: ErrorCode;
  readonly onThrow: ErrorCode;
  /** The name of the function that is called, for the message. */
  readonly what: string;
}

/**
 * Calls host code within a time. @throws KernelErrorException with `onThrow` or `onTimeout`; a KernelErrorException
 * passes unchanged.
 */
export function callWithin<T>(call: () => T | Promise<T>, within: Within): T | Promise<T> {
  let answer: T | Promise<T>;
  try {
    answer = call();
    if (!isPromise(answer)) return answer;
  } catch (thrown) {
    throw asException(thrown, within);
  }
  return race(answer, within);
}

function race<T>(answer: Promise<T>, within: Within): Promise<T> {
  return new Promise((resolve, reject) => {
    const { clock, timeoutMs, source, onTimeout, what } = within;
    const cancel = armLimit(clock, clock.now() + timeoutMs, () =>
      reject(
        new KernelErrorException(
          kernelError(onTimeout, `${what} gave no answer within ${timeoutMs} ms`, source, {
            detail: { timeout_ms: timeoutMs },
          }),
        ),
      ),
    );
    // A thenable of a host's need not be a whole promise.
    Promise.resolve(answer)
      .then(resolve, (thrown: unknown) => reject(asException(thrown, within)))
      .finally(cancel);
  });
}

function asException(thrown: unknown, { source, onThrow, what }: Within): KernelErrorException {
  return (
    asOurs(thrown) ??
    new KernelErrorException(
      kernelError(onThrow, `${what} failed: ${messageOf(thrown)}`, source, { detail: { thrown: messageOf(thrown) } }),
    )
  );
}

/** Returns the thrown value if it is ours. Reading a host's thrown value may throw again. */
function asOurs(thrown: unknown): KernelErrorException | null {
  try {
    return thrown instanceof KernelErrorException ? thrown : null;
  } catch {
    return null;
  }
}

/** Returns the KernelError of anything thrown inside a tier; `code` is the code of a plain error there. */
export function errorOf(thrown: unknown, code: ErrorCode, source: ModuleRef): KernelError {
  const ours = asOurs(thrown);
  if (ours !== null) return boundError(ours.error);
  return kernelError(code, messageOf(thrown), source, { detail: { thrown: messageOf(thrown) } });
}
