/**
 * The options of reads: from where a stream begins and until when, and as of which event a workflow is shown.
 */
import { z } from "zod";

const untilWhen = {
  /** Ends the iteration. */
  signal: z.custom<AbortSignal>((value) => value instanceof AbortSignal, "must be an AbortSignal").optional(),
  /** False ends the iteration at the last committed item. */
  live: z.boolean().optional(),
  /** Called each time all committed items have been delivered, before the iteration waits for more. */
  onCaughtUp: z.custom<() => void>((value) => typeof value === "function", "must be a function").optional(),
};

/** The start and the end of a stream. */
export const Follow = z.strictObject({
  /** Delivers only events after this sequence; 0 by default. */
  after: z.int().nonnegative().optional(),
  ...untilWhen,
});
export type Follow = z.infer<typeof Follow>;

/** The start and the content of a feed. */
export const FeedOptions = z.strictObject({
  /** Delivers changes after this position of the ledger; without it, a snapshot of what is open comes first. */
  after: z.int().nonnegative().optional(),
  /** Limits the feed to changes that concern gates. */
  only: z.literal("gates").optional(),
  /** True: delivers every turn, with its events; items of the snapshot have none. */
  events: z.boolean().optional(),
  /** Only workflows of this intent type. */
  intent_type: z.string().optional(),
  ...untilWhen,
});
export type FeedOptions = z.infer<typeof FeedOptions>;

/** The workflow as it was after the event with this sequence; as it is now by default. */
export const AtSequence = z.strictObject({
  /** A sequence of the workflow, from 1. */
  at: z.int().min(1, "must be a sequence, from 1").optional(),
});
export type AtSequence = z.infer<typeof AtSequence>;
