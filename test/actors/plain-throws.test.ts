/** A plain throw is the operator's own fault: when its attempts are over, somebody is told. */
import { describe, expect, it } from "vitest";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { errand, eventsOf, intentType, operator, step } from "./fixture.ts";

interface Told {
  readonly params?: { readonly body?: { readonly data?: { readonly type?: string } } };
}

async function runThrowing(thrown: unknown, retry: string) {
  const notified: Told[] = [];
  let calls = 0;
  const run = () => {
    calls += 1;
    throw thrown;
  };
  const faulty = operator("Test.Faulty", run, { effect: "read", retry });
  await using t = await createTestKernel({
    capabilities: [errand([step("s1", "Test.Faulty")], [faulty])],
    limits: { maxReplans: 0 },
    notify: (notification) => void notified.push(notification as Told),
  });
  const { workflow_id } = await t.run(intentType);
  const recorded = (await eventsOf(t, workflow_id)).filter(({ event_type }) => event_type === "OPERATOR_ALERT");
  const alerts = notified.flatMap(({ params }) =>
    params?.body?.data?.type === "operator_alert" ? [params.body.data] : [],
  );
  const [action] = await t.kernel.actions(workflow_id);
  return { calls, alerts, recorded: recorded.map(({ payload }) => payload), action_id: action?.action_id };
}

describe("an operator that throws what is no operator error", () => {
  it.each([
    ["an Error", new TypeError("x is not a function"), "NONE", 1],
    ["an Error each time", new TypeError("x is not a function"), "STANDARD", 3],
    ["a text", "x is not a function", "NONE", 1],
  ])(
    "[ERR-23] %s raises exactly one alert, after the last attempt, that names the action",
    async (_what, thrown, retry, n) => {
      const { calls, alerts, recorded, action_id } = await runThrowing(thrown, retry);
      expect(calls).toBe(n);
      const alert = { action_id, operator_name: "Test.Faulty", error: { code: "T4_OPERATOR_BUG" } };
      expect(recorded).toMatchObject([alert]);
      expect(alerts).toMatchObject([alert]);
      expect(recorded[0]?.["error"]).toMatchObject({ message: expect.stringContaining("x is not a function") });
    },
  );
});
