/** The ids of steps that a step of the plan adds. */
import type { AddedAs } from "../src/contract/step-group.ts";

/** Returns the id of an added step: `pay:0` for the first item, `poll:1` for the first round. */
export const addedIdOf = (of: string, as: AddedAs, index: number): string =>
  `${of}:${as === "item" ? index : index + 1}`;
