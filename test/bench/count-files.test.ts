/** The way of a step and of a decision through the sources does not become longer unnoticed. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

it("a further plain step enters at most 120 files, and a gate decision with its call at most 203", async () => {
  const script = fileURLToPath(new URL("./count-files.ts", import.meta.url));
  // A process of its own: counting slows all of it down.
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  const { step, decision } = JSON.parse(stdout) as Awaited<ReturnType<typeof import("./count-files.ts").countFiles>>;
  expect(step.files).toBeGreaterThan(20);
  expect(step.files).toBeLessThanOrEqual(120);
  expect(decision.files).toBeLessThanOrEqual(203);
});
