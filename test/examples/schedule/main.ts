/**
 * A report on weekdays at half past two in the morning in Berlin, over the weekend on which summer time begins: once for
 * each instant, also after a process was away. Time is virtual. `npm start`
 */
import { defineCapability, defineOperator } from "countersign";
import { createTestKernel, createVirtualClock, memoryLedger } from "countersign/testing";
import { z } from "zod";

const count = defineOperator({ name: "Stock.Count", input: z.object({ shelf: z.string() }), run: () => "counted" });
const report = defineCapability({
  intentType: "Stock.Report",
  version: "1.0",
  input: z.object({ shelf: z.string() }),
  operators: [count],
  plan: ({ input, step }) => ({
    reasoning: "Count.",
    steps: [step({ step_id: "count", name: "Count", operator: "Stock.Count", params: input })],
  }),
});

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "admin" } } as const;
const ledger = memoryLedger();
const open = (at: string) =>
  createTestKernel({ capabilities: [report], ledger, clock: createVirtualClock(Date.parse(at)) });
const name = "weekdays";

{
  await using t = await open("2026-03-26T00:00:00Z");
  await t.kernel.setSchedule({
    ...ann,
    name,
    cron: "30 2 * * MON-FRI",
    time_zone: "Europe/Berlin",
    intent_type: "Stock.Report",
    inputs: { shelf: "A" },
    overlap: "queue", // what was missed begins one after the other
    catch_up: "all",
    catch_up_window_ms: 7 * 86_400_000,
  });
  await t.clock.advance(6 * 86_400_000);
}
// The process was away for two days.
await using t = await open("2026-04-03T12:00:00Z");
await t.clock.advance(60_000);
const runs = await t.kernel.workflows({ schedule: name });
const instants = await Promise.all(
  runs.map(async ({ workflow_id }) => (await t.kernel.workflow(workflow_id)).intent.schedule?.instant),
);
for (const instant of instants.toSorted())
  console.log(
    instant,
    new Date(instant ?? 0).toLocaleString("en-GB", {
      timeZone: "Europe/Berlin",
      weekday: "short",
      hour: "2-digit",
      minute: "2-digit",
    }),
  );
const { schedule } = await t.kernel.schedule({ tenant_id: 1, name });
console.log("begun:", schedule?.fired, "next:", schedule?.next);
