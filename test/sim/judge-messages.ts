/**
 * Judges messages to work under way.
 *
 * 1.  A message that its author was told is received is in the ledger, once; one that was refused is not.
 * 2.  A plan is made with all messages that came before it was begun, in their order, each once, and with no others.
 */
import { isDeepStrictEqual } from "node:util";
import { payloadOf } from "../../src/contract/event.ts";
import type { OutsideWorld } from "./outside-world.ts";
import { type Messages, readIn } from "./story-messages.ts";

interface Added {
  readonly text: string;
  /** Whether it came while a plan was being made, which does not know it. */
  isLate: boolean;
}

export function judgeMessages({ durable }: OutsideWorld, messages: Messages): readonly string[] {
  const added = new Map<string | null, Added[]>();
  const failures: string[] = [];
  for (const { event } of durable) {
    const { workflow_id: id, event_type, sequence } = event;
    const own = added.get(id) ?? [];
    if (event_type === "INPUT_ADDED") {
      const { text, follows } = payloadOf(event, "INPUT_ADDED");
      added.set(id, [...own, { text, isLate: follows === undefined }]);
    }
    if (event_type !== "PLAN_CREATED") continue;
    const { plan, cause } = payloadOf(event, "PLAN_CREATED");
    const read = cause === "fork" ? null : readIn(plan.reasoning);
    const known = own.filter(({ isLate }) => !isLate).map(({ text }) => text);
    if (read !== null && !isDeepStrictEqual(read, known))
      failures.push(`message: a plan of ${id} at ${sequence} is made with ${read}, and not with ${known}`);
    for (const one of own) one.isLate = false;
  }
  const kept = [...added.values()].flat().map(({ text }) => text);
  return [...failures, ...[...messages].flatMap(([text, told]) => judgeKept(text, told, kept))];
}

function judgeKept(text: string, told: "received" | "refused" | "unknown", kept: readonly string[]): readonly string[] {
  const many = kept.filter((one) => one === text).length;
  if (many > 1) return [`message: ${text} is in the ledger ${many} times`];
  if (told === "received" && many === 0) return [`message: ${text} was received, and is not in the ledger`];
  return told === "refused" && many > 0 ? [`message: ${text} was refused, and is in the ledger`] : [];
}
