/** Gates as a plan may ask for them: one person or several, named or not, with a time and a ladder or without. */
import type { Draw, GateInput } from "./story.ts";

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
    ...(draw.chance(0.3) ? { expiry } : {}),
    ...(draw.chance(0.1) ? { escalation: [{ after_ms: 2_000, role: "admin" }] } : {}),
  };
}
