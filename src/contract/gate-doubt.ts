/**
 * The recorded facts of a call in doubt, which help a person to find out how it ended.
 *
 * Never: part of an event. The fold reads it from the events of the call, so that ledgers of all releases have it.
 */
import { z } from "zod";
import { KernelError } from "./error.ts";
import { JsonObject } from "./json.ts";

/** The record of the call that an in-doubt gate asks about. */
export const GateDoubt = z.object({
  /** The instant at which the call began; null if no record has it. */
  called_at: z.string().nullable(),
  /** The error that the call threw, or that cut it off; null if the process that made it ended first. */
  error: KernelError.nullable(),
  /**
   * The JSON Schema of what the call gives, for a person who states it; null if the process that answers has not
   * registered the operator. It is computed for readers of the gate.
   */
  result_schema: JsonObject.nullable().optional(),
});
export type GateDoubt = z.infer<typeof GateDoubt>;
