/**
 * What is on record of a call in doubt: what the person who is asked what became of it goes by.
 *
 * Never: part of an event. The fold reads it from the events of the call, so that ledgers of all releases have it.
 */
import { z } from "zod";
import { KernelError } from "./error.ts";

/** What is on record of the call that an in-doubt gate asks about. */
export const GateDoubt = z.object({
  /** When the call began; null where no record says so. */
  called_at: z.string().nullable(),
  /** What the call threw, or how it was cut off; null where the process that made it ended first. */
  error: KernelError.nullable(),
});
export type GateDoubt = z.infer<typeof GateDoubt>;
