/**
 * Finds the recipients of a notice: those that the host chooses, or those who may decide, by the host's addresses of
 * roles and people.
 *
 * 1.  A named approver is found by name, except requesters at a gate with separation of duties; a gate that names roles
 *     goes to these; one that names nobody to all. Roles that an escalation added are included, and those who watch the
 *     gate.
 * 2.  A comment goes to those whom it mentions, to the one who looks after the gate and to those who watch it, a
 *     question to those who asked for the work as well; never to its author. Who is given a gate is told so.
 * 3.  Where somebody who may decide is away, the notice goes to who stands in for them as well; a comment that mentions
 *     them, too.
 */

import { z } from "zod";
import { kernelError } from "../../contract/error-codes.ts";
import { type Gate, rolesAsked } from "../../contract/gate.ts";
import type { GateNotice, WaitNotice } from "../../contract/gate-notice.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import { hostFunction } from "../../contract/host-object.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

/** One plain address: no name, no list, nothing that a header could be broken with. */
export const MailAddress = z
  .string()
  .regex(/^[^\s@<>()[\]\\,;:"\p{C}]{1,64}@[\w.-]{1,253}$/u, "is an address such as ann@example.org");

export const Recipients = z.strictObject({
  /** Returns the recipients, instead of `roles` and `people`. */
  recipients: hostFunction<(notice: GateNotice) => readonly string[] | Promise<readonly string[]>>().optional(),
  /** Addresses by role. */
  roles: z.record(z.string(), z.array(MailAddress).readonly()).readonly().default({}),
  /** The address of a named approver, by the principal's id. */
  people: z.record(z.string(), MailAddress).readonly().default({}),
});

/** The options of recipients. */
export interface RecipientOptions extends Readonly<z.input<typeof Recipients>> {}

type Approver = NonNullable<Gate["approvers"]>[number];

/** Returns the recipients without repetition. @throws KernelErrorException T6_NOTICE_NOBODY. */
export async function findRecipients(notice: GateNotice, options: RecipientOptions): Promise<readonly string[]> {
  const found = new Set(
    options.recipients === undefined ? addressed(notice, options) : await options.recipients(notice),
  );
  if (found.size > 0) return [...found];
  if (isForPeople(notice))
    return refuseNobody(
      peopleOf(notice)
        .map(({ id }) => String(id))
        .join(", "),
    );
  const { approvers, added_roles = [] } = notice.gate;
  const people = approvers?.map(({ id }) => String(id));
  const names = people === undefined ? (rolesAsked(notice.gate) ?? ["anybody"]) : [...people, ...added_roles];
  return refuseNobody(names.join(", "));
}

/** Returns the addresses of the role that a wait reminds. @throws KernelErrorException T6_NOTICE_NOBODY. */
export function findReminded({ role }: WaitNotice, { roles = {} }: RecipientOptions): readonly string[] {
  const found = new Set(addressesOf(roles, role));
  return found.size > 0 ? [...found] : refuseNobody(`the role ${role}`);
}

const refuseNobody = (who: string): never =>
  raise(kernelError("T6_NOTICE_NOBODY", `there is no address for ${who}`, recipientsRef));

const recipientsRef = moduleRef(6, "notifiers", "find_recipients");

const addressesOf = (roles: NonNullable<RecipientOptions["roles"]>, role: string): readonly string[] =>
  Object.hasOwn(roles, role) ? (roles[role] as readonly string[]) : [];

/** Returns whether a notice is for people by name, and not for those who may decide. */
const isForPeople = ({ kind }: GateNotice): boolean => kind === "commented" || kind === "assigned";

function addressed(notice: GateNotice, options: RecipientOptions): readonly string[] {
  const { people = {} } = options;
  const named = peopleOf(notice);
  const byName = isForPeople(notice) ? [...named, ...standInsOf(notice.gate, named)] : named;
  return [...(isForPeople(notice) ? [] : deciderAddresses(notice.gate, options)), ...byName.flatMap(addressIn(people))];
}

const addressIn =
  (people: NonNullable<RecipientOptions["people"]>) =>
  ({ id }: { readonly id: string | number }): readonly string[] =>
    Object.hasOwn(people, id) ? [people[id] as string] : [];

/** Returns who stands in for those of these people who are away. */
const standInsOf = ({ away = [] }: Gate, people: readonly PrincipalRef[]): readonly PrincipalRef[] =>
  away.flatMap(({ who, to }) => (people.some(({ type, id }) => type === who.type && id === who.id) ? [to] : []));

/** Returns the people to whom a notice goes by name, beside those who may decide. */
function peopleOf({ kind, gate }: GateNotice): readonly PrincipalRef[] {
  const { comments = [], assigned_to = null, watchers = [] } = gate.conversation ?? {};
  const assigned = assigned_to === null ? [] : [assigned_to];
  if (kind === "assigned") return [...assigned, ...watchers];
  const newest = comments.at(-1);
  if (kind !== "commented" || newest === undefined) return watchers;
  const asked = newest.asks === true ? (gate.requesters ?? (gate.requester === null ? [] : [gate.requester])) : [];
  const isAuthor = ({ type, id }: PrincipalRef): boolean => type === newest.by.type && id === newest.by.id;
  return [...newest.mentions, ...asked, ...assigned, ...watchers].filter((one) => !isAuthor(one));
}

/**
 * Returns the addresses of those who may decide a gate, by role, by name, and as stand-ins; an address may stand there
 * twice.
 */
export function deciderAddresses(
  gate: Gate,
  { roles = {}, people = {} }: Pick<RecipientOptions, "roles" | "people">,
): readonly string[] {
  const ofRole = (role: string): readonly string[] => addressesOf(roles, role);
  const standIns = (gate.away ?? []).flatMap(({ to }) => addressIn(people)(to));
  if (gate.approvers === null) return [...(rolesAsked(gate) ?? Object.keys(roles)).flatMap(ofRole), ...standIns];
  const named = gate.approvers.filter((one) => !hasAsked(gate, one));
  return [...named.flatMap(addressIn(people)), ...(gate.added_roles ?? []).flatMap(ofRole), ...standIns];
}

/** Returns whether an approver is one of the requesters of the shown work, who may not decide on it. */
const hasAsked = ({ separation, requesters, requester }: Gate, { type, id }: Approver): boolean =>
  separation &&
  (requesters ?? [requester]).some((one) => String(one?.id) === String(id) && (type ?? one?.type) === one?.type);
