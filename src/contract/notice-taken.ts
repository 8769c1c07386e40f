/**
 * What a notifier gives beside the fact that it passed a notice on.
 */
import { z } from "zod";

/** What a notifier gives beside the fact that a notice was taken. */
export const NoticeTaken = z.object({
  /** For the log: somebody was not reached though the notice was delivered. */
  remark: z.string().optional(),
  /** What the notifier needs to find again what it has sent, such as the id of a message. */
  receipt: z.string().max(2_000).optional(),
});
export type NoticeTaken = z.infer<typeof NoticeTaken>;
