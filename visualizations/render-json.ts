/** The definition that Stately's editor imports: the machine's configuration with guards as names. */
import type { AnyStateMachine } from "xstate";
import { definitionOf } from "../machines/index.ts";

/** @throws when a part of the configuration is not plain data, since an importer would lose it. */
export function renderJson(machine: AnyStateMachine): string {
  return `${JSON.stringify(definitionOf(machine), null, 2)}\n`;
}
