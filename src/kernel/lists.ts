/**
 * The kernel's lists: workflows and open gates, newest first. Indexes determine the content of a page.
 *
 * Owns: the meaning of the filters. Never: folds a workflow for a list of workflows.
 * 1.  An item is bounded, whatever its workflow or gate holds; the gates of one workflow alone are shown whole.
 * 2.  `after` continues the list (to older items), `before` goes back. A cursor that the list could not have given is
 *     refused.
 * 3.  Filters without an index (text, a role, "mine") examine a segment at a time, with other work in between, and at
 *     most `limits.maxListScanned` items.
 * 4.  A gate is shown as its workflow's log has it, as far as the logs of a page are short (check-listed.ts): people
 *     decide on what they see there.
 */

import type { z } from "zod";
import { type Caller, tenantOf } from "../contract/auth-context.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { plainGate } from "../contract/events.ts";
import { asksRole, type Gate } from "../contract/gate.ts";
import { GateId, WorkflowId } from "../contract/ids.ts";
import { instantText, neverDue } from "../contract/instant.ts";
import { withoutUnset } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { GateFilter, WorkflowFilter } from "../contract/list-filter.ts";
import { type CutGate, type ListedGate, listGate, wholeGate } from "../contract/listed-gate.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { gateCursor } from "../contract/page.ts";
import type { Listed, WorkflowSummary } from "../contract/workflow-summary.ts";
import type { Registry } from "../engine/actors/registry.ts";
import type { LedgerReading } from "../engine/follow/ledger-reader.ts";
import type {
  GatePlace,
  HeadPlace,
  HeadSearch,
  HeadSelection,
  LedgerStore,
  ListedHead,
} from "../ports/ledger-store.ts";
import { createGateCheck, uncheckedGate } from "./check-listed.ts";
import { completeGate } from "./complete-gate.ts";
import { type SeatParts, seatDescriber, waitingFinder } from "./describe-seat.ts";
import type { Kernel } from "./kernel-interface.ts";
import { readAll, type Scan, type Segment, tell } from "./scan-list.ts";

export interface ListParts extends SeatParts {
  readonly store: LedgerStore;
  readonly reading: LedgerReading;
  readonly registry: Registry;
}

const listRef = moduleRef(0, "gateway", "list");
/** Heads that a store which searches by itself looks at in one go. */
const searched = 2_500;

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
      if (gate !== undefined) return completeGate({ ...gate, ...(await seatAt(parts, gate, caller)) }, parts.registry);
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
    ...rest
  }: z.output<typeof WorkflowFilter>,
  caller: Caller | undefined,
): Promise<Listed<WorkflowSummary>> {
  const { store } = parts;
  const created = { since: millisecondsOf(since), until: millisecondsOf(until) };
  const selection: HeadSelection = withoutUnset({ ...rest, ...created, principal_id, tenant_id: tenantOf(caller) });
  const cursors = withoutUnset({
    after: await placeOf(store, after, caller),
    before: await placeOf(store, before, caller),
  });
  const wanted = text.trim().toLowerCase();
  const scan: Scan<HeadPlace, ListedHead> = {
    page: { ...cursors, limit },
    read:
      wanted === ""
        ? (page) => readAll(page, () => store.listHeads({ ...selection, ...page }))
        : (page) => readAbout(parts, { ...selection, ...page, text: wanted }),
    keeps: wanted === "" ? null : (head) => isAbout(head, wanted),
    count: () => store.countHeads(selection),
    most: parts.runtime.limits.maxListScanned,
  };
  return tell(scan, total, summaryOf);
}

const millisecondsOf = (time: string | undefined): number | undefined =>
  time === undefined ? undefined : Date.parse(time);

/** Reads about as many items as are needed; a store that searches by itself examines more at once. */
async function readAbout(
  parts: ListParts,
  { text, ...page }: Omit<HeadSearch, "scan">,
): Promise<Segment<HeadPlace, ListedHead>> {
  const { store } = parts;
  if (store.searchHeads === undefined) return readAll(page, () => store.listHeads(page));
  const scan = Math.min(searched, parts.runtime.limits.maxListScanned);
  const { heads, next } = await store.searchHeads({ ...page, text, scan });
  return { items: heads, next, seen: heads.length < page.limit ? scan : heads.length };
}

const isAbout = ({ title, intent_type, workflow_id }: ListedHead, wanted: string): boolean =>
  [title, intent_type, workflow_id].some((text) => text.toLowerCase().includes(wanted));

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
  { after, before, limit, total, role, mine, under, due_before, ...rest }: z.output<typeof GateFilter>,
  caller: Caller | undefined,
): Promise<Listed<ListedGate>> {
  const { store, registry } = parts;
  const selection = withoutUnset({ ...rest, due_before: millisecondsOf(due_before), tenant_id: tenantOf(caller) });
  const { workflow_id } = selection;
  const waits = mine === true ? await waitingFinder(parts, requireCaller(caller)) : null;
  const describeSeat = caller === undefined ? null : await seatDescriber(parts, caller);
  const scan: Scan<GatePlace, CutGate> = {
    page: { ...withoutUnset({ after: readCursor(after, "\u{10ffff}"), before: readCursor(before, "") }), limit },
    read: (page) =>
      readAll(page, async () => (await store.listGates({ ...selection, ...page })).map((gate) => complete(gate))),
    keeps:
      role === undefined && under === undefined && waits === null
        ? null
        : async (listed) => {
            // The part that was cut may be what the filter needs.
            const gate = listed.truncated ? await readWhole(store, listed) : listed;
            const isBelow = under === undefined || isUnder(gate, under);
            return isBelow && (role === undefined || asksRole(gate, role)) && (waits === null || waits(gate));
          },
    count: () => store.countGates(selection),
    most: parts.runtime.limits.maxListScanned,
  };
  const isOfOne = workflow_id !== undefined;
  const maxChars = isOfOne ? Number.POSITIVE_INFINITY : parts.runtime.limits.maxListedLog;
  const findInLog = createGateCheck(store, { tenant: tenantOf(caller), maxChars });
  return tell(scan, total, async (listed) => {
    const gate = await findInLog(listed);
    if (gate === null) return uncheckedGate(listed);
    const seat = describeSeat === null ? {} : { seat: describeSeat(gate) };
    const shown = completeGate({ ...gate, ...seat }, registry);
    return { ...(isOfOne ? wholeGate(shown) : listGate(shown)), checked: true };
  });
}

/** Returns whether a gate belongs to this workflow, or to one that it runs at any level. */
const isUnder = ({ workflow_id, path = [] }: Gate, id: string): boolean =>
  workflow_id === id || path.some((step) => step.workflow_id === id);

const requireCaller = (caller: Caller | undefined): Caller =>
  caller ?? refuse("filter: mine is a caller's; the embedding host has no seat at a gate");

async function seatAt(parts: ListParts, gate: Gate, caller: Caller | undefined): Promise<Pick<Gate, "seat">> {
  return caller === undefined ? {} : { seat: (await seatDescriber(parts, caller))(gate) };
}

/** Adds the members that a gate of a converted ledger lacks. */
const complete = <G extends Gate>(gate: G): G => ({ ...plainGate, ...gate });

/** Returns the whole gate as the index has it. */
async function readWhole(store: LedgerStore, listed: CutGate): Promise<Gate> {
  const gates = await store.gates({ workflow_id: listed.workflow_id });
  const whole = gates.find(({ gate_id }) => gate_id === listed.gate_id);
  return whole === undefined ? listed : complete(whole);
}

/** Reads a cursor: `<workflow_id>/<gate_id>`; a workflow alone stands for all of its gates. */
function readCursor(text: string | undefined, all: string): GatePlace | undefined {
  if (text === undefined) return undefined;
  const [workflow_id = "", gate_id, ...more] = text.split("/");
  const isGate = gate_id === undefined || GateId.safeParse(gate_id).success;
  if (!WorkflowId.safeParse(workflow_id).success || !isGate || more.length > 0)
    refuse(`filter: ${gateCursor({ workflow_id: "<workflow_id>", gate_id: "<gate_id>" })} is a cursor of gates`);
  return { workflow_id, gate_id: gate_id ?? all };
}
