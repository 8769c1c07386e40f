/**
 * A policy question as a document, in the words that every language of policies uses: principal, action, resource,
 * context.
 *
 * 1.  The principal is who asks for the work; at stage gate, who decides. Ids that are equal as text are one person's,
 *     as at gates.
 * 2.  The action is the operator, in the groups `call` and its effect; `plan`; `draft:<outcome>`, in `draft`; or
 *     `approve`, `reject`, `delegate`, in `decide`. An operator with the name of another action is refused.
 * 3.  The resource is the payload that is judged, in its capability and its tenant.
 * 4.  The document holds nothing but the question: equal questions give equal documents.
 */
import type { Json } from "../../contract/json.ts";
import { effects } from "../../contract/operator.ts";
import type { PolicyQuestion, PolicyStage } from "../../contract/policy.ts";

/** A person, a program or an agent by its type and its id. */
export interface DescribedPerson {
  readonly type: string;
  readonly id: string;
}

/** The principal of a question with its rights. */
export interface DescribedPrincipal extends DescribedPerson {
  readonly role: string;
  readonly tenant: string | number;
  readonly scopes: readonly string[];
  readonly allow_external_send: boolean;
  readonly allow_pii: boolean;
}

/** An action and the groups that it is in. */
export interface DescribedAction {
  readonly id: string;
  readonly groups: readonly string[];
}

/** The subject that is judged, with its payload. */
export interface DescribedResource {
  readonly name: string;
  readonly capability: string;
  readonly tenant: string | number;
  readonly payload: Json;
}

/** The circumstances of a question. A member that the question lacks is absent. */
export interface DescribedContext {
  readonly stage: PolicyStage;
  /** The ISO instant of the turn, in UTC. */
  readonly now: string;
  /** The day of the week in UTC: `mon`. */
  readonly weekday: string;
  readonly capability: string;
  readonly tags: readonly string[];
  /** The number of workflows above this one. */
  readonly depth: number;
  readonly requester: DescribedPerson & { readonly role: string };
  /** The approvals that stand on exactly this payload. */
  readonly approvals: {
    readonly count: number;
    readonly roles: readonly string[];
    readonly people: readonly DescribedPerson[];
  };
  /** The money that the request has spent. */
  readonly budget: { readonly spent: number };
  readonly operator?: string;
  readonly effect?: string;
  readonly risk?: string;
  readonly applies?: string;
  readonly schedule?: string;
}

/** A policy question as a document. */
export interface DescribedQuestion {
  readonly stage: PolicyStage;
  readonly principal: DescribedPrincipal;
  readonly action: DescribedAction;
  readonly resource: DescribedResource;
  readonly context: DescribedContext;
}

/** Names of actions with a meaning of their own; an operator of such a name is not judged. */
const reservedActions: ReadonlySet<string> = new Set<string>([
  ...["call", "draft", "decide", "plan", "approve", "reject", "delegate"],
  ...effects,
]);

/** Returns the document of a question. @throws Error for an operator with the name of another action. */
export function describeQuestion(question: PolicyQuestion): DescribedQuestion {
  const { stage, subject, auth, intent } = question;
  const { principal_type, principal_id, role, tenant_id: tenant, scopes, data_policy } = auth;
  const { allow_external_send, allow_pii } = data_policy;
  const person = describePerson({ type: principal_type, id: principal_id });
  return {
    stage,
    principal: { ...person, role, tenant, scopes, allow_external_send, allow_pii },
    action: describeAction(question),
    resource: { name: subject.name, capability: intent.type, tenant, payload: subject.payload },
    context: describeContext(question),
  };
}

const describePerson = ({ type, id }: { readonly type: string; readonly id: string | number }): DescribedPerson => ({
  type,
  id: String(id),
});

function describeAction({ stage, subject }: PolicyQuestion): DescribedAction {
  if (stage === "plan") return { id: "plan", groups: [] };
  if (stage === "outcome") return { id: `draft:${subject.name}`, groups: ["draft"] };
  if (stage === "gate") return { id: subject.tags[0] ?? "", groups: ["decide"] };
  const { operator = "", effect = "" } = subject;
  if (reservedActions.has(operator)) throw new Error(`an operator called ${operator} has the name of another action`);
  return { id: operator, groups: ["call", effect] };
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

function describeContext({ stage, subject, intent, now, spent = 0 }: PolicyQuestion): DescribedContext {
  const { operator, effect, risk_level: risk, applies, schedule, parent, approvals = [] } = subject;
  const at = new Date(now);
  return {
    stage,
    now: at.toISOString(),
    weekday: weekdays[at.getUTCDay()] as string,
    capability: intent.type,
    tags: subject.tags,
    depth: parent?.depth ?? 0,
    requester: { ...describePerson(intent.actor), role: intent.actor.role },
    approvals: {
      count: approvals.length,
      roles: approvals.map(({ role }) => role),
      people: approvals.map(({ principal }) => describePerson(principal)),
    },
    budget: { spent },
    ...(operator !== undefined && { operator }),
    ...(effect !== undefined && { effect }),
    ...(risk !== undefined && { risk }),
    ...(applies != null && { applies }),
    ...(schedule !== undefined && { schedule: schedule.name }),
  };
}
