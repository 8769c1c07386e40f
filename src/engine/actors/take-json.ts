/** The copying of a caller's values as plain JSON, before anything looks at them. */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type Json, toSafeJson } from "../../contract/json.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import { messageOf } from "./within.ts";

interface Taking {
  /** The name of the value, for the message. */
  readonly what: string;
  readonly source: ModuleRef;
  readonly maxDepth?: number;
}

/**
 * Returns a host's value as plain JSON. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for a value that no
 * store could keep unchanged.
 */
export function takeJson(value: unknown, { what, source, maxDepth = 64 }: Taking): Json {
  try {
    return toSafeJson(value, maxDepth);
  } catch (thrown) {
    // A getter, a proxy or a toJSON of the caller's may throw anything.
    return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", `${what}: ${messageOf(thrown)}`, source));
  }
}
