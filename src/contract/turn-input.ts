/**
 * The part of a ledger row that a replay needs beside the events: the inputs that led to the row, each with the answers
 * that deciding received from outside while it handled the input.
 *
 * Owns: the form of recorded inputs and answers. Never: decides which answers are recorded (`recorded-answers.ts`).
 * 1.  Inputs and answers stand in the order in which they were handled and received. An answer stands in the input that
 *     it was received for, because the inputs of one row may ask the same question and receive different answers.
 * 2.  Subtrees that stand in an event of the same row are references (`event-reference.ts`).
 * 3.  An edit and a signature stand here as digests only; what policy let through of an edit stands in the answers.
 */
import { z } from "zod";
import { JsonValue } from "./json.ts";

/** An answer; each member is absent where it is null, or where there are no tags. */
const answer = {
  data: JsonValue.optional(),
  error: JsonValue.optional(),
  tags: z.record(z.string(), z.string()).optional(),
};

/** An answer that deciding received at once, with the name of its question. */
export const TurnAnswer = z.strictObject({ scope: z.string(), key: z.string(), ...answer });
export type TurnAnswer = z.infer<typeof TurnAnswer>;

const common = {
  /** Instant of the input (epoch ms); absent where it is the row's. */
  at: z.int().optional(),
  /** Names of the questions that the input put and that a later input answers. */
  asks: z.array(z.string()).optional(),
  /** Ids that were drawn for records inside payloads, in their order. */
  ids: z.array(z.string()).optional(),
  /** Facts of the host that deciding read for the first time, or that have changed, by name. */
  host: z.record(z.string(), JsonValue).optional(),
  /** Answers that deciding received at once while it handled the input, in their order. */
  answers: z.array(TurnAnswer).optional(),
};

const input = <const N extends string, M extends z.ZodRawShape>(name: N, members: M) =>
  z.strictObject({ in: z.literal(name), ...common, ...members });

const callOf = {
  step_id: z.string(),
  action_id: z.string(),
  attempt: z.int(),
  /** The step's run that made the call; absent for the first. */
  run: z.int().optional(),
};

export const TurnInput = z.discriminatedUnion("in", [
  /** A process takes over the workflow with only the ledger. */
  input("opened", {}),
  /** The process does not own the workflow, until it is `owned`. */
  input("foreign", {}),
  input("owned", {}),
  /** Another process appended first. `of`: the last event that the deciding process had written before. */
  input("again", { of: z.int().optional() }),
  /** The owner stops and begins no more work. */
  input("stopped", {}),
  /** The workflow begins with these facts. */
  input("begin", { facts: JsonValue }),
  /** The workflow is driven as far as it can go. */
  input("woken", {}),
  /** A timer of the workflow is due. */
  input("due", {}),
  /** An answer to a question of an earlier input. */
  input("answered", { scope: z.string(), key: z.string(), ...answer }),
  /** A call ended. */
  input("ended", { ...callOf, end: JsonValue }),
  /** A running call reported events. */
  input("reported", { ...callOf, drafts: JsonValue }),
  /** A person decided at a gate, withdrew a vote or lent a seat. */
  input("decided", { re: z.int(), command: JsonValue }),
  /** A command concerns the workflow as a whole. */
  input("commanded", { re: z.int(), command: JsonValue }),
]);
export type TurnInput = z.infer<typeof TurnInput>;

/** The inputs that led to a row. */
export const TurnCause = z.strictObject({ inputs: z.array(TurnInput) });
export type TurnCause = z.infer<typeof TurnCause>;
