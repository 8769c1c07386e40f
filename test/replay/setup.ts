/**
 * Under REPLAY=1 (`npm run replay:suite`) every workflow of every scenario of the suite is replayed when its test
 * kernel is disposed of, and the test fails if one differs, or if none does where one must
 * (`expected-differences.ts`).
 *
 * Owns: the judgement after each test.
 */
import { afterEach, expect } from "vitest";
import { expectedOf } from "./expected-differences.ts";
import { failOf, takeTold } from "./replayed-test-kernel.ts";

afterEach(() => {
  const { testPath = "", currentTestName = "" } = expect.getState();
  const expected = expectedOf(testPath, currentTestName);
  if (expected === null) return;
  const told = takeTold(expected);
  failOf(told.filter(({ code }) => !expected.told.includes(code)));
  if (told.length === 0) throw new Error(`replays alike now, though ${expected.reason}`);
});
