/** The edits of a gate as text: who changed which value, when, from what to what. Every face shows them first. */
import type { Gate } from "../contract/gate.ts";
import type { GateChange, GateEdit } from "../contract/gate-edit.ts";
import type { PrincipalRef } from "../contract/gate-vote.ts";
import type { Json } from "../contract/json.ts";
import { namePrincipal } from "./name-principal.ts";
import { showLine } from "./visible-text.ts";

/** A text as a person can see it, with the count of what is cut. */
const longestValue = 500;

/** Returns a line for each edit, oldest first, and for each value that it changed. */
export const describeEdits = ({ edits = [] }: Pick<Gate, "edits">): readonly string[] =>
  edits.flatMap((edit) => [
    `${describeEditor(edit)}${edit.changes.length === 0 ? "" : ":"}`,
    ...edit.changes.map(describeChange),
    ...describeComment(edit),
  ]);

/** Returns the comment of an edit as a line; none if there is no comment. */
export const describeComment = ({ comment }: GateEdit): readonly string[] =>
  comment === undefined ? [] : [`Comment on the edit: ${showLine(JSON.stringify(comment))}`];

export const describeEditor = ({ by, at, changes }: GateEdit): string =>
  `Edited by ${showLine(namePrincipal(by))} at ` +
  `${at}${changes.length === 0 ? "; the gate itself shows the values" : ""}`;

/** Returns one changed value in a line: `amount_eur: 61000 → 6100`. */
export const describeChange = ({ path, from, to }: GateChange): string =>
  `${showLine(path)}: ${showValue(from)} → ${showValue(to)}`;

function showValue(value: Json | undefined): string {
  if (value === undefined) return "(absent)";
  const text = JSON.stringify(value);
  const left = text.length - longestValue;
  return left <= 0
    ? showLine(text)
    : `${showLine(text.slice(0, longestValue).toWellFormed())}… ${left} more characters`;
}

export interface Excluded {
  readonly people: readonly PrincipalRef[];
  readonly why: string;
}

const isSame = (one: PrincipalRef, other: PrincipalRef): boolean => one.type === other.type && one.id === other.id;

/** Returns those who may not decide because duties are separated, grouped by what they did. */
export function listExcluded({ separation, requester, requesters, edits = [] }: Gate): readonly Excluded[] {
  if (!separation) return [];
  const all = requesters ?? (requester === null ? [] : [requester]);
  const isSubmitter = (one: PrincipalRef): boolean => requester !== null && isSame(one, requester);
  const isEditor = (one: PrincipalRef): boolean => !isSubmitter(one) && edits.some(({ by }) => isSame(by, one));
  const isOther = (one: PrincipalRef): boolean => !isSubmitter(one) && !isEditor(one);
  return [
    { people: all.filter(isSubmitter), why: "who asked for the work" },
    { people: all.filter(isEditor), why: "who edited what it shows" },
    { people: all.filter(isOther), why: "who asked for the work, or for a part of it to be changed or done again" },
  ].filter(({ people }) => people.length > 0);
}
