/** A gate is a state that the ledger keeps: nothing in memory waits for the person, and a restart changes nothing. */
import { describe, expect, it } from "vitest";
import { type AnyActorRef, type InspectionEvent, initialTransition, transition } from "xstate";
import { workflowMachine } from "../../machines/workflow.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { takeApart } from "../ledgers/reseal.ts";
import { errand, gated, intentType, operator, step } from "./fixture.ts";
import { ledgerFolder } from "./ledger-folder.ts";

/** The types of each row's events: a row is a turn. */
async function turnsOf(t: TestKernel, workflowId: string): Promise<readonly (readonly string[])[]> {
  const rows = takeApart(await Array.fromAsync(t.kernel.export(workflowId)));
  return rows.map(({ events }) => events.map(({ type }) => type));
}

const waitingSnapshot = () => {
  let [snapshot] = initialTransition(workflowMachine);
  for (const type of ["PLAN_CREATED", "WORKFLOW_STARTED", "WORKFLOW_WAITING"] as const) {
    [snapshot] = transition(workflowMachine, snapshot, { type, gates: ["gate-s1"] });
  }
  return snapshot;
};

const expiring = () =>
  errand(
    [step("s1", "Test.Do", { gate: { reason: "soon", expiry: { after_ms: 1000, action: "allow" } } })],
    [operator("Test.Do")],
  );

describe("an open gate", () => {
  it("[CARD-09] is the workflow's state waiting_for_user, which accepts approval and rejection", async () => {
    const last = new Map<string, unknown>();
    const inspect = (event: InspectionEvent): void => {
      if (event.type !== "@xstate.snapshot") return;
      const { id } = event.actorRef as AnyActorRef;
      last.set(id, (event.snapshot as { readonly value?: unknown }).value);
    };
    await using t = await createTestKernel({ capabilities: [gated()], inspect });
    const { workflow_id, state } = await t.run(intentType);
    expect([state, last.get(workflow_id), last.get("gate-s2")]).toEqual([
      "waiting_for_user",
      "waiting_for_user",
      "open",
    ]);
    const snapshot = waitingSnapshot();
    expect(snapshot.value).toBe("waiting_for_user");
    for (const type of ["USER_APPROVED", "USER_REJECTED", "GATE_EXPIRED", "WORKFLOW_CANCELLED"] as const) {
      expect(snapshot.can({ type }), type).toBe(true);
    }
    for (const type of ["WORKFLOW_COMPLETED", "WORKFLOW_STARTED", "PLAN_CREATED"] as const) {
      expect(snapshot.can({ type }), type).toBe(false);
    }
  });

  it("[CARD-09] leaves nothing waiting in memory: no actor, run or ask, and time alone changes nothing", async () => {
    await using t = await createTestKernel({ capabilities: [gated()] });
    const { workflow_id, sequence } = await t.run(intentType);
    expect(t.kernel.lifecycles(workflow_id)).toBeNull();
    expect(t.kernel.vitals()).toMatchObject({ workflows: 0, actors: 0, waiting: 0 });
    await t.clock.advance(60_000);
    expect(await t.kernel.workflow(workflow_id)).toMatchObject({ state: "waiting_for_user", sequence });
  });

  const ways = [
    ["approve", gated, (t: TestKernel, id: string) => t.approve(id), "USER_APPROVED"],
    ["reject", gated, (t: TestKernel, id: string) => t.reject(id), "USER_REJECTED"],
    ["cancel", gated, (t: TestKernel, id: string) => t.kernel.cancel(id, testCaller), "WORKFLOW_CANCELLED"],
    ["expiry", expiring, (t: TestKernel) => t.clock.advance(1000), "GATE_EXPIRED"],
  ] as const;

  it.each(ways)("[CARD-09] is left by %s in the very turn that records it", async (_way, capability, leave, cause) => {
    await using t = await createTestKernel({ capabilities: [capability()] });
    const { workflow_id, state } = await t.run(intentType);
    expect(state).toBe("waiting_for_user");
    const before = await turnsOf(t, workflow_id);
    expect(before.at(-1)?.at(-1)).toBe("WORKFLOW_WAITING");
    await leave(t, workflow_id);
    await t.rest(workflow_id);
    const [next] = (await turnsOf(t, workflow_id)).slice(before.length);
    expect(next).toContain(cause);
    const leaves = ["WORKFLOW_RESUMED", "WORKFLOW_CANCELLED"];
    expect(next?.some((type) => leaves.includes(type))).toBe(true);
  });
});

describe("a restart at a gate", () => {
  it("[CARD-18] another kernel on the same ledger takes the decision and repeats no step", async () => {
    await using folder = await ledgerFolder();
    const calls: string[] = [];
    const options = () => ({ capabilities: [gated(calls)], ledger: sqliteLedger({ path: folder.path }) });
    const first = await createTestKernel(options());
    const { workflow_id, state } = await first.run(intentType);
    expect([state, calls]).toEqual(["waiting_for_user", ["s1"]]);
    await first.kernel.stop();
    await using second = await createTestKernel({ ...options(), seed: 2 });
    expect((await second.kernel.workflow(workflow_id)).state).toBe("waiting_for_user");
    await second.approve(workflow_id, "gate-s2");
    expect((await second.rest(workflow_id)).state).toBe("completed");
    expect(calls).toEqual(["s1", "s2"]);
    const types = await second.types(workflow_id);
    expect(types.filter((type) => type === "STEP_STARTED")).toHaveLength(2);
    expect(await second.kernel.verify(workflow_id)).toMatchObject({ ok: true });
  });

  it("[CARD-18] a decision given after a second restart still finishes it", async () => {
    await using folder = await ledgerFolder();
    const calls: string[] = [];
    const open = (seed: number) =>
      createTestKernel({ seed, capabilities: [gated(calls)], ledger: sqliteLedger({ path: folder.path }) });
    const first = await open(1);
    const { workflow_id } = await first.run(intentType);
    await first.kernel.stop();
    const second = await open(2);
    await second.kernel.stop();
    await using third = await open(3);
    await third.reject(workflow_id);
    expect((await third.rest(workflow_id)).state).toBe("cancelled");
    expect(calls).toEqual(["s1"]);
  });
});
