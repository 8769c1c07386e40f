/** The definition that Stately's editor imports: the machine's configuration with guards as names. */
import type { AnyStateMachine } from "xstate";

/** @throws when a part of the configuration is not plain data, since an importer would lose it. */
export function renderJson(machine: AnyStateMachine): string {
  const { id, initial, states, ...rest } = machine.config;
  return `${JSON.stringify({ id, initial, ...rest, states }, refuseCode, 2)}\n`;
}

function refuseCode(key: string, value: unknown): unknown {
  if (typeof value === "function") throw new Error(`${key} is code; name it and provide it in setup()`);
  return value;
}
