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
import { z } from "zod";
import type { Gate } from "../../contract/gate.ts";
import type { GateNotice, WaitNotice } from "../../contract/gate-notice.ts";
import { objectWith } from "../../contract/host-object.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { listGate } from "../../contract/listed-gate.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { type Clock, type Notifier, wallClock } from "../../index.ts";
import { cloudEventType, writeBinaryEvent } from "../../protocol/cloud-event.ts";
import { ConsoleUrl, linkTo, linkToRun } from "../../protocol/console-link.ts";
import { withholdWait } from "./describe-wait.ts";
import { isHttpsWhereNeeded, needsHttps, notifierOptions, PostUrl } from "./notifier-options.ts";
import { postText } from "./post-text.ts";
import { WebhookSecrets, webhookHeaders } from "./standard-webhooks.ts";
import { withholdTexts } from "./withhold-texts.ts";

/** The names that a host may not set, because they describe the notice. */
const ownHeaders = /^(webhook-.*|ce-.*|content-.*|host|transfer-encoding|connection)$/i;

const Options = z
  .strictObject({
    ...notifierOptions("webhook").shape,
    /** The address to which each notice is posted. */
    url: PostUrl,
    /** `whsec_` and 24 to 64 bytes in base64; of several the receiver needs one. */
    secret: WebhookSecrets,
    /** Further headers, such as a receiver's own token. */
    headers: z
      .record(z.string().regex(/^[\w-]+$/), z.string().regex(/^[\x20-\x7e]*$/))
      .refine((headers) => !Object.keys(headers).some((name) => ownHeaders.test(name)), "names a header of its own")
      .default({}),
    /**
     * Sends notices as CloudEvents 1.0: as one JSON object (`structured`), or with the attributes in headers and the
     * notice's data as the body (`binary`). They are signed all the same.
     */
    cloudEvents: z
      .strictObject({
        /** The `source` of the events: a URI that names this kernel. */
        source: z.string().min(1).max(1024),
        /** The mode; `structured` by default. */
        mode: z.enum(["structured", "binary"]).default("structured"),
      })
      .optional(),
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
  const post = async (id: string, told: Told, signal: AbortSignal): Promise<undefined> => {
    const { headers: ofBody, body } = write(id, told, options);
    const signed = webhookHeaders(secrets, { id, body, now: clock.now() });
    await postText(address, { headers: { ...headers, ...ofBody, ...signed }, body, signal });
  };
  return {
    name,
    ...(kinds !== undefined && { kinds }),
    deliver: (notice, { signal }) => post(notice.notice_id, tell(notice, options), signal),
    remind: (notice, { signal }) => post(notice.notice_id, tellWait(notice, options), signal),
  };
}

/** The content of a webhook: its type, its instant, its data, and the subject that it is about. */
interface Told {
  readonly type: string;
  readonly timestamp: string;
  readonly data: JsonObject;
  readonly subject: string;
}

/** Writes the body of a webhook with the headers that describe it, as the standard has it or as a CloudEvent. */
function write(id: string, { subject, ...told }: Told, { cloudEvents }: z.output<typeof Options>) {
  const json = (body: object, type: string) => ({ headers: { "content-type": type }, body: JSON.stringify(body) });
  if (cloudEvents === undefined) return json(told, "application/json");
  const { type, timestamp: time, data } = told;
  const { source, mode } = cloudEvents;
  const attributes = {
    specversion: "1.0",
    id,
    source,
    type,
    subject,
    time,
    datacontenttype: "application/json",
  } as const;
  const event = { ...attributes, data: data as Json };
  return mode === "binary" ? writeBinaryEvent(event) : json(event, cloudEventType);
}

function tellWait(notice: WaitNotice, { consoleUrl, linkOnly }: z.output<typeof Options>): Told {
  const { kind, at, ...rest } = linkOnly ? withholdWait(notice) : notice;
  const link = consoleUrl === undefined ? null : linkToRun(consoleUrl, notice);
  const subject = `${notice.workflow_id}/${notice.step_id}`;
  return { type: "wait.reminded", timestamp: at, data: { ...rest, kind, link }, subject };
}

function tell(notice: GateNotice, { consoleUrl, linkOnly }: z.output<typeof Options>): Told {
  const { kind, at, gate, gate_now, ...rest } = linkOnly ? withholdTexts(notice) : notice;
  const link = consoleUrl === undefined ? null : linkTo(consoleUrl, notice);
  const listed = listGate(gate);
  const shown = { ...listed, truncated: listed.truncated || linkOnly };
  const data = { ...rest, kind, link, gate: shown, gate_now: brief(gate_now) };
  return { type: `gate.${kind}`, timestamp: at, data, subject: `${notice.workflow_id}/${notice.gate.gate_id}` };
}

function brief({ status, payload_digest, basis_digest, decision }: Gate) {
  const decided = decision && { decision: decision.decision, principal: decision.principal, at: decision.at };
  return { status, payload_digest, ...(basis_digest !== undefined && { basis_digest }), decision: decided };
}
