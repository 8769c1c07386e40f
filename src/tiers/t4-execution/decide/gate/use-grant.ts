/**
 * The use of a grant at the opening of a gate: its author's approval, given ahead, as a decision in the same row.
 *
 * 1.  The decision names the grant, and the store counts it in the transaction of the row: the use beyond the last asks
 *     a person, over all processes.
 * 2.  A grant approves a gate that opens; it never approves one that was revised.
 */
import { addCharge, type Charge, fieldBeyond, noCharge } from "../../../../contract/budget.ts";
import { KernelErrorException } from "../../../../contract/error.ts";
import type { Gate } from "../../../../contract/gate.ts";
import { whyNoGrant } from "../../../../contract/grant.ts";
import { chargeOfUse } from "../../../../contract/grant-use.ts";
import { instantText } from "../../../../contract/instant.ts";
import { t5 } from "../../../../contract/messages/t5.ts";
import { toHost, toTier } from "../run/intention.ts";
import { ask, type Run } from "../run/run.ts";
import type { Ballot } from "./cast-vote.ts";
import { judgeDecision } from "./judge-decision.ts";

/** Returns the approval of the grant that covers the call of a gate, as policy allows it; null if there is none. */
export function ballotOfGrant(run: Run, shown: Gate): Ballot | null {
  if (whyNoGrant(shown) !== null) return null;
  const { intent, requesters } = run.log.record;
  const gate = { ...shown, requesters: [...requesters] };
  const capability = `${intent.type}@${intent.version}`;
  const now = run.scopes.keep("grant:now", () => instantText(run.now));
  const before = run.scopes.keep("grant:used", () => usedHere(run));
  // The store does not count a use whose row is not written: the row of the next one would be refused again and again.
  if (before.size > 0) ask(run, "grant:saved", toHost("saved", {}));
  const { grant } = ask(run, "grant", toTier(t5.findGrant, { fn: "find_grant", data: { gate, capability, now } }));
  if (grant === null) return null;
  const { grant_id, by: principal, auth, given_at, within, charged } = grant;
  // Another gate of this workflow may have used the grant since the question was put.
  const since = addCharge(usedHere(run).get(grant_id) ?? noCharge, before.get(grant_id) ?? noCharge, -1);
  const money = shown.estimated_cost;
  if (fieldBeyond(within, { charged: addCharge(charged, since), amounts: chargeOfUse(money) }) !== null) return null;
  try {
    const judged = judgeDecision(run, gate, { decision: "approve", principal, auth }, { key: "grant:judge" });
    if (judged.policy.decision === "DENY") return null;
    const { seat, signature } = judged;
    return {
      decision: "approve",
      principal,
      comment: null,
      seat,
      signature,
      grant: { grant_id, given_at, money, within },
    };
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    run.warn({ gate_id: gate.gate_id, grant_id, error: thrown.error }, "a grant does not approve this gate");
    return null;
  }
}

/** Returns what this workflow has used of each grant, by the id of the grant. */
function usedHere({ log }: Run): ReadonlyMap<string, Charge> {
  const used = new Map<string, Charge>();
  for (const { decision } of log.record.gates.values()) {
    const { grant } = decision ?? {};
    if (grant === undefined) continue;
    used.set(grant.grant_id, addCharge(used.get(grant.grant_id) ?? noCharge, chargeOfUse(grant.money)));
  }
  return used;
}
