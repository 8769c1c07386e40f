/**
 * Inputs are parsed once, when the request comes in; every plan of the work, in whatever workflow, is made of what that
 * gave.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, refusalOf } from "../fixtures.ts";

const cents = z.object({ amount: z.number().transform((euros) => Math.round(euros * 100)) });

interface Options {
  readonly version?: string;
  readonly input?: z.ZodType;
  /** How the first calls fail. */
  readonly fails?: number;
}

/** Pays, behind a gate; its first calls fail without an effect. */
function paying({ version = "1.0", input = cents, fails = 0 }: Options = {}) {
  let left = fails;
  const pay = counted("Probe.Pay", { effect: "final_write", idempotent: true, retry: "NONE" }, () => {
    left -= 1;
    if (left >= 0) throw new Error("not yet");
    return { paid: true };
  });
  const capability = defineCapability({
    intentType: "Probe.Payment",
    version,
    input,
    operators: [pay.operator],
    plan: ({ input: { amount } }: { readonly input: { readonly amount: number } }) => ({
      reasoning: "",
      steps: [
        {
          step_id: "pay",
          name: "Pay",
          operator: pay.name,
          params: { amount },
          depends_on: [],
          gate: { reason: "money" },
        },
      ],
    }),
  } as never);
  return { pay, capability };
}

const shownIn = async ({ kernel }: TestKernel, id: string): Promise<unknown> =>
  (await kernel.workflow(id)).gates.map(({ payload }) => payload);

const submit = (t: TestKernel): Promise<string> => t.submit("Probe.Payment", { amount: 19.99 });

describe("inputs that the schema of the package converts", () => {
  it("are converted once, for the gate and for every plan that a retry and a replan make", async () => {
    const { pay, capability } = paying({ fails: 2 });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 1 } });
    const id = await submit(t);
    for (let i = 0; i < 2; i += 1) {
      expect((await t.rest(id)).state).toBe("waiting_for_user");
      await t.approve(id);
    }
    expect((await t.rest(id)).state).toBe("failed");
    await t.kernel.retry(id, { ...testCaller, mode: "resume_failed_steps" });
    if ((await t.rest(id)).state === "waiting_for_user") await t.approve(id);
    expect((await t.rest(id)).state).toBe("completed");
    expect(pay.calls.length).toBeGreaterThan(2);
    for (const { input } of pay.calls) expect(input).toEqual({ amount: 1999 });
    expect((await t.kernel.workflow(id)).plan?.round).toBeGreaterThan(0);
  });

  it("are converted once over workflows that do the work again, however many", async () => {
    const { pay, capability } = paying();
    await using t = await createTestKernel({ capabilities: [capability] });
    let id = await submit(t);
    for (const mode of ["regenerate", "regenerate", "replay"] as const) {
      await t.rest(id);
      await t.approve(id);
      await t.rest(id);
      const again = await t.kernel.retry(id, { ...testCaller, mode });
      expect(again.workflow_id).not.toBe(id);
      id = again.workflow_id;
      await t.rest(id);
    }
    expect(pay.calls.map(({ input }) => input)).toEqual(pay.calls.map(() => ({ amount: 1999 })));
    const intents = (await Array.fromAsync(t.kernel.events(id, { live: false })))[0]?.payload["intent"];
    expect(intents).toMatchObject({ inputs: { amount: 1999 } });
  });

  it("are converted once where the plan is made by another process than the one that took the request", async () => {
    const ledger = memoryLedger();
    const silent = { plan: () => new Promise<never>(() => undefined) };
    const id = await (async () => {
      await using t = await createTestKernel({ capabilities: [paying().capability], ledger, planner: silent });
      return submit(t);
    })();
    const { pay, capability } = paying();
    await using t = await createTestKernel({ capabilities: [capability], ledger, seed: 2 });
    await t.rest(id);
    expect(await shownIn(t, id)).toEqual([{ amount: 1999 }]);
    await t.approve(id);
    await t.rest(id);
    expect(pay.calls.map(({ input }) => input)).toEqual([{ amount: 1999 }]);
  });

  it("are converted once for the package's own client", async () => {
    const { capability } = paying();
    await using t = await createTestKernel({ capabilities: [capability] });
    const client = t.kernel.of(capability as never) as unknown as {
      readonly submit: (request: object) => Promise<{ readonly workflow_id: string }>;
    };
    const { workflow_id } = await client.submit({ ...testCaller, inputs: { amount: 19.99 } });
    await t.rest(workflow_id);
    expect(await shownIn(t, workflow_id)).toEqual([{ amount: 1999 }]);
  });

  it("that are drawn are drawn once", async () => {
    let draws = 0;
    const draw = (): number => {
      draws += 1;
      return draws;
    };
    const { pay, capability } = paying({ input: z.object({ amount: z.number().default(draw) }), fails: 1 });
    await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans: 1 } });
    const id = await t.submit("Probe.Payment", {});
    for (let i = 0; i < 2; i += 1) {
      await t.rest(id);
      await t.approve(id);
    }
    expect((await t.rest(id)).state).toBe("completed");
    const [first, second] = pay.calls;
    expect(second?.input).toEqual(first?.input);
  });
});

describe("a migration to another version of the package", () => {
  const migrated = async (input: z.ZodType) => {
    const one = paying({ fails: 1 });
    const two = paying({ version: "2.0", input });
    const ledger = memoryLedger();
    const id = await (async () => {
      await using t = await createTestKernel({ capabilities: [one.capability], ledger });
      const submitted = await submit(t);
      await t.rest(submitted);
      return submitted;
    })();
    const t = await createTestKernel({
      capabilities: [one.capability, { ...two.capability, operators: one.capability.operators } as never],
      ledger,
      seed: 2,
    });
    return { t, id, retry: () => t.kernel.retry(id, { ...testCaller, mode: "migrate" }) };
  };

  it("adds the defaults of the new version to the inputs as they were parsed", async () => {
    const { t, retry } = await migrated(z.object({ amount: z.number(), currency: z.string().default("EUR") }));
    await using _t = t;
    const { workflow_id } = await retry();
    await t.rest(workflow_id);
    const [received] = await Array.fromAsync(t.kernel.events(workflow_id, { live: false }));
    expect(received?.payload["intent"]).toMatchObject({ inputs: { amount: 1999, currency: "EUR" } });
  });

  it("is refused where the new version would convert what it made once more", async () => {
    const { t, id, retry } = await migrated(cents);
    await using _t = t;
    expect((await refusalOf(retry())).code).toBe("T1_NORMALIZE_INPUTS_NOT_STABLE");
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
  });
});

it("a package whose input schema gives no JSON is refused when it is defined", () => {
  for (const member of [z.coerce.date(), z.iso.date().transform((text) => new Date(text))])
    expect(() => paying({ input: z.object({ amount: member }) })).toThrow(/convert values in the plan function/);
});
