/**
 * Decides whether an append may be written, and who holds its workflow afterwards, for every store with tables.
 *
 * Owns: the checks before an entry, in their order. It is pure: the content of the tables is passed in, nothing is read
 * or written here.
 * 1.  A turn continues its stream exactly: first sequence = last + 1, previous hash = last hash.
 * 2.  Everything in an entry belongs to the entry's tenant, and so does the stream it continues.
 * 3.  A lease that no longer holds the workflow is fenced; the epoch rises with each claim.
 */
import { addCharge, type Charge, fieldBeyond } from "../../contract/budget.ts";
import { genesisHash } from "../../contract/chain.ts";
import type { Append, AppendIndexes, AppendReceipt } from "../../ports/ledger-store.ts";
import { payerOf } from "./columns.ts";

export type Refusal = Extract<AppendReceipt, { readonly ok: false }>;

/** The holder of a workflow. */
export interface Holder {
  readonly owner: string | null;
  readonly epoch: number;
}

/** The facts about the stream's workflow that an append needs. `thread` is the text of its id. */
export interface Workflow extends Holder {
  readonly thread: string | null;
}

/** The content of the tables for a stream. `workflow` is null for a stream without a workflow. */
export interface StreamHead {
  readonly last: number;
  readonly hash: string;
  /** Text of the tenant's id. */
  readonly tenant: string;
  readonly workflow: Workflow | null;
}

const clash: Refusal = { ok: false, reason: "clash" };
const fenced: Refusal = { ok: false, reason: "fenced" };
const missing: Refusal = { ok: false, reason: "missing" };
const taken: Refusal = { ok: false, reason: "taken" };
const spent: Refusal = { ok: false, reason: "spent" };
const halted: Refusal = { ok: false, reason: "halted" };

/**
 * Checks an entry against its stream. @param tenant the text of the entry's tenant; `head` is undefined for a stream
 * without rows.
 */
export function refuseAppend(entry: Append, tenant: string, head: StreamHead | undefined): Refusal | null {
  const { row, indexes } = entry;
  if (indexes !== undefined && !isOfOneTenant(entry, indexes)) return missing;
  if (head === undefined) return refuseFirst(entry);
  if (indexes?.create !== undefined) return clash;
  if (head.tenant !== tenant) return missing;
  if (head.workflow === null) {
    if (needsWorkflow(entry)) return missing;
  } else if (!mayWrite(entry, head.workflow)) return fenced;
  return row.first_sequence === head.last + 1 && row.prev_hash === head.hash ? null : clash;
}

/** Checks the keys. @param holderOf the workflow that holds a key of the entry's tenant, if any. */
export function refuseKeys(
  { row, indexes }: Append,
  holderOf: (key: string) => string | null | undefined,
): Refusal | null {
  for (const { key, unique } of indexes?.keys ?? []) {
    if (unique !== true) continue;
    const holder = holderOf(key) ?? null;
    if (holder !== null && holder !== row.stream) return taken;
  }
  return null;
}

/** Checks the halts. @param changedAt the position of the tenant's newest change of halts, 0 before the first. */
export const refuseHalted = ({ halts_at }: Append, changedAt: () => number): Refusal | null =>
  halts_at === undefined || halts_at === changedAt() ? null : halted;

/** Checks the charges. @param standingOf the value of a counter before the entry; `payer` is the text of its owner. */
export function refuseCharges(
  { indexes }: Append,
  tenant: string,
  standingOf: (payer: string, counter: string) => Charge,
): Refusal | null {
  if (indexes?.charges === undefined) return null;
  const before = new Map<string, Charge>();
  for (const charge of indexes.charges) {
    const { counter, amounts, within } = charge;
    if (within === undefined) continue;
    const payer = payerOf(tenant, charge);
    const name = `${payer}\n${counter}`;
    const charged = before.get(name) ?? standingOf(payer, counter);
    if (fieldBeyond(within, { charged, amounts }) !== null) return spent;
    before.set(name, addCharge(charged, amounts));
  }
  return null;
}

/** Checks an entry of a stream without rows. A lease on a workflow that this entry creates can only be a mistake. */
function refuseFirst(entry: Append): Refusal | null {
  if (entry.indexes?.create === undefined && needsWorkflow(entry)) return missing;
  if (entry.lease !== undefined) return fenced;
  return entry.row.first_sequence === 1 && entry.row.prev_hash === genesisHash ? null : clash;
}

function isOfOneTenant({ tenant_id, row }: Append, { create, gates, memory, documents }: AppendIndexes): boolean {
  if (create !== undefined && (create.tenant_id !== tenant_id || create.workflow_id !== row.stream)) return false;
  const isOwn = (record: { readonly tenant_id: string | number }) => record.tenant_id === tenant_id;
  return (gates?.every(isOwn) ?? true) && (memory?.every(isOwn) ?? true) && (documents?.every(isOwn) ?? true);
}

function needsWorkflow({ lease, claim, indexes }: Append): boolean {
  if (lease !== undefined || claim !== undefined) return true;
  if (indexes === undefined) return false;
  const { state, percent, due_at, release, holds, queue } = indexes;
  return (
    queue != null ||
    holds !== undefined ||
    state !== undefined ||
    percent !== undefined ||
    due_at !== undefined ||
    release === true
  );
}

function mayWrite({ lease, claim }: Append, { owner, epoch }: Workflow): boolean {
  if (lease !== undefined && (owner !== lease.owner || epoch !== lease.epoch)) return false;
  return claim === undefined || owner === null || owner === claim;
}

/** The holder of a workflow before the entry that creates it. */
const unheld: Holder = { owner: null, epoch: 0 };

/**
 * Returns whether an entry gives up the lease. Only the holder does: a decision from elsewhere carries neither lease
 * nor claim.
 */
export const frees = ({ indexes, lease, claim }: Append): boolean =>
  indexes?.release === true && (indexes.create ?? lease ?? claim) !== undefined;

/** Returns the holder of the workflow after the entry; without `before` the entry creates it. */
export function holderAfter(entry: Append, before: Holder = unheld): Holder {
  const { claim } = entry;
  const epoch = claim === undefined ? before.epoch : before.epoch + 1;
  return { owner: frees(entry) ? null : (claim ?? before.owner), epoch };
}
