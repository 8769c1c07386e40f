/**
 * The policies of a text, each by the name of its annotation `@id`.
 *
 * 1.  Each policy has an id, since decisions name the policies that determined them.
 * 2.  An annotation that nobody knows is refused: a permit whose `@require_approval` is misspelt would permit.
 * 3.  A permit with `@require_approval` permits once a person has approved; a forbid cannot have it.
 */
import type { Annotations } from "@cedar-policy/cedar-wasm/nodejs";
import * as wasm from "@cedar-policy/cedar-wasm/nodejs";
import { type GateConfirm, gateConfirms } from "../../../contract/gate-status.ts";
import { nearestOf } from "../../../contract/known-keys.ts";
import type { PolicyProblem } from "../refuse-policies.ts";
import { placeIn, problemOf, refuseBundle } from "./cedar-problem.ts";

/** A policy with its annotations read. */
export interface CedarPolicy {
  readonly id: string;
  readonly effect: "permit" | "forbid";
  /** Its text. */
  readonly text: string;
  /** The bytes of the whole text before it. */
  readonly offset: number;
  /** The reason of its decisions, from `@require_approval` or `@reason`; null if it gives none. */
  readonly reason: string | null;
  readonly needsApproval: boolean;
  /** The care that faces take before such an approval is sent; null if it names none. */
  readonly confirm: GateConfirm | null;
}

const knownAnnotations = ["id", "reason", "require_approval", "confirm"] as const;

/** Returns the policies in their order. @throws KernelErrorException T5_POLICY_INVALID. */
export function readPolicies(text: string): readonly CedarPolicy[] {
  const whole = { name: "policies", text };
  const parts = wasm.policySetTextToParts(text);
  if (parts.type === "failure") return refuseBundle(parts.errors.map((error) => problemOf(error, whole, null)));
  const template = parts.policy_templates[0];
  if (template !== undefined)
    return refuse(text, text.indexOf(template), "a template has no principal or resource yet: write a policy");
  if (parts.policies.length === 0) return refuse(text, 0, "it holds no policy, and would deny everything");
  const policies = inOrder(text, parts.policies).map(([part, index]) => readPolicy(text, part, index));
  const twice = policies.find(({ id }, at) => policies.findIndex((one) => one.id === id) < at);
  if (twice !== undefined)
    refuseBundle([{ rule: twice.id, field: fieldAt(text, twice.offset), problem: "another policy has this id" }]);
  return policies;
}

/**
 * Returns the parts with their index in the text, in the order of the text: Cedar lists them by generated names. Longer
 * parts are placed first, since a shorter one may be equal to the end of a longer one.
 */
function inOrder(text: string, parts: readonly string[]): readonly (readonly [string, number])[] {
  let free = text;
  const placed = parts
    .toSorted((one, other) => other.length - one.length)
    .map((part) => {
      const index = free.indexOf(part);
      free = `${free.slice(0, index)}${"\0".repeat(part.length)}${free.slice(index + part.length)}`;
      return [part, index] as const;
    });
  return placed.toSorted(([, one], [, other]) => one - other);
}

function readPolicy(text: string, part: string, index: number): CedarPolicy {
  const read = wasm.policyToJson(part);
  const offset = Buffer.byteLength(text.slice(0, index));
  if (read.type === "failure")
    return refuseBundle(
      read.errors.map((error) => problemOf(error, { name: "policies", text, before: -offset }, null)),
    );
  const { effect, annotations = {} } = read.json;
  const { id, reason, require_approval, confirm } = annotations as Partial<Annotations>;
  const problems = annotationProblems(annotations, effect);
  if (problems.length > 0 || !id) {
    const field = fieldAt(text, offset);
    return refuseBundle(problems.map((problem): PolicyProblem => ({ rule: id || null, field, problem })));
  }
  return {
    ...{ id, effect, text: part, offset },
    reason: require_approval || reason || null,
    needsApproval: "require_approval" in annotations,
    confirm: gateConfirms.find((one) => one === confirm) ?? null,
  };
}

function annotationProblems(annotations: Annotations, effect: "permit" | "forbid"): readonly string[] {
  const names = Object.keys(annotations);
  const isCareful = gateConfirms.some((one) => one === annotations["confirm"]);
  const unknown = names.filter((name) => !knownAnnotations.some((known) => known === name));
  return [
    ...(annotations["id"] ? [] : ['it needs an id, such as @id("orders.large"), by which decisions name it']),
    ...unknown.map(
      (name) => `unknown annotation @${name}; did you mean @${nearestOf(name, knownAnnotations) ?? "id"}?`,
    ),
    ...(effect === "forbid" && names.includes("require_approval")
      ? ["a forbid denies, and nobody is asked: write @require_approval on a permit"]
      : []),
    ...(names.includes("confirm") && !(isCareful && names.includes("require_approval"))
      ? [`@confirm is ${gateConfirms.map((one) => `"${one}"`).join(" or ")}, and stands beside @require_approval`]
      : []),
  ];
}

const fieldAt = (text: string, offset: number): string => `policies:${placeIn(text, offset)}`;

const refuse = (text: string, index: number, problem: string): never =>
  refuseBundle([{ rule: null, field: fieldAt(text, Buffer.byteLength(text.slice(0, index))), problem }]);
