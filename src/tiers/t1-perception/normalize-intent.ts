/** The intent normaliser: makes one canonical Intent of a request from any source. */
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { fieldErrorsOf } from "../../contract/field-error.ts";
import type { Intent } from "../../contract/intent.ts";
import { type JsonObject, toJson } from "../../contract/json.ts";
import type { NormalizeQuestion } from "../../contract/messages/t1.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { readTitle } from "../../contract/present.ts";
import { readStably, readWith, type SchemaReading } from "../../contract/schema-reading.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import { chooseQueue } from "./choose-queue.ts";

const ref = moduleRef(1, "normalizer", "normalize");

/**
 * Normalises a request. @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT, T1_NORMALIZE_INPUTS_INVALID,
 * T1_QUEUE_INVALID, T1_CLASSIFY_LOW_CONFIDENCE.
 */
export function normalizeIntent(registry: Registry, question: NormalizeQuestion): Intent {
  const { request, perceived, intent_id, regenerated_from, fork, schedule, parent } = question;
  const wanted = request.intent_hint?.intent_type ?? perceived?.intent_type ?? null;
  if (wanted === null)
    raise(
      perceived?.warnings[0] ??
        kernelError("T1_NORMALIZE_UNKNOWN_INTENT", "the request names no intent and has no text to tell it from", ref),
    );
  const [type, version] = wanted.split("@") as [string, string | undefined];
  const capability = registry.getCapability(type, version);
  const given = request.intent_hint?.inputs ?? {};
  // A linked workflow begins with the inputs of the one before, which were parsed when that one was submitted. So does
  // a fork that keeps the plan.
  const isParsed = regenerated_from !== null || (fork !== undefined && fork.plan !== null);
  const inputs = isParsed ? given : readInputs(capability, given);
  const { principal, scope, constraints, context_refs, source, input } = request;
  const title = titleOf(capability, inputs);
  const queue = chooseQueue({ capability, inputs, wanted: request.queue, parent });
  return {
    intent_id,
    type,
    version: capability.version,
    actor: principal,
    scope,
    inputs,
    constraints,
    context_refs:
      input.attachments.document_ids.length > 0
        ? { document_ids: input.attachments.document_ids, ...context_refs }
        : context_refs,
    text: input.text,
    ...(title !== undefined && { title }),
    source,
    ...(schedule !== undefined && { schedule }),
    ...(queue !== undefined && { queue }),
  };
}

/**
 * Returns the title that the capability gives a request with these inputs. A function that throws, or gives no text,
 * gives none: a title refuses no request.
 */
function titleOf({ present }: CapabilityDefinition, inputs: JsonObject): string | undefined {
  try {
    return readTitle(present?.title(toJson(inputs) as never));
  } catch {
    return undefined;
  }
}

const faults = {
  invalid: "T1_NORMALIZE_INPUTS_INVALID",
  not_json: "T1_NORMALIZE_INPUTS_NOT_JSON",
  not_stable: "T1_NORMALIZE_INPUTS_NOT_STABLE",
} as const;

/**
 * Parses the inputs of a request with the package's schema. This happens once: the result is recorded and never parsed
 * again. A transform or a check that throws refuses the inputs, because the requester chooses them and must not crash a
 * tier.
 * @throws KernelErrorException T1_NORMALIZE_INPUTS_INVALID, T1_NORMALIZE_INPUTS_NOT_JSON.
 */
export const readInputs = (capability: CapabilityDefinition, inputs: unknown): JsonObject =>
  requireInputs(capability, readWith(capability.input, inputs));

/**
 * Parses inputs that another version of the package has parsed before. A schema that would change its own result is
 * refused, because it is unknown whether a value was converted already.
 * @throws as `readInputs`; T1_NORMALIZE_INPUTS_NOT_STABLE.
 */
export const adoptInputs = (capability: CapabilityDefinition, inputs: unknown): JsonObject =>
  requireInputs(capability, readStably(capability.input, inputs));

function requireInputs({ intentType: intent_type }: CapabilityDefinition, reading: SchemaReading): JsonObject {
  if (reading.ok) return reading.value as JsonObject;
  const { fault, problem, error } = reading;
  const errors = error === null ? [] : fieldErrorsOf(error, ["intent_hint", "inputs"]);
  const message = `inputs of ${intent_type}: ${problem}`;
  return raise(kernelError(faults[fault], message, ref, { detail: { intent_type, errors } }));
}
