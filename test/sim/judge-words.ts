/**
 * What people said at gates, held against what stood there: a word counts on what the gate showed, and where a gate
 * asks for signatures on one that its giver made of just that, once.
 */
import { signedInput } from "../../src/contract/approval-claims.ts";
import { type EventPayloads, type LedgerEvent, payloadOf } from "../../src/contract/event.ts";
import type { Gate } from "../../src/contract/gate.ts";
import type { KeptDecision, WorkflowRecord } from "../../src/contract/workflow.ts";
import type { GivenDecision, OutsideWorld } from "./outside-world.ts";

interface Word {
  readonly decision: "approve" | "reject";
  readonly basis_digest?: string;
  readonly payload_digest: string;
  readonly principal: { readonly id: unknown } | null;
  readonly jws: string | null;
  /** A vote that is counted, or a decision of one alone. */
  readonly counts: boolean;
}

function wordIn(event: LedgerEvent, { quorum }: Gate): Word | null {
  if (event.event_type === "GATE_VOTED") {
    const vote = payloadOf(event, "GATE_VOTED");
    return { ...vote, jws: vote.signature?.jws ?? null, counts: !vote.advisory };
  }
  if (event.event_type !== "USER_APPROVED" && event.event_type !== "USER_REJECTED") return null;
  const decided = payloadOf(event, event.event_type);
  const decision = event.event_type === "USER_APPROVED" ? "approve" : "reject";
  return { ...decided, decision, jws: decided.signature?.jws ?? null, counts: quorum === null };
}

interface Heard {
  readonly world: OutsideWorld;
  /** What the giver of the word had said to its gate by then. */
  readonly said: readonly GivenDecision[];
}

export function judgeWord(event: LedgerEvent, gate: Gate, { world, said }: Heard): readonly string[] {
  const { signed, used } = world;
  const word = wordIn(event, gate);
  if (word === null || word.principal === null) return [];
  const told = `${event.event_type} of ${gate.gate_id} in ${event.workflow_id} by ${word.principal.id}`;
  if (word.payload_digest !== gate.payload_digest || word.basis_digest !== gate.basis_digest)
    return [`shown: ${told} is not on what it showed`];
  // What was approved ahead is judged by its grant (`judge-grants.ts`).
  if (event.payload["grant"] !== undefined) return [];
  if (word.counts && !said.some((one) => isMeant(one, word))) return [`said: ${told} is on what they did not look at`];
  if (word.jws === null) return gate.signed && word.counts ? [`signed: ${told} is not`] : [];
  const { jws } = word;
  if (signed.get(jws) !== word.principal.id) return [`signed: ${told} is by somebody else`];
  if (textOf(jws) !== signedInput(event)) return [`signed: ${told} says something else`];
  if (used.has(jws)) return [`signed: ${told} was used before`];
  used.add(jws);
  return [];
}

/** Whether somebody who said this may be taken at this word: what they named is what it is on. */
const isMeant = ({ decision, named }: GivenDecision, word: Word): boolean =>
  decision === word.decision &&
  [undefined, word.payload_digest].includes(named?.payload_digest) &&
  [undefined, word.basis_digest].includes(named?.basis_digest);

/**
 * What comes with the opening of its gate, no policy asked in between, was said ahead of it, and on just what it shows.
 */
export function aheadJudge() {
  let opened: { readonly gate: Gate; readonly kept: readonly KeptDecision[] } | null = null;
  return (event: LedgerEvent, record: WorkflowRecord | null): readonly string[] => {
    if (event.event_type === "GATE_OPENED") {
      const { gate } = payloadOf(event, "GATE_OPENED");
      opened = { gate, kept: record?.kept.get(gate.gate_id) ?? [] };
      return [];
    }
    const word = opened === null ? null : wordIn(event, opened.gate);
    if (word === null || opened === null || event.payload["gate_id"] !== opened.gate.gate_id) opened = null;
    else if (event.payload["grant"] === undefined && !opened.kept.some((one) => isSaid(one, word)))
      return [
        `ahead: ${event.event_type} of ${opened.gate.gate_id} in ${event.workflow_id} was not said of what opened`,
      ];
    return [];
  };
}

type Judgement = EventPayloads["POLICY_DECIDED"];

const changes: ReadonlySet<string> = new Set(["GATE_REVISED", "GATE_ESCALATED", "GATE_DELEGATED"]);

/** What counts was let through by policy: this person's very word, on just this payload, at the gate as it stands. */
export function judgedJudge() {
  const judgedAt = new Map<string, Map<unknown, Judgement>>();
  /** Each gate's last change, by the clock of who wrote it: others have clocks of their own. */
  const changed = new Map<string, { readonly at: number; readonly writer: unknown }>();
  const judge = (event: LedgerEvent, key: string, writer: unknown): void => {
    const judgement = payloadOf(event, "POLICY_DECIDED");
    const { by, asked_at = event.timestamp } = judgement;
    const last = changed.get(key);
    const [asked, noted, moved] = [Date.parse(asked_at), Date.parse(event.timestamp), last?.at ?? 0];
    const isOutdated = last?.writer === writer && asked < moved && moved <= noted;
    const judged = judgedAt.get(key) ?? new Map();
    judgedAt.set(key, isOutdated ? judged : judged.set(by?.principal.id, judgement));
  };
  return (event: LedgerEvent, gate: Gate | undefined, writer: unknown): readonly string[] => {
    const { event_type: type, workflow_id, payload, timestamp } = event;
    if (type === "POLICY_DECIDED") judge(event, `${workflow_id} ${String(payload["subject"])}`, writer);
    if (gate === undefined) return [];
    const key = `${workflow_id} ${gate.gate_id}`;
    const failures = judgeJudged(event, gate, judgedAt.get(key));
    // What an edit makes of it is another payload, and judged as that.
    if (!changes.has(type) || payload["cause"] === "edit") return failures;
    judgedAt.delete(key);
    changed.set(key, { at: Date.parse(timestamp), writer });
    return failures;
  };
}

function judgeJudged(event: LedgerEvent, gate: Gate, judged?: ReadonlyMap<unknown, Judgement>): readonly string[] {
  const word = event.event_type === "GATE_DELEGATED" ? lentIn(event, gate) : wordIn(event, gate);
  if (word === null || word.principal === null || !word.counts) return [];
  const { by, payload_hash, decision: verdict } = judged?.get(word.principal.id) ?? {};
  if (by?.decision === word.decision && payload_hash === word.payload_digest && verdict !== "DENY") return [];
  const told = `${event.event_type} of ${gate.gate_id} in ${event.workflow_id} by ${word.principal.id}`;
  return [`judged: ${told} was not let through by policy at the gate as it stands`];
}

function lentIn(event: LedgerEvent, { payload_digest }: Gate) {
  const { from } = payloadOf(event, "GATE_DELEGATED");
  return { decision: "delegate", payload_digest, principal: from, counts: true };
}

const isSaid = ({ decision, payload_digest, decided: { principal } }: KeptDecision, word: Word): boolean =>
  decision === word.decision && payload_digest === word.payload_digest && principal?.id === word.principal?.id;

const textOf = (jws: string): string => Buffer.from(jws.split(".")[1] ?? "", "base64url").toString();
