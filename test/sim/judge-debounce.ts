/**
 * Judges requests that newer ones of their queue and key supersede, against the ledger.
 *
 * 1.  The work of one may begin `ms` after it was accepted, or `max_ms` after the first that waited, if sooner.
 * 2.  It does not join its queue before that time, by the clock of the process that notes so; the clock of another
 *     process may be behind when it begins.
 * 3.  Once its time has come, nobody of its line waits on who came before it, by the clocks of the processes that
 *     accepted them. Those who are paused or held keep their turn.
 * 4.  Those whom it supersedes are cancelled, with its id as the reason or that of another one that supersedes them,
 *     and never begin.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { lineOf } from "../../src/contract/queue.ts";
import { isCancelled, isTerminal, type WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";

type Records = Map<string, WorkflowRecord | null>;

export function judgeDebounce({ durable }: Pick<OutsideWorld, "durable">): readonly string[] {
  const records: Records = new Map();
  const failures: string[] = [];
  const reasons = new Map<string, string>();
  for (const { event } of durable) {
    const { workflow_id: id, event_type } = event;
    if (id === null) continue;
    const record = foldWorkflow(records.get(id) ?? null, event);
    if (event_type === "WORKFLOW_CANCELLING" || event_type === "WORKFLOW_CANCELLED")
      reasons.set(id, reasons.get(id) ?? String(event.payload["reason"]));
    const why = record === null || record.debounced === null ? [] : judgeEvent(event, { record, records, reasons });
    failures.push(...why.map((one) => `debounce: ${one} (${event_type} of ${id} at ${event.sequence})`));
    records.set(id, record);
  }
  return failures;
}

interface Standing {
  readonly record: WorkflowRecord;
  /** All workflows as they were before the event. */
  readonly records: Records;
  /** Why workflows were cancelled first. */
  readonly reasons: ReadonlyMap<string, string>;
}

const joining: ReadonlySet<string> = new Set(["WORKFLOW_QUEUED", "WORKFLOW_ADMITTED", "PLAN_CREATED"]);

function judgeEvent(event: LedgerEvent, standing: Standing): readonly string[] {
  const { debounced, intent, run } = standing.record;
  const { debounce } = intent.queue ?? {};
  if (debounced === null || debounce === undefined) return ["it waits, and its queue does not say so"];
  const [now, from, until] = [event.timestamp, debounced.from, debounced.until].map((text) => Date.parse(text)) as [
    number,
    number,
    number,
  ];
  if (event.event_type === "INTENT_RECEIVED") {
    const { ms, max_ms = Number.POSITIVE_INFINITY } = debounce;
    const due = Math.min(now + ms, Math.max(now, from + max_ms));
    return from <= now && until === due ? [] : [`it waits from ${from} until ${until} in place of ${due}`];
  }
  if (run > 1) return [];
  const hadPlace = (standing.records.get(standing.record.workflow_id)?.place ?? null) !== null;
  if (joining.has(event.event_type) && !hadPlace)
    return now < until ? [`it joins its queue at ${now}, and not at ${until}`] : [];
  return event.event_type === "WORKFLOW_DEBOUNCED" ? judgeSuperseding(event, standing) : [];
}

function judgeSuperseding(event: LedgerEvent, { record, records, reasons }: Standing): readonly string[] {
  const { replaces } = payloadOf(event, "WORKFLOW_DEBOUNCED");
  const line = lineOf(record.intent.queue as NonNullable<typeof record.intent.queue>);
  // It is decided in the instant of its request, and by then the ledger held those that stand before it there.
  const known = record.accepted_at === event.timestamp ? idsBefore(records, record.workflow_id) : [...records.keys()];
  const left = [...records].filter(
    ([id, one]) => one !== null && isBefore(one, record) && waitsIn(one, line) && known.includes(id),
  );
  return [
    ...left.map(([id]) => `${id} came before it, and waits on`),
    ...replaces.flatMap((id) => {
      const reason = reasons.get(id) ?? "";
      const other = records.get(reason.replace("replaced by ", ""));
      const isSuperseded =
        reason === `replaced by ${record.workflow_id}` || (other != null && other.debounced !== null);
      if (!isSuperseded) return [`${id} is cancelled: ${reason}`];
      return records.get(id)?.plan == null ? [] : [`${id} had begun, and is superseded`];
    }),
  ];
}

/** Returns the workflows whose requests stand before that of this one in the ledger. */
function idsBefore(records: Records, id: string): readonly string[] {
  const ids = [...records.keys()];
  return ids.slice(0, ids.indexOf(id));
}

const isBefore = (one: WorkflowRecord, other: WorkflowRecord): boolean => {
  const [since, own] = [one.debounced?.from ?? "", other.debounced?.from ?? ""];
  return since < own || (since === own && one.workflow_id < other.workflow_id);
};

const waitsIn = ({ intent, state, place, paused, held, debounced, run }: WorkflowRecord, line: string): boolean =>
  intent.queue !== undefined &&
  debounced !== null &&
  run === 1 &&
  lineOf(intent.queue) === line &&
  !isTerminal(state) &&
  !isCancelled(state) &&
  place !== "taken" &&
  paused === null &&
  held === null;
