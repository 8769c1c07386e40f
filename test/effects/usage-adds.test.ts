/** What an operator reports as used adds up: reporting twice is no way to use less. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineOperator } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { job, step } from "../recovery/shared-file.ts";

describe("usage()", () => {
  it("[OPR-04] adds: several reports of one call are one sum in the action and its event", async () => {
    const operator = defineOperator({
      name: "Model.Write",
      input: z.object({}),
      run: ({ usage }) => {
        usage({ tokens: { in: 1, out: 2, total: 3 }, model: "small" });
        usage({ cost: { total: 0.5 } });
        usage({ tokens: { in: 10, out: 20, total: 30 }, cost: { total: 1 }, model: "large" });
        return {};
      },
    });
    await using t = await createTestKernel({ capabilities: [job([step("s1", "Model.Write")], [operator])] });
    const { workflow_id, state } = await t.run("Test.Job");
    expect(state).toBe("completed");
    const [action] = await t.kernel.actions(workflow_id);
    expect(action).toMatchObject({ tokens: { in: 11, out: 22, total: 33 }, cost: { total: 1.5 } });
  });
});
