/** A trip of rooms that are booked, and given back by the undo of each booking; the world outside counts both. */
import { expect } from "vitest";
import { z } from "zod";
import {
  type AnyStepDraft,
  defineCapability,
  defineOperator,
  operatorError,
  type WorkflowState,
} from "../../src/index.ts";
import { createTestKernel, type TestKernel, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";

/** The world outside: the rooms that are booked, every call in order, and the operators' faults by the step's id. */
export const world = { booked: new Set<string>(), calls: [] as string[], faults: new Map<string, number>() };

/** Empties the world before a test. */
export function empty(): void {
  world.booked.clear();
  world.calls.length = 0;
  world.faults.clear();
}

function failIfBroken(stepId: string): void {
  const left = world.faults.get(stepId) ?? 0;
  if (left === 0) return;
  world.faults.set(stepId, left - 1);
  throw operatorError({ code: "NO_ROOM", message: "the hotel is closed", retryable: false });
}

const Room = z.object({ room: z.string() });
const book = defineOperator({
  name: "Hotel.Book",
  effect: "write_draft",
  estimatedCost: 1,
  input: Room,
  output: Room,
  run: ({ input: { room }, context: { step_id } }) => {
    failIfBroken(step_id);
    world.calls.push(`book ${room}`);
    world.booked.add(room);
    return { room };
  },
});
const free = defineOperator({
  name: "Hotel.Free",
  effect: "write_draft",
  idempotent: true,
  input: Room,
  output: z.object({ freed: z.string() }),
  run: ({ input: { room }, context: { step_id } }) => {
    failIfBroken(step_id);
    world.calls.push(`free ${room}`);
    world.booked.delete(room);
    return { freed: room };
  },
});
export const operators = [book, free] as const;

export const trip = (steps: readonly AnyStepDraft[], intentType = "Trip.Plan") =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.looseObject({}),
    operators,
    plan: { reasoning: "a trip", steps: steps as never },
  });

export const undo = (room: string) => ({ operator: "Hotel.Free", params: { room } });
export const booking = (id: string, after: readonly string[] = [], more: object = {}): AnyStepDraft => ({
  step_id: id,
  name: `Book ${id}`,
  operator: "Hotel.Book",
  params: { room: id },
  depends_on: [...after],
  undo: undo(`{{${id}.output.room}}`),
  ...more,
});
export const fail = (after: readonly string[]): AnyStepDraft =>
  ({
    step_id: "no",
    name: "No",
    kind: "fail",
    params: { code: "NO", message: "no" },
    depends_on: after,
  }) as AnyStepDraft;
export const asks = { gate: { reason: "somebody looks" } };

export const open = (steps: readonly AnyStepDraft[], options: Partial<TestKernelOptions> = {}): Promise<TestKernel> =>
  createTestKernel({ capabilities: [trip(steps)], limits: { maxReplans: 0 }, ...options });

export async function begin(t: TestKernel): Promise<{ readonly id: string; readonly state: WorkflowState }> {
  const id = await t.submit("Trip.Plan");
  return { id, state: await t.rest(id) };
}

/**
 * Requires that the record is sound: it is replayed alike, the ledger verifies, and lists say how much is undone as the
 * workflow itself does.
 */
export async function sound(t: TestKernel, id: string): Promise<void> {
  const listed = (await t.kernel.workflows({}, testCaller)).find(({ workflow_id }) => workflow_id === id);
  expect(listed?.compensated).toBe((await t.kernel.workflow(id)).compensated);
  expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
  expect(await t.kernel.verify()).toMatchObject({ ok: true });
}
