/**
 * The host's function that tells whether two principals are the same person, called safely.
 *
 * 1.  It only takes away: a seat, a second vote, a decision on one's own request. It gives nobody a seat.
 * 2.  A question that it cannot answer is refused.
 */
import { isSamePrincipal, type Same } from "../../../machines/quorum.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { type PrincipalRef, refOf } from "../../contract/gate-vote.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { SamePerson } from "../../ports/same-person.ts";
import { messageOf } from "./within.ts";

const personRef = moduleRef(5, "identity", "same_person");

/** Guards the host's function. Without one each principal is a person. A failing answer raises T5_PERSON_UNDECIDED. */
export function guardSamePerson(asked: SamePerson | undefined): Same {
  if (asked === undefined) return isSamePrincipal;
  return (a, b) => isSamePrincipal(a, b) || (isWhole(a) && isWhole(b) && (ask(asked, a, b) || ask(asked, b, a)));
}

/** Returns whether a reference has a type. An approver who is named without one is any principal with the id. */
const isWhole = (one: Partial<PrincipalRef>): one is PrincipalRef => one.type !== undefined && one.id !== undefined;

function ask(asked: SamePerson, a: PrincipalRef, b: PrincipalRef): boolean {
  let answer: unknown;
  try {
    answer = asked(refOf(a), refOf(b));
  } catch (thrown) {
    return refuse(`samePerson failed: ${messageOf(thrown)}`);
  }
  return typeof answer === "boolean" ? answer : refuse("samePerson answers true or false, at once");
}

const refuse = (message: string): never => raise(kernelError("T5_PERSON_UNDECIDED", message, personRef));
