/** Gates as a plan may ask for them: one person or several, named or not, with a time and a ladder or without. */
import type { Draw } from "./drawing.ts";
import type { GateInput } from "./story.ts";

const approvers = [1, 2, 3].map((id) => ({ type: "user", id }));
const actions = ["deny", "allow", "suspend", "escalate"] as const;

export function drawGate(draw: Draw): GateInput {
  const quorum = draw.chance(0.3) ? { quorum: { approvals: 2 } } : {};
  const expiry = { after_ms: draw.pick([1_000, 20_000, 600_000]), action: draw.pick(actions) };
  const who = draw.chance(0.3) ? { approvers } : draw.chance(0.15) ? { separation: true } : {};
  return {
    reason: "a person looks",
    ...quorum,
    ...who,
    ...(draw.chance(0.3) ? { expiry, ...remindUntil(expiry) } : {}),
    ...(draw.chance(0.1) ? { escalation: [{ after_ms: 500, role: "admin", replace: draw.chance(0.5) }] } : {}),
  };
}

/** A gate without an end reminds without end: only one that its expiry closes does so here. */
const remindUntil = ({ after_ms, action }: { readonly after_ms: number; readonly action: string }) =>
  after_ms > 1_000 && (action === "deny" || action === "allow") ? { remind: { every: Math.ceil(after_ms / 2.5) } } : {};

/**
 * The same gate, or a new one, that asks for more: signatures, roles, duties kept apart, seats that nobody may lend.
 */
export function enrichGate(draw: Draw, gate: GateInput | null): GateInput {
  const { approvers: named, ...plain } = gate ?? { reason: "a person looks twice" };
  const roles = draw.chance(0.25) ? { roles: draw.pick([["user"], ["user", "admin"], ["admin"]]) } : {};
  return {
    ...plain,
    ...(named === undefined || "roles" in roles ? roles : { approvers: named }),
    ...(draw.chance(0.45) ? { signed: true } : {}),
    ...(draw.chance(0.25) ? { separation: true } : {}),
    ...(draw.chance(0.2) ? { delegation: false } : {}),
    ...(draw.chance(0.15) ? { advisors: ["guest"] } : {}),
    ...(draw.chance(0.4) ? { quorum: { approvals: 1 + draw.upTo(2), rejections: 1 } } : {}),
  };
}
