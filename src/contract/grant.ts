/**
 * Grants, or standing approvals: what an approver of a gate has approved ahead, for calls of one operator that the same
 * rule asks about.
 *
 * 1.  A grant is bound to the policy version and to the digest of who asked for the gate and who decides it. Whatever
 *     changes one of them ends the grant.
 * 2.  It never stands for more than one plain approval: no gate with stages, signatures, a basis, or a quorum of more
 *     than one takes it.
 * 3.  It is used at most so often, or up to so much estimated cost, over all processes: the row of a use adds it to the
 *     grant's counter, and the store refuses a row that would exceed it.
 */
import { z } from "zod";
import { AuthContext } from "./auth-context.ts";
import { conditionHolds } from "./condition.ts";
import { digest } from "./digest.ts";
import type { Gate } from "./gate.ts";
import { mostUses } from "./grant-use.ts";
import { GateId, WorkflowId } from "./ids.ts";
import { Principal } from "./intent.ts";
import { type Json, JsonValue } from "./json.ts";

export { GrantUse } from "./grant-use.ts";

export const GrantId = z.string().regex(/^grt_[0-7][0-9A-HJKMNP-TV-Z]{25}$/, "grt_ and a ULID");

/** A test of one param of a call, in the words of policy rules. */
export const GrantTest = z
  .strictObject({
    /** The path of the param: names joined by dots, such as `order.total`. */
    value: z.string().regex(/^[^.*]+(\.[^.*]+)*$/, "it is the path of a param: names joined by dots, as order.total"),
    /** The param is a number above this one. */
    above: z.number().optional(),
    /** The param is a number, this one or above. */
    at_least: z.number().optional(),
    /** The param is a number below this one. */
    below: z.number().optional(),
    /** The param is a number, this one or below. */
    at_most: z.number().optional(),
    /** The param is this JSON value. */
    equals: JsonValue.optional(),
    /** The param is one of these JSON values. */
    one_of: z.array(JsonValue).min(1).max(1000).optional(),
    /** Whether the param is there and not null. */
    exists: z.boolean().optional(),
  })
  .refine(({ value: _value, ...tests }) => Object.values(tests).some((test) => test !== undefined), "it tests nothing");
export type GrantTest = z.infer<typeof GrantTest>;

/** The part of a grant that limits what it covers. */
const terms = {
  /** Tests of the params of the call, which all must hold; without it any params. */
  when: z.array(GrantTest).min(1).max(32).optional(),
  /** The ISO instant at which it ends; without it, it covers calls of the workflow of its gate alone. */
  until: z.iso.datetime().optional(),
  /** The number of calls that it approves at most. */
  uses: z.int().positive().max(mostUses).optional(),
  /** The sum of the estimated costs that it approves at most. Alone, it covers only calls that state a cost. */
  money: z.number().positive().max(1_000_000_000).optional(),
};
/** The limits of a grant. */
export const GrantTerms = z.strictObject(terms);
export type GrantTerms = z.infer<typeof GrantTerms>;

/** A grant that was given and not revoked. */
export const Grant = z
  .object({
    ...terms,
    /** Its id, by which it is revoked. */
    grant_id: GrantId,
    /** The operator whose calls it approves. */
    operator: z.string(),
    /** The capability whose work makes the calls, as type@version. */
    capability: z.string(),
    /** The workflow of the gate at which it was given. */
    workflow_id: WorkflowId,
    /** The gate at which it was given. */
    gate_id: GateId,
    /** The principal who gave it, and approves by it. */
    by: Principal.readonly(),
    /** The rights with which it was given; they are judged at each use as those of a vote. */
    auth: AuthContext.readonly(),
    /** The ISO instant at which it was given. */
    at: z.string(),
    /** The reason that was given. */
    reason: z.string(),
    /** The version of the policy under which it holds. */
    policy_version: z.string(),
    /** The digest of the rules that asked for the gate, and of who decides it. */
    asked_digest: z.string(),
  })
  .readonly();
export type Grant = z.infer<typeof Grant>;

/** A grant, and what was used of it. */
export const GrantStanding = z
  .object({
    ...Grant.unwrap().omit({ auth: true }).shape,
    /** The number of calls that it has approved, and the sum of their estimated costs. */
    used: z.object({ uses: z.int().nonnegative(), money: z.number().nonnegative() }).readonly(),
  })
  .readonly();
export type GrantStanding = z.infer<typeof GrantStanding>;

/** Returns the digest of the rules that asked for a gate and of those who decide it, which a grant is bound to. */
export function askedDigest({ operator, reasons, roles, approvers, quorum, principal_types, advisors }: Gate): string {
  const rules = reasons.map(({ source, rule }) => ({ source, rule }));
  const who = { roles, approvers, quorum, principal_types: principal_types ?? null, advisors };
  return digest({ operator, rules, ...who } as unknown as Json);
}

/** Returns whether the params of a call meet the conditions of a grant. */
export const meets = (params: Json, when: readonly GrantTest[]): boolean =>
  conditionHolds({ all: [...when] }, (written, at) =>
    at.endsWith("/value") ? paramAt(params, String(written)) : written,
  );

const paramAt = (params: Json, path: string): Json | undefined =>
  path.split(".").reduce<Json | undefined>((value, key) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    return (value as Readonly<Record<string, Json>>)[key];
  }, params);

/** Returns why a gate takes no grant; null if it does. */
export function whyNoGrant({ kind, stages, quorum, signed, basis_digest, title }: Gate): string | null {
  if (kind !== "approval") return `“${title}” is a question to people, which nobody answers ahead`;
  if (stages !== undefined) return "it asks several groups one after another";
  if (quorum !== null && (quorum.approvals > 1 || (quorum.of ?? []).length > 1))
    return "it takes more than one approval";
  if (signed) return "each approval is signed by itself";
  return basis_digest === undefined ? null : "what it shows rests on something that is looked at each time";
}

/** Returns the limits of a grant as a ceiling of its counter. */
export const ceilingOf = ({ uses = mostUses, money }: Pick<Grant, "uses" | "money">) => ({
  invocations: uses,
  ...(money !== undefined && { money }),
});
