/**
 * An append that the store refuses: nothing that rests on it was told or performed, the workflow is dropped, folded
 * again from the ledger, and goes on.
 */
import { describe, expect, it } from "vitest";
import { KernelErrorException } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { typesOf } from "../ledgers/reseal.ts";
import { createWorld, job, minute, start, step, work } from "./shared-file.ts";

interface Flaw {
  /** Appends refused so far. */
  refused: number;
}

/** Refuses the first append that carries an event of this type. */
function refusingOnce(type: string, flaw: Flaw): LedgerStore {
  const store = memoryLedger();
  return {
    ...store,
    async append(batch) {
      const types = flaw.refused > 0 ? [] : batch.map(({ row }) => typesOf(row));
      if (!types.flat().includes(type)) return store.append(batch);
      flaw.refused += 1;
      throw new KernelErrorException(
        kernelError("T0_LEDGER_UNAVAILABLE", "the disk was away", moduleRef(0, "test", "append")),
      );
    },
  };
}

async function runWithFlaw(type: string) {
  const flaw: Flaw = { refused: 0 };
  const world = createWorld();
  const committedAtCall: (readonly string[])[] = [];
  const t = await createTestKernel({
    ledger: refusingOnce(type, flaw),
    capabilities: [
      job(
        [step("s1", "Test.Act"), step("s2", "Test.Act", { depends_on: ["s1"] })],
        [
          work(world, "Test.Act", {
            idempotent: true,
            async run({ context }) {
              committedAtCall.push(await t.types(context.workflow_id));
              return { ok: true };
            },
          }),
        ],
      ),
    ],
  });
  return { t, world, flaw, committedAtCall };
}

describe("an append that fails", () => {
  it.each(["CONTEXT_BUILT", "PLAN_CREATED", "ACTION_STARTED", "ACTION_SUCCEEDED", "WORKFLOW_COMPLETED"])(
    "of %s: the workflow is folded again from the ledger and completes",
    async (type) => {
      const { t, flaw } = await runWithFlaw(type);
      await using _ = t;
      const id = await t.submit("Test.Job");
      expect((await t.rest(id)).state).toBe("completed");
      expect(flaw.refused).toBe(1);
      expect(t.clock.now() - start).toBeLessThan(minute);
      expect(await t.kernel.verify(id)).toMatchObject({ ok: true });
    },
  );

  it("of a start: the operator is not called before a start is in the ledger", async () => {
    const { t, world, committedAtCall } = await runWithFlaw("ACTION_STARTED");
    await using _ = t;
    const id = await t.submit("Test.Job");
    await t.clock.settle();
    expect(world.calls).toEqual([]);
    await t.clock.advance(2 * minute);
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect(committedAtCall.every((types) => types.at(-1) === "ACTION_STARTED")).toBe(true);
    expect((await t.types(id)).filter((type) => type === "ACTION_STARTED")).toHaveLength(2);
  });

  it("nothing that rests on it is streamed: followers see each event once, and only committed ones", async () => {
    const { t } = await runWithFlaw("ACTION_SUCCEEDED");
    await using _ = t;
    const id = await t.submit("Test.Job");
    const seen: number[] = [];
    const following = (async () => {
      for await (const event of t.kernel.events(id)) seen.push(event.sequence);
    })();
    await t.clock.settle();
    const before = [...seen];
    expect(before).toEqual((await t.types(id)).map((_type, i) => i + 1));
    await t.clock.advance(2 * minute);
    await following;
    expect(seen).toEqual((await t.types(id)).map((_type, i) => i + 1));
  });

  it("of the first event: the request is refused with the store's error and there is no workflow", async () => {
    const { t, world } = await runWithFlaw("INTENT_RECEIVED");
    await using _ = t;
    await expect(t.submit("Test.Job")).rejects.toMatchObject({ error: { code: "T0_LEDGER_UNAVAILABLE" } });
    await t.clock.advance(2 * minute);
    expect(await t.kernel.workflows()).toEqual([]);
    expect(world.calls).toEqual([]);
    expect((await t.run("Test.Job")).state).toBe("completed");
  });

  it("of a decision refuses it with the store's error, keeps the gate open, and it works later", async () => {
    const flaw: Flaw = { refused: 0 };
    const world = createWorld();
    await using t = await createTestKernel({
      ledger: refusingOnce("USER_APPROVED", flaw),
      capabilities: [job([step("s1", "Test.Act", { gate: {} })], [work(world, "Test.Act")])],
    });
    const { workflow_id: id } = await t.run("Test.Job");
    await expect(t.approve(id)).rejects.toMatchObject({ error: { code: "T0_LEDGER_UNAVAILABLE" } });
    expect(await t.kernel.gates()).toMatchObject([{ gate_id: "gate-s1", status: "open" }]);
    expect(world.calls).toEqual([]);
    await t.approve(id);
    expect(await t.rest(id)).toMatchObject({ state: "completed" });
    expect(world.stepsCalled()).toEqual(["s1"]);
  });
});
