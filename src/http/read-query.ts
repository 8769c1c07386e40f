/**
 * What stands after the question mark: filters, cursors and page sizes.
 */
import { z } from "zod";
import { kernelError } from "../contract/error-codes.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { WorkflowStateName } from "../contract/progress.ts";
import type { Call } from "./edge.ts";

const queryRef = moduleRef(0, "http", "read_query");
const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, "a whole number from 0")
  .transform(Number);
// Digits are an integer, as on the command line; all else is text.
const hostId = z
  .string()
  .min(1)
  .transform((text) => (/^-?\d{1,15}$/.test(text) ? Number(text) : text));

/** A query parameter's value as the schema has it, or undefined where it is not given. @throws T0_VALIDATION_SCHEMA_MISMATCH. */
function readParameter<S extends z.ZodType>(call: Call, name: string, schema: S): z.output<S> | undefined {
  const raw = call.req.query(name);
  return raw === undefined ? undefined : checkValue(schema, raw, name);
}

function checkValue<S extends z.ZodType>(schema: S, raw: unknown, name: string): z.output<S> {
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const message = `${name}: ${z.prettifyError(parsed.error)}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, queryRef, { detail: { parameter: name } }));
}

/** `limit`, from 1 to what a page may hold. */
export function readLimit(call: Call, most: number, usual = 50): number {
  const schema = wholeNumber.refine((count) => count >= 1 && count <= most, `from 1 to ${most}`);
  return readParameter(call, "limit", schema) ?? Math.min(usual, most);
}

export function readFilter(call: Call) {
  const states = call.req.queries("state")?.flatMap((text) => text.split(","));
  const thread_id = readParameter(call, "thread_id", hostId);
  const intent_type = readParameter(call, "intent_type", z.string().min(1));
  return {
    ...(states !== undefined && { states: checkValue(z.array(WorkflowStateName), states, "state") }),
    ...(thread_id !== undefined && { thread_id }),
    ...(intent_type !== undefined && { intent_type }),
    ...readAfter(call),
  };
}

/** The cursor of a list: what the page before it called `next`. */
export function readAfter(call: Call): { readonly after?: string } {
  const after = call.req.query("after");
  return after === undefined ? {} : { after };
}

/** What a stream goes on after: a client that connects again says what it saw last, whatever the address says. */
export function readCursor(call: Call): number | undefined {
  const last = call.req.header("last-event-id");
  if (last !== undefined && last !== "") return checkValue(wholeNumber, last, "Last-Event-ID");
  return readParameter(call, "after", wholeNumber);
}

export const readSequence = (call: Call): number => readCursor(call) ?? 0;

/** What of the feed is asked for. */
export function readFeedFilter(call: Call) {
  const only = readParameter(call, "only", z.literal("gates"));
  const intent_type = readParameter(call, "intent_type", z.string().min(1));
  return { ...(only !== undefined && { only }), ...(intent_type !== undefined && { intent_type }) };
}
