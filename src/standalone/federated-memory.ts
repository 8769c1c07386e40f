/**
 * Federated memory by itself: one replica's records in this process, with its clock and the replicas it knows. In a
 * kernel the same merge runs over the tenant's memory ledger (sync-memory.ts).
 *
 * 1.  A call is checked whole before any of it is applied.
 * 2.  The clock is never behind a version that was let in, merged or stale.
 */
import { z } from "zod";
import { KernelErrorException, raise } from "../contract/error.ts";
import { kernelError } from "../contract/error-codes.ts";
import {
  FederatedChange,
  type FederatedSyncReport,
  Federation,
  type FederationLimits,
  failedVerdict,
  federationLimits,
  nextVersion,
  readVerdict,
  refuseReplica,
  requireFewChanges,
} from "../contract/federation.ts";
import { limitsOf } from "../contract/host-object.ts";
import { deepFreeze, type Json } from "../contract/json.ts";
import { readStrictly } from "../contract/known-keys.ts";
import { isPromise } from "../contract/maybe-promise.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { takeJson } from "../engine/actors/take-json.ts";
import { messageOf } from "../engine/actors/within.ts";
import { mergeChanges } from "../tiers/t2-cognition/merge-changes.ts";

const Options = z.strictObject({
  /** This replica's name. */
  replica: Federation.shape.replica,
  /** By name, the capabilities of each replica whose changes may enter; further ones may be registered later. */
  replicas: Federation.shape.replicas.default({}),
  /** Asked for each change of a registered replica; a promise is no verdict here, and forbids. */
  policy: Federation.shape.policy,
  /** Changes of one call, and the size of one value. */
  limits: limitsOf<FederationLimits>(federationLimits, ["maxSyncChanges", "maxMemoryChars"]),
});
/** This replica's name, and the replicas whose changes it accepts. */
export interface FederatedMemoryOptions extends Readonly<z.input<typeof Options>> {}

/** Memory that several replicas write and merge. */
export interface FederatedMemory {
  readonly replica: string;
  /** From now on changes of this replica are let in that need one of these capabilities (`*`: any). */
  readonly registerReplica: (id: string, capabilities: readonly string[]) => void;
  /** Writes a record of this replica's own and gives the change to send to the others. */
  readonly write: (key: string, value: Json, capability: string) => FederatedChange;
  readonly applyFederatedChanges: (changes: readonly FederatedChange[]) => FederatedSyncReport;
  /** All records, by key. */
  readonly records: () => readonly FederatedChange[];
  readonly get: (key: string) => FederatedChange | null;
  /** The highest version this replica has given or let in. */
  readonly clock: () => number;
}

const memoryRef = moduleRef(2, "federation", "apply_federated_changes");
const Batch = z.array(FederatedChange);
const Registration = z.object({ id: z.string().min(1).max(256), capabilities: z.array(z.string().min(1).max(256)) });

/**
 * Creates a replica of federated memory.
 * @throws KernelErrorException, from it and from its functions: T0_VALIDATION_SCHEMA_MISMATCH for an invalid change or
 * a value that is not JSON, T0_VALIDATION_PAYLOAD_TOO_LARGE, T5_AUTHZ_FORBIDDEN for a write of its own that its
 * registration or the policy does not allow. Nothing is applied then.
 */
export function createFederatedMemory(options: FederatedMemoryOptions): FederatedMemory {
  const settings = readStrictly(Options, options, { what: "createFederatedMemory", source: memoryRef });
  const { policy, replica, limits } = settings;
  const replicas = new Map<string, readonly string[]>();
  let records: ReadonlyMap<string, FederatedChange> = new Map();
  let clock = 0;

  const register = (id: string, capabilities: readonly string[]): void => {
    const parsed = parse(Registration, { id, capabilities });
    replicas.set(parsed.id, parsed.capabilities);
  };
  for (const [id, capabilities] of Object.entries(settings.replicas ?? {})) register(id, capabilities);

  const refuse = (change: FederatedChange): string | null =>
    refuseReplica(change, replicas.get(change.origin)) ?? askPolicy(policy, change);

  const apply = (changes: readonly FederatedChange[], refusal: typeof refuse): FederatedSyncReport => {
    const judged = changes.map((change) => ({ change, refusal: refusal(change) }));
    const { merged, report } = mergeChanges(records, judged);
    const next = new Map(records);
    for (const change of merged) next.set(change.key, change);
    records = next;
    for (const { change, refusal: refused } of judged) if (refused === null) clock = Math.max(clock, change.version);
    return report;
  };

  return {
    replica,
    registerReplica: register,
    write(key, value, capability) {
      const [change] = admit([{ origin: replica, key, value, version: nextVersion(clock), capability }], limits);
      const own = replicas.has(replica) ? refuse : (c: FederatedChange) => askPolicy(policy, c);
      const refusal = own(change as FederatedChange);
      if (refusal !== null) raise(kernelError("T5_AUTHZ_FORBIDDEN", refusal, memoryRef));
      apply([change as FederatedChange], () => null);
      return change as FederatedChange;
    },
    applyFederatedChanges: (changes) => apply(admit(changes, limits), refuse),
    records: () => [...records.values()].sort((a, b) => (a.key < b.key ? -1 : 1)),
    get: (key) => records.get(key) ?? null,
    clock: () => clock,
  };
}

/** Returns fresh, frozen copies of the changes, all of them or none. */
function admit(raw: unknown, limits: FederationLimits): readonly FederatedChange[] {
  const changes = parse(Batch, takeJson(raw, { what: "changes", source: memoryRef }));
  requireFewChanges({ changes }, limits);
  return deepFreeze(changes);
}

function parse<S extends z.ZodType>(schema: S, raw: unknown): z.output<S> {
  return readStrictly(schema, raw, { what: "federated memory", source: memoryRef });
}

function askPolicy(policy: FederatedMemoryOptions["policy"], change: FederatedChange): string | null {
  try {
    const answer = policy?.(change);
    // Nobody waits for a promise; one that fails must not take the process down.
    if (isPromise(answer)) answer.catch(() => undefined);
    return readVerdict(answer);
  } catch (thrown) {
    return failedVerdict(thrown instanceof KernelErrorException ? thrown.error.message : messageOf(thrown));
  }
}
