/**
 * What a program says of its call in `_meta`: under which key, and how long it waits. Our own client says both.
 *
 * K1  A key that submit would not take (too long, not ASCII) stands for itself by its digest: it is no less a key.
 */
import { digest } from "../contract/digest.ts";
import { kernelError } from "../contract/error-codes.ts";
import { IdempotencyKey } from "../contract/intent.ts";
import { raise } from "../contract/kernel-error.ts";
import { idempotencyMeta, untilMeta } from "../contract/mcp.ts";
import { moduleRef } from "../contract/module-ref.ts";

export interface CallMeta {
  /** As `submit` takes it; what it is spread into has no key where none came. */
  readonly key: { readonly idempotency_key?: string };
  /** A gate is no answer: the call waits for whoever decides. */
  readonly untilEnd: boolean;
}

/** @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH: what stands for a key is none. */
export function readCallMeta(meta: Readonly<Record<string, unknown>> | undefined): CallMeta {
  return { key: readKey(meta?.[idempotencyMeta]), untilEnd: meta?.[untilMeta] === "end" };
}

function readKey(given: unknown): CallMeta["key"] {
  if (given === undefined) return {};
  if (typeof given === "string" && given !== "")
    return { idempotency_key: IdempotencyKey.safeParse(given).data ?? digest(given) };
  const message = `_meta["${idempotencyMeta}"] is a text that is not empty`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, moduleRef(0, "mcp", "call_meta")));
}
