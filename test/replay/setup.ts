// Under REPLAY=1 (`npm run replay:suite`) every workflow of every scenario of the suite is replayed when its test kernel is
// disposed of, and the test fails if one comes out otherwise, or if none does where one must (`expected-differences.ts`).
// Owns: the wrap around createTestKernel.
import { afterEach, expect, vi } from "vitest";
import type { TestKernel, TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { type ExpectedDifference, expectedOf, isDamaging } from "./expected-differences.ts";
import { replayAll, type Told } from "./replay-all.ts";

/** What was told of each scenario that must differ. */
const met = new Map<ExpectedDifference, Told[]>();

vi.mock("../../src/testing/test-kernel.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/testing/test-kernel.ts")>();
  const createTestKernel = async (options?: TestKernelOptions): Promise<TestKernel> => {
    const testing = await original.createTestKernel(options);
    const { testPath = "", currentTestName = "" } = expect.getState();
    const expected = expectedOf(testPath, currentTestName);
    const dispose = async (): Promise<void> => {
      const told = await replayAll(testing.kernel, isDamaging(testPath));
      await testing[Symbol.asyncDispose]();
      if (expected === null) failOf(told);
      else met.set(expected, [...(met.get(expected) ?? []), ...told]);
    };
    return { ...testing, [Symbol.asyncDispose]: dispose };
  };
  return { ...original, createTestKernel };
});

afterEach(() => {
  const { testPath = "", currentTestName = "" } = expect.getState();
  const expected = expectedOf(testPath, currentTestName);
  if (expected === null) return;
  const told = met.get(expected) ?? [];
  met.delete(expected);
  failOf(told.filter(({ code }) => !expected.told.includes(code)));
  if (told.length === 0) throw new Error(`replays alike now, though ${expected.reason}`);
});

function failOf(told: readonly Told[]): void {
  if (told.length > 0)
    throw new Error(`not replayed: ${told.map(({ code, reason }) => `${code}: ${reason}`).join("; ")}`);
}
