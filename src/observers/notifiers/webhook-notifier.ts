/**
 * Notices as signed webhooks by the Standard Webhooks specification: id, timestamp and signature in headers, JSON as
 * the body.
 *
 * 1.  The id is the notice's: a receiver ignores a repeated one.
 * 2.  The signature covers id, time of the attempt and body; with several secrets there is one by each, so that one can
 *     be replaced.
 * 3.  A gate is sent in its listed form: bounded and marked by `truncated`, also if its texts are withheld.
 * 4.  `gate` is the gate at the event; `gate_now` is the gate at delivery, with its decision.
 */
import { createHmac } from "node:crypto";
import { z } from "zod";
import type { Gate } from "../../contract/gate.ts";
import type { GateNotice, WaitNotice } from "../../contract/gate-notice.ts";
import { objectWith } from "../../contract/host-object.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { listGate } from "../../contract/listed-gate.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type Notifier, wallClock } from "../../index.ts";
import { ConsoleUrl, linkTo, linkToRun } from "../../protocol/console-link.ts";
import { withholdWait } from "./describe-wait.ts";
import { isHttpsWhereNeeded, needsHttps, notifierOptions, PostUrl } from "./notifier-options.ts";
import { postText } from "./post-text.ts";
import { withholdTexts } from "./withhold-texts.ts";

const Secret = z
  .string()
  .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, "is whsec_ and base64")
  .transform((text) => Buffer.from(text.slice("whsec_".length), "base64"))
  .refine(({ length }) => length >= 24 && length <= 64, "has 24 to 64 bytes");

/** The names that a host may not set, because they describe the notice. */
const ownHeaders = /^(webhook-.*|content-.*|host|transfer-encoding|connection)$/i;

const Options = z
  .strictObject({
    ...notifierOptions("webhook").shape,
    /** The address to which each notice is posted. */
    url: PostUrl,
    /** `whsec_` and 24 to 64 bytes in base64; of several the receiver needs one. */
    secret: z
      .custom<string | readonly string[]>()
      .transform((given) => [given].flat())
      .pipe(z.array(Secret).min(1)),
    /** Further headers, such as a receiver's own token. */
    headers: z
      .record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[\x20-\x7e]*$/))
      .refine((headers) => !Object.keys(headers).some((name) => ownHeaders.test(name)), "names a header of its own")
      .default({}),
    /** The console's address; with it the body has a `link`. */
    consoleUrl: ConsoleUrl.optional(),
    /** True: private addresses and plain http are meant to be reached. */
    allowPrivate: z.boolean().default(false),
    /** The clock of the timestamp; the machine's by default. */
    clock: objectWith<Clock>("now").optional(),
  })
  .refine(({ url, allowPrivate }) => isHttpsWhereNeeded(url, allowPrivate), {
    path: ["url"],
    error: needsHttps,
  });

/** The address, and the secrets of the signature. */
export interface WebhookOptions extends Readonly<z.input<typeof Options>> {}

/**
 * Makes a notifier that posts each notice as JSON, signed by the Standard Webhooks specification.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function webhookNotifier(given: WebhookOptions): Notifier {
  const source = moduleRef(6, "notifiers", "webhookNotifier");
  const options = readStrictly(Options, given, { what: "webhookNotifier", source });
  const { name, kinds, secret: secrets, headers, clock = wallClock, ...address } = options;
  const post = async (id: string, content: object, signal: AbortSignal): Promise<undefined> => {
    const body = JSON.stringify(content);
    const timestamp = String(Math.floor(clock.now() / 1000));
    const signed = `${id}.${timestamp}.${body}`;
    const signature = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(signed).digest("base64")}`);
    const own = {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": signature.join(" "),
    };
    await postText(address, { headers: { ...headers, ...own }, body, signal });
  };
  return {
    name,
    ...(kinds !== undefined && { kinds }),
    deliver: (notice, { signal }) => post(notice.notice_id, tell(notice, options), signal),
    remind: (notice, { signal }) => post(notice.notice_id, tellWait(notice, options), signal),
  };
}

function tellWait(notice: WaitNotice, { consoleUrl, linkOnly }: z.output<typeof Options>) {
  const { kind, at, ...rest } = linkOnly ? withholdWait(notice) : notice;
  const link = consoleUrl === undefined ? null : linkToRun(consoleUrl, notice);
  return { type: "wait.reminded", timestamp: at, data: { ...rest, kind, link } };
}

function tell(notice: GateNotice, { consoleUrl, linkOnly }: z.output<typeof Options>) {
  const { kind, at, gate, gate_now, ...rest } = linkOnly ? withholdTexts(notice) : notice;
  const link = consoleUrl === undefined ? null : linkTo(consoleUrl, notice);
  const listed = listGate(gate);
  const shown = { ...listed, truncated: listed.truncated || linkOnly };
  return { type: `gate.${kind}`, timestamp: at, data: { ...rest, kind, link, gate: shown, gate_now: brief(gate_now) } };
}

function brief({ status, payload_digest, basis_digest, decision }: Gate) {
  const decided = decision && { decision: decision.decision, principal: decision.principal, at: decision.at };
  return { status, payload_digest, ...(basis_digest !== undefined && { basis_digest }), decision: decided };
}
