/**
 * The machines as plain data: the definition that Stately's editor imports, and that the API shows.
 *
 * Owns: which machines there are to show, in their order. Never: changes one.
 */
import type { AnyStateMachine } from "xstate";
import { actionMachine } from "./action.ts";
import { gateMachine } from "./gate.ts";
import { kernelMachine } from "./kernel.ts";
import { stepMachine } from "./step.ts";
import { tierMachine } from "./tier.ts";
import { tokenMachine } from "./token.ts";
import { workflowMachine } from "./workflow.ts";

/** All lifecycles. */
export const allMachines: readonly AnyStateMachine[] = [
  workflowMachine,
  stepMachine,
  gateMachine,
  actionMachine,
  tierMachine,
  kernelMachine,
  tokenMachine,
];

/** A lifecycle as plain data, as Stately's editor imports it. */
export type MachineDefinition = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * Returns the machine's configuration with guards as names.
 * @throws if a part of it is not plain data, which a reader would lose.
 */
export function definitionOf({ config }: AnyStateMachine): MachineDefinition {
  const { id, initial, states, ...rest } = config;
  return JSON.parse(JSON.stringify({ id, initial, ...rest, states }, refuseCode)) as MachineDefinition;
}

function refuseCode(key: string, value: unknown): unknown {
  if (typeof value === "function") throw new Error(`${key} is code; name it and provide it in setup()`);
  return value;
}
