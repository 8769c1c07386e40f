/**
 * The Idempotency-Key header (draft-ietf-httpapi-idempotency-key-header): a text of structured fields, `"8e03978e"`, or
 * the bare word that most clients send. Both name the same key.
 */
import { kernelError } from "../../contract/error-codes.ts";
import { IdempotencyKey } from "../../contract/intent.ts";
import type { JsonObject } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const quoted = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const bare = /^[^\s",;\\]+$/;

/** Returns the key; undefined without the header. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function readKey(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = bare.test(header) ? header : quoted.exec(header)?.[1]?.replace(/\\(.)/g, "$1");
  return (
    IdempotencyKey.safeParse(key).data ?? refuse('an Idempotency-Key is a text such as "8e03978e", or a bare word')
  );
}

/** Returns the submit request with the header's key, which the ledger keeps; a key in the body must be the same. */
export function withKey(body: JsonObject, key: string | undefined): JsonObject {
  if (key === undefined) return body;
  const { idempotency_key: named = key } = body;
  return named === key ? { ...body, idempotency_key: key } : refuse("the body names another key than Idempotency-Key");
}

const refuse = (reason: string): never =>
  raise(
    kernelError("T0_VALIDATION_SCHEMA_MISMATCH", reason, moduleRef(0, "http", "read_key"), {
      detail: { header: "Idempotency-Key" },
    }),
  );
