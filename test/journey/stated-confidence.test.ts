/** An operator may state its confidence in what it drafts, from 0 to 1; what is no such number says nothing. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intentType, oneStep } from "./parts.ts";

describe("the confidence of an outcome", () => {
  it.each([
    [0, 0],
    [0.25, 0.25],
    [1, 1],
    [-0.25, 1],
    [1.25, 1],
    ["high", 1],
    [null, 1],
    [undefined, 1],
  ])("[OUT-01] stated as %j is %d", async (confidence, recorded) => {
    const write = counted("Notes.Write", {}, () => ({ text: "a note", confidence }));
    const outcomes = { "Draft.Note": z.looseObject({ text: z.string() }) };
    await using t = await createTestKernel({ capabilities: [oneStep(write, { outcome: "Draft.Note" }, { outcomes })] });
    const { outcomes: drafted } = await t.run(intentType);
    expect(drafted.map((outcome) => outcome.confidence)).toEqual([recorded]);
  });
});
