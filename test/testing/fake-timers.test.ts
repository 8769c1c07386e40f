/** Fake timers of a test runner, with its defaults: a kernel needs turns of the event loop, which are no time. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createKernel } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { greeter, greeting } from "./greeter.ts";

describe("with the runner's fake timers", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("a kernel opens, runs a workflow, and stops", async () => {
    const kernel = await createKernel({ capabilities: [greeter] });
    const { workflow_id } = await kernel.submit(greeting);
    expect((await kernel.settled(workflow_id)).state).toBe("completed");
    await kernel.stop();
  });

  it("a test kernel runs a workflow", async () => {
    await using t = await createTestKernel({ capabilities: [greeter] });
    expect((await t.run("Shop.Greet", { name: "Ada" })).state).toBe("completed");
  });
});
