/**
 * The schema of a host: what its actions are about, and the types by which payloads are converted.
 *
 * 1.  An action that is asked about names one type of resource, since a payload is converted to it.
 * 2.  Policies are validated against the schema, and a policy that could never hold is refused.
 */
import * as wasm from "@cedar-policy/cedar-wasm/nodejs";
import type { PolicyStage } from "../../../contract/policy.ts";
import { cedarBaseSchema, planAction } from "./base-schema.ts";
import { problemOf, refuseBundle } from "./cedar-problem.ts";
import type { CedarType, NamedTypes } from "./cedar-value.ts";
import type { CedarPolicy } from "./read-policies.ts";

/** An action of the schema. */
export interface CedarAction {
  /** The groups that it is a direct member of. */
  readonly groups: readonly string[];
  /** The types of its resources. */
  readonly resources: readonly string[];
}

export interface CedarSchema {
  /** The base declarations and those of the host. */
  readonly text: string;
  readonly actions: ReadonlyMap<string, CedarAction>;
  /** The type of the payload, by type of resource. */
  readonly payloads: ReadonlyMap<string, CedarType>;
  readonly named: NamedTypes;
}

/** Reads the schema. @throws KernelErrorException T5_POLICY_INVALID with the place of each mistake. */
export function readSchema(host: string, stages: readonly PolicyStage[]): CedarSchema {
  const base = stages.includes("plan") ? `${cedarBaseSchema}${planAction}` : cedarBaseSchema;
  const text = `${base}${host}`;
  const place = { name: "schema", text: host, before: Buffer.byteLength(base) };
  const checked = wasm.checkParseSchema(text);
  if (checked.type === "failure") return refuseBundle(checked.errors.map((error) => problemOf(error, place, null)));
  const read = wasm.schemaToJsonWithResolvedTypes(text);
  if (read.type === "failure") return refuseBundle(read.errors.map((error) => problemOf(error, place, null)));
  const { actions = {}, entityTypes = {}, commonTypes = {} } = read.json[""] ?? {};
  const shapes = Object.entries(entityTypes).flatMap(([name, entity]) => {
    const payload = "shape" in entity ? (entity.shape as CedarType | undefined)?.attributes?.["payload"] : undefined;
    return payload === undefined ? [] : [[name, payload] as const];
  });
  return {
    text,
    actions: new Map(
      Object.entries(actions).map(([name, { memberOf = [], appliesTo }]) => [
        name,
        { groups: memberOf.map(({ id }) => id), resources: appliesTo?.resourceTypes ?? [] },
      ]),
    ),
    payloads: new Map(shapes),
    named: new Map(Object.entries(commonTypes) as [string, CedarType][]),
  };
}

/** Validates policies against the schema. @throws KernelErrorException T5_POLICY_INVALID. */
export function validatePolicies(policies: readonly CedarPolicy[], source: string, schema: CedarSchema): void {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  const answer = wasm.validate({ schema: schema.text, policies: { staticPolicies } });
  const offsets = new Map(policies.map(({ id, offset }) => [id, offset]));
  const placeOf = (id: string | null) => ({
    name: "policies",
    text: source,
    before: -(offsets.get(id ?? "") ?? 0),
  });
  if (answer.type === "failure")
    return refuseBundle(answer.errors.map((error) => problemOf(error, placeOf(null), null)));
  const found = [...answer.validationErrors, ...answer.validationWarnings];
  if (found.length > 0) refuseBundle(found.map(({ policyId, error }) => problemOf(error, placeOf(policyId), policyId)));
}
