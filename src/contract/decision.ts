/**
 * A decision: one act of a person at a gate, as the history of decisions keeps it; and the pages of that history.
 *
 * 1.  The history tells who decided what and when, over all workflows of a tenant. The ledger's events are the proof: a
 *     decision names its workflow and the sequence of its event.
 * 2.  A decision is bounded: its texts are cut.
 */
import { z } from "zod";
import { PrincipalRef } from "./gate-vote.ts";
import { GrantId } from "./grant.ts";
import { GateId, PrincipalId, WorkflowId } from "./ids.ts";
import { ageSorts, Instant, paging } from "./list-filter.ts";
import { RiskLevel } from "./risk-level.ts";

/** The acts: an approval and a rejection, an edit of what would run, and the withdrawal of a vote. */
export const decisionActs = ["approve", "reject", "edit", "withdraw"] as const;
/** One of the acts. */
export const DecisionAct = z.enum(decisionActs);
export type DecisionAct = z.infer<typeof DecisionAct>;

/** One act of a person at a gate. */
export const Decision = z.object({
  workflow_id: WorkflowId,
  /** The sequence of the event that records it. */
  sequence: z.int().positive(),
  /** When it was recorded. */
  at: z.iso.datetime(),
  gate_id: GateId,
  act: DecisionAct,
  /** The person who acted; the role is absent of a withdrawal. */
  principal: PrincipalRef.extend({ role: z.string().optional() }),
  /** The owner of the seat that the vote took, if it was not the voter's own. */
  on_behalf_of: PrincipalRef.optional(),
  /** The gate was decided with it. */
  closes: z.boolean(),
  /** The vote is kept as advice and was not counted. */
  advisory: z.literal(true).optional(),
  /** The grant by which the principal had approved ahead. */
  grant_id: GrantId.optional(),
  comment: z.string().nullable(),
  /** The title of the gate. */
  title: z.string(),
  /** The title of the workflow, as lists show it. */
  work: z.string(),
  intent_type: z.string(),
  operator: z.string(),
  risk_level: RiskLevel,
  estimated_cost: z.number(),
  /** The digest of the payload that was decided on. */
  payload_digest: z.string(),
  /** The principal who asked for the work; null if the gate names nobody. */
  requester: PrincipalRef.nullable(),
});
export type Decision = z.infer<typeof Decision>;

/** The filter of the history of decisions. Times are ISO 8601: an instant or a day (UTC). */
export const DecisionFilter = z.strictObject({
  /** The id of the person who decided. */
  principal: PrincipalId.optional().describe("The id of who decided."),
  /** Those of the caller. */
  mine: z.boolean().optional().describe("Those of the caller."),
  /** The act. */
  act: DecisionAct.optional().describe("What was done: approve, reject, edit or withdraw."),
  /** The intent type of the workflow. */
  intent_type: z.string().optional(),
  /** The operator that the gate asked about. */
  operator: z.string().optional(),
  /** The workflow. */
  workflow_id: WorkflowId.optional(),
  /** A text in the gate's title, operator, intent type or workflow id, or in the title of the workflow, in any case. */
  text: z.string().max(200).optional().describe("In titles of gate or workflow, operator, intent type or id."),
  /** Recorded at this time or later. */
  since: Instant.optional().describe("Decided at this time or later."),
  /** Recorded before this time. */
  until: Instant.optional().describe("Decided before this time."),
  /** The order of the list: the newest first by default. */
  sort: z.enum(ageSorts).optional().describe("The order: newest (the default) or oldest first."),
  /** The cursor, `<epoch ms>/<workflow_id>/<sequence>`: items after this one. */
  after: z.string().max(128).optional(),
  /** The cursor back: items before this one; without `after`, the nearest to it. */
  before: z.string().max(128).optional(),
  ...paging,
});
export type DecisionFilter = z.input<typeof DecisionFilter>;

/** A page of decisions; `next` is the cursor of the following page, null on the last one. */
export const DecisionPage = z.object({
  decisions: z.array(Decision),
  next: z.string().nullable(),
  total: z.int().nonnegative().optional(),
});
export type DecisionPage = z.infer<typeof DecisionPage>;

/** Returns the cursor of a decision in the history. */
export const decisionCursor = ({ at, workflow_id, sequence }: Decision): string =>
  `${Date.parse(at)}/${workflow_id}/${sequence}`;
