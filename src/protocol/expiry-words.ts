/** The words for what an expiry of a gate does when nobody decides in time. All faces use them. */
import type { Gate } from "../contract/gate.ts";

const expiryWords = {
  deny: "the call is not made",
  allow: "the call is made without a decision",
  suspend: "it waits on until somebody decides",
} as const;

const questionWords = {
  deny: "its step ends without an answer",
  allow: "the answer that it has for itself stands",
  suspend: "it waits on until somebody answers",
} as const;

/**
 * Returns what an expiry does, as a clause.
 * @param role the role that an escalation asks; `admin` where none is named
 * @param kind the kind of the gate; a question makes no call
 */
export function tellExpiry(
  action: NonNullable<Gate["expiry_action"]>,
  role?: string | null,
  kind: Gate["kind"] = "approval",
): string {
  if (action === "escalate") return `the role ${role ?? "admin"} is asked`;
  return kind === "ask" ? questionWords[action] : expiryWords[action];
}
