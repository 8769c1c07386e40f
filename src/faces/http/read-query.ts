/**
 * Reads query strings: filters, cursors and page sizes.
 *
 * Owns: the schemas of queries, and the one reading of them (`addRoute` does it for every route).
 * 1.  An unknown name is refused, and so is a value that the schema does not read: an ignored filter would show results
 *     that were not asked for.
 */
import { z } from "zod";
import { type BudgetFilter, listedScopes } from "../../contract/budget-page.ts";
import { DecisionAct, type DecisionFilter } from "../../contract/decision.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { FieldError } from "../../contract/field-error.ts";
import type { GrantFilter } from "../../contract/grant-orders.ts";
import { RecordedStepId, ThreadId, WorkflowId } from "../../contract/ids.ts";
import { IdempotencyKey } from "../../contract/intent.ts";
import { raise } from "../../contract/kernel-error.ts";
import { nearestOf } from "../../contract/known-keys.ts";
import {
  ageSorts,
  assignments,
  type GateFilter,
  gateSorts,
  Instant,
  type WorkflowFilter,
} from "../../contract/list-filter.ts";
import type { ItemFilter } from "../../contract/listed-item.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { WorkflowStateName } from "../../contract/progress.ts";
import type { QueueFilter } from "../../contract/queue-page.ts";
import { RiskLevel } from "../../contract/risk-level.ts";
import { type ScheduleFilter, ScheduleName } from "../../contract/schedule.ts";
import type { StandInFilter } from "../../contract/stand-in-orders.ts";
import { GateCursor } from "../../protocol/query-values.ts";
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
  (given) => [given].flat().flatMap((text) => (typeof text === "string" ? text.split(",") : [text])),
  z.array(WorkflowStateName),
);
const intentType = z.string().min(1);
export const yes = z.preprocess((text) => (text === "true" ? true : text === "false" ? false : text), z.boolean());

const pageOf = <C extends z.ZodType>(most: number, cursor: C) => ({
  after: cursor.optional().describe("The cursor of a page: what the one before it called `next`."),
  before: cursor.optional().describe("What comes before this item, nearest to it: the page that one came from."),
  limit: pageSize(most).optional().describe("Items of the page."),
  total: yes.optional().describe("Whether the answer has `total`: how many there are, whatever the page."),
});
/** Every member of a filter as it is read from text: one without a parameter fails the type check. */
type QueryOf<Filter> = { readonly [Member in keyof Filter]-?: z.ZodType };

/** Makes the query of a list, whose pages hold at most `most` items. */
export const workflowQuery = (most: number) =>
  z.object({
    state: states.optional().describe("Of these states; several are repeated or joined by commas."),
    thread_id: hostId.optional(),
    idempotency_key: IdempotencyKey.optional().describe("The key of the caller's own request: one workflow at most."),
    intent_type: intentType.optional(),
    schedule: ScheduleName.optional().describe("The schedule that began it."),
    principal: hostId.optional().describe("The id of who asked for the work."),
    text: z.string().max(200).optional().describe("In title, intent type or id, whatever the case."),
    since: Instant.optional().describe("Created at this instant or day, or later."),
    until: Instant.optional().describe("Created before this instant or day."),
    sort: z.enum(ageSorts).optional().describe("The order: newest (the default) or oldest first."),
    ...pageOf(most, WorkflowId),
  } satisfies QueryOf<Omit<WorkflowFilter, "states"> & { readonly state?: unknown }>);
export const gateQuery = (most: number) =>
  z.object({
    workflow_id: WorkflowId.optional().describe("Of one workflow: whole, where lists over many are cut."),
    under: WorkflowId.optional().describe("Of one workflow and of its children at every level."),
    mine: yes
      .optional()
      .describe("Those that wait for the caller, who has a seat there and has not voted; it takes gate:approve."),
    voted: yes.optional().describe("Those at which the caller has voted, or (false) has not."),
    assigned: z.enum(assignments).optional().describe("Those that the caller (me) or nobody looks after."),
    snoozed: yes.optional().describe("Those that the caller has snoozed until later, or (false) has not."),
    role: z.string().optional().describe("Those that name this role."),
    intent_type: intentType.optional(),
    principal: hostId.optional().describe("The id of who asked for the work."),
    risk: RiskLevel.optional(),
    text: z.string().max(200).optional().describe("In titles of gate or workflow, operator, intent type or id."),
    since: Instant.optional().describe("Opened at this instant or day, or later."),
    until: Instant.optional().describe("Opened before this instant or day."),
    operator: z.string().optional().describe("By what would run."),
    due_before: Instant.optional().describe("Due before this instant or day."),
    sort: z.enum(gateSorts).optional().describe("The order: newest or oldest first, or what falls due first."),
    ...pageOf(most, GateCursor),
  } satisfies QueryOf<GateFilter>);
/** Makes the query of the history of decisions, whose pages hold at most `most` items. */
export const decisionQuery = (most: number) =>
  z.object({
    principal: hostId.optional().describe("The id of who decided."),
    mine: yes.optional().describe("Those of the caller."),
    act: DecisionAct.optional(),
    intent_type: intentType.optional(),
    operator: z.string().optional().describe("Of gates that asked about it."),
    workflow_id: WorkflowId.optional(),
    text: z.string().max(200).optional().describe("In titles of gate or workflow, operator, intent type or id."),
    since: Instant.optional().describe("Decided at this instant or day, or later."),
    until: Instant.optional().describe("Decided before this instant or day."),
    sort: z.enum(ageSorts).optional().describe("The order: newest (the default) or oldest first."),
    ...pageOf(most, z.string().max(128)),
  } satisfies QueryOf<DecisionFilter>);
/** Makes the query of grants, whose pages hold at most `most` items. */
export const grantQuery = (most: number) =>
  z.object({
    after: z.string().max(64).optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<Omit<GrantFilter, "tenant_id">>);
/** Makes the query of stand-ins, whose pages hold at most `most` items. */
export const standInQuery = (most: number) =>
  z.object({
    mine: yes.optional().describe("Those that the caller gave, and those by which the caller stands in."),
    after: z.string().max(64).optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<Omit<StandInFilter, "tenant_id">>);
/** Makes the query of queues, whose pages hold at most `most` items. */
export const queueQuery = (most: number) =>
  z.object({
    name: z.string().max(256).optional().describe("The queue whose keys are listed; all queues by default."),
    after: z.string().max(4096).optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<Omit<QueueFilter, "tenant_id">>);
/** Makes the query of budgets, whose pages hold at most `most` items. */
export const budgetQuery = (most: number) =>
  z.object({
    scope: z.enum(listedScopes).optional().describe("The scope of the ceilings; all of them by default."),
    after: z.string().max(4096).optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<Omit<BudgetFilter, "tenant_id">>);
/** Makes the query of schedules, whose pages hold at most `most` items. */
export const scheduleQuery = (most: number) =>
  z.object({
    intent_type: intentType.optional(),
    after: ScheduleName.optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<Omit<ScheduleFilter, "tenant_id">>);
export const scheduleHistoryQuery = (most: number) =>
  z.object({
    before: z
      .preprocess(digits, z.int().min(1))
      .optional()
      .describe("The cursor of older entries: what the page before it called `next`."),
    limit: pageSize(Math.min(most, 1_000)).optional().describe("Entries of the history."),
  });
const after = wholeNumber.optional().describe("The sequence of the last event that the reader has.");
export const eventQuery = (most: number) =>
  z.object({ after, limit: pageSize(most).optional().describe("Items of the page.") });
export const sequenceQuery = z.object({ after });
export const inspectQuery = z.object({
  workflow_id: WorkflowId.optional().describe("Of one workflow; without it of all that have not ended."),
  after,
});
export const atQuery = z.object({
  at: z
    .preprocess(digits, z.int().min(1))
    .optional()
    .describe("As it was when the event of this sequence had happened; by default as it is now."),
});
/** Makes the query of items, whose pages hold at most `most` of them. */
export const itemQuery = (most: number) =>
  z.object({
    of: RecordedStepId.optional().describe("The step whose items or rounds are listed; those of all by default."),
    after: RecordedStepId.optional().describe("The cursor of a page: what the one before it called `next`."),
    limit: pageSize(most).optional().describe("Items of the page."),
  } satisfies QueryOf<ItemFilter>);
const onlyGates = z.literal("gates");
export const feedQuery = z.object({
  after: wholeNumber.optional().describe("The position of the last item that the reader has."),
  only: onlyGates.optional().describe("Leaves out changes that touch no gate."),
  intent_type: intentType.optional(),
});

/** Returns the cursor of a stream: a client that connects again sends its last id, which overrides the address. */
export function readCursor(call: Call, { after }: { readonly after?: number | undefined }): number | undefined {
  const last = call.req.header("last-event-id");
  if (last === undefined || last === "") return after;
  const parsed = wholeNumber.safeParse(last);
  if (parsed.success) return parsed.data;
  const message = "Last-Event-ID is the number of an event";
  const detail = { header: "Last-Event-ID" };
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, queryRef, { detail }));
}

/**
 * Returns the query of an address as the schema reads it: a name with its value, or its values in a list.
 * @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH, with `detail.errors` by parameter.
 */
export function readQuery<Q extends z.ZodObject>(address: string, schema: Q): z.output<Q> {
  const start = address.indexOf("?");
  const given = new URLSearchParams(start === -1 ? "" : address.slice(start));
  const names = [...new Set(given.keys())];
  const unknown = names.filter((name) => !Object.hasOwn(schema.shape, name));
  const values = names.filter((name) => !unknown.includes(name)).map((name) => [name, toValue(given.getAll(name))]);
  const parsed = schema.safeParse(Object.fromEntries(values));
  if (parsed.success && unknown.length === 0) return parsed.data as z.output<Q>;
  const issues = parsed.error?.issues ?? [];
  return refuseQuery([
    ...unknown.map((parameter) => ({ parameter, detail: describeUnknown(parameter, Object.keys(schema.shape)) })),
    ...issues.map(({ path, message }) => ({ parameter: String(path[0]), detail: message })),
  ]);
}

const toValue = (values: readonly string[]): unknown => (values.length === 1 ? values[0] : values);

function describeUnknown(name: string, known: readonly string[]): string {
  if (known.length === 0) return "this address takes no parameters";
  const near = nearestOf(name, known);
  return near === null ? `this address takes ${known.join(", ")}` : `did you mean ${near}?`;
}

const maxNamed = 8;
const maxNameChars = 64;

function refuseQuery(errors: readonly FieldError[]): never {
  const reported = errors
    .slice(0, maxNamed)
    .map(({ parameter = "", detail }) => ({ parameter: parameter.slice(0, maxNameChars).toWellFormed(), detail }));
  const message = `query: ${reported.map(({ parameter, detail }) => `${parameter}: ${detail}`).join("; ")}`;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, queryRef, { detail: { errors: reported } }));
}
