/** The answer of a notifier that has delivered a notice. */
import { z } from "zod";

/** The answer of a notifier that took a notice. */
export const NoticeTaken = z.object({
  /** A remark for the log: somebody was not reached although the notice was delivered. */
  remark: z.string().optional(),
  /** The receipt by which the notifier finds its message again, such as the message's id. */
  receipt: z.string().max(2_000).optional(),
});
export type NoticeTaken = z.infer<typeof NoticeTaken>;
