/**
 * Asks the person at the terminal: approve, edit, reject, or decide later.
 * Owns: the questions. Never: decides; the answer goes to the kernel with the digest of what was shown.
 */
import type { Gate } from "../contract/gate.ts";
import { showLine } from "../protocol/visible-text.ts";
import { editText } from "./edit-text.ts";

export interface Answer {
  readonly decision: "approve" | "reject";
  /** The text that replaces the draft. */
  readonly text?: string;
}

export interface Question {
  readonly gate: Gate;
  /** What may be edited; null for nothing. */
  readonly draft: string | null;
  readonly signal: AbortSignal;
}

type Choice = "approve" | "edit" | "reject" | "later";

/** Null where the person leaves the decision for later, by choice or with Ctrl-C. */
export async function askGate(question: Question): Promise<Answer | null> {
  const { isCancel, select } = await import("@clack/prompts");
  const { gate, draft, signal } = question;
  const choice = await select<Choice>({
    message: `${showLine(gate.title)}?`,
    options: listChoices(draft !== null),
    signal,
  });
  if (isCancel(choice) || choice === "later") return null;
  if (choice !== "edit" || draft === null) return { decision: choice === "reject" ? "reject" : "approve" };
  const text = await editText(draft, "draft.md", signal);
  return text === null ? askGate(question) : { decision: "approve", text };
}

const listChoices = (editable: boolean): { value: Choice; label: string }[] => [
  { value: "approve", label: "Approve" },
  ...(editable ? [{ value: "edit" as const, label: "Edit, then approve" }] : []),
  { value: "reject", label: "Reject" },
  { value: "later", label: "Decide later" },
];
