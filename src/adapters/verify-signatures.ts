/**
 * Signed approvals, checked from the ledger's events alone: no kernel, no host, no network.
 *
 * V1  A signature is good when its stored key made it, over the claims that its own event says, and it is the first of its
 *     kind in the stream; with trusted keys also when the key is one of the approver's.
 * V2  At a gate that asks for signatures a counted decision without one is as bad as a bad one.
 * Limits: without trusted keys this shows that the entry is whole, not that the key belonged to whom it names.
 */
import { signedInput } from "../contract/approval-claims.ts";
import type { GateDecided, GateVoted, LedgerEvent } from "../contract/event.ts";
import { payloadOf } from "../contract/event.ts";
import { type GateSignature, type PrincipalRef, readKeys } from "../contract/gate-vote.ts";
import { type ChainBreak, openTurn, type TurnRow } from "../contract/turn.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import { jwsVerifier } from "./jws-verifier.ts";

export interface SignatureCheck {
  /** Whose keys count; without it the keys that are stored beside the signatures do. */
  readonly keys?: ApproverKeys | undefined;
}

/** The decisions of one stream whose signature is not good, in order. Events come in the order of the stream. */
export async function verifySignatures(
  events: Iterable<LedgerEvent>,
  check: SignatureCheck = {},
): Promise<readonly ChainBreak[]> {
  const signedGates = new Set<string>();
  const seen = new Set<string>();
  const broken: ChainBreak[] = [];
  for (const event of events) {
    noteGate(event, signedGates);
    const decision = decisionOf(event);
    if (decision === null) continue;
    const { signature = null } = decision;
    const isGood =
      signature === null
        ? !signedGates.has(decision.gate_id)
        : isNew(signature, seen) && (await isSignedBy(event, { signature, principal: decision.principal }, check));
    if (!isGood) broken.push({ stream: event.workflow_id ?? "", sequence: event.sequence, reason: "signature" });
  }
  return broken;
}

function noteGate(event: LedgerEvent, signedGates: Set<string>): void {
  if (event.event_type !== "GATE_OPENED" && event.event_type !== "GATE_REVISED") return;
  const { gate } = payloadOf(event, "GATE_OPENED");
  if (gate.signed === true) signedGates.add(gate.gate_id);
}

type Decision = (GateVoted | GateDecided) & { readonly principal: PrincipalRef };

/** What a person said and could have signed: a counted or signed vote, or a decision that no votes carried. */
function decisionOf(event: LedgerEvent): Decision | null {
  if (event.event_type === "GATE_VOTED") {
    const vote = payloadOf(event, "GATE_VOTED");
    return vote.advisory && vote.signature === null ? null : vote;
  }
  if (event.event_type !== "USER_APPROVED" && event.event_type !== "USER_REJECTED") return null;
  const decided = payloadOf(event, "USER_APPROVED");
  return decided.principal === null || decided.carried_by !== undefined ? null : (decided as Decision);
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
  { signature, principal }: { readonly signature: GateSignature; readonly principal: PrincipalRef },
  { keys }: SignatureCheck,
): Promise<boolean> {
  const { type, id } = principal;
  const stored = readKeys(signature.jwk);
  const trusted = keys === undefined ? stored : readKeys(await keys({ type, id }, event.tenant_id));
  const known = stored.filter((key) => trusted.some(({ x }) => x === key.x));
  const verified = await jwsVerifier.verify(signature.jws, known);
  return verified !== null && verified.text === signedInput(event);
}

/** Rows of any number of streams, mixed, each stream in its order and its chain sound; then what is wrong with them. */
export interface SignatureAudit {
  readonly see: (row: TurnRow) => void;
  readonly end: () => Promise<readonly ChainBreak[]>;
}

/** As verifySignatures, for whoever reads a whole ledger: only what is about signatures is kept, or parsed. */
export function createSignatureAudit(check: SignatureCheck = {}): SignatureAudit {
  const streams = new Map<string, LedgerEvent[]>();
  return {
    see(row) {
      const kept = streams.get(row.stream);
      if (row.body === null || (kept === undefined && !/"jws":|"signed":true/.test(row.body))) return;
      streams.set(row.stream, [...(kept ?? []), ...openTurn(row).filter(isAboutGate)]);
    },
    async end() {
      const broken: ChainBreak[] = [];
      for (const events of streams.values()) broken.push(...(await verifySignatures(events, check)));
      return broken;
    },
  };
}

const isAboutGate = ({ event_type }: LedgerEvent): boolean => /^(GATE|USER)_/.test(event_type);
