/**
 * The changes that a row makes in the ledger's indexes, derived from the record and the row's events (LED-01).
 *
 * Owns: the mapping from events to indexes. Never: decides, writes.
 */
import { claimedKey } from "../../contract/action.ts";
import { addCharge, type Ceiling, type Charge, chargeFields, noCharge } from "../../contract/budget.ts";
import type { EventDraft } from "../../contract/event.ts";
import { scheduleEvents } from "../../contract/events/schedule-events.ts";
import { factsOf, movesChart } from "../../contract/events.ts";
import { type Gate, gateIdOf, isOpenGate } from "../../contract/gate.ts";
import { chargeOfUse, type GrantUse, grantCounter, mostUses } from "../../contract/grant-use.ts";
import { neverDue } from "../../contract/instant.ts";
import { requestKey } from "../../contract/intent.ts";
import type { JsonObject } from "../../contract/json.ts";
import { endpointCounter } from "../../contract/model-route.ts";
import { eventClaim } from "../../contract/received-event.ts";
import type { ScheduleDefinition, ScheduleEntry, ScheduleStanding } from "../../contract/schedule.ts";
import { chargeOfEnd, chargeOfVote } from "../../contract/stand-in.ts";
import { startOf } from "../../contract/work-start.ts";
import {
  isAnyRunnable,
  isHeld,
  isHeldBack,
  isTerminal,
  parkedSteps,
  percentOf,
  type StepRecord,
  type WorkflowRecord,
  waitRemindedAt,
} from "../../contract/workflow.ts";
import { isWorking } from "../../contract/workflow-state.ts";
import { titleOf } from "../../contract/workflow-summary.ts";
import { type AppendIndexes, type Hold, heldByPause, type IndexedCharge } from "../../ports/ledger-store.ts";
import type { IndexedSchedule } from "../../ports/schedule-index.ts";
import { decisionsOf } from "./derive-decisions.ts";
import { headOf, type KnownHead } from "./derive-head.ts";
import { indexedEntryOf, queueOf } from "./queue-entry.ts";

export interface IndexQuestion {
  readonly record: WorkflowRecord;
  readonly drafts: readonly EventDraft[];
  /** The content of the head now. */
  readonly known: KnownHead;
  /** The workflow has no row yet. */
  readonly isNew: boolean;
  readonly release: boolean;
  readonly now: number;
}

type Changes = { -readonly [K in keyof AppendIndexes]: AppendIndexes[K] };

export function deriveIndexes({ record, drafts, known, isNew, release, now }: IndexQuestion): AppendIndexes {
  const changes: Changes = {};
  const due = dueOf(record);
  const percent = percentOf(record);
  if (isNew) changes.create = headOf(record, now);
  if (record.state !== known.state || drafts.some(isEnd)) {
    changes.state = record.state;
    changes.compensated = record.compensated;
  }
  if (percent !== known.percent) changes.percent = percent;
  if (due !== known.due_at) changes.due_at = due;
  if (release) changes.release = true;
  // Holds end in many ways, and few workflows were ever held: each row of such a workflow writes them.
  if (record.was_held) changes.holds = isTerminal(record.state) ? none : holdsOf(record);
  if (queueOf(record) !== undefined) changes.queue = indexedEntryOf(record, drafts.some(takesPlace));
  const gates = gatesOf(record, drafts);
  if (gates.length > 0) {
    changes.gates = gates;
    changes.work = { intent_type: record.intent.type, title: titleOf(record.intent) };
  }
  const decisions = decisionsOf(record, drafts);
  if (decisions.length > 0) changes.decisions = decisions;
  const keys = gather(drafts, (draft) => keysOf(record, draft));
  if (keys.length > 0) changes.keys = keys;
  const charges = gather(drafts, (draft) => chargesOf(record, draft));
  if (charges.length > 0) changes.charges = charges.map(leftBehind);
  const waits = waitsOf(record, drafts, now);
  if (waits.length > 0) changes.waits = waits;
  const taken = gather(drafts, takenBy);
  if (taken.length > 0) changes.taken = taken;
  return addRecords(changes, drafts);
}

/** Returns whether an event may change how much is undone without another state, as a rollback of cancelled work. */
const isEnd = ({ type }: EventDraft): boolean => type === "WORKFLOW_CANCELLED" || type === "WORKFLOW_FAILED";

const takesPlace = ({ type }: EventDraft): boolean => type === "WORKFLOW_ADMITTED";

/** Returns the holds of a workflow: those as a whole, and those of single steps. */
function holdsOf({ paused, held, steps, standing }: WorkflowRecord): readonly Hold[] {
  const holds: Hold[] = paused === null ? [] : [{ step_id: null, by: heldByPause }];
  for (const by of held ?? []) holds.push({ step_id: null, by });
  for (const step_id of standing.running) {
    const step = steps.get(step_id);
    if (step !== undefined && isHeld(step)) for (const by of step.held ?? []) holds.push({ step_id, by });
  }
  return holds;
}

/** Collects what `tell` returns for each event. */
function gather<T>(drafts: readonly EventDraft[], tell: (draft: EventDraft) => readonly T[]): readonly T[] {
  const all: T[] = [];
  for (const draft of drafts) all.push(...tell(draft));
  return all;
}

const none: readonly never[] = Object.freeze([]);

/**
 * Returns the memory, documents, events from outside, schedules, halts, grants, stand-ins and limits of a row, of a
 * workflow or of a tenant.
 */
export const recordsOf = (drafts: readonly EventDraft[]): AppendIndexes => addRecords({}, drafts);

function addRecords(changes: Changes, drafts: readonly EventDraft[]): AppendIndexes {
  const memory = gather(drafts, (d) => (d.type === "MEMORY_WRITTEN" ? [d.payload.record] : none));
  const documents = gather(drafts, (d) => (d.type === "DOCUMENT_RECORDED" ? [d.payload.record] : none));
  if (memory.length > 0) changes.memory = memory;
  if (documents.length > 0) changes.documents = documents;
  const events = gather(drafts, (d) => (d.type === "EVENT_RECEIVED" ? [d.payload] : none));
  if (events.length > 0) changes.events = events;
  const schedules = drafts.flatMap((one, ordinal) => schedulesOf(one, ordinal));
  if (schedules.length > 0) changes.schedules = schedules;
  const halts = gather(drafts, (d) => (d.type === "HALT_SET" ? [d.payload.halt] : none));
  const lifted = gather(drafts, (d) => (d.type === "HALT_LIFTED" ? [d.payload.halt_id] : none));
  const limits = gather(drafts, (d) => (d.type === "QUEUE_LIMITS_SET" ? [d.payload] : none));
  if (limits.length > 0) changes.limits = limits;
  const grants = gather(drafts, (d) => (d.type === "GRANT_GIVEN" ? [d.payload.grant] : none));
  const revoked = gather(drafts, (d) => (d.type === "GRANT_REVOKED" ? [d.payload.grant_id] : none));
  if (grants.length > 0) changes.grants = grants;
  if (revoked.length > 0) {
    changes.revoked = revoked;
    changes.charges = [...(changes.charges ?? []), ...revoked.map(exhaust)];
  }
  const standIns = gather(drafts, (d) => (d.type === "STAND_IN_NAMED" ? [d.payload.stand_in] : none));
  const ended = gather(drafts, (d) => (d.type === "STAND_IN_ENDED" ? [d.payload.stand_in_id] : none));
  if (standIns.length > 0) changes.standIns = standIns;
  if (ended.length > 0) {
    changes.endedStandIns = ended;
    changes.charges = [...(changes.charges ?? []), ...ended.map(chargeOfEnd)];
  }
  if (halts.length > 0) changes.halts = halts;
  if (lifted.length > 0) changes.lifted = lifted;
  return changes;
}

/** Returns the change of a schedule by an event, and its entry in the history. */
function schedulesOf({ type, payload }: EventDraft, ordinal: number): readonly IndexedSchedule[] {
  if (!Object.hasOwn(scheduleEvents, type)) return none;
  const { name, by = null, standing = null, ...facts } = payload as unknown as ScheduleFacts;
  const { definition, ...rest } = facts;
  const detail = definition === undefined ? rest : { ...rest, definition };
  const entry = { event_type: type, by, detail: detail as JsonObject };
  return [{ name, ...(definition !== undefined && { definition }), standing, ordinal, entry }];
}

/** The members of the events of schedules. */
interface ScheduleFacts {
  readonly name: string;
  readonly by?: ScheduleEntry["by"];
  readonly standing?: ScheduleStanding;
  readonly definition?: ScheduleDefinition;
}

/**
 * Returns the instant at which a workflow that cannot run on must be looked at again; null for never. A workflow that
 * waits although nothing is left to wait for is due at once: its process ended between a decision and its consequences.
 * A workflow in which a call runs has no due time: recovery takes it over if its process dies. A workflow that is
 * held back is due at no time that comes.
 */
export function dueOf(record: WorkflowRecord): number | null {
  if (isHeldBack(record)) return neverDue;
  if (record.state === "accepted") return startOf(record);
  if (record.state === "running") return dueAfterPause(record);
  // While an undo is called it is due at once for the process that takes it over, if the one that calls it has died.
  if (record.state === "compensating") return dueAfterPause(record) ?? Date.parse(record.updated_at);
  // The process that takes it over asks the outstanding questions, and ends the workflow once none is left: the process
  // that waited is gone. Children hand over their ends.
  if (record.state === "cancelling") {
    const waits = openGates(record).length + parkedSteps(record).length > 0;
    return isAnyUnasked(record) || !waits ? Date.parse(record.updated_at) : null;
  }
  if (record.state !== "waiting_for_user" && record.state !== "waiting") return null;
  const open = openGates(record);
  const parked = parkedSteps(record);
  const isLeft = open.length + parked.length > 0 || isAnyHeld(record);
  const isLate = !isLeft || isAnyRunnable(record);
  return isLate ? Date.parse(record.updated_at) : earliest([...timesOf(open), ...parked.flatMap(timeOf)]);
}

/** Returns when the wait of a parked step is over, and when people are reminded of it, epoch ms, if they are known. */
function timeOf(step: StepRecord): readonly number[] {
  const { due_at = null } = step.parked ?? {};
  return [...(due_at === null ? [] : [Date.parse(due_at)]), waitRemindedAt(step)].filter(Number.isFinite);
}

/** Steps back off, and none runs: what is ready besides waits for a place that one of them holds. */
function dueAfterPause(record: WorkflowRecord): number | null {
  const pauses: number[] = [];
  for (const id of record.standing.running) {
    const step = record.steps.get(id);
    if (step === undefined || isHeld(step)) continue;
    const { phase, retry_due } = step;
    if (isWorking(phase)) return null;
    if (phase === "backing_off" && retry_due !== null) pauses.push(Date.parse(retry_due));
  }
  if (pauses.length === 0) return null;
  return earliest([...pauses, ...timesOf(openGates(record)), ...parkedSteps(record).flatMap(timeOf)]);
}

const openGates = ({ gates }: WorkflowRecord): readonly Gate[] => [...gates.values()].filter(isOpenGate);

const isAnyHeld = ({ steps, standing, was_held }: WorkflowRecord): boolean =>
  was_held && [...standing.running].some((id) => isHeld(steps.get(id) as StepRecord));

const isAnyUnasked = ({ steps }: WorkflowRecord): boolean =>
  [...steps.values()].some(({ state, phase }) => state === "running" && phase !== "in_doubt" && phase !== "parked");

const timesOf = (gates: readonly Gate[]): number[] =>
  gates.flatMap(({ status, due_at, reminder }) => [
    ...(status === "open" && due_at !== null ? [Date.parse(due_at)] : []),
    ...(reminder === undefined ? [] : [Date.parse(reminder.due_at)]),
  ]);
const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times));

/** Gates that these events have changed; all of a workflow that has ended. */
function gatesOf(record: WorkflowRecord, drafts: readonly EventDraft[]): readonly Gate[] {
  const { gates, state } = record;
  if (gates.size === 0) return none;
  if (isTerminal(state)) return [...gates.values()];
  const ids = gather(drafts, (draft) => changedBy(record, draft));
  return ids.length === 0 ? none : [...new Set(ids)].flatMap((id) => gates.get(id) ?? []);
}

function changedBy({ gates }: WorkflowRecord, { type, step_id, payload }: EventDraft): readonly string[] {
  const facts = factsOf(type);
  if (movesChart("gate", facts))
    return ["gate_id" in payload ? (payload.gate_id as string) : (payload as { gate: Gate }).gate.gate_id];
  // What policy says of the call that an open gate shows is a part of the gate.
  if (type === "POLICY_DECIDED" && payload.stage === "action") return [gateIdOf(String(step_id))];
  if (facts.voids !== "step") return none;
  // A step that failed, or was skipped, took its gate with it.
  const isVoided = (gate: Gate): boolean => gate.status === "voided" && gate.step_id === step_id;
  return [...gates.values()].filter(isVoided).map(({ gate_id }) => gate_id);
}

function chargesOf(record: WorkflowRecord, draft: EventDraft): readonly IndexedCharge[] {
  if (draft.type === "BUDGET_RESERVED" || draft.type === "BUDGET_SETTLED") return budgetCharges(draft);
  if (draft.type === "GATE_VOTED") return voteCharges(draft.payload.stand_in);
  if (draft.type === "USER_REJECTED") return voteCharges(draft.payload.stand_in);
  if (draft.type === "USER_APPROVED")
    return [...grantCharges(draft.payload.grant), ...voteCharges(draft.payload.stand_in)];
  const charge = routeCharge(record, draft);
  return charge === null ? none : ofEndpoint(charge, draft);
}

/** Returns what the use of a grant adds to its counter, within the limits of the grant. */
const grantCharges = (use: GrantUse | undefined): readonly IndexedCharge[] =>
  use === undefined
    ? none
    : [{ counter: grantCounter(use.grant_id), amounts: chargeOfUse(use.money), within: use.within as Ceiling }];

/** Returns what a vote adds to the counter of the order by which its voter stands in. */
const voteCharges = (standIn: string | undefined): readonly IndexedCharge[] =>
  standIn === undefined ? none : [chargeOfVote(standIn)];

/** Fills the counter of a revoked grant, so that the store refuses a row that was decided before the revocation. */
const exhaust = (grantId: string): IndexedCharge => ({
  counter: grantCounter(grantId),
  amounts: { ...noCharge, invocations: mostUses },
});

/**
 * Limits a route to the budget that is left after the ends in its own row, which may have used more than was reserved
 * for them.
 */
function leftBehind(charge: IndexedCharge, at: number, charges: readonly IndexedCharge[]): IndexedCharge {
  const { within, ofAll, counter } = charge;
  if (within === undefined || ofAll !== true) return charge;
  const taken = charges
    .slice(0, at)
    .filter((one) => one.ofAll === true && one.counter === counter && one.within === undefined);
  return { ...charge, within: taken.reduce(lowerBy, within) };
}

/**
 * Lowers a ceiling by the amounts that are added, below 0 where they exceed it; returned amounts count once they are
 * committed.
 */
function lowerBy(within: Ceiling, { amounts }: Pick<IndexedCharge, "amounts">): Ceiling {
  const added = Object.fromEntries(chargeFields.map((field) => [field, Math.max(0, amounts[field])])) as Charge;
  const lowered = addCharge({ ...noCharge, ...within }, added, -1);
  return Object.fromEntries(chargeFields.flatMap((field) => (field in within ? [[field, lowered[field]]] : [])));
}

const heldTo = (charge: IndexedCharge, within: Ceiling | undefined): IndexedCharge =>
  within === undefined ? charge : { ...charge, within };

/**
 * Returns the charges of a budget event. A reservation is charged as a whole; its settlement charges the difference.
 */
function budgetCharges(draft: EventDraft & { readonly type: "BUDGET_RESERVED" | "BUDGET_SETTLED" }): IndexedCharge[] {
  const { counters, amounts } = draft.payload;
  const added = draft.type === "BUDGET_RESERVED" ? amounts : addCharge(amounts, draft.payload.reserved, -1);
  return counters.map((counter, i) => heldTo({ counter, amounts: added }, draft.ceilings?.[i]));
}

/** Returns the charges of a model endpoint: one over all tenants, and one of the tenant. */
const ofEndpoint = (charge: IndexedCharge, { ceilings }: EventDraft): readonly IndexedCharge[] => [
  charge,
  heldTo({ ...charge, ofAll: true }, ceilings?.[0]),
];

/**
 * Returns the charge of a decided route: one invocation of its endpoint, and the tokens that it may use. The end of the
 * attempt that made the call corrects them to the actual usage.
 */
function routeCharge({ routes }: WorkflowRecord, { type, payload }: EventDraft): IndexedCharge | null {
  if (type === "ROUTE_DECIDED" && payload.decision !== null) {
    const amounts = { ...noCharge, invocations: 1, tokens: payload.request.expected_tokens };
    return { counter: endpointCounter(payload.decision.endpoint.name), amounts };
  }
  if (type !== "ACTION_SUCCEEDED" && type !== "ACTION_FAILED") return null;
  // An abandoned call reports its usage when it ends.
  if ("pending" in payload && payload.pending) return null;
  const { action_id, attempt } = payload;
  const { model, tokens, cost } = payload.usage;
  if (model === undefined) return null;
  const routed = routes.findLast((r) => r.action_id === action_id && r.attempt === attempt && r.endpoint === model);
  if (routed === undefined) return null;
  const used = tokens === undefined ? 0 : tokens.total - routed.reserved_tokens;
  return { counter: endpointCounter(model), amounts: { ...noCharge, tokens: used, money: cost?.total ?? 0 } };
}

type IndexedWaits = NonNullable<AppendIndexes["waits"]>;

/**
 * Returns the waits that these events began or ended. A workflow that ends waits for nothing; one that begins anew
 * waits for what its steps were parked for.
 */
function waitsOf(record: WorkflowRecord, drafts: readonly EventDraft[], now: number): IndexedWaits {
  const changed = new Set(gather(drafts, ({ type, step_id }) => (movesWait(type) ? [step_id as string] : none)));
  if (isTerminal(record.state) || drafts.some(({ type }) => type === "WORKFLOW_RESTARTED"))
    for (const { step } of parkedSteps(record)) changed.add(step.step_id);
  return [...changed].flatMap((step_id): IndexedWaits => {
    const step = record.steps.get(step_id);
    if (step?.parked == null || !("name" in step.parked)) return none;
    const { source, name, key } = step.parked;
    const isParked = step.phase === "parked" && !isTerminal(record.state);
    return [{ step_id, wait: isParked ? { source, name, key, since: now } : null }];
  });
}

const movesWait = (type: EventDraft["type"]): boolean =>
  type === "STEP_PARKED" || type === "STEP_RESUMED" || type === "STEP_SKIPPED" || type === "STEP_FAILED";

/** Returns the events that a step took from others. */
const takenBy = ({ type, payload }: EventDraft): readonly string[] =>
  type === "STEP_RESUMED" && payload.by === "event" && payload.event.broadcast !== true
    ? [payload.event.event_id]
    : none;

type SharedKeys = NonNullable<AppendIndexes["keys"]>;

/**
 * Returns the keys that other workflows must find: those of calls that they could make as well, and that of the
 * request.
 */
function keysOf({ intent, keys }: WorkflowRecord, { type, payload, step_id }: EventDraft): SharedKeys {
  if (type === "INTENT_RECEIVED" && payload.submission !== undefined) {
    const key = requestKey(intent.actor, payload.submission, intent.schedule);
    return [{ key, action_id: intent.intent_id, unique: true }];
  }
  if (type === "STEP_RESUMED") {
    const taken = takenBy({ type, payload } as EventDraft);
    return taken.map((id) => ({ key: eventClaim(id), action_id: String(step_id), unique: true }));
  }
  if (type !== "ACTION_STARTED") return none;
  const { key, action_id, claim, token } = payload;
  // A start without a token makes no call: other workflows would take it for the first call of the key.
  if (token === undefined) return none;
  // The workflow whose start is written first makes the call.
  if (claim !== undefined) return [{ key: claimedKey(key, claim), action_id, unique: true }];
  const isFound = key.startsWith("apply:") || key.startsWith("undo:");
  return isFound && keys.get(key) === action_id ? [{ key, action_id }] : none;
}
