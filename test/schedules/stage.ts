/** A shop whose orders schedules begin, and short ways to set schedules and to see what they began. */
import { z } from "zod";
import { defineCapability, defineOperator, type Kernel, type ScheduleRequest } from "../../src/index.ts";
import type { TestKernel } from "../../src/testing/index.ts";

export const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "admin" } };
export const minute = 60_000;
export const hour = 3_600_000;
export const day = 86_400_000;

/** A capability whose step takes as long as its input says. */
export function makeShop() {
  const begun: string[] = [];
  const take = defineOperator({
    name: "Shop.Take",
    input: z.strictObject({ item: z.string() }),
    output: z.unknown(),
    run: ({ input }) => begun.push(input.item),
  });
  const shop = defineCapability({
    intentType: "Shop.Order",
    version: "1.0",
    input: z.strictObject({ item: z.string().default("tea"), ms: z.number().default(0) }),
    operators: [take],
    plan: ({ input: { ms, item } }) => ({
      reasoning: "wait, then take",
      steps: [
        { step_id: "wait", name: "Wait", kind: "sleep" as const, params: { ms } },
        { step_id: "take", name: "Take", operator: "Shop.Take", params: { item }, depends_on: ["wait"] },
      ],
    }),
  });
  return { shop, begun };
}

/** Sets the schedule `tea` in Ann's name. */
export const setTea = (kernel: Kernel, more: Partial<ScheduleRequest> = {}) =>
  kernel.setSchedule({ ...ann, name: "tea", intent_type: "Shop.Order", ...more } as ScheduleRequest);

/** Returns the history of `tea` as one line per event, oldest first. */
export async function historyOf(kernel: Kernel, name = "tea"): Promise<readonly string[]> {
  const { history } = await kernel.schedule({ tenant_id: 1, name, limit: 1_000 });
  return history.toReversed().map(({ event_type, detail }) => {
    const { begun, queued, skipped, missed, cancels, instant } = detail as Record<string, never>;
    const facts = { begun: begun?.["instant"], queued, skipped, missed, cancels: cancels && "a workflow", instant };
    const shown = Object.entries(facts).flatMap(([key, value]) =>
      value === undefined ? [] : [`${key} ${typeof value === "string" ? value : JSON.stringify(value)}`],
    );
    return [event_type.replace("SCHEDULE_", "").toLowerCase(), ...shown].join(" ");
  });
}

/** Returns the instants at which the schedule has begun workflows, with the workflows, in the order of the instants. */
export async function firedBy({ kernel }: Pick<TestKernel, "kernel">, name = "tea") {
  const { history } = await kernel.schedule({ tenant_id: 1, name, limit: 1_000 });
  return history
    .filter(({ event_type }) => event_type === "SCHEDULE_FIRED")
    .map(({ detail }) => ({ instant: String(detail["instant"]), workflow_id: String(detail["workflow_id"]) }))
    .toReversed();
}
