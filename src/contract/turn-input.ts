/**
 * What led to a row of the ledger, where its events do not tell it by themselves: the inputs that were decided since the
 * workflow's row before, in their order (core of C-37). A row without it was led to by one input, which its first event names.
 *
 * Owns: the words a row has for inputs. Never: what an input carries; that stands in the events it left.
 */
import { z } from "zod";
import { KernelError } from "./error.ts";

/**
 * `opened`: whoever goes on has nothing but the ledger. `foreign`: the row of a process that does not own the workflow, up to `owned`, where
 * it was given it.
 * `again`: what was asked before counts no more, for another process's append came first, or a key was taken. `stopped`: the
 * owner stops, and begins nothing any more. All others are inputs of a workflow's mailbox.
 */
const kinds = [
  "opened",
  "foreign",
  "owned",
  "again",
  "stopped",
  "begin",
  "woken",
  "answered",
  "ended",
  "told",
  "decided",
  "due",
  "commanded",
] as const;

export const TurnInput = z.strictObject({
  in: z.enum(kinds),
  /** Events that it left; absent for none. */
  left: z.int().positive().optional(),
  /** Its instant (epoch ms), where that is not the row's. */
  at: z.int().optional(),
  /** Questions that it put and that were not answered at once; each by its scope and key. */
  asks: z.array(z.string()).optional(),
  /** Questions that were answered with a failure in it, and with which. Of what an older release wrote, events alone tell. */
  fails: z.record(z.string(), KernelError).optional(),
  /** Which question, which call (`step/action/run/attempt`), or which command; of `again`, who: by the last event of its row before. */
  of: z.string().optional(),
  /** Under which number it is answered. */
  re: z.int().optional(),
  /** Of a call's end that left no event: whether it succeeded. */
  ok: z.boolean().optional(),
  /** Of a call's end: `false` where its operator goes on. */
  over: z.literal(false).optional(),
  /** Of a call's end: the step's run that made it, where it is not the first. */
  run: z.int().optional(),
  /** Of what a call said: in how many events, where not in one. */
  said: z.int().optional(),
  /** Of a decision: it came with an edit, of which the ledger need not hold anything. */
  edit: z.literal(true).optional(),
  /** Of a pivot. */
  objective: z.string().optional(),
});
export type TurnInput = z.infer<typeof TurnInput>;

/** What a row's inputs say of themselves. */
export const TurnInputs = z.array(TurnInput);

const byFirst: Readonly<Record<string, TurnInput["in"]>> = {
  INTENT_RECEIVED: "begin",
  ACTION_SUCCEEDED: "ended",
  ACTION_FAILED: "ended",
  OUTPUT_SANITIZED: "ended",
  OUTPUT_UNCHECKED: "ended",
  STEP_STREAMED: "told",
  TOKEN_RECORDED: "told",
  ROUTE_DECIDED: "told",
};

/** The one input of a row that does not tell it. */
export const plainInput = (firstEvent: string, count: number): TurnInput => ({
  in: byFirst[firstEvent] ?? "woken",
  left: count,
});
