/**
 * What a notifier gives beside the fact that it passed a notice on.
 */
import { z } from "zod";

/** The answer of a notifier that took a notice. */
export const NoticeTaken = z.object({
  /** For the log: somebody was not reached though the notice was delivered. */
  remark: z.string().optional(),
  /** The receipt by which the notifier finds again what it has sent, such as the id of a message. */
  receipt: z.string().max(2_000).optional(),
});
export type NoticeTaken = z.infer<typeof NoticeTaken>;
