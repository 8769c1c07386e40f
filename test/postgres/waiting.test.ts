/** Events from outside over two kernels on one Postgres: each ends one wait, whichever kernel it reaches. */
import { expect, it } from "vitest";
import { z } from "zod";
import { payloadOf } from "../../src/contract/event.ts";
import { createKernel, defineCapability, type Kernel } from "../../src/index.ts";
import { freshLedger, freshSchema } from "./server.ts";

const who = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } } as const;
const closing = defineCapability({
  intentType: "Deal.Close",
  version: "1.0",
  input: z.looseObject({}),
  operators: ["Deal.None"],
  plan: ({ wait }) => ({
    reasoning: "sign",
    steps: [wait({ step_id: "sign", name: "Signed", event: "contract.signed", key: "c-1" })],
  }),
});

async function takenBy(kernel: Kernel, id: string): Promise<readonly string[]> {
  const taken: string[] = [];
  for await (const event of kernel.events(id, { live: false })) {
    const resumed = event.event_type === "STEP_RESUMED" ? payloadOf(event, "STEP_RESUMED") : null;
    if (resumed?.by === "event") taken.push(resumed.event.event_id);
  }
  return taken;
}

it("events that two kernels receive at once end the waits of both, each one wait", async () => {
  const schema = freshSchema();
  const open = () => createKernel({ ledger: freshLedger(schema), capabilities: [closing] });
  const kernels = [await open(), await open()] as const;
  const [first, second] = kernels;
  const of = (n: number): Kernel => (n % 2 === 0 ? first : second);
  const numbers = Array.from({ length: 8 }, (_, n) => n);
  try {
    const submit = (n: number) => of(n).submit({ ...who, intent_hint: { intent_type: "Deal.Close", inputs: {} } });
    const emit = (n: number) =>
      of(n + 1).emit({ ...who, name: "contract.signed", key: "c-1", payload: n, event_id: `e${n}` });
    const early = await Promise.all(numbers.slice(0, 4).map(emit));
    const ids = (await Promise.all(numbers.map(submit))).map(({ workflow_id }) => workflow_id);
    const late = await Promise.all(numbers.slice(4).map(emit));
    expect([...early, ...late].map(({ duplicate }) => duplicate)).toEqual(numbers.map(() => false));
    const states = await Promise.all(ids.map((id, n) => of(n).settled(id)));
    expect(states.map(({ state }) => state)).toEqual(numbers.map(() => "completed"));
    const taken = (await Promise.all(ids.map((id) => takenBy(first, id)))).flat();
    expect(taken.toSorted()).toEqual(numbers.map((n) => `e${n}`));
    expect(await first.verify()).toMatchObject({ ok: true });
  } finally {
    await Promise.all(kernels.map((kernel) => kernel.stop()));
  }
});
