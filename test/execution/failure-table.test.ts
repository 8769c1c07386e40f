/** The table of `src/guide/retrying.md`, row by row: what follows from each failure of a call. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { ExecutorErrorCategory } from "../../src/contract/error.ts";
import { toExecutorError } from "../../src/contract/error.ts";
import { operatorError } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, ofType, oneStep } from "../journey/parts.ts";

/** What follows by itself: calls of each plan, and plans; or a question to a person after the first call. */
const follows = {
  attempts: { calls: 9, plans: 3, state: "failed" },
  plans: { calls: 3, plans: 3, state: "failed" },
  person: { calls: 1, plans: 1, state: "waiting_for_user" },
} as const;
type Follows = keyof typeof follows;

interface Row {
  readonly category: ExecutorErrorCategory | "a plain throw";
  readonly retryable: readonly boolean[];
  readonly code: string;
  readonly repeatable: Follows;
  readonly other: Follows;
}
const any = [true, false] as const;
const own = "T4_OPERATOR_NOT_SO";
const rows: readonly Row[] = [
  { category: "transient", retryable: any, code: own, repeatable: "attempts", other: "attempts" },
  { category: "timeout", retryable: any, code: "T4_TOOL_TIMEOUT", repeatable: "attempts", other: "person" },
  {
    category: "dependency",
    retryable: [true],
    code: "T4_DEPENDENCY_FAILED",
    repeatable: "attempts",
    other: "attempts",
  },
  { category: "dependency", retryable: [false], code: "T4_DEPENDENCY_FAILED", repeatable: "plans", other: "plans" },
  {
    category: "validation",
    retryable: any,
    code: "T0_VALIDATION_SCHEMA_MISMATCH",
    repeatable: "plans",
    other: "plans",
  },
  { category: "authorization", retryable: any, code: own, repeatable: "plans", other: "plans" },
  { category: "policy_denied", retryable: any, code: own, repeatable: "plans", other: "plans" },
  { category: "operator_bug", retryable: any, code: "T4_OPERATOR_BUG", repeatable: "plans", other: "plans" },
  { category: "a plain throw", retryable: any, code: "T4_OPERATOR_BUG", repeatable: "attempts", other: "person" },
];

const cases = rows.flatMap((row) =>
  row.retryable.flatMap((retryable) =>
    (["repeatable", "other"] as const).map((kind) => ({ ...row, retryable, kind, next: row[kind] })),
  ),
);

async function fail(thrown: () => unknown, idempotent: boolean) {
  const write = counted("Notes.Write", { effect: "write_draft", idempotent, retry: "STANDARD" }, () => {
    throw thrown();
  });
  const t = await createTestKernel({ capabilities: [oneStep(write)] });
  const { workflow_id } = await t.run(intentType);
  for (let pauses = 0; pauses < 12; pauses += 1) await t.clock.advance(60_000);
  return { t, write, workflow_id, workflow: await t.rest(workflow_id) };
}

describe("a call that failed", () => {
  it.each(cases)(
    "with $category and retryable $retryable, of an operator that is $kind, is followed by: $next",
    async ({ category, retryable, code, kind, next }) => {
      const thrown = (): unknown =>
        category === "a plain throw"
          ? new Error("broken")
          : operatorError({ code: "NOT_SO", message: "not so", category, retryable });
      const { t, write, workflow_id, workflow } = await fail(thrown, kind === "repeatable");
      await using _t = t;
      const plans = (await t.types(workflow_id)).filter((type) => type === "PLAN_CREATED").length;
      expect({ calls: write.calls.length, plans, state: workflow.state }).toEqual(follows[next]);
      const { error } = workflow;
      if (next === "person") return expect(workflow.gates.map((gate) => gate.kind)).toEqual(["in_doubt"]);
      expect([workflow.status, error?.code]).toEqual(["failed", code]);
      if (category !== "a plain throw" && error !== null)
        expect(toExecutorError(error)).toMatchObject({ code: "NOT_SO", category, message: "not so" });
      const ended = ofType(await eventsOf(t, workflow_id), "STEP_FAILED");
      expect(ended.map(({ payload }) => payload["blocked"])).toEqual([false, false, false]);
      expect((await t.kernel.replay(workflow_id)).difference).toBeNull();
    },
  );

  it.each(["T5_POLICY_DENIED", "T5_HUMAN_DENIED", "T5_AUTHZ_FORBIDDEN", "T5_BUDGET_EXHAUSTED"])(
    "with %s as an operator's own code is no word of the kernel's: the plan is made again, and nobody has denied",
    async (code) => {
      const { t, workflow_id, workflow } = await fail(() => operatorError({ code, message: "so it says" }), true);
      await using _t = t;
      expect([workflow.state, workflow.status, workflow.error?.code]).toEqual([
        "failed",
        "failed",
        `T4_OPERATOR_${code}`,
      ]);
      expect((await t.types(workflow_id)).filter((type) => type === "PLAN_CREATED")).toHaveLength(3);
    },
  );

  it("is described so by the guide, in one row each", () => {
    const guide = readFileSync(new URL("../../src/guide/retrying.md", import.meta.url), "utf8");
    const said = { attempts: "further attempts, then plans", plans: "further plans", person: "a person is asked" };
    for (const { category, retryable, repeatable, other } of rows) {
      const name = category === "a plain throw" ? "any other throw" : `\`${category}\``;
      const flag = retryable.length > 1 ? "either" : `\`${retryable[0]}\``;
      expect(guide).toContain(`| ${name} | ${flag} | ${said[repeatable]} | ${said[other]} |`);
    }
  });
});
