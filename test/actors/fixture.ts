/**
 * What the tests of the actor system share: small packages and operators, a tool client whose answers the test gives,
 * and ways to speak to a tier as another tier would.
 */
import { z } from "zod";
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { Operator } from "../../src/contract/operator.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import type { Result } from "../../src/contract/result.ts";
import { createDataSignal, createSignal, type Signal } from "../../src/contract/signal.ts";
import type { ToolClient } from "../../src/contract/tool.ts";
import { defineCapability } from "../../src/define/define-capability.ts";
import {
  defineOperator,
  defineTool,
  type OperatorOptions,
  type ToolOptions,
} from "../../src/define/define-operator.ts";
import type { Answer, BusItem, Delivery, Tier } from "../../src/engine/actors/bus.ts";
import type { Door } from "../../src/engine/actors/define-tier.ts";
import type { TierPatch } from "../../src/kernel/options.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";

export { eventsOf, refusalOf as refusal } from "../fixtures.ts";

export const intentType = "Test.Errand.Run";
export const testRef = moduleRef(0, "gateway", "submit");
export const allTiers = [0, 1, 2, 3, 4, 5, 6, 7] as const;

const anything = z.looseObject({});

type Run = OperatorOptions<typeof anything, z.ZodType<unknown>>["run"];
type Plan = Parameters<typeof defineCapability<typeof anything>>[0]["plan"];
type OperatorMore = Partial<Omit<OperatorOptions<typeof anything, z.ZodType<unknown>>, "name" | "input" | "run">>;

/** An operator that takes anything; without a function it says "done". */
export const operator = (name: string, run: Run = () => "done", more: OperatorMore = {}): Operator =>
  defineOperator({ name, input: anything, ...more, run });

/** A package with this plan and these operators. */
export const errand = (
  steps: readonly PlanStepDraft[],
  operators: readonly Operator[],
  more: { readonly intentType?: string; readonly keywords?: readonly string[]; readonly plan?: Plan } = {},
): CapabilityDefinition =>
  defineCapability({
    intentType,
    version: "1.0",
    keywords: ["errand"],
    input: anything,
    operators,
    plan: () => ({ reasoning: "as the test wants it", steps: [...steps] }),
    ...more,
  });

export const step = (
  step_id: string,
  operatorName: string,
  more: Omit<Partial<PlanStepDraft>, "step_id" | "operator"> = {},
): PlanStepDraft => ({ step_id, name: `do ${step_id}`, operator: operatorName, ...more });

/** A package of one step whose operator does what is given. */
export const oneStep = (run?: Run, more?: OperatorMore): CapabilityDefinition =>
  errand([step("s1", "Test.Do")], [operator("Test.Do", run, more)]);

/** Two steps: one that runs, one that waits for a person first. */
export const gated = (calls: string[] = []): CapabilityDefinition =>
  errand(
    [step("s1", "Test.Do"), step("s2", "Test.Send", { depends_on: ["s1"], gate: { reason: "look first" } })],
    [operator("Test.Do", () => `call ${calls.push("s1")}`), operator("Test.Send", () => `call ${calls.push("s2")}`)],
  );

interface Asked {
  readonly method: string;
  readonly params: JsonObject;
  readonly answer: (result: unknown) => void;
  readonly refuse: (thrown: unknown) => void;
}

/** A tool server's client whose requests are kept until the test answers them. */
export function fakeClient(): ToolClient & { readonly asked: Asked[] } {
  const asked: Asked[] = [];
  return {
    asked,
    request: (method, params) =>
      new Promise((answer, refuse) => void asked.push({ method, params, answer, refuse: (thrown) => refuse(thrown) })),
  };
}

/** A tool that reads, and is called once unless said otherwise. */
export const tool = (name: string, client: ToolClient, more: Partial<ToolOptions> = {}): Operator =>
  defineTool({ name, tool: name.toLowerCase(), client, effect: "read", retry: "NONE", ...more });

/** What a tool server throws where it answered with an error object. */
export const rpcError = (code: number, message: string, data?: JsonObject): Error =>
  Object.assign(new Error(message), { code, ...(data === undefined ? {} : { data }) });

export const isDelivery = (item: BusItem): item is Delivery => "to" in item;
export const isAnswer = (item: BusItem): item is Answer => "result" in item;

/** A DATA Signal as another tier would send it. */
export const data = (schema: string, body: unknown, traceId = "cor_test"): Signal =>
  createDataSignal(body, schema, testRef, traceId);

/** A Signal that the factory makes though its body does not conform to its kind. */
export const malformedText = (): Signal => createSignal("text", { words: "no text here" }, testRef, "cor_test");

export const askData = (t: TestKernel, to: Tier, schema: string, body: unknown): Promise<Result> =>
  t.kernel.ask(to, data(schema, body));

/** Changes one door of one tier. */
export const patchDoor =
  (tier: Tier, key: string, change: (door: Door) => Partial<Door>): TierPatch =>
  (definition) => {
    const door = definition.doors[key];
    if (definition.tier !== tier || door === undefined) return definition;
    return { ...definition, doors: { ...definition.doors, [key]: { ...door, ...change(door) } } };
  };

/** Changes every door of every tier. */
export const patchDoors =
  (change: (door: Door, tier: Tier, key: string) => Door): TierPatch =>
  (definition) => ({
    ...definition,
    doors: Object.fromEntries(
      Object.entries(definition.doors).map(([key, door]) => [key, change(door, definition.tier, key)]),
    ),
  });

/** The codes of an error and of all its causes, outermost first. */
export function codesOf(error: { readonly code: string; readonly cause: unknown } | null): string[] {
  const codes: string[] = [];
  for (let at = error; at !== null; at = at.cause as typeof error) codes.push(at.code);
  return codes;
}
