/**
 * Assembles the policies of a host, rules and sets mixed, for the engine: the rules in order, and one version for all
 * of them, which every decision records and every approval binds to.
 *
 * 1.  The version names each set in order, then `code-<hash of the names and lifts>` for rules outside sets, then the
 *     default rules: `2026-11+code-1f0a9c3e+default-1`. It does not show a change of a rule in code under its old
 *     name: put such a rule into a set with a version of its own, or state `policyVersion`.
 */
import { z } from "zod";
import { digest } from "../contract/digest.ts";
import { raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import { hostObject, objectWith } from "../contract/host-object.ts";
import type { Json } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { moduleRef } from "../contract/module-ref.ts";
import type { PolicyRule, RuleSet } from "../contract/policy.ts";
import { definePolicy } from "../define/define-capability.ts";
import { defaultPolicyVersion, defaultRules } from "../tiers/t5-ego/policy/default-rules.ts";

/** Rules in code, and sets of rules. */
export type Policies = readonly (PolicyRule | RuleSet)[];

const Instant = z.union([z.iso.datetime({ offset: true }), z.iso.date()]).transform((text) => Date.parse(text));

export const WhatIf = z.strictObject({
  /** The policies to evaluate instead of the kernel's own. */
  policies: z.array(objectWith<Policies[number]>()).readonly(),
  /** False: without the default rules behind them. */
  defaultPolicies: z.boolean().optional(),
  /** Decisions from this ISO instant on. */
  since: Instant.default(Number.NEGATIVE_INFINITY),
  /** Decisions before this ISO instant. */
  until: Instant.default(Number.POSITIVE_INFINITY),
  /** Limits the evaluation to workflows of this intent type. */
  intent_type: z.string().optional(),
  /** Limits the evaluation to this workflow. */
  workflow_id: z.string().optional(),
  /** True: also reports decisions that stay the same but name other rules. */
  names: z.boolean().default(false),
});
/** Another policy set, and which past decisions it is asked about. */
export interface WhatIf extends Readonly<z.input<typeof WhatIf>> {}

interface Assembling {
  /** Whether the default rules follows; true by default. */
  readonly withDefault?: boolean | undefined;
  readonly version?: string | undefined;
}

const assembleRef = moduleRef(5, "policy", "assemble");
const setReading = { what: "policy set", source: assembleRef };
const RuleSetShape = hostObject<RuleSet>({ version: z.string().min(1), rules: z.array(z.unknown()) });

/**
 * Assembles policies. @throws KernelErrorException T5_POLICY_INVALID for a name that a rule of a set shares;
 * T0_VALIDATION_SCHEMA_MISMATCH for a value that is neither a rule nor a set.
 */
export function assemblePolicies(policies: Policies, { withDefault = true, version }: Assembling = {}): RuleSet {
  const sets = policies.filter(isSet);
  for (const set of sets) readStrictly(RuleSetShape, set, setReading);
  const loose = policies.filter((policy): policy is PolicyRule => !isSet(policy));
  const rules = policies.flatMap((policy) => (isSet(policy) ? policy.rules : [policy])).map(definePolicy);
  const versions = [
    ...sets.map((set) => set.version),
    ...(loose.length === 0 ? [] : [`code-${digest(loose.map(describeRule)).slice(0, 8)}`]),
    ...(withDefault ? [defaultPolicyVersion] : []),
  ];
  const all = withDefault ? [...rules, ...defaultRules] : rules;
  requireOwnNames(sets, all);
  return {
    rules: all,
    version: version ?? (versions.join("+") || "none"),
  };
}

/** Returns the part of a rule in code that the version covers: its name, and the default rule that it lifts. */
const describeRule = ({ name, lifts }: PolicyRule): Json => (lifts === undefined ? name : { name, lifts });

/** Decisions name rules: a rule of a set shares its name with no other. */
function requireOwnNames(sets: readonly RuleSet[], all: readonly PolicyRule[]): void {
  const names = all.map((rule) => rule.name);
  const twice = sets.flatMap((set) => set.rules).find(({ name }) => names.indexOf(name) !== names.lastIndexOf(name));
  if (twice !== undefined)
    raise(kernelError("T5_POLICY_INVALID", `policies: two rules are called ${twice.name}`, assembleRef));
}

const isSet = (policy: PolicyRule | RuleSet): policy is RuleSet =>
  typeof policy === "object" && policy !== null && "rules" in policy;
