/**
 * Parts for the journeys: operators that count their calls, packages made of plain steps, a ledger that tells what is
 * asked of it, and short ways to read what a kernel did.
 */

import { z } from "zod";
import type { LedgerEvent } from "../../src/contract/event.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import type { PolicyRule } from "../../src/contract/policy.ts";
import type { CapabilityOptions } from "../../src/define/define-capability.ts";
import { defineCapability, definePolicy } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/index.ts";
import type { Counted } from "../fixtures.ts";

export { type Counted, counted, eventsOf, refusalOf } from "../fixtures.ts";

export const intentType = "Notes.Draft";

export function planStep(step_id: string, { name }: Counted, more: Partial<PlanStepDraft> = {}): PlanStepDraft {
  return { step_id, name: `Step ${step_id}`, operator: name, ...more };
}

type PackageMore = Partial<Omit<CapabilityOptions<z.ZodType>, "operators">>;

/** A package `Notes.Draft@1.0` whose plan is these steps. */
export function packageOf(operators: readonly Counted[], steps: readonly PlanStepDraft[], more: PackageMore = {}) {
  return defineCapability({
    intentType,
    version: "1.0",
    input: z.record(z.string(), z.unknown()),
    operators: operators.map(({ operator }) => operator),
    plan: { reasoning: "the steps as written", steps: [...steps] },
    ...more,
  });
}

/** A package of one step around one operator. */
export const oneStep = (operator: Counted, more: Partial<PlanStepDraft> = {}, pkg: PackageMore = {}) =>
  packageOf([operator], [planStep("s1", operator, more)], pkg);

export const ruleOf = (
  stages: PolicyRule["stages"],
  evaluate: PolicyRule["evaluate"],
  name = "test rule",
): PolicyRule => definePolicy({ name, stages, evaluate });

export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

export const ofType = (events: readonly LedgerEvent[], type: string): LedgerEvent[] =>
  events.filter((event) => event.event_type === type);

export interface Asked {
  readonly call: string;
  /** The stream or workflow that the call names; null where it names none. */
  readonly stream: string | null;
}

/** A ledger in memory that tells each call before it is made. */
export function toldLedger(tell: (asked: Asked) => void): LedgerStore {
  const store = memoryLedger();
  const told = { ...store } as Record<string, unknown>;
  for (const [call, member] of Object.entries(store)) {
    if (typeof member !== "function") continue;
    told[call] = (...args: readonly unknown[]): unknown => {
      for (const stream of streamsOf(call, args)) tell({ call, stream });
      return (member as (...given: readonly unknown[]) => unknown)(...args);
    };
  }
  return told as unknown as LedgerStore;
}

/** What is asked of a process and what it holds, not of a workflow. */
const ofOwners: readonly string[] = ["heartbeat", "held", "takeUp"] satisfies readonly (keyof LedgerStore)[];

function streamsOf(call: string, args: readonly unknown[]): readonly (string | null)[] {
  if (call === "append") return (args[0] as readonly { row: { stream: string } }[]).map(({ row }) => row.stream);
  return typeof args[0] === "string" && !ofOwners.includes(call) ? [args[0]] : [null];
}
