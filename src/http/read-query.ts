/**
 * What stands after the question mark: filters, cursors and page sizes.
 */
import { z } from "zod";
import { CapabilityVersion } from "../contract/capability.ts";
import { kernelError } from "../contract/error-codes.ts";
import { ThreadId } from "../contract/ids.ts";
import { raise } from "../contract/kernel-error.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { WorkflowStateName } from "../contract/progress.ts";
import type { Call } from "./edge.ts";

const queryRef = moduleRef(0, "http", "read_query");
const digits = (text: unknown): unknown => (typeof text === "string" && /^\d{1,15}$/.test(text) ? Number(text) : text);
const wholeNumber = z.preprocess(digits, z.int().min(0));
// Digits are an integer, as on the command line; all else is text.
const hostId = z.preprocess(
  (text) => (typeof text === "string" && /^-?\d{1,15}$/.test(text) ? Number(text) : text),
  ThreadId,
);
const pageSize = (most: number) => z.preprocess(digits, z.int().min(1).max(most));
const states = z.preprocess(
  (given) => (Array.isArray(given) ? given.flatMap((text) => String(text).split(",")) : given),
  z.array(WorkflowStateName),
);
const intentType = z.string().min(1);
const cursor = z.string().max(512);
const instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const yes = z.preprocess((text) => (text === "true" ? true : text === "false" ? false : text), z.boolean());

const pageOf = (most: number) => ({
  after: cursor.optional().describe("The cursor of a page: what the one before it called `next`."),
  before: cursor.optional().describe("What comes before this item, nearest to it: the page that one came from."),
  limit: pageSize(most).optional().describe("Items of the page."),
  total: yes.optional().describe("Whether the answer has `total`: how many there are, whatever the page."),
});
/** What each list takes; a page holds at most so many. */
export const workflowQuery = (most: number) =>
  z.object({
    state: states.optional().describe("Of these states; several are repeated or joined by commas."),
    thread_id: hostId.optional(),
    intent_type: intentType.optional(),
    principal: hostId.optional().describe("The id of who asked for the work."),
    text: z.string().max(200).optional().describe("In title, intent type or id, whatever the case."),
    since: instant.optional().describe("Created at this instant or day, or later."),
    until: instant.optional().describe("Created before this instant or day."),
    ...pageOf(most),
  });
export const gateQuery = (most: number) =>
  z.object({
    workflow_id: z.string().optional().describe("Of one workflow: whole, where lists over many are cut."),
    mine: yes.optional().describe("Those that the caller has a seat at; it takes gate:approve."),
    role: z.string().optional().describe("Those that name this role."),
    operator: z.string().optional().describe("By what would run."),
    due_before: instant.optional().describe("Due before this instant or day."),
    ...pageOf(most),
  });
const after = wholeNumber.optional().describe("The sequence of the last event that the reader has.");
export const eventQuery = (most: number) => z.object({ after, limit: pageOf(most).limit });
export const sequenceQuery = z.object({ after });
const onlyGates = z.literal("gates");
export const feedQuery = z.object({
  after: wholeNumber.optional().describe("The position of the last item that the reader has."),
  only: onlyGates.optional().describe("Leaves out changes that touch no gate."),
  intent_type: intentType.optional(),
});

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
  return readParameter(call, "limit", pageSize(most)) ?? Math.min(usual, most);
}

/** What a list is asked by, without what was not given. @throws T0_VALIDATION_SCHEMA_MISMATCH. */
export function readFilter<S extends z.ZodObject>(call: Call, schema: S): z.output<S> {
  const given: Record<string, unknown> = {};
  for (const [name, parameter] of Object.entries(schema.shape)) {
    const raw = name === "state" ? call.req.queries(name) : call.req.query(name);
    if (raw !== undefined) given[name] = checkValue(parameter as z.ZodType, raw, name);
  }
  return given as z.output<S>;
}

/** The version of a capability. */
export const readVersion = (call: Call): string | undefined => readParameter(call, "version", CapabilityVersion);

/** What a stream goes on after: a client that connects again says what it saw last, whatever the address says. */
export function readCursor(call: Call): number | undefined {
  const last = call.req.header("last-event-id");
  if (last !== undefined && last !== "") return checkValue(wholeNumber, last, "Last-Event-ID");
  return readParameter(call, "after", wholeNumber);
}

export const readSequence = (call: Call): number => readCursor(call) ?? 0;

/** What of the feed is asked for. */
export function readFeedFilter(call: Call) {
  const only = readParameter(call, "only", onlyGates);
  const intent_type = readParameter(call, "intent_type", intentType);
  return { ...(only !== undefined && { only }), ...(intent_type !== undefined && { intent_type }) };
}
