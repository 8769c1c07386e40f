/**
 * A person's answer to a gate as clients of agent protocols send it: the JSON Schema that they are shown, the reading
 * of an answer, and the decision that the kernel is asked for.
 *
 * Owns: the form of an answer. Never: says who may decide, and whether an edit or a form's answer fits; the kernel
 * does.
 * 1.  A decision names all that the gate shows: the digests of its payload and basis, and the targets of earlier
 *     approvals. What has changed meanwhile is refused by the kernel.
 * 2.  An unknown member of an answer is refused; no text is read as a decision.
 */
import { z } from "zod";
import type { Gate, GateRequest } from "../contract/gate.ts";
import { type Json, JsonObject, JsonValue } from "../contract/json.ts";
import { readRequest } from "../contract/known-keys.ts";
import type { ModuleRef } from "../contract/module-ref.ts";
import { formOfGate } from "./form-fields.ts";
import { namedTargets } from "./named-targets.ts";

/** A decision without its caller. */
export type GateDecision = Omit<GateRequest, "tenant_id" | "principal">;

/** An answer to a gate. `done`, `retry` and `failed` settle a call in doubt. */
export interface GateAnswer {
  readonly decision: "approve" | "reject" | "done" | "retry" | "failed" | "answer";
  readonly edit?: JsonObject | undefined;
  readonly result?: Json | undefined;
  readonly answer?: JsonObject | undefined;
  readonly comment?: string | undefined;
}

const comment = z.string().max(4096).optional();
const readers = {
  approval: z.strictObject({ decision: z.enum(["approve", "reject"]), edit: JsonObject.optional(), comment }),
  in_doubt: z.strictObject({ decision: z.enum(["done", "retry", "failed"]), result: JsonValue.optional(), comment }),
  ask: z.strictObject({ decision: z.enum(["answer", "reject"]), answer: JsonObject.optional(), comment }),
} as const;

/** Reads an answer to this gate. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH. */
export const readGateAnswer = ({ kind }: Pick<Gate, "kind">, given: unknown, source: ModuleRef): GateAnswer =>
  readRequest<z.ZodType<GateAnswer>>(readers[kind], given, { what: "answer", source });

/** Returns the JSON Schema of an answer to this gate. */
export function answerSchemaOf(gate: Gate): JsonObject {
  const { properties = {}, ...schema } = z.toJSONSchema(readers[gate.kind], { io: "input" }) as JsonObject & {
    readonly properties?: JsonObject;
  };
  const { $schema: _, ...rest } = schema as JsonObject;
  const form = formOfGate(gate);
  const { edit: _edit, ...members } = properties;
  const editSchema = editSchemaOf(gate);
  return {
    ...rest,
    properties: {
      ...members,
      ...(form !== null && { answer: form as unknown as JsonObject }),
      ...(editSchema !== null && { edit: editSchema }),
    },
  } as JsonObject;
}

/** Returns the schema of an edit, which gives some members of the editable value; null if nothing may be edited. */
function editSchemaOf({ editable = null }: Gate): JsonObject | null {
  if (editable === null) return null;
  const { required: _, $schema: _schema, ...schema } = editable.schema ?? { type: "object" };
  return schema as JsonObject;
}

/** Returns the decision that an answer asks for, bound to what the gate shows. */
export function decisionOf(gate: Pick<Gate, DecidedOn>, given: GateAnswer): GateDecision {
  const { gate_id, payload_digest, basis_digest, votes } = gate;
  const { decision: word, edit, result, answer, comment: words } = given;
  const decision = word === "reject" || word === "failed" ? "reject" : "approve";
  return {
    gate_id,
    decision,
    payload: {
      payload_digest,
      ...(basis_digest !== undefined && { basis_digest }),
      ...((word === "done" || word === "retry") && { resolution: word }),
      ...(result !== undefined && { result }),
      ...(answer !== undefined && { answer }),
      ...(edit !== undefined && { edit }),
      ...(decision === "approve" ? namedTargets(votes) : {}),
      ...(words !== undefined && { comment: words }),
    },
  };
}

type DecidedOn = "gate_id" | "payload_digest" | "basis_digest" | "votes";
