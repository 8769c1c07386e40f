/**
 * The options of reads: from where a stream begins and until when, and as of which event a workflow is shown.
 */
import { z } from "zod";

const untilWhen = {
  /** Ends the iteration. */
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  /** False ends the iteration at what is committed now. */
  live: z.boolean().optional(),
  /** Called when all that is committed has been told, each time before more is waited for. */
  onCaughtUp: z.custom<() => void>((value) => typeof value === "function", "must be a function").optional(),
};

/** From where a stream begins, and until when. */
export const Follow = z.strictObject({
  /** Only what comes after this sequence; 0 by default. */
  after: z.int().nonnegative().optional(),
  ...untilWhen,
});
export type Follow = z.infer<typeof Follow>;

/** From where a feed begins, and until when. */
export const FeedOptions = z.strictObject({
  /** Changes after this position of the ledger; without it, what is open now comes first. */
  after: z.int().nonnegative().optional(),
  /** Only what concerns gates. */
  only: z.literal("gates").optional(),
  /** True: every turn is told, with its events; what the snapshot tells has none. */
  events: z.boolean().optional(),
  /** Only workflows of this intent type. */
  intent_type: z.string().optional(),
  ...untilWhen,
});
export type FeedOptions = z.infer<typeof FeedOptions>;

/** As a workflow was when this event of it had happened; as it stands now by default. */
export const AtSequence = z.strictObject({
  /** A sequence of the workflow, from 1. */
  at: z.int().min(1, "must be a sequence, from 1").optional(),
});
export type AtSequence = z.infer<typeof AtSequence>;
