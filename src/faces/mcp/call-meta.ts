/**
 * A program's options of its call in `_meta`: its key, and how long it waits. Our own client sends both.
 *
 * 1.  A member with our prefix that is not known is refused, with the one that may have been meant.
 * 2.  A key that submit would not accept (too long, not ASCII) is replaced by its digest.
 */
import { z } from "zod";
import { digest } from "../../contract/digest.ts";
import { IdempotencyKey } from "../../contract/intent.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { idempotencyMeta, untilMeta } from "../../contract/mcp.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const metaRef = moduleRef(0, "mcp", "call_meta");

/** The members of `_meta` that have our prefix; those of others are theirs, as MCP has it. */
const OwnMeta = z.strictObject({
  [idempotencyMeta]: z.string().min(1, "must be a text that is not empty").optional(),
  [untilMeta]: z.literal("end").optional(),
});

export interface CallMeta {
  /** The key in the form of `submit`; without a key there is no member. */
  readonly key: { readonly idempotency_key?: string };
  /** Whether the call waits for the decision at a gate instead of returning the question. */
  readonly untilEnd: boolean;
}

/** Reads the options. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for an invalid key. */
export function readCallMeta(meta: Readonly<Record<string, unknown>> | undefined): CallMeta {
  const own = Object.entries(meta ?? {}).filter(([key]) => key.startsWith("countersign/"));
  const { [idempotencyMeta]: key, [untilMeta]: until } = readRequest(OwnMeta, Object.fromEntries(own), {
    what: "_meta",
    source: metaRef,
  });
  return { key: readKey(key), untilEnd: until !== undefined };
}

function readKey(given: string | undefined): CallMeta["key"] {
  if (given === undefined) return {};
  return { idempotency_key: IdempotencyKey.safeParse(given).data ?? digest(given) };
}
