/**
 * The interrupts that end a run before its workflow has ended: gates that the caller may answer, and waits for somebody
 * else.
 *
 * Owns: the form of an answer, which is AG-UI's own for calls (`approved`, `editedArgs`), and the form itself for a
 * question.
 * 1.  An interrupt shows all that its gate shows, and its id is good for that alone.
 * 2.  A caller who may not answer is asked nothing: resolving their interrupt looks again.
 */
import { z } from "zod";
import { instantText } from "../../../contract/instant.ts";
import { JsonObject } from "../../../contract/json.ts";
import { readRequest } from "../../../contract/known-keys.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import type { Gate, WorkflowState } from "../../../index.ts";
import { formOfGate } from "../../../protocol/form-fields.ts";
import { answerSchemaOf, type GateAnswer, readGateAnswer } from "../../../protocol/gate-answer.ts";
import { questionKey } from "../../../protocol/name-question.ts";
import { openGates, renderGate, toMcpGate } from "../../../protocol/tell-gate.ts";
import { showLine } from "../../../protocol/visible-text.ts";
import { answerableGates } from "../agent-context.ts";
import type { RunInput } from "./agui-messages.ts";
import type { RunContext } from "./agui-options.ts";
import { sealInterrupt } from "./seal-interrupt.ts";

const interruptRef = moduleRef(0, "agui", "interrupts");

const reasons = { approval: "tool_call", ask: "input_required", in_doubt: "countersign:in_doubt" } as const;

const Approved = z.strictObject({
  approved: z.boolean(),
  editedArgs: JsonObject.optional(),
  comment: z.string().max(4096).optional(),
});

/** Reads the payload of an answer to this gate. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export function readResponse(gate: Gate, payload: unknown): GateAnswer {
  const reading = { what: "resume.payload", source: interruptRef };
  if (gate.kind === "ask") return { decision: "answer", answer: readRequest(JsonObject, payload, reading) };
  if (gate.kind === "in_doubt") return readGateAnswer(gate, payload, interruptRef);
  const { approved, editedArgs: edit, comment } = readRequest(Approved, payload, reading);
  return { decision: approved ? "approve" : "reject", edit, comment };
}

function responseSchemaOf(gate: Gate): object {
  if (gate.kind === "ask") return formOfGate(gate) ?? {};
  const schema = answerSchemaOf(gate);
  if (gate.kind === "in_doubt") return schema;
  const { edit, comment } = schema["properties"] as JsonObject;
  const properties = { approved: { type: "boolean" }, ...(edit !== undefined && { editedArgs: edit }), comment };
  return { type: "object", properties, required: ["approved"], additionalProperties: false };
}

/** Returns the id of the tool call that a payload of a step is: a gate and the call that it approves share it. */
export const toolCallIdOf = (workflowId: string, stepId: string, digest: string): string =>
  `${workflowId}-${stepId}-${digest.slice(0, 16)}`;

/** Returns the interrupts with which the run ends. */
export async function interruptsOf(
  context: RunContext,
  { threadId }: RunInput,
  state: WorkflowState,
): Promise<readonly object[]> {
  const { stateKey: key, clock, limits } = context.options;
  const { caller } = context;
  const { workflow_id } = state;
  const last = clock.now() + limits.interruptMs;
  const common = (question: string | null, due: string | null) => {
    const expires_at = due === null ? last : Math.min(last, Date.parse(due));
    const id = sealInterrupt({ key, caller, threadId }, { workflow_id, question, expires_at });
    return { id, expiresAt: instantText(expires_at) };
  };
  const asked = await answerableGates(context, state);
  if (asked.length > 0)
    return asked.map((gate) => ({
      ...common(questionKey(gate), gate.due_at),
      reason: reasons[gate.kind],
      message: renderGate(gate),
      responseSchema: responseSchemaOf(gate),
      ...(gate.kind === "approval" && { toolCallId: toolCallIdOf(workflow_id, gate.step_id, gate.payload_digest) }),
      metadata: { countersign: { workflow_id, gate: toMcpGate(gate) } },
    }));
  return [
    {
      ...common(null, null),
      reason: state.paused === null ? "countersign:waiting" : "countersign:paused",
      message: describeWait(state),
      responseSchema: { type: "object", properties: {}, additionalProperties: false },
      metadata: { countersign: { workflow_id, gates: openGates(state).map(toMcpGate) } },
    },
  ];
}

function describeWait(state: WorkflowState): string {
  if (state.paused !== null) return `Paused: ${showLine(state.paused.reason)}. Look again later.`;
  const gates = openGates(state).map((gate) => renderGate(gate));
  return ["Somebody else decides. Look again later.", ...gates].join("\n\n");
}
