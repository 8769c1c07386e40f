/**
 * The quorum of a gate: the number of votes that close it, and the parts that roles give of it. `machines/quorum.ts`
 * counts the votes.
 */
import { z } from "zod";

/** The approvals that one role gives. */
export const QuorumPart = z.strictObject({
  /** The role of those whose approvals count for this part. */
  role: z.string().min(1).max(64),
  /** The number of its approvals that the gate takes. */
  approvals: z.int().positive().max(100),
});
export type QuorumPart = z.infer<typeof QuorumPart>;

/** The number of counted votes that close a gate, for approval and for rejection. */
export const GateQuorum = z.object({
  /** The number of approvals; with parts, their sum. */
  approvals: z.int().positive(),
  rejections: z.int().positive(),
  /** The parts, of which each takes the approvals of its role; absent if all approvals count alike. */
  of: z.array(QuorumPart).optional(),
});
export type GateQuorum = z.infer<typeof GateQuorum>;
