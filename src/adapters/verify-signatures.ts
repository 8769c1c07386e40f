/**
 * Verifies signed approvals from the ledger's events alone: no kernel, no host, no network.
 *
 * 1.  A signature is valid if its stored key made it, over the claims of its own event, and it is the first of its kind
 *     in the stream; with trusted keys also only if the key is one of the approver's.
 * 2.  At a gate that requires signatures a counted decision without one is invalid; a decision that votes carry is
 *     valid with as many standing votes as the gate requires, among those it names. An unreadable event is invalid.
 * 3.  A signed decision is bound to the gate's content: digests are computed again from the gate, and not taken from
 *     the decision. A call behind a gate that requires signatures has the payload that was approved there.
 * 4.  The ACTION_SETTLED of a call in doubt agrees with the signed decision, including the result. Claims of earlier
 *     releases named neither result nor targets: the header of later ones has `claims: 2`, and nothing can be added to
 *     those. Limits: without trusted keys this shows that the entry is intact, not that the key belonged to the person
 *     it names: an attacker who rewrites the whole chain can sign it with a key of their own. A signature covers who
 *     decided what, and for which part and stage (the claims), not their comment, whose seat they took or whether they
 *     advised; and nothing is shown by a gate that was rewritten as one without signatures, or by entries that were
 *     removed. Against these compare the chain's head with a copy kept elsewhere.
 */
import { signedInput } from "../contract/approval-claims.ts";
import type { ChainBreak } from "../contract/chain.ts";
import { digest } from "../contract/digest.ts";
import type { GateDecided, LedgerEvent } from "../contract/event.ts";
import { payloadOf } from "../contract/event.ts";
import type { Gate } from "../contract/gate.ts";
import type { GateQuorum, GateStage } from "../contract/gate-quorum.ts";
import { type GateSignature, type GateVote, type PrincipalRef, readKeys, refOf } from "../contract/gate-vote.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import { jwsVerifier } from "./jws-verifier.ts";

/** The options of a check of signatures. */
export interface SignatureCheck {
  /** The trusted keys of approvers; without them the keys that are stored beside the signatures count. */
  readonly keys?: ApproverKeys | undefined;
}

/** Returns the decisions of one stream with an invalid signature, in order. Events come in the order of the stream. */
export async function verifySignatures(
  events: Iterable<LedgerEvent>,
  check: SignatureCheck = {},
): Promise<readonly ChainBreak[]> {
  const seen: Seen = { gates: new Map(), approved: new Map(), signatures: new Set(), doubts: new Map() };
  const broken: ChainBreak[] = [];
  for (const event of events) {
    const isGood = await checkEvent(event, seen, check).catch(() => false);
    if (!isGood) broken.push({ stream: event.workflow_id ?? "", sequence: event.sequence, reason: "signature" });
  }
  return broken;
}

/** The state of a gate according to the events so far. */
interface SeenGate {
  readonly signed: boolean;
  readonly quorum: GateQuorum | null;
  readonly stages: readonly GateStage[];
  /** The counted votes on what the gate shows, by voter; an invalid one is reported at its own event. */
  readonly votes: Map<string, Pick<GateVote, "decision" | "advisory" | "part" | "stage">>;
  readonly bound: Bound;
}

/** The digests and versions that a decision is bound to. */
type Bound = Pick<GateDecided, "payload_digest" | "policy_version" | "outcome_id" | "outcome_version" | "basis_digest">;

interface Seen {
  readonly gates: Map<string, SeenGate>;
  /** The approved digest, by step behind a gate that requires signatures; null while nothing is approved. */
  readonly approved: Map<string | null, string | null>;
  readonly signatures: Set<string>;
  /** The signed settlement of a step's call; null while one is still asked for. */
  readonly doubts: Map<string | null, Settlement | null>;
}

type Settlement = Pick<GateDecided, "resolution" | "result_digest">;

async function checkEvent(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  switch (event.event_type) {
    case "GATE_OPENED":
    case "GATE_REVISED": {
      const { gate } = payloadOf(event, "GATE_OPENED");
      const { gate_id, kind, quorum = null, stages = [] } = gate;
      // A revision does not cancel the gate's requirement.
      const signed = gate.signed === true || seen.gates.get(gate_id)?.signed === true;
      seen.gates.set(gate_id, { signed, quorum, stages, votes: new Map(), bound: boundBy(gate) });
      if (signed) (kind === "in_doubt" ? seen.doubts : seen.approved).set(event.step_id, null);
      return true;
    }
    case "GATE_EXPIRED": {
      const { gate_id, action } = payloadOf(event, "GATE_EXPIRED");
      if (action === "allow") approve(event, seen, seen.gates.get(gate_id));
      return true;
    }
    case "ACTION_STARTED":
      return checkStarted(event, seen);
    case "GATE_VOTE_WITHDRAWN": {
      const { gate_id, principal } = payloadOf(event, "GATE_VOTE_WITHDRAWN");
      seen.gates.get(gate_id)?.votes.delete(nameOf(principal));
      return true;
    }
    case "GATE_VOTED":
      return checkVote(event, seen, check);
    case "USER_APPROVED":
    case "USER_REJECTED":
      return checkVerdict(event, seen, check);
    case "ACTION_SETTLED":
      return checkSettled(event, seen);
    default:
      return true;
  }
}

/** Computes the digests from the content of the gate, whatever digests it names. */
const boundBy = ({ payload, policy_version, target, basis }: Gate): Bound => ({
  payload_digest: digest(payload),
  policy_version,
  outcome_id: target?.outcome_id ?? null,
  outcome_version: target?.version ?? null,
  ...(basis === undefined ? {} : { basis_digest: digest(basis) }),
});

/** Returns whether a decision or a vote names what its gate shows. */
function isBound(given: Bound, { bound }: SeenGate): boolean {
  const names = ["payload_digest", "policy_version", "outcome_id", "outcome_version", "basis_digest"] as const;
  return names.every((name) => given[name] === bound[name]);
}

function approve({ step_id }: LedgerEvent, { approved }: Seen, gate: SeenGate | undefined): void {
  if (gate?.signed === true) approved.set(step_id, gate.bound.payload_digest);
}

/** Returns whether a call behind a gate that requires signatures has the approved payload. */
function checkStarted(event: LedgerEvent, { approved }: Seen): boolean {
  const { payload_hash, input } = payloadOf(event, "ACTION_STARTED");
  const wanted = approved.get(event.step_id);
  if (wanted === undefined) return true;
  return payload_hash === wanted && (input === undefined || digest(input) === wanted);
}

const nameOf = ({ type, id }: PrincipalRef): string => JSON.stringify([type, String(id)]);

async function checkVote(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  const vote = payloadOf(event, "GATE_VOTED");
  const { gate_id, advisory, decision, principal, part, stage, signature } = vote;
  const gate = seen.gates.get(gate_id);
  if (gate === undefined) return false;
  if (!advisory) gate.votes.set(nameOf(principal), { decision, advisory, part, stage });
  if (signature === null) return advisory || !gate.signed;
  return isBound(vote, gate) && isSound(event, seen, check);
}

async function checkVerdict(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  const decided = payloadOf(event, "USER_APPROVED");
  const { gate_id, signature = null, resolution, result_digest } = decided;
  const gate = seen.gates.get(gate_id);
  if (gate === undefined) return false;
  if (event.event_type === "USER_APPROVED") approve(event, seen, gate);
  if (resolution != null && signature === null) seen.doubts.delete(event.step_id);
  if (resolution != null && signature !== null) seen.doubts.set(event.step_id, { resolution, result_digest });
  if (signature === null && !gate.signed) return true;
  if (!isBound(decided, gate)) return false;
  return signature === null ? isCarried(event, gate) : isSound(event, seen, check);
}

/** Returns whether as many standing votes as the gate takes, of each part in each stage, carry the decision. */
function isCarried(event: LedgerEvent, { quorum, stages, votes }: SeenGate): boolean {
  const { carried_by } = payloadOf(event, "USER_APPROVED");
  if (quorum === null || carried_by === undefined) return false;
  const carriers = new Set(carried_by.map((carrier) => nameOf(carrier.principal)));
  const carrying = [...carriers].flatMap((name) => votes.get(name) ?? []);
  const decision = event.event_type === "USER_APPROVED" ? "approve" : "reject";
  if (carrying.length < carriers.size || carrying.some((vote) => vote.decision !== decision)) return false;
  if (decision === "reject") return carrying.length >= quorum.rejections;
  if (stages.length === 0) return isFilled(quorum, carrying);
  return stages.every((one, at) =>
    isFilled(
      one.quorum,
      carrying.filter(({ stage }) => stage === at + 1),
    ),
  );
}

function isFilled({ of = [], approvals }: GateQuorum, carrying: readonly Pick<GateVote, "part">[]): boolean {
  const inPart = (role: string): number => carrying.filter(({ part }) => part === role).length;
  const spare = of.reduce((sum, part) => sum + Math.max(0, inPart(part.role) - part.approvals), 0);
  return carrying.length - spare >= approvals;
}

/**
 * Returns whether a call is settled once for each decision, and as it states; decisions of earlier releases name no
 * result.
 */
function checkSettled(event: LedgerEvent, { doubts }: Seen): boolean {
  const { resolution, result } = payloadOf(event, "ACTION_SETTLED");
  const settlement = doubts.get(event.step_id);
  if (settlement === undefined) return true;
  doubts.set(event.step_id, null);
  if (settlement === null) return false;
  return settlement.resolution === resolution && (settlement.result_digest ?? digest(result)) === digest(result);
}

/** Returns whether a signed decision of a person is valid. */
async function isSound(event: LedgerEvent, { signatures }: Seen, check: SignatureCheck): Promise<boolean> {
  const { signature, principal } = event.payload as unknown as Signed;
  return isNew(signature, signatures) && (await isSignedBy(event, { signature, principal }, check));
}

interface Signed {
  readonly signature: GateSignature;
  readonly principal: PrincipalRef;
}

/** Returns whether header and claims are new; nobody without the key can write them in another way. */
function isNew({ jws }: GateSignature, seen: Set<string>): boolean {
  const signed = jws.slice(0, jws.lastIndexOf("."));
  const isFirst = !seen.has(signed);
  seen.add(signed);
  return isFirst;
}

async function isSignedBy(
  event: LedgerEvent,
  { signature, principal }: Signed,
  { keys }: SignatureCheck,
): Promise<boolean> {
  const stored = readKeys(signature.jwk);
  const trusted = keys === undefined ? stored : readKeys(await keys(refOf(principal), event.tenant_id));
  const known = stored.filter((key) => trusted.some(({ x }) => x === key.x));
  const verified = await jwsVerifier.verify(signature.jws, known);
  if (verified === null || verified.text === signedInput(event)) return verified !== null;
  const { decodeProtectedHeader } = await import("jose");
  const saysAll = decodeProtectedHeader(signature.jws)["claims"] !== undefined;
  return !saysAll && verified.text === signedInput(event, true);
}
