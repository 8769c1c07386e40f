/**
 * Live state is the fold of a prefix: what a process has awake of a workflow stands as the ledger had it behind one of
 * its rows, and never goes back.
 */
import type { OutsideWorld } from "./outside-world.ts";
import type { SimulatedProcess } from "./simulated-process.ts";

/** How a workflow lives in a process otherwise than it lies; null where it does not. */
export function lookAt({ states }: OutsideWorld, { kernel, heard, name }: SimulatedProcess, id: string): string | null {
  const live = kernel.lifecycles(id);
  if (live === null) return null;
  const rows = states.get(id) ?? [];
  const text = JSON.stringify([live.workflow, sorted(live.steps), sorted(live.gates)]);
  const from = heard.get(id) ?? 0;
  const at = rows.indexOf(text, from);
  if (at < 0) return `live: ${id} lives in ${name} as ${text}, and lies as ${rows.slice(from).join(" or ")}`;
  heard.set(id, at);
  return null;
}

const sorted = (states: Readonly<Record<string, unknown>>) =>
  Object.entries(states).sort(([a], [b]) => (a < b ? -1 : 1));
