// Under REPLAY=1 (`npm run replay:suite`) every workflow of every scenario of the suite is replayed when its test kernel is
// disposed of, and the test fails if one comes out otherwise. Owns: the wrap around createTestKernel.
import { expect, vi } from "vitest";
import type { TestKernel, TestKernelOptions } from "../../src/testing/test-kernel.ts";
import { exclusionOf } from "./exclusions.ts";
import { differencesOf, replayAll } from "./replay-all.ts";

vi.mock("../../src/testing/test-kernel.ts", async (importOriginal) => {
  const original = await importOriginal<typeof import("../../src/testing/test-kernel.ts")>();
  const createTestKernel = async (options?: TestKernelOptions): Promise<TestKernel> => {
    const testing = await original.createTestKernel(options);
    const { testPath = "", currentTestName = "" } = expect.getState();
    if (exclusionOf(testPath, currentTestName) !== null) return testing;
    const dispose = async (): Promise<void> => {
      const differences = await replayAll(testing.kernel).then(differencesOf, readError);
      await testing[Symbol.asyncDispose]();
      if (differences.length > 0) throw new Error(`not replayed: ${differences.join("; ")}`);
    };
    return { ...testing, [Symbol.asyncDispose]: dispose };
  };
  return { ...original, createTestKernel };
});

/** A kernel that has stopped, whose store a test has broken, or that only reads what another ran, replays nothing. */
function readError(thrown: unknown): readonly string[] {
  const text = String(thrown);
  return /T0_LEDGER_|T0_KERNEL_STOPPED|T1_NORMALIZE_UNKNOWN_INTENT|T4_OPERATOR_UNKNOWN/.test(text) ? [] : [text];
}
