/**
 * The inputs of people to a gate before it is decided: votes, delegations, and the signatures that votes may carry.
 *
 *
 * 1.  A vote binds to what the gate showed: outcome version, payload digest and policy version (GATE_VOTED holds them).
 * 2.  An advisory vote is kept and never counted.
 * 3.  Of a key only its public half is ever kept.
 */
import { z } from "zod";
import { GateQuorum, QuorumPart } from "./gate-quorum.ts";
import { PrincipalId } from "./ids.ts";
import { JsonObject, JsonValue } from "./json.ts";

/** A principal without the role in which they act. */
export const PrincipalRef = z.object({ type: z.string().min(1).max(64), id: PrincipalId });
export type PrincipalRef = z.infer<typeof PrincipalRef>;

/** Types of principals that are no people. Types that a host adds are taken for people's. */
const machineTypes: ReadonlySet<string> = new Set(["service", "agent"]);

export const isMachine = ({ type }: Pick<PrincipalRef, "type">): boolean => machineTypes.has(type);

/** Returns the reference of a principal: type and id alone. */
export const refOf = ({ type, id }: PrincipalRef): PrincipalRef => ({ type, id });

/** An Ed25519 public key in the form of RFC 8037. Other members of the key, above all its private half, are dropped. */
export const PublicJwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().min(1).max(64),
  kid: z.string().max(256).optional(),
});
export type PublicJwk = z.infer<typeof PublicJwk>;

/** Returns the Ed25519 public keys in a host's answer: one JWK, a list, or nothing. */
export function readKeys(answer: object | readonly object[] | null | undefined): readonly PublicJwk[] {
  const given: readonly unknown[] = Array.isArray(answer) ? answer : [answer];
  return given.flatMap((key) => {
    const parsed = PublicJwk.safeParse(key);
    return parsed.success ? [parsed.data] : [];
  });
}

/** A compact JWS over the approval's claims, with the key that it was checked against. */
export const GateSignature = z.object({ jws: z.string().max(8192), jwk: PublicJwk, kid: z.string().nullable() });
export type GateSignature = z.infer<typeof GateSignature>;

/** One vote at a gate, with the digests of what the gate showed. */
export const GateVote = z.object({
  decision: z.enum(["approve", "reject"]),
  principal: PrincipalRef,
  role: z.string(),
  /** The owner of the seat that the vote takes, if it is not the voter's own. */
  on_behalf_of: PrincipalRef.nullable(),
  /** The order by which the voter stands in for that owner; absent if none was needed. */
  stand_in: z.string().optional(),
  /** The role for whose part of the quorum the vote counts; absent at a gate without parts. */
  part: z.string().optional(),
  /** The number of the stage in which it was given, from 1; absent at a gate without stages, and of advice. */
  stage: z.int().positive().optional(),
  advisory: z.boolean(),
  at: z.string(),
  payload_digest: z.string(),
  signature: GateSignature.nullable(),
  comment: z.string().nullable(),
  /** The places where the outcome is to be applied, if the vote names them. */
  apply_targets: z.array(z.string()).optional(),
  /** The stated end of a call in doubt; only in advice. */
  resolution: z.enum(["done", "retry", "failed"]).optional(),
  /** The result of the call; only with `done`. */
  result: JsonValue.optional(),
  /** The answer to a question, as its form read it. */
  answer: JsonObject.optional(),
});
export type GateVote = z.infer<typeof GateVote>;

/** A seat that is delegated until an instant. Each delegator has one delegation; the newest counts. */
export const GateDelegation = z.object({
  from: PrincipalRef,
  to: PrincipalRef,
  expires_at: z.string(),
  /** The role for whose part of the quorum the seat votes; absent at a gate without parts. */
  part: z.string().optional(),
});
export type GateDelegation = z.infer<typeof GateDelegation>;

/** Whether the reader may decide at a gate, and in whose seat. No event holds it: it is computed for each reader. */
export const GateSeat = z.object({
  may: z.boolean(),
  /** The reason why the reader may not decide; or, if they may, what their vote still needs. */
  reason: z.string().nullable(),
  /** The owner of the seat, if it is not the reader's own. */
  for: PrincipalRef.nullable(),
  /** The order by which the reader stands in for that owner; absent if none is needed. */
  stand_in: z.string().optional(),
  /** Their vote is kept and not counted. */
  advisory: z.literal(true).optional(),
  /** The role for whose part of the quorum their vote counts; absent at a gate without parts. */
  part: z.string().optional(),
  /** The number of the stage in which their vote counts; absent at a gate without stages. */
  stage: z.int().positive().optional(),
  /** The approvals of that part are given: another adds nothing. A rejection counts. */
  spare: z.literal(true).optional(),
  /** The vote that already stands in this seat. */
  voted: z.enum(["approve", "reject"]).optional(),
  /** False if the reader may note nothing at the gate: they lack the scope `gate:comment` there. */
  may_note: z.literal(false).optional(),
});
export type GateSeat = z.infer<typeof GateSeat>;

/** The count of the votes, at a gate with stages of its present one; `needed` is null if one decision closes it. */
export const GateTally = z.object({
  approvals: z.int().nonnegative(),
  rejections: z.int().nonnegative(),
  needed: GateQuorum.nullable(),
  /** The approvals that are still to come, by role; absent at a gate without parts. */
  missing: z.array(QuorumPart).readonly().optional(),
  /** The number of the stage that the gate is in; absent at a gate without stages. */
  stage: z.int().positive().optional(),
});
export type GateTally = z.infer<typeof GateTally>;
