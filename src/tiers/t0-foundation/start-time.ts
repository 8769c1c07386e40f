/** The start of the work of a request: at once, at an instant, or after a delay. */
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { instantText } from "../../contract/instant.ts";
import type { ParsedSubmitRequest } from "../../contract/intent.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const startRef = moduleRef(0, "gateway", "submit");

/** Refuses a request that names two starts. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function requireOneStart({ start_at, delay_ms }: ParsedSubmitRequest): void {
  if (start_at === undefined || delay_ms === undefined) return;
  const message = "request: start_at: it stands beside delay_ms; name one of them";
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, startRef));
}

/** Returns when the work is to begin; nothing if that is at once. */
export function startOf({ start_at, delay_ms = 0 }: ParsedSubmitRequest, now: number): { readonly start_at?: string } {
  const at = start_at === undefined ? now + delay_ms : Date.parse(start_at);
  return at > now ? { start_at: instantText(at) } : {};
}
