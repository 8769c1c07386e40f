/**
 * Questions, held against their answers.
 *
 * 1.  A question is answered at most once, after it was asked, and by nobody once its time is over.
 * 2.  The answer follows the form that the gate shows, and has no other form than the form gives it.
 * 3.  The step gives the answer that closed its gate, unless the host's screening replaced it.
 * 4.  All who approved gave this answer.
 */
import { isDeepStrictEqual } from "node:util";
import { readAnswer } from "../../src/contract/answer-form.ts";
import { type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import { type Gate, gateIdOf } from "../../src/contract/gate.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import type { AskParams } from "../../src/contract/step-kinds.ts";
import type { OutsideWorld } from "./outside-world.ts";
import type { Story } from "./story.ts";

/** A question as it stands, by the id of its gate. */
interface Asked {
  gate: Gate;
  answer: JsonObject | null;
  isOver: boolean;
  votes: Map<string, JsonObject | undefined>;
}

export function judgeAsks(story: Story, { durable }: OutsideWorld): readonly string[] {
  const workflows = new Map<string, Map<string, Asked>>();
  return durable.flatMap(({ event }) => {
    const asked = workflows.get(event.workflow_id ?? "") ?? new Map<string, Asked>();
    workflows.set(event.workflow_id ?? "", asked);
    const why = judgeEvent(story, event, asked);
    return why === null ? [] : [`${why} (${event.event_type} of ${event.step_id} in ${event.workflow_id})`];
  });
}

function judgeEvent(story: Story, event: LedgerEvent, asked: Map<string, Asked>): string | null {
  switch (event.event_type) {
    case "GATE_OPENED":
    case "GATE_REVISED": {
      const { gate } = payloadOf(event, "GATE_OPENED");
      if (gate.kind === "ask") asked.set(gate.gate_id, { gate, answer: null, isOver: false, votes: new Map() });
      return null;
    }
    case "GATE_VOTED": {
      const { gate_id, principal, decision, advisory, answer } = payloadOf(event, "GATE_VOTED");
      if (decision === "approve" && !advisory) asked.get(gate_id)?.votes.set(JSON.stringify(principal.id), answer);
      return null;
    }
    case "GATE_VOTE_WITHDRAWN": {
      const { gate_id, principal } = payloadOf(event, "GATE_VOTE_WITHDRAWN");
      asked.get(gate_id)?.votes.delete(JSON.stringify(principal.id));
      return null;
    }
    case "USER_APPROVED":
      return judgeAnswer(payloadOf(event, "USER_APPROVED"), asked);
    case "GATE_EXPIRED": {
      const expired = payloadOf(event, "GATE_EXPIRED");
      const one = asked.get(expired.gate_id);
      if (one === undefined) return null;
      one.isOver = true;
      return expired.action === "allow" ? judgeAnswer(expired, asked, true) : null;
    }
    case "STEP_SUCCEEDED":
      return judgeOutput(story, event, asked);
    default:
      return null;
  }
}

function judgeAnswer(
  { gate_id, answer }: { readonly gate_id: string; readonly answer?: JsonObject },
  asked: Map<string, Asked>,
  isOwn = false,
): string | null {
  const one = asked.get(gate_id);
  if (one === undefined) return answer === undefined ? null : "asks: an answer where no question is";
  if (answer === undefined) return "asks: a question is approved without an answer";
  if (one.answer !== null) return "asks: a question is answered twice";
  if (one.isOver && !isOwn) return "asks: a question is answered after its time";
  one.answer = answer;
  const reading = readAnswer((one.gate.payload as unknown as AskParams).form, answer);
  if (!reading.ok || JSON.stringify(reading.value) !== JSON.stringify(answer))
    return "asks: the answer is not as the form has it";
  const differs = [...one.votes.values()].some((vote) => !isDeepStrictEqual(vote, answer));
  return differs && !isOwn ? "asks: a vote that carried the answer gave another" : null;
}

function judgeOutput({ security }: Story, event: LedgerEvent, asked: Map<string, Asked>): string | null {
  const one = asked.get(gateIdOf(event.step_id ?? ""));
  if (one === undefined) return null;
  if (one.answer === null) return "asks: its step succeeds without an answer";
  const isSame = isDeepStrictEqual(payloadOf(event, "STEP_SUCCEEDED").output, one.answer);
  return isSame || security !== null ? null : "asks: its step gives something else than the answer";
}
