/**
 * The feed: changes in the workflows and gates of a tenant, for clients that keep a list of them.
 *
 * 1.  An item holds the whole state after its turn: of two items of a workflow the later one counts.
 * 2.  `position` is the ledger's; following continues behind it. It is null in a snapshot, which is sent again to a
 *     client that is disconnected before the bookmark that ends it.
 */
import { z } from "zod";
import { gateKinds, gateStatuses } from "./gate.ts";
import { CorrelationId, GateId, IntentId, PrincipalId, RecordedStepId, TenantId, ThreadId, WorkflowId } from "./ids.ts";
import { WorkflowStateName } from "./progress.ts";
import { RiskLevel } from "./risk-level.ts";

/** A gate as a list shows it; the whole of it is the gate's own read. */
export const FeedGate = z.object({
  /** The change that the turn made to it. In a snapshot all gates are opened. */
  change: z.enum(["opened", "changed", "closed"]),
  gate_id: GateId,
  step_id: RecordedStepId,
  kind: z.enum(gateKinds),
  status: z.enum(gateStatuses),
  title: z.string(),
  operator: z.string(),
  risk_level: RiskLevel,
  roles: z.array(z.string()).nullable(),
  opened_at: z.string(),
  due_at: z.string().nullable(),
  /** Standing votes. */
  votes: z.int().nonnegative(),
});
export type FeedGate = z.infer<typeof FeedGate>;

/** A changed workflow, in its state after the change. */
export const FeedWorkflow = z.object({
  type: z.literal("workflow"),
  position: z.int().nonnegative().nullable(),
  tenant_id: TenantId,
  workflow_id: WorkflowId,
  thread_id: ThreadId.nullable(),
  correlation_id: CorrelationId,
  intent_id: IntentId,
  intent_type: z.string(),
  /** The principal who requested the work. */
  principal_id: PrincipalId,
  state: WorkflowStateName,
  /** Whether a person has paused it; null in a snapshot. */
  paused: z.boolean().nullable(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  /** Null in a snapshot, which is taken from the indexes. */
  progress: z
    .object({
      percent: z.int().min(0).max(100),
      steps: z.int().nonnegative(),
      running: z.int().nonnegative(),
      succeeded: z.int().nonnegative(),
      failed: z.int().nonnegative(),
    })
    .nullable(),
  /** The gates that this turn opened, changed or closed; in a snapshot, those that are open. */
  gates: z.array(FeedGate),
});
export type FeedWorkflow = z.infer<typeof FeedWorkflow>;

/**
 * All changes up to this position have been sent: the end of a snapshot, or of a long range without changes for the
 * reader.
 */
export const FeedBookmark = z.object({ type: z.literal("bookmark"), position: z.int().nonnegative() });
export type FeedBookmark = z.infer<typeof FeedBookmark>;

/** One item of the feed of a tenant. */
export const FeedItem = z.discriminatedUnion("type", [FeedWorkflow, FeedBookmark]);
export type FeedItem = z.infer<typeof FeedItem>;
