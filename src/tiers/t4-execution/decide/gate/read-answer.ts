/**
 * The answer that a person gives to a question, read by the form that its gate shows.
 *
 * 1.  An approval of a question gives an answer, and nothing else does.
 */

import { type AnswerForm, readAnswer } from "../../../../contract/answer-form.ts";
import { fieldErrorsOf } from "../../../../contract/field-error.ts";
import type { Gate, ParsedGateRequest } from "../../../../contract/gate.ts";
import type { JsonObject } from "../../../../contract/json.ts";
import { problemsOf } from "../../../../contract/known-keys.ts";
import type { AskParams } from "../../../../contract/step-kinds.ts";
import { refuseAt } from "../run/refuse-at-gate.ts";

/**
 * Returns the request with its answer as the form reads it, defaults filled in.
 * @throws KernelErrorException T5_ANSWER_INVALID, which names each member; T5_EDIT_WITHOUT_EFFECT for an edit.
 */
export function readAnswerAt(gate: Gate, request: ParsedGateRequest): ParsedGateRequest {
  const { gate_id, kind, payload } = gate;
  const { answer, edit } = request.payload;
  if (kind === "ask" && edit !== undefined)
    refuseAt(gate_id, `${gate_id} asks a question: answer it in payload.answer`, { code: "T5_EDIT_WITHOUT_EFFECT" });
  if (kind === "ask" && request.decision === "approve") {
    if (answer === undefined) return refuse(gate_id, "asks a question: an approval gives its answer in payload.answer");
    const reading = readAnswer((payload as unknown as AskParams).form as AnswerForm, answer);
    if (reading.ok) return { ...request, payload: { ...request.payload, answer: reading.value } };
    const problems = problemsOf(reading.error).map(({ path, problem }) =>
      path === "" ? problem : `${path}: ${problem}`,
    );
    const errors = fieldErrorsOf(reading.error, ["payload", "answer"]);
    return refuse(gate_id, `takes another answer: ${problems.join("; ")}`, { errors });
  }
  return answer === undefined
    ? request
    : refuse(gate_id, "takes no answer with this decision; leave payload.answer out");
}

const refuse = (gateId: string, why: string, detail: JsonObject = {}): never =>
  refuseAt(gateId, `${gateId} ${why}`, { code: "T5_ANSWER_INVALID", detail });
