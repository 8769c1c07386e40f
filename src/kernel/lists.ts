/**
 * The kernel's lists: workflows and open gates, in the order that is asked for. Indexes determine what a page holds.
 *
 * Owns: the meaning of the filters. Never: folds a workflow for a list of workflows.
 * 1.  An item is bounded, whatever its workflow or gate holds; the gates of one workflow alone are shown whole.
 * 2.  `after` continues the list, `before` goes back. A cursor that the list could not have given is
 *     refused.
 * 3.  A text is looked for in a segment of workflows at a time, with other work in between, and in at most
 *     `limits.maxListScanned` of them. Gates are selected by their index, people included (select-seats.ts).
 * 4.  A gate is shown as its workflow's log has it, as far as the logs of a page are short (check-listed.ts): people
 *     decide on what they see there.
 */

import type { z } from "zod";
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { plainGate } from "../contract/events.ts";
import type { Gate } from "../contract/gate.ts";
import { GateId, WorkflowId } from "../contract/ids.ts";
import { instantText, neverDue } from "../contract/instant.ts";
import { submissionKey } from "../contract/intent.ts";
import { withoutUnset } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { GateFilter, type GateSort, WorkflowFilter } from "../contract/list-filter.ts";
import { type CutGate, type ListedGate, listGate, wholeGate } from "../contract/listed-gate.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { foldCase } from "../contract/search-text.ts";
import type { Listed, WorkflowSummary } from "../contract/workflow-summary.ts";
import type { Registry } from "../engine/actors/registry.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type { GatePlace, GateSelection } from "../ports/gate-page.ts";
import type { HeadPlace, HeadSearch, HeadSelection, LedgerStore, ListedHead } from "../ports/ledger-store.ts";
import { createGateCheck, uncheckedGate } from "./check-listed.ts";
import { completeGate } from "./complete-gate.ts";
import { gateReader, type SeatParts } from "./describe-seat.ts";
import type { Kernel } from "./kernel-interface.ts";
import { readAll, type Scan, type Segment, tell } from "./scan-list.ts";
import { selectSeats } from "./select-seats.ts";

export interface ListParts extends SeatParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly registry: Registry;
}

const listRef = moduleRef(0, "gateway", "list");
/** Heads that a store which searches by itself looks at in one go. */
const searched = 25_000;

const refuse = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, listRef));

/** Reads a filter. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function parseFilter<S extends z.ZodType>(schema: S, raw: unknown): z.output<S> {
  return readStrictly(schema, raw, { what: "filter", source: listRef });
}

export function createLists(parts: ListParts): Pick<Kernel, "workflows" | "gates" | "gate"> {
  return {
    workflows: async (filter = {}, caller) => listWorkflows(parts, parseFilter(WorkflowFilter, filter), caller),
    gates: async (filter = {}, caller) => listGates(parts, parseFilter(GateFilter, filter), caller),
    async gate(workflowId, gateId, caller) {
      const gate = (await parts.reading.readWorkflowState(workflowId, caller)).gates.get(gateId);
      if (gate !== undefined)
        return completeGate(caller === undefined ? gate : (await gateReader(parts, caller))(gate), parts.registry);
      const detail = { workflow_id: workflowId, gate_id: gateId };
      return raise(kernelError("T5_GATE_NOT_FOUND", `${gateId} is not a gate of this workflow`, listRef, { detail }));
    },
  };
}

async function listWorkflows(
  parts: ListParts,
  {
    after,
    before,
    limit,
    total,
    text = "",
    principal: principal_id,
    since,
    until,
    sort,
    idempotency_key,
    ...rest
  }: z.output<typeof WorkflowFilter>,
  caller: Caller | undefined,
): Promise<Listed<WorkflowSummary>> {
  const { store } = parts;
  const workflow_id = await holderOf(store, idempotency_key, caller);
  const created = { since: millisecondsOf(since), until: millisecondsOf(until) };
  const selection: HeadSelection = withoutUnset({
    ...{ ...rest, ...created, workflow_id: workflow_id ?? undefined, principal_id },
    tenant_id: tenantOf(caller),
  });
  const order = withoutUnset({ ...selection, sort });
  const cursors = withoutUnset({
    after: await placeOf(store, after, caller),
    before: await placeOf(store, before, caller),
  });
  if (workflow_id === null) return Object.assign([], total && { total: 0 });
  const wanted = foldCase(text.trim());
  const scan: Scan<HeadPlace, ListedHead> = {
    page: { ...cursors, limit },
    read:
      wanted === ""
        ? (page) => readAll(page, () => store.listHeads({ ...order, ...page }))
        : (page) => readAbout(parts, { ...order, ...page, text: wanted }),
    isSearch: wanted !== "",
    count: () => store.countHeads(wanted === "" ? selection : { ...selection, text: wanted }),
    most: parts.runtime.limits.maxListScanned,
  };
  return tell(scan, total, summaryOf);
}

/** Returns the workflow that a key of the caller began; null if there is none, undefined without a key. */
async function holderOf(
  store: LedgerStore,
  key: string | undefined,
  caller: Caller | undefined,
): Promise<string | null | undefined> {
  if (key === undefined) return undefined;
  if (caller === undefined) return refuse("filter: idempotency_key is read for a caller, whose key it is");
  const holder = await store.findKey(caller.tenant_id, submissionKey(caller.principal, key));
  return holder?.workflow_id ?? null;
}

/** Returns the instant of a time of a filter, epoch ms. */
export const millisecondsOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

/** Examines a part of the list for a text; a store that cannot search is asked for the whole of what it finds. */
async function readAbout(
  { store, runtime }: ListParts,
  page: Omit<HeadSearch, "scan">,
): Promise<Segment<HeadPlace, ListedHead>> {
  if (store.searchHeads === undefined) return readAll(page, () => store.listHeads(page));
  const scan = Math.min(searched, runtime.limits.maxListScanned);
  const { heads, next } = await store.searchHeads({ ...page, scan });
  return { items: heads, next, seen: heads.length < page.limit ? scan : heads.length };
}

async function placeOf(
  store: LedgerStore,
  workflowId: string | undefined,
  caller: Caller | undefined,
): Promise<HeadPlace | undefined> {
  if (workflowId === undefined) return undefined;
  const head = await store.head(workflowId);
  if (head !== null && (tenantOf(caller) ?? head.tenant_id) === head.tenant_id) return head;
  return refuse(`filter: the cursor ${workflowId} is no workflow of this list`);
}

function summaryOf(head: ListedHead): WorkflowSummary {
  const { workflow_id, tenant_id, thread_id, correlation_id, intent_id, intent_type, state, open_gates } = head;
  return {
    ...{ workflow_id, tenant_id, thread_id, correlation_id, intent_id, intent_type, state },
    compensated: head.compensated,
    paused: head.paused,
    queued: head.queued,
    held_by: head.held_by,
    progress: { percent: head.percent },
    title: head.title,
    principal: { type: head.principal_type, id: head.principal_id },
    created_at: instantText(head.created_at),
    updated_at: instantText(head.updated_at),
    due_at: head.due_at === null || head.due_at === neverDue ? null : instantText(head.due_at),
    open_gates,
  };
}

async function listGates(
  parts: ListParts,
  filter: z.output<typeof GateFilter>,
  caller: Caller | undefined,
): Promise<Listed<ListedGate>> {
  const { store, registry } = parts;
  const { after, before, limit, total, sort, workflow_id } = filter;
  const selection = await selectGates(parts, filter, caller);
  const readGate = caller === undefined ? null : await gateReader(parts, caller);
  const cursors = withoutUnset({ after: readCursor(after, sort, "\u{10ffff}"), before: readCursor(before, sort, "") });
  const scan: Scan<GatePlace, CutGate> = {
    page: { ...cursors, limit },
    read: (page) =>
      readAll(page, async () => (await store.listGates(withoutUnset({ ...selection, ...page, sort }))).map(complete)),
    isSearch: false,
    count: () => store.countGates(selection),
    most: parts.runtime.limits.maxListScanned,
  };
  const isOfOne = workflow_id !== undefined;
  const maxChars = isOfOne ? Number.POSITIVE_INFINITY : parts.runtime.limits.maxListedLog;
  const findInLog = createGateCheck(store, { tenant: tenantOf(caller), maxChars });
  return tell(scan, total, async (listed) => {
    const logged = await findInLog(listed);
    if (logged === null) return uncheckedGate(listed);
    const { gate, intent_type } = logged;
    const shown = completeGate(readGate === null ? gate : readGate(gate), registry);
    return { ...(isOfOne ? wholeGate(shown) : listGate(shown)), checked: true, intent_type };
  });
}

/** Returns the selection that a filter of gates stands for, for this caller. */
async function selectGates(
  parts: ListParts,
  filter: z.output<typeof GateFilter>,
  caller: Caller | undefined,
): Promise<GateSelection> {
  const { workflow_id, under, operator, intent_type, principal, risk, since, until, due_before, text = "" } = filter;
  const wanted = foldCase(text.trim());
  const selection = withoutUnset({
    ...{ workflow_id, under, operator, intent_type, risk, principal_id: principal, tenant_id: tenantOf(caller) },
    ...{ since: millisecondsOf(since), until: millisecondsOf(until), due_before: millisecondsOf(due_before) },
    text: wanted === "" ? undefined : wanted,
  });
  const seats = await selectSeats(parts, { selection, filter, caller });
  return seats === null ? selection : { ...selection, seats };
}

/** Adds the members that a gate of a converted ledger lacks. */
const complete = <G extends Gate>(gate: G): G => ({ ...plainGate, ...gate });

/**
 * Reads a cursor: `<workflow_id>/<gate_id>`, after the instant of the order if the list has one. Without an order a
 * workflow alone stands for all of its gates.
 */
function readCursor(text: string | undefined, sort: GateSort | undefined, all: string): GatePlace | undefined {
  if (text === undefined) return undefined;
  const parts = text.split("/");
  const at = sort === undefined ? null : Number(parts.shift());
  const [workflow_id = "", gate_id, ...more] = parts;
  const isGate = (gate_id === undefined && at === null) || GateId.safeParse(gate_id).success;
  const isPlace = WorkflowId.safeParse(workflow_id).success && isGate && more.length === 0;
  if (!isPlace || (at !== null && !Number.isFinite(at)))
    refuse(`filter: ${at === null ? "" : "<epoch ms>/"}<workflow_id>/<gate_id> is a cursor of this list of gates`);
  return { workflow_id, gate_id: gate_id ?? all, ...(at !== null && { at }) };
}
