/**
 * The right to write a workflow's turns, and the owners that are alive.
 *
 * Owns: the holder's columns outside an append, and the table of owners.
 * Never: looks at a clock; `now` is passed in.
 * 1.  The epoch rises with each claim, also with a repeated one by the same owner.
 * 2.  An owner is gone from the instant `expires_at` on. The next search for work then removes it and frees, in the
 *     same transaction, all that it held: an owner keeps everything, or nothing.
 * 3.  A name belongs to one process: another gets it when that one is gone.
 */
import type { Lease, TakenUp, TakeUpKind } from "../../ports/ledger-store.ts";
import { type Columns, readableHead, toHead } from "../tables/columns.ts";
import { ledgerFailure } from "./failure.ts";
import { isOver } from "./process-mark.ts";
import { findQueued } from "./read-queues.ts";
import { type Connection, writeAll } from "./transaction.ts";

export interface Beat {
  readonly owner: string;
  readonly now: number;
  readonly ttlMs: number;
  /** For messages. */
  readonly path: string;
}

/** Renews an owner; false if the owner is new. @throws KernelErrorException T0_LEDGER_LOCKED. */
export function heartbeatOwner(connection: Connection, { owner, now, ttlMs, path }: Beat): boolean {
  const { statements, heads, mark } = connection;
  return writeAll(connection, () => {
    if (Number(statements.prolong.run(now + ttlMs, owner, mark).changes) === 1) return true;
    const other = statements.findOwner.get(owner);
    if (other !== undefined && (other["expires_at"] as number) > now && !isOver(other["session"] as string))
      throw ledgerFailure("T0_LEDGER_LOCKED", `has a living owner called ${owner} already`, { path, fn: "heartbeat" });
    statements.strikeOff.run(owner);
    statements.freeHeld.run(owner);
    statements.enter.run(owner, mark, now + ttlMs);
    heads.clear();
    return false;
  });
}

export interface ClaimRequest {
  readonly workflowId: string;
  readonly owner: string;
  readonly now: number;
}

export function claimLease(connection: Connection, { workflowId, owner, now }: ClaimRequest): Lease | null {
  return writeAll(connection, () => {
    freeGone(connection, now);
    const taken = connection.statements.claim.get(workflowId, owner);
    connection.heads.forget(workflowId);
    return taken === undefined ? null : { owner, epoch: taken["epoch"] as number };
  });
}

export interface TakeUpRequest {
  readonly kind: TakeUpKind;
  readonly owner: string;
  readonly now: number;
  readonly limit: number;
  /** The intent types whose workflows are left to other processes. */
  readonly elsewhere: readonly string[];
}

type Taking = (connection: Connection, request: TakeUpRequest) => readonly Columns[];

const taking =
  (name: "takeDue" | "takeAbandoned" | "takeFreed"): Taking =>
  ({ statements }, { owner, now, limit, elsewhere }) =>
    statements[name].all(owner, now, limit, JSON.stringify(elsewhere));

const takes: Readonly<Record<TakeUpKind, Taking>> = {
  due: taking("takeDue"),
  abandoned: taking("takeAbandoned"),
  freed: taking("takeFreed"),
  queued: (connection, { owner, now, limit, elsewhere }) => {
    const found = JSON.stringify(findQueued(connection, limit, now));
    return connection.statements.takeQueued.all(owner, found, JSON.stringify(elsewhere));
  },
};

const isAnyQueued = ({ statements }: Connection): boolean => statements.isAnyQueued.get()?.["found"] === 1;

const isAnyToTake = ({ statements }: Connection, now: number, elsewhere: readonly string[]): boolean =>
  statements.anyToTake.get(now, now, JSON.stringify(elsewhere))?.["found"] === 1;

/** Takes up workflows; writes nothing if there is none to take. */
export function takeUp(connection: Connection, request: TakeUpRequest): readonly TakenUp[] {
  const { heads } = connection;
  const { kind, owner, now, elsewhere } = request;
  const isAny = kind === "queued" ? isAnyQueued(connection) : isAnyToTake(connection, now, elsewhere);
  if (!isAny) return [];
  const rows = writeAll(connection, () => {
    freeGone(connection, now);
    const taken = takes[kind](connection, request);
    for (const row of taken) heads.forget(row["workflow_id"] as string);
    return taken;
  });
  return rows
    .flatMap((row) => readableHead(() => toHead(row)))
    .map((head) => ({ head, lease: { owner, epoch: head.epoch } }))
    .sort((a, b) => (a.head.due_at ?? 0) - (b.head.due_at ?? 0) || (a.head.workflow_id < b.head.workflow_id ? -1 : 1));
}

function freeGone({ statements, heads }: Connection, now: number): void {
  statements.strikeOffGone.run(now);
  if (Number(statements.freeOrphaned.run().changes) > 0) heads.clear();
}

export function releaseLease(connection: Connection, workflowId: string, { owner, epoch }: Lease): void {
  writeAll(connection, () => {
    connection.statements.release.run(workflowId, owner, epoch);
    connection.heads.forget(workflowId);
  });
}
