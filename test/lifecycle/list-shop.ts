/** Shops that go through a list of sums, with a child or a call for each. */
import type { AnyStepDraft } from "../../src/index.ts";
import type { TestKernel } from "../../src/testing/index.ts";
import { eventsOf } from "./payments.ts";
import { pay, shop } from "./shop-children.ts";

/** The sums that a list pays. */
export const sums = [1, 2, 3, 4];

/** A shop that pays a list of sums, each by a child of its own. */
export const payAll = (more: object = {}, sumsGiven: readonly number[] = sums) =>
  shop(({ intent, each, run }) => ({
    reasoning: "all of them",
    steps: [
      each({
        step_id: "pay",
        name: "Pay",
        items: sumsGiven.map((sum) => ({ sum })),
        do: (item) =>
          run({
            capability: pay,
            input: { sum: item.sum, ...(intent.inputs["asks"] === true && { asks: true }) },
          }),
        key: (item) => item.sum,
        ...more,
      }),
    ],
  }));

/** A shop that goes through the sums with this template, as data. */
export const templated = (template: object, more: object = {}) =>
  shop(() => ({
    reasoning: "as data",
    steps: [
      { kind: "each", step_id: "pay", name: "Pay", params: { items: sums as never }, do: template, ...more },
    ] as unknown as AnyStepDraft[],
  }));

/** Returns the children that the added steps wait for or have waited for, by the ids of these steps. */
export async function childrenOf(t: TestKernel, id: string): Promise<ReadonlyMap<string, string>> {
  const parked = (await eventsOf(t, id)).filter(({ event_type }) => event_type === "STEP_PARKED");
  return new Map(
    parked.flatMap(({ step_id, payload: { source, key } }) =>
      source === "workflow" ? [[step_id as string, key as string]] : [],
    ),
  );
}
