/**
 * The test kernel that tests get under REPLAY=1 (`replace-test-kernel.ts`): before it is disposed of, each of its
 * workflows is replayed.
 *
 * Owns: the results of those replays. R1  A replay that comes out otherwise fails its test, where none is expected to.
 */
import { expect } from "vitest";
import { createTestKernel as create, type TestKernel, type TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { type ExpectedDifference, expectedOf, isDamaging } from "./expected-differences.ts";
import { replayAll, type Told } from "./replay-all.ts";

export * from "../../src/testing/test-kernel.ts";

/** The differences that were found in each scenario that must differ. */
const met = new Map<ExpectedDifference, Told[]>();

export async function createTestKernel(options?: TestKernelOptions): Promise<TestKernel> {
  const testing = await create(options);
  const { testPath = "", currentTestName = "" } = expect.getState();
  const expected = expectedOf(testPath, currentTestName);
  const dispose = async (): Promise<void> => {
    const told = await replayAll(testing.kernel, isDamaging(testPath));
    await testing[Symbol.asyncDispose]();
    if (expected === null) failOf(told);
    else met.set(expected, [...(met.get(expected) ?? []), ...told]);
  };
  return { ...testing, [Symbol.asyncDispose]: dispose };
}

/** Returns the differences that were found in a scenario, and forgets them. */
export function takeTold(expected: ExpectedDifference): readonly Told[] {
  const told = met.get(expected) ?? [];
  met.delete(expected);
  return told;
}

/** Throws an error that names the differences; does nothing if there is none. */
export function failOf(told: readonly Told[]): void {
  if (told.length > 0)
    throw new Error(`not replayed: ${told.map(({ code, reason }) => `${code}: ${reason}`).join("; ")}`);
}
