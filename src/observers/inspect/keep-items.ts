/**
 * Keeps a source that can be read once for later viewers: each receives it from the beginning.
 *
 * 1.  It is read as far as the fastest viewer asks, and only once.
 * 2.  The number of kept messages is limited; a source that gives more ends with an error.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { singleFlight } from "../../contract/single-flight.ts";

const keepRef = moduleRef(6, "inspect", "keep_items");

export function keepItems<T>(source: AsyncIterator<T, unknown>, most: number): AsyncIterable<T> {
  const reported: T[] = [];
  let isOver = false;
  const pull = singleFlight(async () => {
    if (reported.length >= most) refuseMore(most);
    const { done, value } = await source.next();
    if (done === true) isOver = true;
    else reported.push(value);
  });
  return {
    async *[Symbol.asyncIterator]() {
      for (let at = 0; ; at += 1) {
        while (at >= reported.length && !isOver) await pull();
        if (at >= reported.length) return;
        yield reported[at] as T;
      }
    },
  };
}

function refuseMore(most: number): never {
  const message =
    `more than ${most} messages came from a source that can be read once; give an Inspector, which ` +
    `need not be kept`;
  return raise(kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", message, keepRef, { detail: { most } }));
}
