/**
 * Requests and intents: the submit request of an intake adapter, the canonical Intent that it becomes, and the answer
 * that is sent as soon as the intent is in the ledger.
 */
import { z } from "zod";
import { CorrelationId, IntentId, PlanId, PrincipalId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import { JsonObject } from "./json.ts";
import { QueueRequest, QueueTicket } from "./queue.ts";
import { maxSleepMs } from "./step-kinds.ts";

/** The requesting principal. `role` is looked up in the host's role table. */
export const Principal = z.strictObject({
  /** Such as `user`, `agent` or `service`. */
  type: z.string().min(1).max(64),
  /** Unique within its type. */
  id: PrincipalId,
  /** The role: a name of the role table. */
  role: z.string().min(1).max(64),
});
export type Principal = z.infer<typeof Principal>;

/** The subject of a request: a generic pair, never a domain type of the kernel's own. */
export const Scope = z.strictObject({
  /** The kind of the entity that the request concerns, such as `order`. */
  scope_type: z.string().min(1).max(128),
  /** Its id within the kind. */
  scope_id: z.union([z.string().min(1).max(256), z.int()]),
});
export type Scope = z.infer<typeof Scope>;

/** The key under which a request may be sent again without being done twice. */
export const IdempotencyKey = z.string().regex(/^[\x20-\x7e]{1,255}$/, "1 to 255 printable ASCII characters");

/** A request: the principal, the wanted work, and the idempotency key. */
export const SubmitRequest = z.strictObject({
  /** The channel of the request; for rules and reports. */
  source: z.enum(["chat", "api", "webhook"]).default("api"),
  /** The tenant of the workflow. */
  tenant_id: TenantId,
  /** The requesting principal. */
  principal: Principal,
  /** Groups requests: later ones see the earlier ones of their thread in their context. */
  thread_id: ThreadId.nullable().default(null),
  /** The subject of the request; part of memory's keys. */
  scope: Scope.nullable().default(null),
  /** A text, and documents beside it. */
  input: z
    .strictObject({
      /** Whether the text is a person's message, or data. */
      mode: z.enum(["message", "data"]).default("message"),
      /** The request in words; it is classified if there is no `intent_hint`. */
      text: z.string().default(""),
      /** Documents beside the text. */
      attachments: z
        .strictObject({
          /** Ids of documents that the kernel keeps (`kernel.documents`). */
          document_ids: z.array(z.union([z.string().min(1), z.int()])).default([]),
        })
        .prefault({}),
    })
    .prefault({}),
  /** The intent type and its inputs; without it the text is classified. */
  intent_hint: z
    .strictObject({
      /** The intent type of a package that is registered. */
      intent_type: z.string().min(1).max(256),
      /** The inputs that the package's schema asks for. */
      inputs: JsonObject.default({}),
    })
    .nullable()
    .default(null),
  /** The constraints of the work, such as `allow_credential_use`; rules and operators read them. */
  constraints: JsonObject.default({}),
  /** References for the context. */
  context_refs: JsonObject.default({}),
  /** The same request under the same key, of the same principal, is one workflow for as long as the ledger lasts. */
  idempotency_key: IdempotencyKey.optional(),
  /** The ISO instant before which the work does not begin; it is accepted at once. */
  start_at: z.iso.datetime({ offset: true }).optional(),
  /** The time in ms after which the work begins, in place of `start_at`: at most ten years. */
  delay_ms: z.int().min(0).max(maxSleepMs).optional(),
  /** The queue in which the work waits for its turn; of a capability's own queue, the priority in it. */
  queue: QueueRequest.optional(),
});
export type SubmitRequest = z.input<typeof SubmitRequest>;
export type ParsedSubmitRequest = z.output<typeof SubmitRequest>;

/** Addresses of the three streams of one workflow. */
export const StreamAddresses = z.object({ events: z.string(), progress: z.string(), assistant: z.string() });

/** The ids of a request that was accepted; its work begins after this answer. */
export const SubmitResponse = z.object({
  workflow_id: WorkflowId,
  intent_id: IntentId,
  plan_id: PlanId,
  correlation_id: CorrelationId,
  stream: StreamAddresses,
  status: z.literal("accepted"),
  /** The workflow ran or waited before this request, which begins nothing (a singleton); absent otherwise. */
  existing: z.literal(true).optional(),
});
export type SubmitResponse = z.infer<typeof SubmitResponse>;

/** Options of a submit. */
export const SubmitOptions = z.strictObject({
  /**
   * Aborts when the request is not wanted any more: a submit that has no place yet leaves the queue, and nothing of it
   * is begun. One that is accepted goes on; `cancel` ends it.
   */
  signal: z.instanceof(AbortSignal, { error: "must be an AbortSignal" }).optional(),
});
export type SubmitOptions = z.infer<typeof SubmitOptions>;

/** The key of a submit as the ledger keeps it, with the digest of its request. */
export interface Submission {
  readonly key: string;
  readonly digest: string;
}

/** Returns the name of a principal's submit key among the keys that a tenant's workflows share. */
export const submissionKey = ({ type, id }: Principal, key: string): string =>
  `submit:${JSON.stringify([type, id, key])}`;

/** The schedule and the instant that began a workflow. */
export const ScheduleOrigin = z.object({
  /** The name of the schedule. */
  name: z.string(),
  /** The instant, as ISO text in UTC. */
  instant: z.string(),
});
export type ScheduleOrigin = z.infer<typeof ScheduleOrigin>;

/** Returns the idempotency key of the submit of a schedule's instant. */
export const firingKey = ({ name, instant }: ScheduleOrigin): string => `schedule:${name}:${instant}`;

/**
 * Returns the name of a request's key among the keys that a tenant's workflows share. The key of a schedule's instant
 * is no principal's: whoever the schedule belongs to meanwhile, the instant is one workflow.
 */
export const requestKey = (principal: Principal, { key }: Submission, schedule?: ScheduleOrigin): string =>
  schedule === undefined ? submissionKey(principal, key) : firingKey(schedule);

/** A request whose intent type is known and whose inputs are checked. */
export const Intent = z.object({
  intent_id: IntentId,
  type: z.string(),
  version: z.string(),
  actor: Principal,
  scope: Scope.nullable(),
  inputs: JsonObject,
  constraints: JsonObject,
  context_refs: JsonObject,
  text: z.string().default(""),
  /** The title that the capability gives the request; absent if it gives none. */
  title: z.string().optional(),
  source: z.enum(["chat", "api", "webhook"]).default("api"),
  /** Absent where a request began the work. */
  schedule: ScheduleOrigin.optional(),
  /** The queue in which the work takes a place; absent if it needs none. */
  queue: QueueTicket.optional(),
});
export type Intent = z.infer<typeof Intent>;

/** Returns the parts of an intent that a request for the same work, or for a part of it, has as well. */
export function requestFrom({ source, scope, constraints, context_refs }: Intent) {
  const { document_ids = [], ...refs } = context_refs;
  return {
    ...{ source, scope, constraints, context_refs: refs },
    input: { mode: "data" as const, attachments: { document_ids: document_ids as (string | number)[] } },
  };
}
