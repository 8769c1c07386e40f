/** The names of steps as plans give them, also of the steps that a step adds while it runs. */
import { addedIdOf } from "../../../machines/added-id.ts";
import type { EventPayloads, LedgerEvent } from "../../contract/event.ts";
import type { PlanStep } from "../../contract/plan.ts";

/** Keeps the names that an event gives to steps: those of a plan, or of the steps that one adds. */
export function keepNames(names: Map<string, string>, { event_type: type, payload }: LedgerEvent): void {
  if (type === "PLAN_CREATED")
    for (const step of (payload as unknown as EventPayloads["PLAN_CREATED"]).plan.steps) keepStep(names, step);
  if (type === "STEPS_ADDED") keepAdded(names, payload as unknown as EventPayloads["STEPS_ADDED"]);
}

function keepStep(names: Map<string, string>, { step_id, name, each, repeat, undo }: PlanStep): void {
  if (typeof name !== "string") return;
  names.set(step_id, name);
  names.set(`${step_id} item`, each?.do?.name ?? name);
  names.set(`${step_id} round`, repeat?.do?.name ?? name);
  names.set(`${step_id} undo`, undo?.name ?? `Undo ${name}`);
  const inner = each?.do?.undo ?? repeat?.do?.undo;
  if (inner !== undefined) names.set(`${step_id} item undo`, inner.name);
}

function keepAdded(names: Map<string, string>, { of, as, items, asks }: EventPayloads["STEPS_ADDED"]): void {
  const name = asks?.name ?? names.get(`${of} ${as}`) ?? names.get(`${of.replace(/:\d+$/, "")} item ${as}`);
  if (name === undefined || !Array.isArray(items)) return;
  const isMany = as === "item" || as === "round";
  for (const [index, { key }] of items.entries()) {
    const id = addedIdOf(of, as, as === "item" ? index : Number(key) - 1);
    names.set(id, isMany ? `${name} ${key}` : name);
    names.set(`${id} undo`, `Undo ${name}`);
  }
}
