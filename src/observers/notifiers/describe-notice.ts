/**
 * A notice as text, for anything that shows text to people.
 *
 * 1.  Text from inputs, outputs or people is made visible; none of it begins a line like one of ours.
 * 2.  A cut text states how much was left out, and `cut` names it, so that the message states where it is shown whole;
 *     a withheld text states where it is shown.
 * 3.  A notice after the decision, or after a change of the gate, states that first and asks for nothing.
 */
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import type { GateNotice, GateNoticeKind } from "../../contract/gate-notice.ts";
import {
  describeGate,
  factsWithout,
  factText,
  type GateFact,
  type GateSectionId,
  payloadTitle,
} from "../../protocol/describe-gate.ts";
import { namePrincipal } from "../../protocol/name-principal.ts";
import { quoteText, showLine } from "../../protocol/visible-text.ts";
import { withholdTexts } from "./withhold-texts.ts";

export interface DescribedNotice {
  /** One line. */
  readonly subject: string;
  /** One line each. */
  readonly facts: readonly (readonly [name: string, value: string])[];
  /** The preview and the payload, as JSON, each under its name; none if they are withheld. */
  readonly parts: readonly (readonly [name: string, text: string])[];
  /** The names of the cut parts: `title`, facts, the preview, the payload. */
  readonly cut: readonly string[];
  /** Whether it shows all that a person decides on: nothing is cut or withheld. */
  readonly isWhole: boolean;
}

export interface Telling {
  /** Characters of the subject. */
  readonly maxSubject: number;
  readonly maxPreview: number;
  readonly maxPayload: number;
  readonly linkOnly: boolean;
}

const openings = {
  opened: "Decision wanted",
  revised: "Changed, to be decided anew",
  due_soon: "Due soon",
  escalated: "Escalated",
  reminded: "Still to be decided",
  next_stage: "Decision wanted: the stage before is filled",
  assigned: "Given to somebody",
  commented: "Commented",
} as const satisfies Record<Exclude<GateNoticeKind, "decided">, string>;

const ends: { readonly [S in Gate["status"]]?: string } = {
  approved: "Approved",
  rejected: "Rejected",
  expired: "Expired",
  voided: "No longer to be decided",
};

const maxFact = 500;

export function describeNotice(notice: GateNotice, telling: Telling): DescribedNotice {
  if (telling.linkOnly) {
    const reported = head(withholdTexts(notice), telling, [["payload", "is shown at the gate alone"]]);
    return { ...reported, parts: [], isWhole: false };
  }
  const reported = head(notice, telling, []);
  const { parts, cut: cutParts } = body(notice, telling);
  const allCut = [...reported.cut, ...cutParts];
  return { ...reported, parts, cut: allCut, isWhole: allCut.length === 0 };
}

/**
 * Returns the line that names the parts that a message does not show whole, and where they are shown; null if it shows
 * everything.
 */
export const describeCut = (cutNames: readonly string[]): string | null =>
  cutNames.length === 0 ? null : `Not shown whole here: ${cutNames.join(", ")}. Open the gate to read all of it.`;

/** Returns whether what the notice shows can still be decided: the gate is open, and shows the same. */
export const isStanding = ({ gate, gate_now }: GateNotice): boolean =>
  isOpenGate(gate) &&
  isOpenGate(gate_now) &&
  gate.payload_digest === gate_now.payload_digest &&
  gate.basis_digest === gate_now.basis_digest;

function wordOf(notice: GateNotice): string {
  const { gate, gate_now, kind } = notice;
  if (kind === "decided") return ends[gate.status] ?? gate.status;
  if (!isOpenGate(gate_now)) return ends[gate_now.status] ?? gate_now.status;
  return isStanding(notice) ? openings[kind] : "Changed since";
}

/** Returns how the gate ended, or that this notice is outdated by a change; nothing if the gate still asks. */
function standingFacts(notice: GateNotice): Facts {
  const { gate, gate_now, kind, at, cancelled } = notice;
  if (kind === "decided") return endFacts(gate, cancelled, at);
  if (isStanding(notice)) return [];
  const late = ["told late", `this was asked at ${at} and can no longer be decided`] as const;
  return isOpenGate(gate_now) ? [late] : [late, ...endFacts(gate_now, cancelled, null)];
}

function endFacts(gate: Gate, cancelled: GateNotice["cancelled"], endedAt: string | null): Facts {
  if (gate.decision !== null) return pairs(describeGate(gate).find(({ id }) => id === "decision")?.facts ?? []);
  if (cancelled !== null) {
    const { principal, at, reason } = cancelled;
    return [["cancelled", `by ${namePrincipal(principal)} at ${at}${reason && `: ${reason}`}`]];
  }
  if (gate.status === "expired") return [["decided", `by nobody: its time ended at ${gate.due_at ?? endedAt}`]];
  return endedAt === null ? [] : [["ended", `no later than ${endedAt}`]];
}

type Facts = readonly (readonly [name: string, value: string])[];

function head(notice: GateNotice, { maxSubject }: Telling, more: Facts): Omit<DescribedNotice, "parts" | "isWhole"> {
  const subject = showLine(`${wordOf(notice)}: ${notice.gate.title}`);
  const facts = [...factsOf(notice), ...more].map(([name, value]) => [showLine(name), showLine(value)] as const);
  const cutFacts = facts.filter(([, value]) => value.length > maxFact).map(([name]) => name);
  return {
    subject: cut(subject, maxSubject),
    facts: facts.map(([name, value]) => [name, cut(value, maxFact)]),
    cut: [...(subject.length > maxSubject ? ["title"] : []), ...new Set(cutFacts)],
  };
}

function body({ gate }: GateNotice, { maxPreview, maxPayload }: Telling): Pick<DescribedNotice, "parts" | "cut"> {
  const ran = payloadTitle[gate.kind];
  const whole = [
    ...(gate.preview === "" ? [] : [["Preview", quoteText(gate.preview), maxPreview] as const]),
    [ran, quoteText(JSON.stringify(gate.payload, null, 2)), maxPayload] as const,
  ];
  return {
    parts: whole.map(([name, text, most]) => [name, cut(text, most)]),
    cut: whole.filter(([, text, most]) => text.length > most).map(([name]) => name),
  };
}

/** A message offers no edit, and is old when the next vote comes. */
const notInMessages = ["edits", "standing", "votes", "decision", "effects", "bound"] as const;

const pairs = (facts: readonly GateFact[]): Facts => facts.map((fact) => [fact.name, factText(fact)]);

function factsOf(notice: GateNotice): Facts {
  const { gate, workflow_id, intent_type } = notice;
  const reported = describeGate(gate);
  const of = (id: GateSectionId): readonly GateFact[] => reported.find((section) => section.id === id)?.facts ?? [];
  const lines = gate.diff === null ? 0 : gate.diff.replace(/\n$/, "").split("\n").length;
  return [
    ...standingFacts(notice),
    ...pairs(of("edits")),
    ["gate", `${gate.gate_id} of ${workflow_id} (${intent_type})`],
    ...pairs(factsWithout(reported, ...notInMessages)),
    ...(gate.diff === null ? [] : [["changes", `${lines} lines, shown at the gate alone`] as const]),
    ...pairs(of("effects").filter(({ name }) => name !== "edit")),
    ...pairs(of("bound")),
  ];
}

export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, most).toWellFormed();
  return `${kept}… ${text.length - most} more characters`;
}
