/**
 * Federated memory: a change that a replica made, the report of a merge, and the right to change a key.
 *
 * Owns: the records, the three reasons for a rejection, the order of changes. Never: keeps or merges anything.
 * 1.  The rejection of a change follows from the change, the registered replicas and the policy alone, so that it does
 *     not depend on the changes before it.
 * 2.  `compareChanges` orders all changes of a key totally: two that are equal in it are the same change.
 */
import { z } from "zod";
import { canonicalJson } from "./digest.ts";
import { kernelError } from "./error-codes.ts";
import { hostFunction } from "./host-object.ts";
import { TenantId } from "./ids.ts";
import { JsonValue } from "./json.ts";
import { raise } from "./kernel-error.ts";
import { moduleRef } from "./module-ref.ts";

const name = z.string().min(1).max(256);
const mergeRef = moduleRef(2, "federation", "merge");

/**
 * One write of one replica. `version` is its Lamport clock at the write; `capability` is the one that the writer needs.
 */
export const FederatedChange = z.strictObject({
  origin: name,
  key: z.string().min(1).max(512),
  value: JsonValue,
  version: z.int().nonnegative(),
  capability: name,
});
export type FederatedChange = z.infer<typeof FederatedChange>;

/**
 * The result of a merge: the number of changes that it took, the keys that it had newer already, and the keys that it
 * refused, each with its reason.
 */
export const FederatedSyncReport = z.object({
  applied: z.int().nonnegative(),
  stale: z.array(z.string()),
  rejected: z.array(z.object({ key: z.string(), reason: z.string() })),
});
export type FederatedSyncReport = z.infer<typeof FederatedSyncReport>;

export const SyncRequest = z.strictObject({ tenant_id: TenantId, changes: z.array(FederatedChange) });
export type SyncRequest = z.infer<typeof SyncRequest>;

/**
 * A host's policy on changes. True or null allows the change; false forbids it, a text forbids it and gives the reason.
 * A policy that throws or returns anything else forbids.
 */
export type FederationPolicy = (change: FederatedChange) => boolean | string | null | Promise<boolean | string | null>;

/** Replica id → the capabilities it was registered with; `*` stands for all. */
export type Replicas = Readonly<Record<string, readonly string[]>>;

export const Federation = z.strictObject({
  /** This kernel's name among the replicas. */
  replica: name,
  /** The capabilities of each replica whose changes may be merged, by replica id. */
  replicas: z.record(name, z.array(name).readonly()).readonly(),
  /** The host's policy on each change. */
  policy: hostFunction<FederationPolicy>().optional(),
});
/** The options of federation: the kernel's own name, the other replicas, and the host's policy. */
export interface FederationOptions extends Readonly<z.input<typeof Federation>> {}

/** A change with the reason why it may not be merged; null where it may. */
export interface JudgedChange {
  readonly change: FederatedChange;
  readonly refusal: string | null;
}

/**
 * Returns the reason if the registered capabilities of its origin do not admit this change. Undefined stands for an
 * unknown replica.
 */
export function refuseReplica(
  { origin, capability }: FederatedChange,
  registered: readonly string[] | undefined,
): string | null {
  if (registered === undefined) return `replica ${origin} is not registered`;
  if (registered.includes(capability) || registered.includes("*")) return null;
  return `replica ${origin} lacks the capability ${capability}`;
}

/** Returns why a policy's answer forbids a change; null where it allows it. */
export function readVerdict(answer: unknown): string | null {
  if (answer === true || answer === null || answer === undefined) return null;
  if (answer === false) return "forbidden by policy";
  return typeof answer === "string" ? `forbidden by policy: ${answer}` : "forbidden by policy: it gave no verdict";
}

/** Returns the verdict of a policy that failed: it forbids. */
export const failedVerdict = (message: string): string => `forbidden by policy: it failed, which forbids: ${message}`;

/**
 * Compares two changes of one key: positive if `a` is newer, by version, then by origin id. A sound replica never
 * repeats a version; of two changes that share version and origin and still differ, the one with the greater canonical
 * text wins on every replica, in whatever order they arrive.
 */
export function compareChanges(a: FederatedChange, b: FederatedChange): number {
  if (a.version !== b.version) return a.version - b.version;
  if (a.origin !== b.origin) return a.origin < b.origin ? -1 : 1;
  const [left, right] = [a, b].map(({ value, capability }) => canonicalJson([value, capability])) as [string, string];
  return left === right ? 0 : left < right ? -1 : 1;
}

export interface FederationLimits {
  readonly maxSyncChanges: number;
  readonly maxMemoryChars: number;
}

/** Changes of one call; characters of JSON of one value. */
export const federationLimits: FederationLimits = Object.freeze({ maxSyncChanges: 1_000, maxMemoryChars: 65_536 });

/**
 * Checks the number of changes of a call. @throws KernelErrorException T0_VALIDATION_PAYLOAD_TOO_LARGE; nothing of the
 * call is then applied.
 */
export function requireFewChanges(
  { changes }: { readonly changes: readonly FederatedChange[] },
  { maxSyncChanges, maxMemoryChars }: FederationLimits,
): void {
  const large = changes.findIndex(({ value }) => JSON.stringify(value).length > maxMemoryChars);
  if (large !== -1) refuseSize(`the value of change ${large} exceeds limits.maxMemoryChars = ${maxMemoryChars}`);
  if (changes.length > maxSyncChanges)
    refuseSize(`${changes.length} changes are more than limits.maxSyncChanges = ${maxSyncChanges}`);
}

function refuseSize(message: string): never {
  return raise(kernelError("T0_VALIDATION_PAYLOAD_TOO_LARGE", message, mergeRef));
}

/**
 * Returns the version of a replica's next write. @throws KernelErrorException T0_VALIDATION_SCHEMA_MISMATCH at the
 * clock's end.
 */
export function nextVersion(clock: number): number {
  if (clock < Number.MAX_SAFE_INTEGER) return clock + 1;
  return raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", "the memory's clock has come to its end", mergeRef));
}
