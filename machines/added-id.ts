/** The ids of steps that are added for a step of the plan. */
import type { AddedAs } from "../src/contract/step-group.ts";

/** Returns whether steps of a kind undo what a step has done, or ask about that. */
export const isUndoing = (as: AddedAs): boolean => as === "undo" || as === "question";

/**
 * Returns the id of an added step: `pay:0` for the first item, `poll:1` for the first round, `undo:pay` for the call
 * that undoes a step, `undo:pay:2` for that call made again, and `undo:pay:ask` for the question about it.
 */
export function addedIdOf(of: string, as: AddedAs, index: number): string {
  if (as === "question") return `${of}:ask`;
  if (as === "undo") return index === 0 ? `undo:${of}` : `undo:${of}:${index + 1}`;
  return `${of}:${as === "item" ? index : index + 1}`;
}
