/** The words for what an expiry of a gate does when nobody decides in time. All faces use them. */
import type { Gate } from "../contract/gate.ts";

const expiryWords = {
  deny: "the call is not made",
  allow: "the call is made without a decision",
  suspend: "it waits on until somebody decides",
} as const;

/**
 * Returns what an expiry does, as a clause.
 * @param role the role that an escalation asks; `admin` where none is named
 */
export const tellExpiry = (action: NonNullable<Gate["expiry_action"]>, role?: string | null): string =>
  action === "escalate" ? `the role ${role ?? "admin"} is asked` : expiryWords[action];
