/**
 * createEventReceiver: events from outside over HTTP, as CloudEvents or as signed webhooks, for the steps that wait for
 * them and the work that they begin.
 *
 * 1.  A caller of the API sends CloudEvents: structured, binary, or a batch. A source without a credential signs by the
 *     Standard Webhooks specification, with the secret that was agreed for its address.
 * 2.  An event arrives once: its source and id, or the id of its webhook, are the id under which the kernel keeps it.
 * 3.  A batch is read whole before anything of it is received. Sent again after a refusal, nothing arrives twice.
 */
import { commandScopes, requireCredentialScope, ScopedCaller } from "../../contract/auth-context.ts";
import { digest } from "../../contract/digest.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type Json } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readStrictly } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Caller, EmitRequest, EmitResponse, Kernel } from "../../index.ts";
import { verifyWebhook } from "../../observers/notifiers/standard-webhooks.ts";
import { type CloudEvent, readBinaryEvent, readCloudEvent } from "../../protocol/cloud-event.ts";
import { decodeBody, parseJson, readBytes } from "../../protocol/read-body-text.ts";
import { answerProblem, errorOf } from "../http/answer.ts";
import {
  type EventReceiverOptions,
  type EventSource,
  type ReceiverOptions,
  readEventOptions,
} from "./event-options.ts";

/** Events over HTTP, to be mounted in an app. */
export interface EventReceiver {
  /** Answers a known caller who sends CloudEvents; for `mounts` of an app. */
  readonly handle: (request: Request, caller: ScopedCaller, trace: string) => Promise<Response>;
  /** Answers sources that sign, at the path of each; for `callbacks` of an app. */
  readonly callbacks: Readonly<Record<string, (request: Request) => Promise<Response>>>;
}

const receiverRef = moduleRef(0, "events", "receiver");

/**
 * Creates the receiver of events of a kernel.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH for bad options.
 */
export function createEventReceiver(kernel: Kernel, given: EventReceiverOptions = {}): EventReceiver {
  const options = readEventOptions(kernel, given);
  const orProblem = async (trace: string, work: () => Promise<object>): Promise<Response> => {
    try {
      return new Response(JSON.stringify(await work()), { headers: { "content-type": "application/json" } });
    } catch (thrown) {
      return answerProblem(errorOf(thrown, options.logger), trace);
    }
  };
  return {
    handle: (request, given, trace) =>
      orProblem(trace, async () => {
        const caller = readStrictly(ScopedCaller, given, { what: "createEventReceiver: caller", source: receiverRef });
        requireCredentialScope(caller, commandScopes.emit, receiverRef);
        const { tenant_id, principal } = caller;
        const body = await readBody(request, options);
        const events = readEvents(request, body, options) ?? refuseType();
        return receive(
          kernel,
          events.map((event) => ({ tenant_id, principal, ...fromCloudEvent(event) })),
          isBatch(request),
        );
      }),
    callbacks: Object.fromEntries(
      options.sources.map((source) => [
        source.path,
        (request: Request) => orProblem("", () => receiveSigned(kernel, request, { source, options })),
      ]),
    ),
  };
}

const typeOf = (request: Request): string => (request.headers.get("content-type") ?? "").toLowerCase();
const isBatch = (request: Request): boolean => /^application\/cloudevents-batch\+json\s*(?:;|$)/.test(typeOf(request));
const isStructured = (request: Request): boolean => /^application\/cloudevents\+json\s*(?:;|$)/.test(typeOf(request));

const refuseType = (): never =>
  raise(kernelError("T0_HTTP_MEDIA_TYPE", "the body is no CloudEvent, and no batch of them", receiverRef));

/** Returns the text of the body. @throws KernelErrorException with status 400, 405, 413 or 415. */
async function readBody(request: Request, { limits }: ReceiverOptions): Promise<string> {
  if (request.method === "POST") return decodeBody(await readBytes(request, limits.maxBodyBytes));
  const message = `${request.method} is not for this address; it takes POST`;
  return raise(kernelError("T0_HTTP_METHOD_NOT_ALLOWED", message, receiverRef));
}

/** Returns the CloudEvents of a request; null if it has none. */
function readEvents(request: Request, body: string, { limits }: ReceiverOptions): readonly CloudEvent[] | null {
  const parse = (): Json => (body === "" ? null : (parseJson(body, limits.maxDepth) as Json));
  if (isStructured(request)) return [readCloudEvent(parse())];
  if (isBatch(request)) {
    const events = parse();
    if (!Array.isArray(events) || events.length > limits.maxBatch)
      raise(kernelError("T0_EVENT_UNREADABLE", `a batch is a list of at most ${limits.maxBatch} events`, receiverRef));
    return (events as readonly Json[]).map(readCloudEvent);
  }
  return request.headers.has("ce-specversion") ? [readBinaryEvent(request.headers, parse())] : null;
}

type Event = Omit<EmitRequest, keyof Caller>;

/** Returns an event as the kernel receives it. Without a subject its source is its key. */
const fromCloudEvent = ({ id, source, type, subject, data }: CloudEvent): Event => ({
  name: type,
  key: subject ?? source,
  payload: data,
  event_id: `ce-${digest([source, id])}`,
});

async function receive(kernel: Kernel, events: readonly EmitRequest[], batch: boolean): Promise<object> {
  const results: EmitResponse[] = [];
  for (const event of events) results.push(await kernel.emit(event));
  return batch ? { results } : (results[0] as EmitResponse);
}

interface Signed {
  readonly source: EventSource;
  readonly options: ReceiverOptions;
}

async function receiveSigned(kernel: Kernel, request: Request, { source, options }: Signed): Promise<object> {
  const { path, secret: secrets, toleranceMs, tenant_id, principal } = source;
  const body = await readBody(request, options);
  const verified = { secrets, toleranceMs, now: options.clock.now() };
  const webhookId = verifyWebhook(verified, request.headers, body);
  const cloudEvents = readEvents(request, body, options);
  const plain = cloudEvents === null ? parseJson(body, options.limits.maxDepth) : null;
  const events = cloudEvents?.map(fromCloudEvent) ?? [fromWebhook(plain, `wh-${digest([path, webhookId])}`, source)];
  const keyed = events.map((event) => ({ tenant_id, principal, ...event, ...keyIn(event.payload, source) }));
  return receive(kernel, keyed, isBatch(request));
}

/** Returns the event of a webhook that is no CloudEvent: its `type`, and its `data`, or all of it. */
function fromWebhook(body: unknown, event_id: string, { path }: EventSource): Event {
  if (!isPlainObject(body) || typeof body["type"] !== "string")
    return raise(kernelError("T0_EVENT_UNREADABLE", "a webhook is a JSON object with a type", receiverRef));
  const payload = (body["data"] === undefined ? body : body["data"]) as Json;
  return { name: body["type"], key: path, payload, event_id };
}

/** Returns the key that the payload has at the source's pointer. @throws KernelErrorException T0_EVENT_UNREADABLE. */
function keyIn(payload: unknown, { key }: EventSource): { readonly key?: string } {
  if (key === undefined) return {};
  let at = payload;
  for (const name of key.split("/").slice(1).map(unescapePointer))
    at = isPlainObject(at) || Array.isArray(at) ? (at as Readonly<Record<string, unknown>>)[name] : undefined;
  if (typeof at === "string" || typeof at === "number") return { key: String(at) };
  return raise(kernelError("T0_EVENT_UNREADABLE", `the payload has no text or number at ${key}`, receiverRef));
}

const unescapePointer = (name: string): string => name.replaceAll("~1", "/").replaceAll("~0", "~");
