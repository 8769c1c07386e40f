/**
 * Limits expensive work to one at a time for each caller.
 *
 * Owns: the callers with work under way. Never: knows the work.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { HttpCaller } from "./http-options.ts";
import { nameOfCaller } from "./name-caller.ts";

export interface OneAtATime {
  /** Returns the function that admits the caller again. @throws KernelErrorException T0_HTTP_CALLER_BUSY. */
  readonly take: (caller: HttpCaller) => () => void;
}

export function createOneAtATime(): OneAtATime {
  const busy = new Set<string>();
  return {
    take(caller) {
      const name = nameOfCaller(caller);
      if (busy.has(name)) refuse();
      busy.add(name);
      return () => void busy.delete(name);
    },
  };
}

const refuse = (): never =>
  raise(
    kernelError(
      "T0_HTTP_CALLER_BUSY",
      "a replay, a what-if or a look of the doctor for this caller is under way",
      moduleRef(0, "http", "one_at_a_time"),
    ),
  );
