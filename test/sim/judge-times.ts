/**
 * An expiry is on time: whoever says something to a gate whose time is up meets its expiry first, unless the workflow
 * is held back, and nothing expires before its time.
 */
import { foldWorkflow } from "../../machines/fold.ts";
import type { EventType, LedgerEvent } from "../../src/contract/event.ts";
import type { Gate } from "../../src/contract/gate.ts";
import { isHeldBack, type WorkflowRecord } from "../../src/contract/workflow.ts";
import { judgeNote, judgeVotes } from "./judge-notes.ts";
import { personsJudge } from "./judge-persons.ts";
import { aheadJudge, judgedJudge, judgeWord } from "./judge-words.ts";
import type { Durable, GivenDecision, OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";

const words: ReadonlySet<EventType> = new Set([
  "GATE_VOTED",
  "GATE_VOTE_WITHDRAWN",
  "GATE_DELEGATED",
  "USER_APPROVED",
  "USER_REJECTED",
]);
const expiries: ReadonlySet<EventType> = new Set(["GATE_EXPIRED", "GATE_SUSPENDED", "GATE_ESCALATED"]);

export function judgeTimes(story: Story, world: OutsideWorld): readonly string[] {
  const { durable, said, marks } = world;
  const records = new Map<string | null, WorkflowRecord | null>();
  const judgePersons = personsJudge(story);
  const judgeAhead = aheadJudge();
  const judgeJudged = judgedJudge();
  const failures: string[] = [];
  // A process whose clock went back may decide at an earlier instant than it was asked.
  const isAsked = !marks.has("clock jumped back");
  for (const [i, { event, at }] of durable.entries()) {
    const { workflow_id: id } = event;
    if (id === null) continue;
    const record = records.get(id) ?? null;
    const gate = record?.gates.get(String(event.payload["gate_id"]));
    failures.push(...judgeNote(event, record), ...judgePersons(event, gate));
    failures.push(...judgeAhead(event, record), ...judgeJudged(event, gate, world.writers[at - 1]));
    if (gate !== undefined) {
      const before = saidOf(said, { at, event, gate });
      // What holds the workflow back keeps the expiry away, and lets people decide.
      if (record == null || !isHeldBack(record)) failures.push(...judgeOne(event, gate, isAsked ? before : []));
      failures.push(...judgeWord(event, gate, { world, said: before }));
    }
    const after = foldWorkflow(record, event);
    if (durable[i + 1]?.at !== at) failures.push(...judgeVotes(after));
    records.set(id, after);
  }
  return failures;
}

/** What this person had said to the gate by then. */
const saidOf = (
  said: readonly GivenDecision[],
  { at, event, gate: { gate_id } }: Durable & { readonly gate: Gate },
): readonly GivenDecision[] =>
  said.filter(
    (one) =>
      one.at < at &&
      one.workflow_id === event.workflow_id &&
      one.gate_id === gate_id &&
      one.by === (event.payload["principal"] as { readonly id?: unknown } | null)?.id,
  );

function judgeOne(
  event: LedgerEvent,
  { status, due_at, quorum }: Gate,
  said: readonly GivenDecision[],
): readonly string[] {
  const { event_type: type, timestamp, workflow_id, payload } = event;
  if (status !== "open") return [];
  const due = due_at === null ? Number.POSITIVE_INFINITY : Date.parse(due_at);
  const told = `${type} of ${String(payload["gate_id"])} in ${workflow_id} at ${timestamp}, due at ${due_at}`;
  if (expiries.has(type)) return Date.parse(timestamp) < due ? [`early: ${told}`] : [];
  // Votes that were given in time close their gate whenever they are counted.
  if (!words.has(type) || (quorum !== null && type.startsWith("USER_"))) return [];
  const isLate = Date.parse(timestamp) >= due || (said.length > 0 && said.every(({ now }) => now >= due));
  return isLate ? [`late: ${told}`] : [];
}
