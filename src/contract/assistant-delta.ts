/**
 * A piece of the assistant channel: a delta, an artifact, a question to a person, or the closing text. It is a
 * projection for people, never a source of truth.
 */
import { z } from "zod";

/** One piece of the assistant channel of a workflow. */
export const AssistantDelta = z.discriminatedUnion("type", [
  z.object({ type: z.literal("delta"), sequence: z.number(), step_id: z.string(), text: z.string() }).readonly(),
  z
    .object({
      type: z.literal("artifact"),
      outcome_id: z.string(),
      version: z.number(),
      outcome_type: z.string(),
      status: z.string(),
      content: z.unknown(),
    })
    .readonly(),
  z.object({ type: z.literal("step"), step_id: z.string(), text: z.string() }).readonly(),
  z
    .object({
      type: z.literal("gate"),
      gate_id: z.string(),
      title: z.string(),
      preview: z.string(),
      ui_actions: z.array(z.unknown()).readonly(),
    })
    .readonly(),
  z.object({ type: z.literal("final"), text: z.string(), state: z.string() }).readonly(),
]);
export type AssistantDelta = z.infer<typeof AssistantDelta>;
