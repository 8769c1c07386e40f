/**
 * Appends a batch of turns with their index changes: one transaction, one receipt per entry, in the batch's order.
 *
 * Owns: the statements of an append. This is the hot path. plan-batch.ts decides what is written.
 * Never: reads a turn's bytes, or writes anything for a refused entry.
 */

import { addCharge, type Charge } from "../../contract/budget.ts";
import type { Append, AppendReceipt } from "../../ports/ledger-store.ts";
import { type Columns, toCharge } from "../tables/columns.ts";
import type { StreamHead } from "../tables/decide-append.ts";
import { type BatchPlan, planBatch, type Standing, type WorkflowChange } from "../tables/plan-batch.ts";
import { readLine } from "./read-queues.ts";
import { type Connection, positionOf, writeAll } from "./transaction.ts";

export function appendBatch(connection: Connection, batch: readonly Append[]): readonly AppendReceipt[] {
  if (batch.length === 0) return [];
  const append = (): readonly AppendReceipt[] => {
    const standing = readStanding(connection);
    const plan = planBatch(batch, standing);
    writePlan(connection, plan, standing);
    return plan.receipts;
  };
  const isLazy = batch.every(({ lazy }) => lazy === true);
  const receipts = writeAll(connection, append, isLazy);
  connection.durability.committed(Math.max(0, ...receipts.map((receipt) => (receipt.ok ? receipt.position : 0))));
  return receipts;
}

/** Returns the state of the tables inside the transaction. Each counter is read once. */
function readStanding(connection: Connection): Standing {
  const { statements } = connection;
  const totals = new Map<string, Charge>();
  return {
    position: positionOf(connection) + 1,
    headOf: (stream) => readHead(connection, stream),
    holderOf: (tenant, key) => statements.findKey.get(tenant, key)?.["workflow_id"] as string | undefined,
    lineOf: (line, most) => readLine(connection, line, most),
    haltsAt: (tenant) => statements.haltsAt.get(tenant)?.["at"] as number,
    totalOf: (payer, counter) => {
      const name = `${payer}\n${counter}`;
      const total = totals.get(name) ?? toCharge(statements.chargesOfCounter.get(payer, counter));
      totals.set(name, total);
      return total;
    },
  };
}

function readHead({ statements, heads }: Connection, stream: string): StreamHead | undefined {
  const kept = heads.get(stream);
  if (kept !== undefined) return kept;
  const columns = statements.streamHead.get(stream);
  return columns === undefined ? undefined : toStreamHead(columns);
}

function toStreamHead(columns: Columns): StreamHead {
  const workflow = {
    thread: columns["thread_id"] as string | null,
    owner: columns["owner"] as string | null,
    epoch: columns["epoch"] as number,
  };
  return {
    last: columns["last_sequence"] as number,
    hash: columns["hash"] as string,
    tenant: columns["tenant_id"] as string,
    workflow: columns["workflow_id"] === null ? null : workflow,
  };
}

function writePlan({ statements, heads }: Connection, plan: BatchPlan, standing: Standing): void {
  for (const row of plan.turns) statements.insertTurn.run(...row);
  for (const row of plan.newWorkflows) statements.insertWorkflow.run(...row);
  for (const change of plan.changedWorkflows) updateWorkflow(statements, change);
  for (const row of plan.halts) statements.insertHalt.run(...row);
  for (const row of plan.lifted) statements.liftHalt.run(...row);
  for (const row of plan.grants) statements.insertGrant.run(...row);
  for (const row of plan.revoked) statements.deleteGrant.run(...row);
  for (const row of plan.standIns) statements.insertStandIn.run(...row);
  for (const row of plan.endedStandIns) statements.deleteStandIn.run(...row);
  for (const { workflow_id, rows } of plan.holds) {
    statements.deleteHolds.run(workflow_id);
    for (const row of rows) statements.insertHold.run(...row);
  }
  for (const row of plan.queueEntries) statements.upsertQueueEntry.run(...row);
  for (const id of plan.endedEntries) statements.deleteQueueEntry.run(id);
  for (const row of plan.limits) statements.upsertLimits.run(...row);
  for (const row of plan.admissions) {
    statements.dropAdmissions.run(row[1] ?? null);
    statements.insertAdmission.run(...row);
  }
  for (const row of plan.gates) statements.upsertGate.run(...row);
  for (const row of plan.closedGates) statements.deleteGate.run(...row);
  for (const row of plan.keys) statements.insertKey.run(...row);
  for (const row of plan.memory) statements.upsertMemory.run(...row);
  for (const [tenant, id, , record] of plan.documents) statements.upsertDocument.run(tenant, id, record);
  for (const row of plan.waits) statements.upsertWait.run(...row);
  for (const row of plan.endedWaits) statements.deleteWait.run(...row);
  for (const row of plan.events) statements.insertEvent.run(...row);
  for (const row of plan.takenEvents) statements.takeEvent.run(...row);
  for (const row of plan.schedules) statements.upsertSchedule.run(...row);
  for (const row of plan.movedSchedules) statements.moveSchedule.run(...row);
  for (const row of plan.deletedSchedules) statements.deleteSchedule.run(...row);
  for (const row of plan.scheduleEntries) statements.insertScheduleEntry.run(...row);
  for (const row of plan.decisions) statements.insertDecision.run(...row);
  for (const [tenant, thread, position] of plan.counters) statements.bump.run(tenant, thread, position);
  for (const { payer, counter, amounts } of plan.charges) {
    const { tokens, money, invocations, wall_ms } = addCharge(standing.totalOf(payer, counter), amounts);
    statements.writeCharge.run(payer, counter, tokens, money, invocations, wall_ms);
  }
  for (const { stream, head } of plan.streams) heads.set(stream, head);
}

/** Writes a workflow's row; a change of the progress alone touches no index. */
function updateWorkflow({ updatePercent, updateWorkflow: update }: Connection["statements"], change: WorkflowChange) {
  const { workflow_id, updated_at, state, compensated, percent, due_at, owner, epoch, isProgress } = change;
  if (isProgress) updatePercent.run(updated_at, percent, workflow_id);
  else {
    const due = [due_at === undefined ? 0 : 1, due_at ?? null] as const;
    update.run(updated_at, state, ...due, owner, epoch, percent, compensated, workflow_id);
  }
}
