/** The kernel's own `inspect` option: XState's view of its actors, named, one a workflow over its whole life. */
import { describe, expect, it } from "vitest";
import type { AnyActorRef, InspectionEvent } from "xstate";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { gated, intentType } from "./fixture.ts";

/** Every actor that was announced, in order. */
function announced() {
  const actors: AnyActorRef[] = [];
  const inspect = (event: InspectionEvent): void => {
    if (event.type === "@xstate.actor") actors.push(event.actorRef as AnyActorRef);
  };
  const named = (name: RegExp) => actors.filter(({ id }) => name.test(id));
  return { actors, inspect, named };
}

const statusOf = (ref: AnyActorRef): string => ref.getSnapshot().status;

describe("an inspected kernel", () => {
  it("names its tiers and their lifecycles", async () => {
    const seen = announced();
    await using _t = await createTestKernel({ capabilities: [gated()], inspect: seen.inspect });
    const names = seen.named(/^T\d/).map(({ id }) => id);
    expect(names).toHaveLength(16);
    expect(names).toEqual(
      expect.arrayContaining(["T0 foundation", "T4 execution", "T4 lifecycle", "T7 orchestration"]),
    );
  });

  it("keeps one actor for a workflow, each step and each gate, through parking and waking", async () => {
    const seen = announced();
    await using t = await createTestKernel({ capabilities: [gated()], inspect: seen.inspect });
    const { workflow_id } = await t.run(intentType);
    const own = (): readonly AnyActorRef[] => seen.named(new RegExp(`^(${workflow_id}|s1|s2|gate-s2)$`));
    expect(t.kernel.vitals().actors).toBe(0);
    expect(own().map((ref) => [ref.id, statusOf(ref)])).toEqual([
      [workflow_id, "active"],
      ["s1", "done"],
      ["s2", "active"],
      ["gate-s2", "active"],
    ]);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    expect(own()).toHaveLength(4);
    expect(
      own()
        .map(statusOf)
        .filter((status) => status === "active"),
    ).toEqual([]);
  });

  it("brings kept actors up to what another process did meanwhile", async () => {
    const seen = announced();
    const ledger = memoryLedger();
    await using t = await createTestKernel({ ledger, capabilities: [gated()], inspect: seen.inspect });
    const { workflow_id } = await t.run(intentType);
    await using other = await createTestKernel({ ledger, capabilities: [gated()], seed: 2, recover: false });
    await other.kernel.cancel(workflow_id, testCaller);
    await other.rest(workflow_id);
    await t.kernel.cancel(workflow_id, testCaller).catch(() => undefined);
    await t.clock.settle();
    const [workflow] = seen.named(new RegExp(`^${workflow_id}$`));
    expect(workflow?.getSnapshot()).toMatchObject({ status: "stopped", value: "cancelled" });
    expect(seen.named(/^gate-s2$/).map(statusOf)).toEqual(["done"]);
  });
});
