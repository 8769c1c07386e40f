/**
 * The words in which an explanation names people, comments and changes: those of its lines (explain.ts) and of its
 * summary (summarize.ts).
 */
import { cutToLine } from "../../contract/cut-text.ts";
import type { EventPayloads } from "../../contract/event.ts";
import { describeCarriers } from "../../contract/gate.ts";
import type { PolicyLift } from "../../contract/policy.ts";
import type { EventReaders } from "../../contract/read-event.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import { describeChange, describeComment } from "../../protocol/describe-edits.ts";

/** The members of a decision that name the person. */
type Decided = Pick<EventPayloads["USER_APPROVED"], "principal" | "carried_by">;

/** Names who decided, and the votes that carried the decision. */
export const who = ({ principal, carried_by = [] }: Decided): string =>
  principal === null
    ? "the configured expiry"
    : `${principal.type} ${principal.id} (${principal.role})${describeCarriers(carried_by)}`;

export const describeLifts = (lifts: readonly PolicyLift[] = []): string =>
  lifts.map(({ rule, by }) => `; ${by} lifted ${rule}`).join("");

export const listed = (policies: readonly string[]): string => policies.join(", ");

const revisionWords = {
  edit: "it was edited",
  regenerate: "the draft is a new one",
  policy: "policy gives another payload, or wants a person for another reason",
  basis: "what it rests on has changed",
} as const;

/** Says why a gate was opened again; of an edit that still counts also from what to what. */
export const describeRevision: NonNullable<EventReaders<string, [WorkflowRecord]>["GATE_REVISED"]> = (
  { gate: { gate_id }, cause, principal },
  { timestamp },
  { gates },
) => {
  if (cause !== "edit" || principal === null) return revisionWords[cause];
  const edit = gates.get(gate_id)?.edits?.find(({ at }) => at === timestamp);
  const reported = edit === undefined ? [] : [...edit.changes.map(describeChange), ...describeComment(edit)];
  return [`${principal.type} ${principal.id} edited it`, ...reported].join("; ");
};

const maxComment = 200;

/** Returns the comment of a person as the end of a line; nothing if there is none. */
export const quoted = (comment: string | null): string =>
  comment === null ? "" : `: “${cutToLine(comment, maxComment)}”`;
