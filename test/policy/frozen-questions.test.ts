/** What a rule is shown is what runs: no rule can change it, and what has a `then` is waited for. */
import { describe, expect, it } from "vitest";
import { definePolicy, evaluatePolicies } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, intentType, oneStep } from "../journey/parts.ts";
import { question } from "./questions.ts";

describe("the subject of a policy question", () => {
  it("[PLC-05] is deeply frozen: a rule that changes it denies, and nothing else runs instead", async () => {
    const operator = counted("Notes.Write");
    const meddler = definePolicy({
      name: "meddler",
      stages: ["action"],
      evaluate({ subject }) {
        (subject.payload as { a: { b: number[] } }).a.b.push(2);
        return null;
      },
    });
    await using t = await createTestKernel({
      policies: [meddler],
      capabilities: [oneStep(operator, { params: { a: { b: [1] } } })],
    });
    const state = await t.run(intentType);
    expect(state.state).toBe("failed");
    expect(state.error?.code).toBe("T5_POLICY_DENIED");
    expect(operator.calls).toHaveLength(0);
  });

  it("[PLC-05] so are caller, intent and context, at every stage that a rule is asked", async () => {
    const open: string[] = [];
    const spy = definePolicy({
      name: "spy",
      stages: ["plan", "action", "outcome", "gate"],
      evaluate(question) {
        const look = (value: unknown, path: string): void => {
          if (typeof value !== "object" || value === null) return;
          if (!Object.isFrozen(value)) open.push(path);
          for (const [key, member] of Object.entries(value)) look(member, `${path}.${key}`);
        };
        look(question, question.stage);
        return null;
      },
    });
    await using t = await createTestKernel({
      policies: [spy],
      capabilities: [oneStep(counted("Notes.Write"), { outcome: "Note", params: { a: { b: [1] } }, gate: {} })],
    });
    const { workflow_id } = await t.run(intentType);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("completed");
    expect(open).toEqual([]);
  });
});

describe("an answer that has a then", () => {
  const rule = (answer: unknown) => definePolicy({ name: "odd", stages: ["action"], evaluate: () => answer as never });
  const ask = (answer: unknown) => evaluatePolicies({ rules: [rule(answer)], version: "1" }, question());

  it("[PLC-06] is waited for, though its then gives nothing back", async () => {
    type Settle = (settled: unknown) => void;
    // biome-ignore lint/suspicious/noThenProperty: that it has one is what is tested
    const thenable = (then: (done: Settle, fail: Settle) => void) => Object.fromEntries([["then", then]]);
    const no = new Error("no");
    expect(await ask(thenable((done) => done({ decision: "DENY", reason: "no" })))).toMatchObject({
      decision: "DENY",
      decided_by: "odd",
    });
    expect(await ask(thenable((_, fail) => fail(no)))).toMatchObject({ decision: "DENY" });
    expect(await ask(thenable(() => rethrow(no)))).toMatchObject({ decision: "DENY" });
  });
});

function rethrow(thrown: Error): never {
  throw thrown;
}
