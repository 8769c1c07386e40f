/**
 * Judges which changes of other replicas may be merged: the caller's authority first, then for each change whether its
 * origin is registered, has the capability, and no policy forbids it (FED-04).
 *
 * 1.  A rejected change affects no other; a policy that throws or does not answer forbids. All are judged at once, so
 *     that a policy that never answers is waited for only once.
 */
import type { Caller } from "../../contract/auth-context.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import {
  type FederatedChange,
  type FederationOptions,
  failedVerdict,
  type JudgedChange,
  readVerdict,
  refuseReplica,
  type SyncRequest,
} from "../../contract/federation.ts";
import type { JudgedChanges } from "../../contract/messages/t2.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import { callWithin, messageOf } from "../../engine/actors/within.ts";
import type { Authenticator } from "../../ports/authenticator.ts";
import { authorize } from "./authorize.ts";

export interface ChangeJudge {
  readonly authenticator: Authenticator;
  readonly federation: FederationOptions;
}

const federationRef = moduleRef(5, "identity", "judge_changes");

export async function judgeChanges(
  { tenant_id, changes, caller }: SyncRequest & { readonly caller: Caller | null },
  runtime: Runtime,
  judge: ChangeJudge,
): Promise<JudgedChanges> {
  if (caller !== null) await requireAuthority(caller, tenant_id, { runtime, judge });
  const judging = changes.map(async (change) => ({ change, refusal: await refuse(change, runtime, judge) }));
  const judged: readonly JudgedChange[] = await Promise.all(judging);
  return { tenant_id, changes: judged, caller };
}

async function requireAuthority(
  { principal, tenant_id }: Caller,
  of: string | number,
  { runtime, judge }: { readonly runtime: Runtime; readonly judge: ChangeJudge },
): Promise<void> {
  if (tenant_id !== of)
    raise(kernelError("T5_IDENTITY_VIOLATION", "the caller does not belong to this tenant", federationRef));
  const question = { principal, tenant_id, intent_hint: null, scope: null, needs: "memory:sync" };
  await authorize(judge.authenticator, question, runtime);
}

async function refuse(change: FederatedChange, runtime: Runtime, { federation }: ChangeJudge): Promise<string | null> {
  const { replicas, policy } = federation;
  const registered = Object.hasOwn(replicas, change.origin) ? replicas[change.origin] : undefined;
  const refusal = refuseReplica(change, registered);
  if (refusal !== null || policy === undefined) return refusal;
  const within = {
    clock: runtime.clock,
    timeoutMs: runtime.limits.policyTimeoutMs,
    source: federationRef,
    onTimeout: "T5_POLICY_FAILED",
    onThrow: "T5_POLICY_FAILED",
    what: "the federation policy",
  } as const;
  try {
    return readVerdict(await callWithin(() => policy(change), within));
  } catch (thrown) {
    return failedVerdict(messageOf(thrown));
  }
}
