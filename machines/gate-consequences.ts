/**
 * The consequences of each answer at a gate, at this moment and for its reader; and the title of the call.
 *
 * Owns: these sentences, for every face alike. Never: decides, or writes an event: a gate in an event has only the
 * consequence of the answer that decides it.
 */
import type { Gate, GateDenial } from "../src/contract/gate.ts";
import type { GateSeat } from "../src/contract/gate-vote.ts";
import type { Json } from "../src/contract/json.ts";
import { missingParts, tallyOf } from "./quorum.ts";

type Consequences = Gate["consequences"];
type Verdict = "approve" | "reject";

/** Returns a gate for its reader, whom its `seat` describes; without a seat, for anybody who may decide. */
export function foretell(gate: Gate): Gate {
  const titled = titleOf(gate);
  const isOpen = gate.status === "open" || gate.status === "suspended";
  if (!isOpen) return titled;
  const missing = gate.quorum?.of === undefined ? {} : { missing: missingParts(gate) };
  return { ...titled, ...missing, consequences: consequencesOf(gate, gate.seat ?? null) };
}

function consequencesOf(gate: Gate, seat: GateSeat | null): Consequences {
  if (seat?.may === false) return forEach(`You cannot decide here: ${seat.reason}.`);
  if (seat?.advisory === true) return adviceOf(seat);
  if (gate.kind === "in_doubt") return gate.consequences;
  const edit = editOf(gate);
  const { voted } = seat ?? {};
  if (voted === undefined) return { approve: voteOf(gate, "approve"), reject: voteOf(gate, "reject"), edit };
  const stands = `Your seat has voted to ${voted} already`;
  const refused = `${stands}: this is refused until that vote is withdrawn.`;
  const repeated = `${stands}: this adds no vote. ${standing(gate)}`;
  return { approve: refused, reject: refused, edit, [voted]: repeated };
}

const forEach = (text: string): Consequences => ({ approve: text, reject: text, edit: text });

function adviceOf({ voted }: GateSeat): Consequences {
  const advice = "Your answer is advice: it is kept, is not counted, and decides nothing.";
  const given = voted === undefined ? "" : ` You have advised to ${voted}; withdraw that before you advise otherwise.`;
  return { approve: advice + given, reject: advice + given, edit: "Who advises cannot edit." };
}

const reported = { approve: "approvals", reject: "rejections" } as const;

/** Returns the consequence of one more counted vote. */
function voteOf(gate: Gate, word: Verdict): string {
  const { needed, given } = countOf(gate, word);
  if (word === "approve" && gate.denied !== undefined) return whileDenied(gate.denied);
  if (word === "approve" && gate.seat?.spare === true)
    return `It adds nothing: the approvals of ${gate.seat.part} are given, and others are still to come.`;
  const decides = gate.consequences[word];
  if (given + 1 >= needed && word === "approve" && fillsStage(gate))
    return `It fills stage ${gate.stage} of ${gate.stages?.length}; ${waitsFor(gate, "the last stage")}.`;
  if (given + 1 >= needed) return needed === 1 ? decides : `With the last of ${needed} ${reported[word]}: ${decides}`;
  const rest = word === "approve" ? waitsFor(gate, "the last of them") : "the gate stays open";
  return `One vote: ${given + 1} of ${needed} ${reported[word]} are then given, and ${rest}.`;
}

const fillsStage = ({ stage = 1, stages = [] }: Gate): boolean => stage < stages.length;

const waitsFor = ({ kind, operator }: Gate, last: string): string =>
  kind === "ask" ? `the answer counts with ${last}` : `${operator} does not run before ${last}`;

const whileDenied = ({ rule, reason, at }: GateDenial): string =>
  `Refused for as long as policy denies the call, as rule “${rule}” did at ${at}${reason && `: ${reason}`}. ` +
  "It is asked anew; a rejection is taken.";

function countOf(gate: Gate, word: Verdict): { readonly needed: number; readonly given: number } {
  const name = reported[word];
  return { needed: gate.quorum?.[name] ?? 1, given: tallyOf(gate)[name] };
}

function standing(gate: Gate): string {
  const reported = (["approve", "reject"] as const).map((word) => {
    const { given, needed } = countOf(gate, word);
    return `${given} of ${needed} to ${word}`;
  });
  return `Votes given: ${reported.join(", ")}.`;
}

/** Returns the consequence of an edit, and its cost for the editor. */
function editOf(gate: Gate): string {
  const { consequences } = gate;
  if (gate.editable == null) return consequences.edit;
  const voids = gate.votes.length === 0 ? "" : " All votes that are given are void.";
  return `${consequences.edit}${voids} ${costOf(gate)}`;
}

function costOf({ separation, signed, quorum, stages }: Gate): string {
  if (separation)
    return (
      "Who edits then counts as one who asked for the work: they lose their seat here, and others " +
      "decide on the edit."
    );
  if (signed) return "The edit is no vote: it is shown anew, and needs signed votes.";
  if (stages !== undefined) return "The edit is no vote: it is shown anew, to the first stage.";
  const { approvals = 1 } = quorum ?? {};
  return approvals > 1
    ? `The edit counts as the first of ${approvals} approvals of what it makes.`
    : "The edit approves what it makes, unless policy or what it rests on changes it; then it is shown anew.";
}

const longestTitle = 200;

/** Returns the gate with the title of the call after edits: the plan named the step before them. */
function titleOf(gate: Gate): Gate {
  const left = leftOf(gate);
  // A title that the operator presents is made of what the edits left.
  if (left.size === 0 || gate.planned_title !== undefined) return gate;
  const values = [...left].map(([path, value]) => `${path} ${value === undefined ? "removed" : JSON.stringify(value)}`);
  const asks = gate.kind === "in_doubt" ? "What became of " : "";
  const title = `${asks}${gate.operator}, edited: ${values.join(", ")}`;
  const fits = title.length <= longestTitle;
  return {
    ...gate,
    title: fits ? title : `${title.slice(0, longestTitle - 1).toWellFormed()}…`,
    planned_title: gate.title,
  };
}

/** Returns the values that all edits together have changed. Whether a masked value has changed is unknown. */
function leftOf({ edits = [] }: Gate): ReadonlyMap<string, Json | undefined> {
  const first = new Map<string, string | undefined>();
  const last = new Map<string, Json | undefined>();
  const masked = new Set<string>();
  for (const { path, from, to } of edits.flatMap(({ changes }) => changes)) {
    if (!first.has(path)) first.set(path, JSON.stringify(from));
    if (JSON.stringify(from) === JSON.stringify(to)) masked.add(path);
    last.set(path, to);
  }
  return new Map([...last].filter(([path, to]) => masked.has(path) || first.get(path) !== JSON.stringify(to)));
}
