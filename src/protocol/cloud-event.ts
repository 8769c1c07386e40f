/**
 * CloudEvents 1.0 over HTTP: one event as a JSON object (structured mode) or as headers and a body (binary mode).
 *
 * Owns: the attributes that an event must have. Never: reads a body, or says what becomes of an event.
 * 1.  The data of an event are JSON; others are refused.
 * 2.  Further attributes are extensions of the sender, which are checked for their form and not used.
 */
import { z } from "zod";
import { kernelError } from "../contract/error-codes.ts";
import { isPlainObject, type Json, JsonValue } from "../contract/json.ts";
import { raise } from "../contract/kernel-error.ts";
import { readRequest } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";

const cloudRef = moduleRef(0, "events", "cloud_event");
const Text = z.string().min(1).max(1024);

const Attributes = z.object({
  specversion: z.literal("1.0"),
  id: Text,
  source: Text,
  type: Text,
  subject: Text.optional(),
  time: z.iso.datetime({ offset: true }).optional(),
  datacontenttype: z
    .string()
    .regex(/^application\/(?:[\w.+-]*\+)?json\s*(?:;.*)?$/i, "is a type of JSON")
    .optional(),
  dataschema: Text.optional(),
  data: JsonValue.default(null),
});

/** An event in the form of CloudEvents, with data that are JSON. */
export type CloudEvent = z.output<typeof Attributes>;

/**
 * Reads an event of structured mode. @throws KernelErrorException T0_EVENT_UNREADABLE, T0_VALIDATION_SCHEMA_MISMATCH.
 */
export function readCloudEvent(given: unknown): CloudEvent {
  if (!isPlainObject(given)) return refuse("an event is one JSON object");
  if ("data_base64" in given) refuse("data_base64 is not taken; data are JSON");
  const wrong = Object.keys(given).find((name) => !/^[a-z0-9]{1,40}$/.test(name));
  if (wrong !== undefined) refuse(`${JSON.stringify(wrong.slice(0, 40))} is no name of an attribute`);
  return readRequest(Attributes, given, { what: "CloudEvent", source: cloudRef });
}

/** Reads an event of binary mode: attributes in headers, data as the body. @throws as `readCloudEvent`. */
export function readBinaryEvent(headers: Headers, data: Json): CloudEvent {
  const attributes = [...headers].flatMap(([name, value]) =>
    name.startsWith("ce-") ? [[name.slice("ce-".length), decode(value)] as const] : [],
  );
  const type = headers.get("content-type");
  return readCloudEvent({ ...Object.fromEntries(attributes), ...(type !== null && { datacontenttype: type }), data });
}

/** Returns an event of binary mode: its headers, and its body. */
export function writeBinaryEvent({ data, datacontenttype = "application/json", ...attributes }: CloudEvent) {
  const headers = Object.entries(attributes).flatMap(([name, value]) =>
    value === undefined ? [] : [[`ce-${name}`, encode(value)] as const],
  );
  return { headers: { ...Object.fromEntries(headers), "content-type": datacontenttype }, body: JSON.stringify(data) };
}

/** The content type of structured mode. */
export const cloudEventType = "application/cloudevents+json";

const refuse = (message: string): never => raise(kernelError("T0_EVENT_UNREADABLE", message, cloudRef));

/** Writes an attribute as a header: space, quotes, percent signs and all beyond ASCII are percent-encoded. */
const encode = (value: string): string =>
  value.replace(/[^\x21\x23\x24\x26-\x7e]/gu, (char) =>
    [...new TextEncoder().encode(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`).join(""),
  );

function decode(value: string): string {
  try {
    return decodeURIComponent(value.replace(/%(?![0-9a-fA-F]{2})/g, "%25"));
  } catch {
    return refuse("a header of the event is not percent-encoded UTF-8");
  }
}
