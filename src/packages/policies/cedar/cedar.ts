/**
 * Policies written in Cedar, as a set of rules: one rule for each policy, and one for the set as a whole.
 *
 * Owns: how an answer of Cedar's becomes a decision. Never: what a question says in Cedar (`make-request.ts`).
 * 1.  A forbid that holds denies. Else a permit with `@require_approval` that holds asks a person. Else a permit that
 *     holds allows. If no policy permits, the set's own rule denies, as Cedar does.
 * 2.  An error denies: of a policy, of the question, of the entities, of the engine.
 * 3.  Cedar is asked once about a question; each rule answers for its own policy, so that a decision names exactly the
 *     policies that determined it.
 * 4.  The version follows from the texts: other policies, another schema, other entities are another version.
 */
import * as wasm from "@cedar-policy/cedar-wasm/nodejs";
import { z } from "zod";
import { digest } from "../../../contract/digest.ts";
import { hostFunction } from "../../../contract/host-object.ts";
import { messageOf } from "../../../contract/kernel-error.ts";
import { readStrictly } from "../../../contract/known-keys.ts";
import { follow } from "../../../contract/maybe-promise.ts";
import {
  type PolicyQuestion,
  type PolicyRule,
  PolicyStage,
  type RuleAnswer,
  type RuleSet,
} from "../../../contract/policy.ts";
import { cedarLanguage, problemOf, refuseBundle } from "./cedar-problem.ts";
import { type CedarEntity, makeRequest } from "./make-request.ts";
import { type CedarPolicy, readPolicies } from "./read-policies.ts";
import { type CedarSchema, readSchema, validatePolicies } from "./read-schema.ts";

const Uid = z.strictObject({
  /** The type of the entity, such as `Group`. */
  type: z.string().min(1),
  /** Its id within the type. */
  id: z.string(),
});
const Members = z.record(z.string(), z.json() as unknown as z.ZodType<NonNullable<CedarEntity["attrs"]>[string]>);

const Entity = z.strictObject({
  /** The type and the id of the entity. */
  uid: Uid,
  /** Its attributes, in Cedar's JSON form. */
  attrs: Members.optional(),
  /** The entities that it is in. */
  parents: z.array(Uid).readonly().optional(),
  /** Its tags, in Cedar's JSON form. */
  tags: Members.optional(),
});
const Entities = z.array(Entity).readonly();

/** Returns the entities that a question needs, such as the groups of its principal. */
export type CedarEntityProvider = (
  question: PolicyQuestion,
) => readonly CedarEntity[] | Promise<readonly CedarEntity[]>;

const Options = z.strictObject({
  /** The name of the rule that denies what no policy permits; `cedar` by default. */
  name: z.string().min(1).max(64).default("cedar"),
  /** The policies, as Cedar's text. Each has an annotation `@id`. */
  policies: z.string().min(1),
  /** The host's declarations in Cedar's schema language, after `cedarBaseSchema`; without it nothing is typed. */
  schema: z.string().optional(),
  /** The stages at which the policies are asked; `action` alone by default. */
  stages: z.array(PolicyStage).min(1).readonly().default(["action"]),
  /** Further entities: a list, or a function that returns those of a question. */
  entities: z.union([Entities, hostFunction<CedarEntityProvider>()]).default([]),
});
/** The options of `cedar`. */
export interface CedarOptions extends Readonly<z.input<typeof Options>> {}

/**
 * Makes rules of Cedar policies, to be given to `createKernel({ policies })` and to `whatIf`.
 * @throws KernelErrorException T5_POLICY_INVALID that names each mistake of the texts with policy, line and column;
 * T0_VALIDATION_SCHEMA_MISMATCH for unknown options.
 */
export function cedar(options: CedarOptions): RuleSet {
  const { name, policies, schema, stages, entities } = readStrictly(Options, options, {
    what: "cedar",
    source: cedarLanguage.source,
  });
  const read = readPolicies(policies);
  const typed = schema === undefined ? null : readSchema(schema, stages);
  if (typed !== null) validatePolicies(read, policies, typed);
  if (typeof entities !== "function") checkEntities(entities, typed);
  const engine = prepareEngine(read, typed);
  const ask = askerOf(engine, typed, entities);
  const stated = { policies, schema: schema ?? null, stages: [...stages], name };
  const given = typeof entities === "function" ? null : entities;
  const rules: PolicyRule[] = [
    ...read.map((policy) => ({
      name: policy.id,
      stages,
      evaluate: (question: PolicyQuestion) => follow(ask(question), (verdict) => answerOf(policy, verdict)),
    })),
    { name, stages, evaluate: (question) => follow(ask(question), answerOfSet) },
  ];
  return Object.freeze({
    version: `${name}-${digest({ ...stated, entities: given }).slice(0, 12)}`,
    rules: Object.freeze(rules.map((rule) => Object.freeze(rule))),
  });
}

/** The answer of Cedar to a question. */
type Verdict =
  | {
      readonly ok: true;
      /** The policies that determined the decision. */
      readonly determining: ReadonlySet<string>;
      /** The policies that failed, with the reason. */
      readonly failed: ReadonlyMap<string, string>;
    }
  | { readonly ok: false; readonly problem: string };

function answerOf({ id, effect, reason, needsApproval, confirm }: CedarPolicy, verdict: Verdict): RuleAnswer | null {
  if (!verdict.ok) return null;
  const failure = verdict.failed.get(id);
  if (failure !== undefined) throw new Error(failure);
  if (!verdict.determining.has(id)) return null;
  if (effect === "forbid") return { decision: "DENY", reason: reason ?? `the policy ${id} forbids it` };
  const care = confirm === null ? {} : { confirm };
  if (needsApproval)
    return { decision: "REQUIRE_HUMAN_APPROVAL", reason: reason ?? `the policy ${id} asks a person`, ...care };
  return { decision: "ALLOW", reason: reason ?? `the policy ${id} permits it` };
}

function answerOfSet(verdict: Verdict): RuleAnswer | null {
  if (!verdict.ok) throw new Error(verdict.problem);
  if (verdict.determining.size > 0 || verdict.failed.size > 0) return null;
  return { decision: "DENY", reason: "no policy permits it" };
}

/** The names under which Cedar keeps the parsed texts; equal texts share them. */
interface Engine {
  readonly preparsedPolicySetId: string;
  readonly preparsedSchemaName?: string;
}

function prepareEngine(policies: readonly CedarPolicy[], schema: CedarSchema | null): Engine {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  const preparsedPolicySetId = digest(staticPolicies);
  const parsed = wasm.preparsePolicySet(preparsedPolicySetId, { staticPolicies });
  if (parsed.type === "failure")
    return refuseBundle(parsed.errors.map((error) => problemOf(error, { name: "policies", text: "" }, null)));
  if (schema === null) return { preparsedPolicySetId };
  const preparsedSchemaName = digest(schema.text);
  wasm.preparseSchema(preparsedSchemaName, schema.text);
  return { preparsedPolicySetId, preparsedSchemaName };
}

/** Checks a list of entities. Those of a principal are complete only with the attributes that a question adds. */
function checkEntities(entities: readonly CedarEntity[], schema: CedarSchema | null): void {
  const complete = schema === null ? entities : entities.filter(({ uid }) => uid.type !== "Principal");
  const checked = wasm.checkParseEntities({
    entities: complete.map(({ uid, attrs = {}, parents = [], tags }) => ({
      ...{ uid, attrs, parents: [...parents] },
      ...(tags !== undefined && { tags }),
    })),
    ...(schema !== null && { schema: schema.text }),
  });
  if (checked.type === "failure")
    refuseBundle(checked.errors.map((error) => problemOf(error, { name: "entities", text: "" }, null)));
}

type Asker = (question: PolicyQuestion) => Verdict | Promise<Verdict>;

/** Returns a function that asks Cedar once about each question, however many rules want the answer. */
function askerOf(
  engine: Engine,
  schema: CedarSchema | null,
  entities: readonly CedarEntity[] | CedarEntityProvider,
): Asker {
  const verdicts = new WeakMap<PolicyQuestion, Verdict | Promise<Verdict>>();
  const judge = (question: PolicyQuestion, given: readonly CedarEntity[]): Verdict =>
    attempt(() => judgeNow(engine, schema, makeRequest(question, schema, given)));
  const ask = (question: PolicyQuestion): Verdict | Promise<Verdict> => {
    if (typeof entities !== "function") return judge(question, entities);
    return Promise.resolve(question)
      .then(entities)
      .then(
        (given) => attempt(() => judge(question, Entities.parse(given))),
        (thrown: unknown) => ({ ok: false, problem: `its entities: ${messageOf(thrown)}` }),
      );
  };
  return (question) => {
    const known = verdicts.get(question);
    if (known !== undefined) return known;
    const verdict = ask(question);
    verdicts.set(question, verdict);
    return verdict;
  };
}

function attempt(judge: () => Verdict): Verdict {
  try {
    return judge();
  } catch (thrown) {
    return { ok: false, problem: messageOf(thrown) };
  }
}

function judgeNow(engine: Engine, schema: CedarSchema | null, request: ReturnType<typeof makeRequest>): Verdict {
  const answer = wasm.statefulIsAuthorized({ ...request, ...engine, validateRequest: schema !== null });
  if (answer.type === "failure") return { ok: false, problem: answer.errors.map(({ message }) => message).join("; ") };
  const { reason, errors } = answer.response.diagnostics;
  return {
    ok: true,
    determining: new Set(reason),
    failed: new Map(errors.map(({ policyId, error }) => [policyId, error.message])),
  };
}
