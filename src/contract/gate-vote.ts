/**
 * What people say at a gate before it is decided: votes, delegations, and the signatures that votes may carry.
 *
 *
 * 1.  A vote binds to what it was given on: outcome version, payload digest and policy version (GATE_VOTED holds them).
 * 2.  An advisory vote is kept and never counted.
 * 3.  Of a key only its public half is ever kept.
 */
import { z } from "zod";
import { PrincipalId } from "./ids.ts";
import { JsonValue } from "./json.ts";

/** A principal without the role in which they act. */
export const PrincipalRef = z.object({ type: z.string().min(1).max(64), id: PrincipalId });
export type PrincipalRef = z.infer<typeof PrincipalRef>;

/** Types of principals that are no people. Types that a host adds are taken for people's. */
const machineTypes: ReadonlySet<string> = new Set(["service", "agent"]);

export const isMachine = ({ type }: Pick<PrincipalRef, "type">): boolean => machineTypes.has(type);

/** A person without all else that is known of them. */
export const refOf = ({ type, id }: PrincipalRef): PrincipalRef => ({ type, id });

/** An Ed25519 public key as RFC 8037 writes it; whatever else a key holds, its private half above all, is dropped. */
export const PublicJwk = z.object({
  kty: z.literal("OKP"),
  crv: z.literal("Ed25519"),
  x: z.string().min(1).max(64),
  kid: z.string().max(256).optional(),
});
export type PublicJwk = z.infer<typeof PublicJwk>;

/** The Ed25519 public keys among what a host answered: one JWK, a list, or nothing. */
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

/** One vote at a gate, with what it was given on. */
export const GateVote = z.object({
  decision: z.enum(["approve", "reject"]),
  principal: PrincipalRef,
  role: z.string(),
  /** The owner of the seat that the vote takes, if it is not the voter's own. */
  on_behalf_of: PrincipalRef.nullable(),
  advisory: z.boolean(),
  at: z.string(),
  payload_digest: z.string(),
  signature: GateSignature.nullable(),
  comment: z.string().nullable(),
  /** The places where the outcome is to be applied, if the vote names them. */
  apply_targets: z.array(z.string()).optional(),
  /** Of advice on a call in doubt: what became of it. */
  resolution: z.enum(["done", "retry", "failed"]).optional(),
  /** With `done`: what the call gave. */
  result: JsonValue.optional(),
});
export type GateVote = z.infer<typeof GateVote>;

/** Somebody's seat lent to somebody else until an instant; one a delegator, the newest holds. */
export const GateDelegation = z.object({ from: PrincipalRef, to: PrincipalRef, expires_at: z.string() });
export type GateDelegation = z.infer<typeof GateDelegation>;

/** How many counted votes close a gate, either way. */
export const GateQuorum = z.object({ approvals: z.int().positive(), rejections: z.int().positive() });
export type GateQuorum = z.infer<typeof GateQuorum>;

/** Whether the reader may decide at a gate, and in whose seat. No event holds it: who reads the gate is told. */
export const GateSeat = z.object({
  may: z.boolean(),
  /** Why not; or, where they may, what their vote is short of. */
  reason: z.string().nullable(),
  /** The owner of the seat, if it was lent. */
  for: PrincipalRef.nullable(),
  /** Their vote is kept and not counted. */
  advisory: z.literal(true).optional(),
  /** How they have voted already, or somebody in their seat. */
  voted: z.enum(["approve", "reject"]).optional(),
});
export type GateSeat = z.infer<typeof GateSeat>;

/** The count of the votes; `needed` is null at a gate that one decision closes. */
export const GateTally = z.object({
  approvals: z.int().nonnegative(),
  rejections: z.int().nonnegative(),
  needed: GateQuorum.nullable(),
});
export type GateTally = z.infer<typeof GateTally>;
