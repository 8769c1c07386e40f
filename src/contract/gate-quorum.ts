/**
 * The quorum of a gate: the number of votes that close it, and the parts that roles give of it; and the stages of a
 * gate that asks one group after another. `machines/quorum.ts` counts the votes.
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

/** A stage as a plan declares it: the roles that decide in it, or the approvals that it takes, or both. */
export const StageSpec = z
  .strictObject({
    /** Only these roles decide in the stage. */
    roles: z.array(z.string().min(1).max(64)).min(1).max(16).optional(),
    /** The approvals that fill the stage; without it, one does. One rejection ends the gate in any stage. */
    quorum: z
      .strictObject({
        /** The number of approvals. */
        approvals: z.int().positive().max(100).optional(),
        /** In place of `approvals`: the approvals of each of these roles; nobody else may decide. */
        of: z.array(QuorumPart).min(1).max(16).optional(),
      })
      .optional(),
  })
  .refine(({ roles, quorum }) => roles !== undefined || quorum !== undefined, "a stage names its roles or its quorum");
export type StageSpec = z.infer<typeof StageSpec>;

/** A stage of an open gate: who decides in it, and the votes that fill it. */
export const GateStage = z.object({
  /** Only these roles decide in the stage; null: any that may approve. */
  roles: z.array(z.string()).nullable(),
  quorum: GateQuorum,
});
export type GateStage = z.infer<typeof GateStage>;
