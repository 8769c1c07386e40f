/**
 * The intent normaliser (seed 003 section 5.2): one canonical Intent, whatever the source.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type FieldError, fieldErrorsOf } from "../../contract/field-error.ts";
import type { Intent } from "../../contract/intent.ts";
import { type JsonObject, toJson } from "../../contract/json.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Registry } from "../../runtime/registry.ts";
import { messageOf } from "../../runtime/within.ts";
import type { NormalizeQuestion } from "./tier.ts";

const ref = moduleRef(1, "normalizer", "normalize");

/** @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT, T1_NORMALIZE_INPUTS_INVALID, T1_CLASSIFY_LOW_CONFIDENCE. */
export function normalizeIntent(registry: Registry, { request, perceived, intent_id }: NormalizeQuestion): Intent {
  const wanted = request.intent_hint?.intent_type ?? perceived?.intent_type ?? null;
  if (wanted === null)
    raise(
      perceived?.warnings[0] ??
        kernelError("T1_NORMALIZE_UNKNOWN_INTENT", "the request names no intent and has no text to tell it from", ref),
    );
  const [type, version] = wanted.split("@") as [string, string | undefined];
  const capability = registry.getCapability(type, version);
  const inputs = readInputs(capability, request.intent_hint?.inputs ?? {});
  const { principal, scope, constraints, context_refs, source, input } = request;
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
    source,
  };
}

/**
 * The inputs as the package's schema reads them. What a transform or a check of it throws refuses them too: whoever asks
 * chooses the inputs, and crashes no tier by them. @throws KernelErrorException T1_NORMALIZE_INPUTS_INVALID.
 */
export function readInputs({ intentType: intent_type, input }: CapabilityDefinition, inputs: unknown): JsonObject {
  let problem: string;
  let errors: readonly FieldError[] = [];
  try {
    const parsed = input.safeParse(inputs);
    if (parsed.success) return toJson(parsed.data) as JsonObject;
    problem = z.prettifyError(parsed.error);
    errors = fieldErrorsOf(parsed.error, ["intent_hint", "inputs"]);
  } catch (thrown) {
    problem = messageOf(thrown);
  }
  return raise(
    kernelError("T1_NORMALIZE_INPUTS_INVALID", `inputs of ${intent_type}: ${problem}`, ref, {
      detail: { intent_type, errors },
    }),
  );
}
