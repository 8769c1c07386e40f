/**
 * Who may write a workflow's turns: claim, renew and release.
 *
 * Owns: the lease columns outside an append.
 * Never: looks at a clock; `now` comes in.
 * INV-1  The epoch rises with each claim, also with a repeated one by the same owner.
 * INV-2  A lease is free from the instant `expires_at` on.
 */
import type { Lease } from "../../ports/ledger-store.ts";
import { type Connection, writeAll } from "./transaction.ts";

export interface ClaimRequest {
  readonly workflowId: string;
  readonly owner: string;
  readonly now: number;
  readonly ttlMs: number;
}

export function claimLease(connection: Connection, { workflowId, owner, now, ttlMs }: ClaimRequest): Lease | null {
  return writeAll(connection, () => {
    const taken = connection.statements.claim.get(workflowId, owner, now, now + ttlMs);
    connection.heads.forget(workflowId);
    return taken === undefined ? null : { owner, epoch: taken["epoch"] as number, expires_at: now + ttlMs };
  });
}

/** Extends to `until` (epoch ms); returns the ids of the workflows whose lease is still the owner's. */
export function renewLeases(
  connection: Connection,
  leases: readonly { readonly workflow_id: string; readonly lease: Lease }[],
  until: number,
): readonly string[] {
  if (leases.length === 0) return [];
  return writeAll(connection, () =>
    leases.filter(({ workflow_id, lease }) => renewLease(connection, workflow_id, { ...lease, expires_at: until })),
  ).map(({ workflow_id }) => workflow_id);
}

function renewLease({ statements, heads }: Connection, id: string, { owner, epoch, expires_at }: Lease): boolean {
  const { changes } = statements.renew.run(expires_at, id, owner, epoch);
  if (Number(changes) === 0) return false;
  const head = heads.get(id);
  if (head?.workflow) heads.set(id, { ...head, workflow: { ...head.workflow, expires: expires_at } });
  return true;
}

export function releaseLease(connection: Connection, workflowId: string, { owner, epoch }: Lease): void {
  writeAll(connection, () => {
    connection.statements.release.run(workflowId, owner, epoch);
    connection.heads.forget(workflowId);
  });
}
