/**
 * A gate as lists over many workflows show it: a Gate with its long parts cut, and whether the workflow's log confirms
 * it.
 *
 * 1.  It is bounded: a listed gate has at most `maxListedGateChars` characters of JSON.
 * 2.  `truncated` is true whenever anything is cut or left out: a person who decides then reads the gate itself.
 * 3.  Listing a listed gate changes nothing.
 */
import { z } from "zod";
import { cutText } from "./cut-text.ts";
import { Gate } from "./gate.ts";
import type { GateConversation } from "./gate-conversation.ts";
import type { GateDoubt } from "./gate-doubt.ts";
import { cutFacts } from "./present.ts";

/** A gate with its long parts cut, as an index keeps it. */
export const CutGate = Gate.extend({
  /** Something is cut or left out; the gate itself, by workflow and gate id, has all. */
  truncated: z.boolean(),
});
export type CutGate = z.infer<typeof CutGate>;

/** A gate in a list; long parts are cut in lists over many workflows. */
export const ListedGate = CutGate.extend({
  /**
   * Whether the workflow's log confirms the entry. False if the log cannot be read, is too long to be read for a list
   * (`limits.maxListedLog`), or does not hold the gate as open: the entry is then from an index, and `payload_digest`
   * is empty.
   */
  checked: z.boolean(),
  /** The intent type of the workflow that waits, as its log has it; absent if the gate is not checked. */
  intent_type: z.string().optional(),
});
export type ListedGate = z.infer<typeof ListedGate>;

/** The most that a listed gate comes to, with the quotes and escapes of its texts; as a rule it is a tenth of that. */
export const maxListedGateChars = 64_000;
/** The limit for a text that a person reads, and for a payload as JSON. */
const maxText = 1000;
/** The limit for a name or a sentence. */
const maxPhrase = 200;

/** Returns the gate for a list. */
export function listGate(gate: Gate | CutGate): CutGate {
  const listed = cutGate(gate, 8);
  return JSON.stringify(listed).length <= maxListedGateChars ? listed : cutGate(gate, 1);
}

/** Returns the gate as it is, for a list that shows all of it. */
export const wholeGate = (gate: Gate): CutGate => ({ ...gate, truncated: false });

/**
 * Returns a listed gate with its payload in full and without its other long parts: preview, difference and editable
 * value usually repeat the payload. `truncated` states that something was cut.
 */
export function carryPayloadOnce(gate: ListedGate): ListedGate {
  const [preview, diff] = [cutText(gate.preview, maxText), gate.diff === null ? null : cutText(gate.diff, maxText)];
  const isLong = gate.editable != null && JSON.stringify(gate.editable.value).length > maxText;
  const isCut = isLong || preview !== gate.preview || diff !== gate.diff;
  return isCut ? { ...gate, preview, diff, ...(isLong && { editable: null }), truncated: true } : gate;
}

type Small = <T, N>(whole: T, without: N) => T | N;

const cutDoubt = ({ result_schema, ...doubt }: GateDoubt, small: Small): GateDoubt => ({
  ...{ ...doubt, error: small(doubt.error, null) },
  ...(result_schema !== undefined && { result_schema: small(result_schema, null) }),
});

/** Returns the summary and the facts of a gate with at most `most` facts, and whether anything of them is cut. */
function cutPresented({ summary, facts }: Gate, most: number) {
  const whole = { ...(summary !== undefined && { summary }), ...(facts !== undefined && { facts }) };
  const members = {
    ...(summary !== undefined && { summary: cutText(summary, maxPhrase) }),
    ...(facts !== undefined && { facts: cutFacts(facts, most) }),
  };
  return { members, isCut: JSON.stringify(members) !== JSON.stringify(whole) };
}

/** Returns the gate with the newest `most` entries of each list. */
function cutGate(gate: Gate | CutGate, most: number): CutGate {
  let truncated = "truncated" in gate && gate.truncated;
  const text = (whole: string, max = maxText): string => {
    const cut = cutText(whole, max);
    if (cut !== whole) truncated = true;
    return cut;
  };
  const phrase = (whole: string): string => text(whole, maxPhrase);
  const some = <T>(whole: readonly T[], cut: (item: T) => T = (item) => item): T[] => {
    if (whole.length > most) truncated = true;
    return whole.slice(-most).map(cut);
  };
  const small: Small = (whole, without) => {
    if (JSON.stringify(whole).length <= maxText) return whole;
    truncated = true;
    return without;
  };
  const presented = cutPresented(gate, most);
  if (presented.isCut) truncated = true;
  const { reasons, consequences, ladder, votes } = gate;
  const cut = {
    ...gate,
    title: phrase(gate.title),
    preview: text(gate.preview),
    diff: gate.diff === null ? null : text(gate.diff),
    payload: small(gate.payload, null),
    reasons: some(reasons, ({ source, rule, reason }) => ({ source, rule: phrase(rule), reason: phrase(reason) })),
    consequences: cutConsequences(consequences, phrase),
    ui_actions: small(gate.ui_actions, []),
    roles: gate.roles === null ? null : some(gate.roles, phrase),
    approvers: gate.approvers == null ? null : some(gate.approvers),
    advisors: some(gate.advisors ?? []),
    ladder: some(ladder ?? [], (rung) => (rung.role === undefined ? rung : { ...rung, role: phrase(rung.role) })),
    delegations: some(gate.delegations ?? []),
    votes: some(votes ?? [], (vote) => ({
      ...vote,
      signature: small(vote.signature, null),
      comment: vote.comment === null ? null : phrase(vote.comment),
      ...(vote.apply_targets !== undefined && { apply_targets: small(vote.apply_targets, []) }),
      ...(vote.result !== undefined && { result: small(vote.result, null) }),
      ...(vote.answer !== undefined && { answer: small(vote.answer, {}) }),
    })),
    ...(gate.path !== undefined && { path: some(gate.path) }),
    ...(gate.stages !== undefined && { stages: small(gate.stages, []) }),
    ...(gate.basis !== undefined && { basis: small(gate.basis, []) }),
    ...(gate.added_roles !== undefined && { added_roles: some(gate.added_roles, phrase) }),
    ...(gate.editable !== undefined && { editable: small(gate.editable, null) }),
    ...(gate.revised_from !== undefined && { revised_from: some(gate.revised_from) }),
    ...(gate.doubt !== undefined && { doubt: cutDoubt(gate.doubt, small) }),
    ...(gate.edits !== undefined && {
      edits: some(gate.edits, ({ changes, comment, ...edit }) => ({
        ...edit,
        changes: small(changes, []),
        ...(comment !== undefined && { comment: phrase(comment) }),
      })),
    }),
    ...(gate.conversation !== undefined && { conversation: cutConversation(gate.conversation, { some, phrase }) }),
    ...(gate.denied !== undefined && {
      denied: { ...gate.denied, rule: phrase(gate.denied.rule), reason: phrase(gate.denied.reason) },
    }),
    ...presented.members,
    ...(gate.planned_title !== undefined && { planned_title: phrase(gate.planned_title) }),
    ...(gate.requesters !== undefined && { requesters: some(gate.requesters) }),
    ...cutForReader(gate, { some, phrase }),
    spent_signatures: small(gate.spent_signatures ?? [], []),
  };
  return { ...cut, truncated };
}

const cutConsequences = (whole: Gate["consequences"], phrase: Cutting["phrase"]): Gate["consequences"] => ({
  approve: phrase(whole.approve),
  reject: phrase(whole.reject),
  edit: phrase(whole.edit),
});

interface Cutting {
  readonly some: <T>(whole: readonly T[], cut?: (item: T) => T) => T[];
  readonly phrase: (whole: string) => string;
}

/** Returns what a gate is for its reader: their seat, and who is away. */
const cutForReader = ({ seat, away }: Gate, { some, phrase }: Cutting): Pick<Gate, "seat" | "away"> => ({
  ...(seat != null && { seat: { ...seat, reason: seat.reason === null ? null : phrase(seat.reason) } }),
  ...(away !== undefined && { away: some(away, (one) => ({ ...one, reason: phrase(one.reason) })) }),
});

const cutConversation = (whole: GateConversation, { some, phrase }: Cutting): GateConversation => ({
  ...whole,
  comments: some(whole.comments, (one) => ({ ...one, text: phrase(one.text) })),
  snoozed: some(whole.snoozed),
  watchers: some(whole.watchers),
});
