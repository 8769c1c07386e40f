/**
 * The request to Cedar that stands for a policy question, made of its document (`describe-question.ts`).
 *
 * 1.  The role and the tenant of a principal are its parents; the capability and the tenant those of a resource.
 * 2.  Attributes and parents that a host gives to the same entities are added; those of the question stand.
 * 3.  What the schema says of an operator's effect must be its effect, or nothing is decided.
 */
import type { CedarValueJson, Context, EntityJson, TypeAndId } from "@cedar-policy/cedar-wasm/nodejs";
import type { PolicyQuestion } from "../../../contract/policy.ts";
import {
  type DescribedContext,
  type DescribedPerson,
  type DescribedPrincipal,
  type DescribedQuestion,
  type DescribedResource,
  describeQuestion,
} from "../describe-question.ts";
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
  const described = describeQuestion(question);
  const action = actionOf(described, schema);
  const tenant = uid("Tenant", idText(described.principal.tenant));
  const resource = uid(resourceTypeOf(described, schema), described.resource.name);
  const { context, principal: by } = described;
  const principal = principalEntity(by, tenant);
  const requester = principalUid(context.requester);
  const own: CedarEntity[] = [
    principal,
    ...(requester.id === principal.uid.id ? [] : [requesterEntity(context.requester, tenant)]),
    {
      uid: resource,
      attrs: payloadOf(described.resource, schema?.payloads.get(resource.type), schema?.named ?? none),
      parents: [uid("Capability", described.resource.capability), tenant],
    },
    ...(schema === null ? [action] : []),
  ];
  return {
    principal: principal.uid,
    action: action.uid,
    resource,
    context: contextOf(context),
    entities: mergeEntities(own, hostEntities),
  };
}

const none: NamedTypes = new Map();

const uid = (type: string, id: string): TypeAndId => ({ type, id });

/** Returns an id as text, so that the number 7 and the text "7" differ. */
const idText = (id: string | number): string =>
  typeof id === "number" || !/^("|-?\d+$)/.test(id) ? String(id) : JSON.stringify(id);

/** Returns the name of a principal: `user/ann`. */
const principalUid = ({ type, id }: DescribedPerson): TypeAndId =>
  uid("Principal", `${/["/]/.test(type) ? JSON.stringify(type) : type}/${id}`);

function principalEntity(principal: DescribedPrincipal, tenant: TypeAndId): CedarEntity {
  const { type, id, role, scopes, allow_external_send, allow_pii } = principal;
  return {
    uid: principalUid(principal),
    attrs: { type, id, role, scopes: [...scopes], allow_external_send, allow_pii },
    parents: [uid("Role", role), tenant],
  };
}

/** Returns the requester where somebody else decides: their scopes and rights are not those that count. */
function requesterEntity(requester: DescribedContext["requester"], tenant: TypeAndId): CedarEntity {
  const { type, id, role } = requester;
  const rights = { scopes: [], allow_external_send: false, allow_pii: false };
  return {
    uid: principalUid(requester),
    attrs: { type, id, role, ...rights },
    parents: [uid("Role", role), tenant],
  };
}

function actionOf({ stage, action, context }: DescribedQuestion, schema: CedarSchema | null): CedarEntity {
  const { id, groups } = action;
  const declared = stage === "action" ? schema?.actions.get(id)?.groups : undefined;
  const effect = context.effect ?? "";
  if (declared !== undefined && !declared.includes(effect))
    throw new Error(`the schema does not have ${id} in the group ${effect}, which is its effect`);
  return { uid: uid("Action", id), attrs: {}, parents: groups.map((group) => uid("Action", group)) };
}

const typeAt = { plan: "Plan", action: "Call", outcome: "Outcome", gate: "Call" } as const;

/** Returns the type of the resource: that of the action in the schema; at a gate, that of the call. */
function resourceTypeOf({ stage, action, context }: DescribedQuestion, schema: CedarSchema | null): string {
  if (schema === null) return typeAt[stage];
  const of = stage === "gate" ? (context.operator ?? "") : action.id;
  const [type, ...others] = schema.actions.get(of)?.resources ?? [];
  if (type === undefined) throw new Error(`the schema has no action ${of} with a type of resource`);
  if (others.length > 0) throw new Error(`the schema has several types of resource for the action ${of}`);
  return type;
}

function payloadOf(
  { payload }: DescribedResource,
  type: CedarType | undefined,
  named: NamedTypes,
): Readonly<Record<string, CedarValueJson>> {
  const value = toCedarValue(payload, type, named);
  return value === undefined ? {} : { payload: value };
}

const contextOf = ({ now, tags, requester, approvals, budget, ...rest }: DescribedContext): Context => ({
  ...rest,
  now: { __extn: { fn: "datetime", arg: now } },
  tags: [...tags],
  requester: { __entity: principalUid(requester) },
  approvals: {
    count: approvals.count,
    roles: [...approvals.roles],
    people: approvals.people.map((person) => ({ __entity: principalUid(person) })),
  },
  budget: { spent: decimalOf(Math.ceil(budget.spent * 10_000) / 10_000) },
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
