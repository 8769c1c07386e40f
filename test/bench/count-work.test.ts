/** What a step costs, counted in blocks of the kernel's sources that it enters: it does not grow with the plan. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("./count-work.ts", import.meta.url));

/** Blocks a step enters in plans of these sizes, in a process of its own: counting slows all of it down. */
async function blocksOf(shape: "chain" | "parallel", ...sizes: readonly number[]): Promise<readonly number[]> {
  const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" }; // what was compiled before is counted less exactly
  const { stdout } = await promisify(execFile)(process.execPath, [script, shape, ...sizes.map(String)], { env });
  const lines = stdout.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => (JSON.parse(line) as { readonly blocks_a_step: number }).blocks_a_step);
}

describe("the cost of a step", () => {
  it("is the same in a plan of 20 steps and in one of 1,000, one after another", async () => {
    const [few = 0, many = 0] = await blocksOf("chain", 20, 1000);
    expect(few).toBeGreaterThan(500);
    expect(many).toBeLessThan(1.1 * few);
  });

  it("is nearly the same with 20 in parallel and with 200", async () => {
    const [few = 0, many = 0] = await blocksOf("parallel", 20, 200);
    expect(many).toBeLessThan(1.4 * few);
  });
});
