/**
 * Tokens: units of scheduled work, their limits, and the events of their lives. A token event is no ledger event: it
 * has a virtual time, eleven kinds and no workflow.
 *
 * Owns: the records of the token kernel. Never: decides whether a token runs (T5's admission does), nor in which order.
 * 1.  Every quantity is a whole number of at least 0; null as a limit means no ceiling.
 * 2.  A token event has exactly five keys, in one order; only `custom` has a label.
 */
import { z } from "zod";
import { digest } from "./digest.ts";
import { JsonObject, JsonValue } from "./json.ts";

const quantity = z.int().nonnegative();
const ceiling = quantity.nullable().default(null);

/** Allotted by a kernel: 1, 2, 3 … */
export const TokenId = z.int().positive();
export type TokenId = z.infer<typeof TokenId>;

/** Names a registered capability; allotted by the registry, and stable. */
export const CapabilityHandle = z.int().positive();
export type CapabilityHandle = z.infer<typeof CapabilityHandle>;

const tokenKinds = ["Perception", "Reason", "Plan", "Act", "Reflect"] as const;
/** The kind of work that a token stands for. */
export const TokenKind = z.enum(tokenKinds);
export type TokenKind = z.infer<typeof TokenKind>;

/** The ceiling on the cost of one token, and the part that is used. */
export const TokenBudget = z.strictObject({ limit: ceiling, consumed: quantity.default(0) });
export type TokenBudget = z.infer<typeof TokenBudget>;

/** The amounts that a token, or one call of an operator, requests of the shared resources. */
export const ResourceRequest = z.strictObject({
  /** Time of a processor, in a unit of the host's. */
  cpu_time: quantity.default(0),
  /** Memory, in bytes. */
  memory_bytes: quantity.default(0),
  /** Traffic, in bytes. */
  network_bytes: quantity.default(0),
  /** Tokens of models. */
  tokens: quantity.default(0),
});
export type ResourceRequest = z.infer<typeof ResourceRequest>;

/** A unit of work with its priority, budget and resources. */
export const KernelToken = z.object({
  id: TokenId,
  /** 0 to 255, higher first. */
  priority: z.int().min(0).max(255).default(0),
  /** The amount that a run takes from the token's own budget and from its capability's `max_tokens`. */
  cost: quantity.default(0),
  kind: TokenKind.default("Act"),
  capability: CapabilityHandle.nullable().default(null),
  granted_capabilities: z.array(CapabilityHandle).default([]),
  /** The `contextHash` of the token's working context. */
  context_hash: z.string().min(1),
  goal: z.string().nullable().default(null),
  /** Tokens that must have completed before. */
  dependencies: z.array(TokenId).default([]),
  budget: TokenBudget.prefault({}),
  resources: ResourceRequest.prefault({}),
  payload: JsonValue.default(null),
});
export type KernelToken = z.infer<typeof KernelToken>;

/** A token before the kernel has given it an id; an id that it brings along is ignored. */
export const TokenDraft = KernelToken.extend({ id: z.unknown().optional() }).strict();
export type TokenDraft = z.input<typeof TokenDraft>;

/** Returns the draft, bound to the capability that it needs. */
export const withCapability = (draft: TokenDraft, handle: CapabilityHandle): TokenDraft => ({
  ...draft,
  capability: handle,
});

/**
 * Returns the digest of a working context's canonical JSON: the order of keys does not matter. Throws for a value that
 * is not JSON.
 */
export const contextHash = (context: unknown): string => digest(context);

/** The kinds of events in the life of a token. */
export const tokenEventKinds = [
  "scheduled",
  "started",
  "completed",
  "yielded",
  "capability_violation",
  "budget_violation",
  "resource_violation",
  "snapshot_created",
  "memory_write",
  "memory_read",
  "custom",
] as const;
/** The kind of a token event. */
export const TokenEventKind = z.enum(tokenEventKinds);
export type TokenEventKind = z.infer<typeof TokenEventKind>;

/** The label of the events that a rollback leaves. */
export const rolledBack = "rolled_back";
const reservedLabels: ReadonlySet<string> = new Set([rolledBack, "dependency_cancelled"]);

/** The label of an executor's own event. */
export const OwnLabel = z
  .string()
  .min(1)
  .max(256)
  .refine((label) => label.isWellFormed(), "must be well-formed text")
  .refine((label) => !reservedLabels.has(label), "the kernel uses this label itself");

/** One line of a token kernel's record. */
export const TokenEvent = z
  .strictObject({
    token_id: TokenId,
    /** Virtual: the position in the stream, from 1. */
    timestamp: z.int().positive(),
    kind: TokenEventKind,
    label: z.string().min(1).nullable(),
    detail: JsonObject,
  })
  .refine((event) => (event.kind === "custom") === (event.label !== null), "a label belongs to custom and to it alone");
export type TokenEvent = z.infer<typeof TokenEvent>;

/** Returns the JSON of Seed 001's `KernelEvent::to_json()`: the five keys, in its order. */
export const tokenEventToJson = ({ token_id, timestamp, kind, label, detail }: TokenEvent): TokenEvent => ({
  token_id,
  timestamp,
  kind,
  label,
  detail,
});

/** Omitted or null: no ceiling. */
export const CapabilityLimits = z.strictObject({
  /** Calls of an operator, rounds of planning of an intent. */
  max_invocations: ceiling,
  /** Tokens of all of them. */
  max_tokens: ceiling,
});
export type CapabilityLimits = z.infer<typeof CapabilityLimits>;

/** Ceilings of a capability package: those of a capability, and limits of its workflows in place of the kernel's. */
export const PackageLimits = z.strictObject({
  ...CapabilityLimits.shape,
  /** The steps that a plan may have, in place of `limits.maxSteps` of the kernel. */
  maxSteps: z.int().positive().optional(),
  /** The plans that may follow failed ones, in place of `limits.maxReplans` of the kernel. */
  maxReplans: z.int().nonnegative().optional(),
});
export type PackageLimits = z.infer<typeof PackageLimits>;

/** The used amounts of a capability. */
export const CapabilityUsage = z.object({ invocations: quantity, tokens: quantity });
export type CapabilityUsage = z.infer<typeof CapabilityUsage>;

/** A registered capability: its limits, and what it has used. */
export const CapabilityEntry = z.object({
  handle: CapabilityHandle,
  name: z.string().min(1).max(256),
  limits: CapabilityLimits,
  usage: CapabilityUsage,
});
export type CapabilityEntry = z.infer<typeof CapabilityEntry>;

/** Ceilings over all tokens, by the fields of a request. */
export const GovernorLimits = z.strictObject({
  /** The ceiling on CPU time, in the host's unit. */
  cpu_time: ceiling,
  /** Asked for in all. */
  memory_bytes: ceiling,
  /** Asked for in all. */
  network_bytes: ceiling,
  /** Asked for in all. */
  tokens: ceiling,
});
export type GovernorLimits = z.infer<typeof GovernorLimits>;

const account = z.object({ limit: quantity.nullable(), consumed: quantity });

/** The accounts over all tokens, by resource. Usage only grows. */
export const GovernorUsage = z.object({ cpu: account, memory: account, network: account, tokens: account });
export type GovernorUsage = z.infer<typeof GovernorUsage>;
