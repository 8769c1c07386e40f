/**
 * The changes of gates in a row of the log about which people are notified.
 *
 * Owns: the mapping from changes to notices, and the time of reminders. Never: touches a store or a clock.
 * 1.  The same row gives the same notices under the same ids, in every process.
 * 2.  A gate that was opened and decided in one row was never shown to anybody: only the decision is reported.
 */
import { sha256 } from "../../contract/digest.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { type EventFacts, factsOf, touchesGate, typesWhere } from "../../contract/events.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import { type GateNoticeKind, type NoticeKind, waitNoticesId } from "../../contract/gate-notice.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { DeliveryDraft, GateUpdates } from "../../ports/delivery-store.ts";

/** Gates as they were; records are changed in place, gates are not. */
export type GatesBefore = ReadonlyMap<string, Gate>;

export interface UpdateOptions {
  readonly kinds: readonly NoticeKind[];
  /** The time before a gate falls due at which people are reminded. */
  readonly dueSoonMs: number;
}

const touching = typesWhere((facts) => touchesGate(facts) || facts.notice === "wait_reminded");

/** Returns whether an event may have changed a gate. */
export const touchesGates = ({ event_type: type }: LedgerEvent): boolean => touching.has(type);

const touchingInBody = new RegExp(`"(?:${[...touching].join("|")})"`);

/** Returns whether the body of a row may hold an event that has changed a gate. */
export const mayTouchGates = (body: string | null): boolean => body !== null && touchingInBody.test(body);

/** Returns the gate notices of a row. @param events those of the row. @param record the workflow after it. */
export function gateUpdates(
  events: readonly LedgerEvent[],
  { before, record }: { readonly before: GatesBefore; readonly record: WorkflowRecord },
  options: UpdateOptions,
): readonly GateUpdates[] {
  const last = events.at(-1);
  if (last === undefined) return [];
  const named = (notice: EventFacts["notice"]) =>
    new Set(
      events.filter((event) => factsOf(event.event_type).notice === notice).map(({ payload }) => payload["gate_id"]),
    );
  const happened: Happened = new Map(gateHappenings.map((notice) => [notice, named(notice)]));
  const ofGates = [...record.gates.values()].flatMap((gate) => {
    const was = before.get(gate.gate_id);
    if (gate === was) return [];
    const kind = kindOf(gate, was, happened);
    const reported =
      kind === null ? [] : [draftOf(gate, kind, { sequence: last.sequence, at: Date.parse(last.timestamp) })];
    return [updatesOf(gate, [...reported, ...remindersOf(gate, Date.parse(last.timestamp), options)], options)];
  });
  return [...ofGates, ...events.flatMap((event) => reminderOf(event, options))];
}

/** Returns the notice of an event that reminds of a wait. */
function reminderOf(event: LedgerEvent, { kinds }: UpdateOptions): readonly GateUpdates[] {
  if (factsOf(event.event_type).notice !== "wait_reminded" || !kinds.includes("wait_reminded")) return [];
  const { tenant_id, sequence } = event;
  const workflow_id = String(event.workflow_id);
  const gate = { tenant_id, workflow_id, gate_id: waitNoticesId(String(event.step_id)) };
  const draft = draftNamed(gate, { kind: "wait_reminded", which: sequence, sequence, at: Date.parse(event.timestamp) });
  return [{ workflow_id, gate_id: gate.gate_id, drafts: [draft] }];
}

/** Returns the notices of a gate that was open before its notifier was there. */
export const updatesOfOpen = (gate: Gate, now: number, options: UpdateOptions): GateUpdates =>
  updatesOf(gate, [draftOf(gate, "opened", { sequence: null, at: now }), ...remindersOf(gate, now, options)], options);

const updatesOf = (
  { workflow_id, gate_id }: Gate,
  drafts: readonly DeliveryDraft[],
  { kinds }: UpdateOptions,
): GateUpdates => ({
  workflow_id,
  gate_id,
  drafts: drafts.filter(({ kind }) => kinds.includes(kind)),
});

/** The happenings at a gate of which people are told, those that matter most first. */
const gateHappenings = ["escalated", "next_stage", "assigned", "commented", "reminded"] as const;

/** The ids of the gates at which each happened. */
type Happened = ReadonlyMap<(typeof gateHappenings)[number], ReadonlySet<unknown>>;

function kindOf(gate: Gate, was: Gate | undefined, happened: Happened): GateNoticeKind | null {
  const wasOpen = was !== undefined && isOpenGate(was);
  if (!isOpenGate(gate)) return wasOpen || was === undefined ? "decided" : null;
  if (!wasOpen) return "opened";
  const isTold = (kind: (typeof gateHappenings)[number]): boolean =>
    happened.get(kind)?.has(gate.gate_id) === true && (kind !== "commented" || hasListeners(gate));
  if (isTold("escalated")) return "escalated";
  const isSame = gate.payload_digest === was.payload_digest && gate.basis_digest === was.basis_digest;
  if (!isSame) return "revised";
  return gateHappenings.find(isTold) ?? null;
}

/** Returns whether the newest comment at a gate is for anybody: it mentions or asks somebody, or somebody listens. */
function hasListeners({ conversation }: Gate): boolean {
  const newest = conversation?.comments.at(-1);
  const { assigned_to = null, watchers = [] } = conversation ?? {};
  return (
    newest !== undefined &&
    (newest.mentions.length > 0 || newest.asks === true || assigned_to !== null || watchers.length > 0)
  );
}

/** Returns the reminder of a gate: `dueSoonMs` before it falls due, but not before half of its time is over. */
function remindersOf(gate: Gate, now: number, { dueSoonMs }: UpdateOptions): readonly DeliveryDraft[] {
  if (gate.status !== "open" || gate.due_at === null) return [];
  const due = Date.parse(gate.due_at);
  const at = Math.max(due - dueSoonMs, Math.ceil((now + due) / 2));
  return due > now ? [draftOf(gate, "due_soon", { sequence: null, at })] : [];
}

interface Instant {
  readonly sequence: number | null;
  readonly at: number;
}

function draftOf(gate: Gate, kind: GateNoticeKind, { sequence, at }: Instant): DeliveryDraft {
  const which = {
    opened: gate.opened_at,
    decided: gate.opened_at,
    due_soon: gate.due_at,
    revised: sequence,
    escalated: sequence,
    reminded: sequence,
    next_stage: sequence,
    assigned: sequence,
    commented: sequence,
  };
  return draftNamed(gate, { kind, which: which[kind], sequence, at });
}

interface NamedDraft extends Instant {
  readonly kind: NoticeKind;
  /** The part of the content that distinguishes it from other notices of this kind. */
  readonly which: string | number | null;
}

function draftNamed(
  { tenant_id, workflow_id, gate_id }: Pick<Gate, "tenant_id" | "workflow_id" | "gate_id">,
  { kind, which, sequence, at }: NamedDraft,
): DeliveryDraft {
  const name = JSON.stringify([workflow_id, gate_id, kind, which]);
  return { delivery_id: `ntc_${sha256(name).slice(0, 32)}`, tenant_id, workflow_id, gate_id, kind, sequence, at };
}
