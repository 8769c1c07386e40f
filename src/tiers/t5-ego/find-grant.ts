/**
 * Finds the grant that approves a call ahead: one of the same operator, rule and policy, whose conditions its params
 * meet, which is not used up, and whose author has a seat of their own at the gate.
 *
 * Never: decides. Policy judges the decision of the grant's author as it judges a vote.
 */
import type { Same } from "../../../machines/quorum.ts";
import { type Charge, fieldBeyond, noCharge } from "../../contract/budget.ts";
import { KernelErrorException } from "../../contract/error.ts";
import { askedDigest, ceilingOf, type Grant, meets } from "../../contract/grant.ts";
import { chargeOfUse, grantCounter } from "../../contract/grant-use.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type { GrantFound, GrantQuestion } from "../../contract/messages/t5.ts";
import type { TenantRegistry } from "../../engine/log/tenant-registry.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { seatVoter } from "./seat-voter.ts";

export interface Grants {
  readonly known: Pick<TenantRegistry, "mayHave">;
  readonly store: Pick<LedgerStore, "grantsFor" | "charges">;
  readonly same: Same;
}

const none: GrantFound = Object.freeze({ grant: null });

/** Returns the oldest grant that covers the call of a gate, with what was used of it. */
export const findGrant = (question: GrantQuestion, grants: Grants): GrantFound | Promise<GrantFound> =>
  follow(grants.known.mayHave(question.gate.tenant_id), (may) => (may ? readGrants(question, grants) : none));

async function readGrants(question: GrantQuestion, { store, same }: Grants): Promise<GrantFound> {
  const { gate } = question;
  const known = await store.grantsFor(gate.tenant_id, gate);
  const covering = known.filter((grant) => covers(grant, question) && isSeated(grant, question, same));
  if (covering.length === 0) return none;
  const names = covering.map(({ grant_id }) => grantCounter(grant_id));
  const charges = await store.charges(gate.tenant_id, names);
  const amounts = chargeOfUse(gate.estimated_cost);
  const at = covering.findIndex((grant, i) => fits(grant, charges[i] ?? noCharge, amounts));
  const grant = covering[at];
  if (grant === undefined) return none;
  const { grant_id, by, auth, at: given_at } = grant;
  return { grant: { grant_id, by, auth, given_at, within: ceilingOf(grant), charged: charges[at] ?? noCharge } };
}

const fits = (grant: Grant, charged: Charge, amounts: Charge): boolean =>
  fieldBeyond(ceilingOf(grant), { charged, amounts }) === null;

function covers(grant: Grant, { gate, capability, now }: GrantQuestion): boolean {
  const { when, until, uses } = grant;
  return (
    grant.capability === capability &&
    grant.policy_version === gate.policy_version &&
    grant.asked_digest === askedDigest(gate) &&
    (until === undefined || Date.parse(until) > Date.parse(now)) &&
    (uses !== undefined || gate.estimated_cost > 0) &&
    (when === undefined || meets(gate.payload, when))
  );
}

/** Returns whether the author of a grant has a seat of their own at the gate, by the rules of a vote. */
function isSeated({ by, auth }: Grant, { gate, capability, now }: GrantQuestion, same: Same): boolean {
  try {
    const voter = { principal: by, auth, now, capability: capability.slice(0, capability.lastIndexOf("@")) };
    const seat = seatVoter(gate, voter, same);
    return !seat.advisory && seat.on_behalf_of === null;
  } catch (thrown) {
    if (!(thrown instanceof KernelErrorException)) throw thrown;
    return false;
  }
}
