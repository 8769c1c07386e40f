/**
 * Judges one-time addresses of waits, and the reminders of waits.
 *
 * 1.  A run of a wait is answered once at its address, and goes on once by it, with that answer. A wait that is
 *     answered does not end by its time.
 * 2.  A reminder comes while its step waits, once its instant is there; the next follows at a multiple of the interval
 *     after the beginning of the wait, and there are no more than the step allows.
 */
import { isDeepStrictEqual } from "node:util";
import { foldWorkflow } from "../../machines/fold.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { StepRecord, WorkflowRecord } from "../../src/contract/workflow.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";

interface Before {
  readonly story: Story;
  readonly step: StepRecord;
  /** Epoch ms at which the step began to wait. */
  readonly since: number;
}

export function judgeTokens(story: Story, { durable }: OutsideWorld): readonly string[] {
  if (!story.steps.some(({ kind }) => kind === "wait")) return [];
  const records = new Map<string, WorkflowRecord | null>();
  const began = new Map<string, number>();
  return durable.flatMap(({ event }) => {
    const { workflow_id: id, step_id, event_type, timestamp, sequence } = event;
    if (id === null) return [];
    const record = records.get(id) ?? null;
    const step = record?.steps.get(step_id ?? "");
    const since = began.get(`${id} ${step_id}`) ?? 0;
    const why = step?.step.kind === "wait" ? judgeEvent(event, { story, step, since }) : null;
    if (event_type === "STEP_PARKED") began.set(`${id} ${step_id}`, Date.parse(timestamp));
    records.set(id, foldWorkflow(record, event));
    return why === null ? [] : [`${why} (${event_type} of ${step_id} in ${id} at ${sequence})`];
  });
}

function judgeEvent(event: LedgerEvent, before: Before): string | null {
  const { answer, resumed, step } = before.step;
  switch (event.event_type) {
    case "WAIT_ANSWERED":
      if (step.params["token"] !== true) return "token: a wait without an address is answered";
      if (answer !== null || resumed !== null) return "token: it is answered again, or after its wait";
      return isOver(event, before.step) ? "token: it is answered after its time" : null;
    case "STEP_RESUMED": {
      const { by } = payloadOf(event, "STEP_RESUMED");
      if (by === "token") return answer === null || resumed !== null ? "token: it goes on without an answer" : null;
      return by === "time" && answer !== null ? "token: it is answered, and ends by its time" : null;
    }
    case "STEP_SUCCEEDED": {
      if (resumed?.by !== "token" || before.story.security !== null) return null;
      const isSame = isDeepStrictEqual(payloadOf(event, "STEP_SUCCEEDED").output, answer?.payload ?? null);
      return isSame ? null : "token: it gives something else than the answer";
    }
    case "WAIT_REMINDED":
      return judgeReminder(event, before);
    default:
      return null;
  }
}

const isOver = ({ timestamp }: LedgerEvent, { phase, parked }: StepRecord): boolean =>
  phase === "parked" && parked?.due_at != null && Date.parse(parked.due_at) <= Date.parse(timestamp);

function judgeReminder(event: LedgerEvent, { step: { step, parked, phase }, since }: Before): string | null {
  const { reminder, role } = payloadOf(event, "WAIT_REMINDED");
  const asked = step.params["remind"] as { every_ms: number; role: string; at_most?: number } | undefined;
  const last = parked?.source === "event" ? parked.reminder : undefined;
  if (asked === undefined || last === undefined || phase !== "parked") return "remind: nothing is waited for";
  const { every_ms, at_most = Number.POSITIVE_INFINITY } = asked;
  const now = Date.parse(event.timestamp);
  if (role !== asked.role || reminder.sent !== last.sent + 1) return `remind: it is the ${reminder.sent}th, of ${role}`;
  if (reminder.sent > at_most) return `remind: there are more than ${at_most}`;
  if (last.due_at === null || now < Date.parse(last.due_at)) return `remind: it comes before ${last.due_at}`;
  if (parked?.due_at != null && Date.parse(last.due_at) >= Date.parse(parked.due_at))
    return "remind: its instant is after the end of the wait";
  if (reminder.due_at === null) return reminder.sent === at_most ? null : "remind: no other one follows";
  const next = Date.parse(reminder.due_at);
  return next > now && next - now <= every_ms && (next - since) % every_ms === 0
    ? null
    : `remind: the next follows at ${reminder.due_at}`;
}
