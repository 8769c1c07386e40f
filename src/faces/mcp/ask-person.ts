/**
 * A gate as a question to the person at the other end (elicitation), and their answer as a decision.
 *
 * 1.  The question shows all that the gate shows, and its key identifies that: gate, opening, payload, basis, and the
 *     targets of earlier approvals. An answer counts for that and nothing else.
 * 2.  Accepting without a decision decides nothing. Declining rejects, but does not settle a call in doubt: that gate
 *     stays open, as any does whose question is dismissed.
 * 3.  A question is asked with the fields of its own form; a field that no client can show is filled with JSON.
 * 4.  Only a caller who may decide is asked. The kernel checks further conditions (separation, seats, signatures).
 */
import { type InputRequest, inputRequired, inputResponse } from "@modelcontextprotocol/server";
import { z } from "zod";
import type { AnswerForm } from "../../contract/answer-form.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { isPlainObject, type Json, type JsonObject, NotJson } from "../../contract/json.ts";
import { raise } from "../../contract/kernel-error.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Gate, WorkflowState } from "../../index.ts";
import {
  answerOf,
  describeShown,
  fieldsOf,
  formOfGate,
  readTyped,
  type ShownField,
} from "../../protocol/form-fields.ts";
import { decisionOf, type GateDecision } from "../../protocol/gate-answer.ts";
import { questionKey } from "../../protocol/name-question.ts";
import { parseSafeJson } from "../../protocol/parse-json.ts";
import { openGates, renderGate } from "../../protocol/tell-gate.ts";
import { type McpContext, requireScope } from "./mcp-context.ts";

const askRef = moduleRef(0, "mcp", "ask_person");

const Approval = z.strictObject({
  decision: z.enum(["approve", "reject"]),
  edit: z.string().max(65_536).optional(),
  comment: z.string().max(4096).optional(),
});
const Doubt = Approval.extend({
  decision: z.enum(["done", "retry", "failed"]),
  result: z.string().max(65_536).optional(),
}).omit({ edit: true });

type Answer =
  | z.infer<typeof Approval>
  | z.infer<typeof Doubt>
  | { readonly decision: "approve"; readonly answer: JsonObject; readonly comment?: string };

const commentField = { type: "string", title: "Comment", description: "Kept with the decision." } as const;
const approvalForm = {
  type: "object",
  properties: {
    decision: { type: "string", title: "Decision", enum: ["approve", "reject"] },
    edit: {
      type: "string",
      title: "Edit",
      description:
        "Fields to change before it runs (of the draft, where one is shown), as a JSON object; empty to leave it.",
    },
    comment: commentField,
  },
  required: ["decision"],
} as const;
const doubtForm = {
  type: "object",
  properties: {
    decision: { type: "string", title: "What became of it?", enum: ["done", "retry", "failed"] },
    result: {
      type: "string",
      title: "Result",
      description: "With done: what the call gave, as JSON; empty for null.",
    },
    comment: commentField,
  },
  required: ["decision"],
} as const;

export const toQuestion = (gate: Gate): InputRequest =>
  inputRequired.elicit({
    message: renderGate(gate),
    requestedSchema: structuredClone(formFor(gate)) as never,
  });

const formFor = (gate: Gate): object => {
  const form = formOfGate(gate);
  if (form !== null) return questionForm(form);
  return gate.kind === "in_doubt" ? doubtForm : approvalForm;
};

/** Returns the form with the fields that clients can show: texts, numbers, choices of texts, yes and no. */
function questionForm(form: AnswerForm): object {
  const fields = fieldsOf(form);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldFor(field)])),
    required: fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  };
}

function fieldFor(shown: ShownField): object {
  const { label: title, field, kind } = shown;
  const description = describeShown(shown);
  if (kind === "json" || (kind === "choice" && field.type !== "string")) return { type: "string", title, description };
  const {
    exclusiveMinimum: _above,
    exclusiveMaximum: _below,
    multipleOf: _of,
    format,
    ...rest
  } = field as unknown as JsonObject;
  return { ...rest, title, description, ...(format !== undefined && format !== "uuid" && { format }) };
}

/** Returns the answer that a client's fields give: an empty text of a field that need not be filled leaves it out. */
function answerIn(form: AnswerForm, content: Readonly<Record<string, unknown>>): JsonObject {
  const members = fieldsOf(form).map((shown): readonly [string, Json | undefined] => {
    const given = content[shown.name] as Json | undefined;
    if (typeof given !== "string" || (shown.kind === "text" && (given !== "" || shown.isRequired)))
      return [shown.name, given];
    const read = readTyped(shown, given);
    return "problem" in read ? refuseJson(read.problem) : [shown.name, read.value];
  });
  const known = new Set(members.map(([name]) => name));
  return { ...Object.fromEntries(Object.entries(content).filter(([name]) => !known.has(name))), ...answerOf(members) };
}

/** Gates that a form can decide: not those that want a signature. */
export const askableGates = (state: WorkflowState): readonly Gate[] => openGates(state).filter(({ signed }) => !signed);

/**
 * Decides the open gates that are answered; returns the keys of those that were dismissed. Answers to outdated
 * questions are ignored.
 * @throws KernelErrorException as `decideGate` does.
 */
export async function applyAnswers(
  context: McpContext,
  state: WorkflowState,
  answers: Readonly<Record<string, unknown>>,
): Promise<ReadonlySet<string>> {
  const dismissed = new Set<string>();
  for (const gate of openGates(state)) {
    const key = questionKey(gate);
    if (!Object.hasOwn(answers, key)) continue;
    const decision = readAnswer(gate, answers, key);
    if (decision === null) dismissed.add(key);
    else await context.kernel.decideGate(state.workflow_id, { ...requireScope(context, "gate:approve"), ...decision });
  }
  return dismissed;
}

function readAnswer(gate: Gate, answers: Readonly<Record<string, unknown>>, key: string): GateDecision | null {
  const view = inputResponse(answers as Record<string, unknown>, key);
  if (view.kind !== "elicit" || view.action === "cancel") return null;
  if (view.action === "decline") return gate.kind === "in_doubt" ? null : decide(gate, { decision: "reject" });
  const form = formOfGate(gate);
  if (form !== null) return decide(gate, { decision: "approve", answer: answerIn(form, view.content ?? {}) });
  // A person who accepts without a decision has not answered yet.
  if (view.content?.["decision"] === undefined) return null;
  const schema = gate.kind === "in_doubt" ? Doubt : Approval;
  return decide(
    gate,
    readRequest<typeof Approval | typeof Doubt>(schema, view.content, { what: "answer", source: askRef }),
  );
}

function decide(gate: Gate, { decision, comment, ...more }: Answer): GateDecision {
  const { edit = "", result = "", answer } = more as Texts;
  return decisionOf(gate, {
    decision,
    ...(edit.trim() !== "" && { edit: readEdit(edit) }),
    ...(result.trim() !== "" && { result: readJson(result, "result") as Json }),
    ...(answer !== undefined && { answer }),
    ...(comment !== undefined && comment !== "" && { comment }),
  });
}

interface Texts {
  readonly edit?: string;
  readonly result?: string;
  readonly answer?: JsonObject;
}

/** Reads an edit. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function readEdit(text: string): JsonObject {
  const value = readJson(text, "edit");
  return isPlainObject(value) ? value : refuseJson("the edit is not a JSON object");
}

/** Reads JSON. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
function readJson(text: string, what: string): unknown {
  try {
    return parseSafeJson(text);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError || thrown instanceof NotJson)) throw thrown;
    return refuseJson(`the ${what} is not JSON that keeps its meaning: ${thrown.message}`);
  }
}

const refuseJson = (message: string): never => raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, askRef));
