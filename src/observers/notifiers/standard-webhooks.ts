/**
 * Webhooks by the Standard Webhooks specification: the headers of one that is sent, and the check of one that arrives.
 *
 * 1.  The signature covers id, time of the attempt and body; with several secrets there is one by each, so that one can
 *     be replaced.
 * 2.  A webhook is genuine if one signature fits one secret, and its time is within the tolerance of the clock.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

const Secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, "is whsec_ and base64")
  .transform((text) => Buffer.from(text.slice("whsec_".length), "base64"))
  .refine(({ length }) => length >= 24 && length <= 64, "has 24 to 64 bytes");

/** One secret, `whsec_` and 24 to 64 bytes in base64, or several of them. */
export const WebhookSecrets = z
  .custom<string | readonly string[]>()
  .transform((given) => [given].flat())
  .pipe(z.array(Secret).min(1));
export type WebhookSecrets = z.output<typeof WebhookSecrets>;

export interface SentWebhook {
  readonly id: string;
  readonly body: string;
  /** The time of the attempt, epoch ms. */
  readonly now: number;
}

/** Returns the headers that sign a webhook. */
export function webhookHeaders(secrets: WebhookSecrets, { id, body, now }: SentWebhook): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": secrets.map((secret) => `v1,${sign(secret, [id, timestamp, body])}`).join(" "),
  };
}

const sign = (secret: Uint8Array, parts: readonly string[]): string =>
  createHmac("sha256", secret).update(parts.join(".")).digest("base64");

const webhookRef = moduleRef(0, "events", "verify_webhook");
const refuse = (message: string): never => raise(kernelError("T0_WEBHOOK_REFUSED", message, webhookRef));

export interface Verifying {
  readonly secrets: WebhookSecrets;
  /** The greatest difference between the webhook's time and the clock, in ms. */
  readonly toleranceMs: number;
  readonly now: number;
}

/** Returns the id of a genuine webhook. @throws KernelErrorException T0_WEBHOOK_REFUSED. */
export function verifyWebhook({ secrets, toleranceMs, now }: Verifying, headers: Headers, body: string): string {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  if (!/^[\x21-\x7e]{1,256}$/.test(id)) refuse("the header webhook-id is missing, or no id");
  if (!/^\d{1,12}$/.test(timestamp)) refuse("the header webhook-timestamp is missing, or no time in seconds");
  const given = (headers.get("webhook-signature") ?? "").split(" ").slice(0, maxSignatures);
  const wanted = secrets.map((secret) => `v1,${sign(secret, [id, timestamp, body])}`);
  // All pairs are compared, so that the time taken names no secret.
  const fits = wanted.flatMap((one) => given.map((other) => isSame(one, other))).some(Boolean);
  if (!fits) refuse("no signature of the webhook fits a secret");
  if (Math.abs(Number(timestamp) * 1000 - now) > toleranceMs)
    refuse("the time of the webhook is outside the tolerance");
  return id;
}

const maxSignatures = 16;

function isSame(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
