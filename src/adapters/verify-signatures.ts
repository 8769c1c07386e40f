/**
 * Signed approvals, checked from the ledger's events alone: no kernel, no host, no network.
 *
 * V1  A signature is good when its stored key made it, over the claims that its own event says, and it is the first of its
 *     kind in the stream; with trusted keys also when the key is one of the approver's.
 * V2  At a gate that asks for signatures a counted decision without one is as bad as a bad one; a decision that votes
 *     carry is good with as many standing votes as the gate takes, of those it names. What cannot be read is bad.
 * V3  What a signed decision said became of a call is what its ACTION_SETTLED says, result and all. Claims of earlier
 *     releases named neither result nor targets: the header of later ones says `claims: 2`, and nothing can be added to those.
 * Limits: without trusted keys this shows that the entry is whole, not that the key belonged to whom it names: who writes
 * the whole chain anew can sign it anew with a key of their own. A signature says who decided what (the claims), not their
 * role, their comment, whose seat they took or whether they advised; and nothing is shown by a gate that was rewritten as
 * one that asks for no signature, or by entries that are gone. Against these compare the chain's head with one kept elsewhere.
 */
import { signedInput } from "../contract/approval-claims.ts";
import type { ChainBreak } from "../contract/chain.ts";
import { digest } from "../contract/digest.ts";
import type { GateDecided, LedgerEvent } from "../contract/event.ts";
import { payloadOf } from "../contract/event.ts";
import { type GateQuorum, type GateSignature, type PrincipalRef, readKeys, refOf } from "../contract/gate-vote.ts";
import { openTurns, type TurnRow } from "../contract/turn.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import { jwsVerifier } from "./jws-verifier.ts";

/** How signatures are checked: with whose keys. */
export interface SignatureCheck {
  /** Whose keys count; without it the keys that are stored beside the signatures do. */
  readonly keys?: ApproverKeys | undefined;
}

/** The decisions of one stream whose signature is not good, in order. Events come in the order of the stream. */
export async function verifySignatures(
  events: Iterable<LedgerEvent>,
  check: SignatureCheck = {},
): Promise<readonly ChainBreak[]> {
  const seen: Seen = { gates: new Map(), signatures: new Set(), doubts: new Map() };
  const broken: ChainBreak[] = [];
  for (const event of events) {
    const isGood = await checkEvent(event, seen, check).catch(() => false);
    if (!isGood) broken.push({ stream: event.workflow_id ?? "", sequence: event.sequence, reason: "signature" });
  }
  return broken;
}

/** A gate as the events before say it stands. */
interface SeenGate {
  readonly signed: boolean;
  readonly quorum: GateQuorum | null;
  /** Who has a counted vote on what it shows; one that is bad is told where it stands. */
  readonly votes: Map<string, "approve" | "reject">;
}

interface Seen {
  readonly gates: Map<string, SeenGate>;
  readonly signatures: Set<string>;
  /** By step: what a signed decision said of its call; null where one is still asked for. */
  readonly doubts: Map<string | null, Settlement | null>;
}

type Settlement = Pick<GateDecided, "resolution" | "result_digest">;

async function checkEvent(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  switch (event.event_type) {
    case "GATE_OPENED":
    case "GATE_REVISED": {
      const { gate_id, kind, signed, quorum = null } = payloadOf(event, "GATE_OPENED").gate;
      // A revision does not take back what the gate asked for.
      const stillSigned = signed === true || seen.gates.get(gate_id)?.signed === true;
      seen.gates.set(gate_id, { signed: stillSigned, quorum, votes: new Map() });
      if (kind === "in_doubt" && stillSigned) seen.doubts.set(event.step_id, null);
      return true;
    }
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

const nameOf = ({ type, id }: PrincipalRef): string => JSON.stringify([type, String(id)]);

async function checkVote(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  const { gate_id, advisory, decision, principal, signature } = payloadOf(event, "GATE_VOTED");
  const gate = seen.gates.get(gate_id);
  if (!advisory) gate?.votes.set(nameOf(principal), decision);
  return signature === null ? advisory || gate?.signed !== true : isSound(event, seen, check);
}

async function checkVerdict(event: LedgerEvent, seen: Seen, check: SignatureCheck): Promise<boolean> {
  const { gate_id, signature = null, carried_by, resolution, result_digest } = payloadOf(event, "USER_APPROVED");
  const gate = seen.gates.get(gate_id);
  if (resolution != null && signature === null) seen.doubts.delete(event.step_id);
  if (resolution != null && signature !== null) seen.doubts.set(event.step_id, { resolution, result_digest });
  if (signature !== null) return isSound(event, seen, check);
  if (gate?.signed !== true) return true;
  const { quorum, votes } = gate;
  if (quorum === null || carried_by === undefined) return false;
  const [decision, needed] =
    event.event_type === "USER_APPROVED" ? ["approve", quorum.approvals] : ["reject", quorum.rejections];
  const carriers = new Set(carried_by.map((carrier) => nameOf(carrier.principal)));
  return carriers.size >= needed && [...carriers].every((name) => votes.get(name) === decision);
}

/** A call is settled once for each decision, as that says; decisions of earlier releases do not say with which result. */
function checkSettled(event: LedgerEvent, { doubts }: Seen): boolean {
  const { resolution, result } = payloadOf(event, "ACTION_SETTLED");
  const settlement = doubts.get(event.step_id);
  if (settlement === undefined) return true;
  doubts.set(event.step_id, null);
  if (settlement === null) return false;
  return settlement.resolution === resolution && (settlement.result_digest ?? digest(result)) === digest(result);
}

/** What a person said and signed. */
async function isSound(event: LedgerEvent, { signatures }: Seen, check: SignatureCheck): Promise<boolean> {
  const { signature, principal } = event.payload as unknown as Signed;
  return isNew(signature, signatures) && (await isSignedBy(event, { signature, principal }, check));
}

interface Signed {
  readonly signature: GateSignature;
  readonly principal: PrincipalRef;
}

/** Header and claims, which no one without the key can write in another way. */
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

/** Rows of any number of streams, mixed, each stream in its order and its chain sound; then what is wrong with them. */
export interface SignatureAudit {
  readonly see: (row: TurnRow) => void;
  /** @param read the rows of a stream, all that were seen or more. */
  readonly end: (read: ReadRows) => Promise<readonly ChainBreak[]>;
}

type ReadRows = (stream: string) => readonly TurnRow[] | Promise<readonly TurnRow[]>;

/** As verifySignatures, for whoever reads a whole ledger: only streams with signatures are read, once more and whole. */
export function createSignatureAudit(check: SignatureCheck = {}): SignatureAudit {
  const signed = new Set<string>();
  return {
    see({ stream, body }) {
      if (body !== null && /"jws":|"signed":true/.test(body)) signed.add(stream);
    },
    async end(read) {
      const broken: ChainBreak[] = [];
      for (const stream of signed) {
        const events = readSigned(await read(stream));
        broken.push(
          ...(events === null
            ? [{ stream, sequence: 0, reason: "format" as const }]
            : await verifySignatures(events, check)),
        );
      }
      return broken;
    },
  };
}

/** Null for rows of which nothing can be made, though their chain is sound. */
function readSigned(rows: readonly TurnRow[]): readonly LedgerEvent[] | null {
  try {
    return openTurns(rows).filter(({ event_type }) => /^(GATE_|USER_|ACTION_SETTLED$)/.test(event_type));
  } catch {
    return null;
  }
}
