/**
 * The request to Cedar that stands for a policy question.
 *
 * 1.  The principal is who asks for the work; at stage gate, who decides. Its role and tenant are its parents.
 * 2.  The action is the operator, in the groups `call` and the effect; `plan`; `draft:<outcome>`, in `draft`; or
 *     `approve`, `reject`, `delegate`, in `decide`.
 * 3.  The resource holds the payload, and lies in its capability and its tenant.
 * 4.  Attributes and parents that a host gives to the same entities are added; those of the question stand.
 * 5.  What the schema says of an operator's effect must be its effect, or nothing is decided.
 */
import type { CedarValueJson, Context, EntityJson, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import type { AuthContext } from "../../../contract/auth-context.ts";
import type { PolicyQuestion, PolicySubject, SubjectApproval } from "../../../contract/policy.ts";
import { reservedActions } from "./base-schema.ts";
import { type CedarType, decimalOf, type NamedTypes, toCedarValue } from "./cedar-value.ts";
import type { CedarSchema } from "./read-schema.ts";

/** An entity of a host. */
export interface CedarEntity {
  /** Its type and its id. */
  readonly uid: { readonly type: string; readonly id: string };
  /** Its attributes, in Cedar's JSON form. */
  readonly attrs?: Readonly<Record<string, CedarValueJson>> | undefined;
  /** The entities that it is in. */
  readonly parents?: readonly { readonly type: string; readonly id: string }[] | undefined;
  /** Its tags, in Cedar's JSON form. */
  readonly tags?: Readonly<Record<string, CedarValueJson>> | undefined;
}

export interface CedarRequest {
  readonly principal: TypeAndId;
  readonly action: TypeAndId;
  readonly resource: TypeAndId;
  readonly context: Context;
  readonly entities: EntityJson[];
}

/** Returns the request. @throws Error if the question has no form in Cedar. */
export function makeRequest(
  question: PolicyQuestion,
  schema: CedarSchema | null,
  hostEntities: readonly CedarEntity[],
): CedarRequest {
  const { subject, auth, intent } = question;
  const action = actionOf(question, schema);
  const tenant = uid("Tenant", idText(auth.tenant_id));
  const resource = uid(resourceTypeOf(question, action.uid.id, schema), subject.name);
  const requester = principalUid(intent.actor);
  const principal = principalEntity(auth, tenant);
  const own: CedarEntity[] = [
    principal,
    ...(requester.id === principal.uid.id ? [] : [requesterEntity(question, tenant)]),
    {
      uid: resource,
      attrs: payloadOf(subject, schema?.payloads.get(resource.type), schema?.named ?? none),
      parents: [uid("Capability", intent.type), tenant],
    },
    ...(schema === null ? [action] : []),
  ];
  return {
    principal: principal.uid,
    action: action.uid,
    resource,
    context: contextOf(question, requester),
    entities: mergeEntities(own, hostEntities),
  };
}

const none: NamedTypes = new Map();

const uid = (type: string, id: string): TypeAndId => ({ type, id });

/** Returns an id as text, so that the number 7 and the text "7" differ. */
const idText = (id: string | number): string =>
  typeof id === "number" || !/^("|-?\d+$)/.test(id) ? String(id) : JSON.stringify(id);

/** Returns the name of a principal: `user/ann`. Ids that are equal as text are one person's, as at gates. */
const principalUid = ({ type, id }: { readonly type: string; readonly id: string | number }): TypeAndId =>
  uid("Principal", `${/["/]/.test(type) ? JSON.stringify(type) : type}/${id}`);

function principalEntity(auth: AuthContext, tenant: TypeAndId): CedarEntity {
  const { principal_type: type, principal_id: id, role, scopes, data_policy } = auth;
  const { allow_external_send, allow_pii } = data_policy;
  return {
    uid: principalUid({ type, id }),
    attrs: { type, id: String(id), role, scopes: [...scopes], allow_external_send, allow_pii },
    parents: [uid("Role", role), tenant],
  };
}

/** Returns the requester where somebody else decides: their scopes and rights are not those that count. */
function requesterEntity({ intent: { actor } }: PolicyQuestion, tenant: TypeAndId): CedarEntity {
  const { type, id, role } = actor;
  const rights = { scopes: [], allow_external_send: false, allow_pii: false };
  return {
    uid: principalUid(actor),
    attrs: { type, id: String(id), role, ...rights },
    parents: [uid("Role", role), tenant],
  };
}

function actionOf({ stage, subject }: PolicyQuestion, schema: CedarSchema | null): CedarEntity {
  if (stage === "plan") return actionEntity("plan", []);
  if (stage === "outcome") return actionEntity(`draft:${subject.name}`, ["draft"]);
  if (stage === "gate") return actionEntity(subject.tags[0] ?? "", ["decide"]);
  const { operator = "", effect = "" } = subject;
  if (reservedActions.has(operator))
    throw new Error(`an operator called ${operator} has no action of its own in Cedar`);
  const groups = schema?.actions.get(operator)?.groups;
  if (groups !== undefined && !groups.includes(effect))
    throw new Error(`the schema does not have ${operator} in the group ${effect}, which is its effect`);
  return actionEntity(operator, ["call", effect]);
}

const actionEntity = (id: string, groups: readonly string[]): CedarEntity => ({
  uid: uid("Action", id),
  attrs: {},
  parents: groups.map((group) => uid("Action", group)),
});

const typeAt = { plan: "Plan", action: "Call", outcome: "Outcome", gate: "Call" } as const;

/** Returns the type of the resource: that of the action in the schema; at a gate, that of the call. */
function resourceTypeOf({ stage, subject }: PolicyQuestion, action: string, schema: CedarSchema | null): string {
  if (schema === null) return typeAt[stage];
  const of = stage === "gate" ? (subject.operator ?? "") : action;
  const [type, ...others] = schema.actions.get(of)?.resources ?? [];
  if (type === undefined) throw new Error(`the schema has no action ${of} with a type of resource`);
  if (others.length > 0) throw new Error(`the schema has several types of resource for the action ${of}`);
  return type;
}

function payloadOf(
  { payload }: PolicySubject,
  type: CedarType | undefined,
  named: NamedTypes,
): Readonly<Record<string, CedarValueJson>> {
  const value = toCedarValue(payload, type, named);
  return value === undefined ? {} : { payload: value };
}

const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

function contextOf(question: PolicyQuestion, requester: TypeAndId): Context {
  const { stage, subject, intent, now, spent = 0 } = question;
  const { operator, effect, risk_level: risk, applies, schedule, parent, approvals = [] } = subject;
  const at = new Date(now);
  return {
    stage,
    now: { __extn: { fn: "datetime", arg: at.toISOString() } },
    weekday: weekdays[at.getUTCDay()] as string,
    capability: intent.type,
    tags: [...subject.tags],
    depth: parent?.depth ?? 0,
    requester: { __entity: requester },
    approvals: approvalsIn(approvals),
    budget: { spent: decimalOf(Math.ceil(spent * 10_000) / 10_000) },
    ...(operator !== undefined && { operator }),
    ...(effect !== undefined && { effect }),
    ...(risk !== undefined && { risk }),
    ...(applies != null && { applies }),
    ...(schedule !== undefined && { schedule: schedule.name }),
  };
}

const approvalsIn = (approvals: readonly SubjectApproval[]): CedarValueJson => ({
  count: approvals.length,
  roles: approvals.map(({ role }) => role),
  people: approvals.map(({ principal }) => ({ __entity: principalUid(principal) })),
});

const keyOf = ({ type, id }: TypeAndId): string => JSON.stringify([type, id]);

/** Adds a host's entities to those of the question. Of one that both have, the question's attributes stand. */
function mergeEntities(own: readonly CedarEntity[], host: readonly CedarEntity[]): EntityJson[] {
  const merged = new Map<string, EntityJson>();
  for (const entity of [...host, ...own]) {
    const { attrs = {}, parents = [], tags } = entity;
    const key = keyOf(entity.uid);
    const other = merged.get(key);
    const allTags = { ...other?.tags, ...tags };
    merged.set(key, {
      uid: entity.uid,
      attrs: { ...other?.attrs, ...attrs },
      parents: [...(other?.parents ?? []), ...parents],
      ...(Object.keys(allTags).length > 0 && { tags: allTags }),
    });
  }
  return [...merged.values()];
}
