/** The live actors of workflows, steps and gates: after each commit they stand where the ledger's fold stands. */
import { describe, expect, it } from "vitest";
import { createActor, fromCallback } from "xstate";
import { stepPath } from "../../machines/charts.ts";
import { foldEvents } from "../../machines/fold.ts";
import { tierMachine } from "../../machines/tier.ts";
import { digest } from "../../src/contract/digest.ts";
import { openTurns, type TurnRow } from "../../src/contract/turn.ts";
import { stopActor } from "../../src/engine/actors/stop-actor.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { letRun } from "../../src/testing/let-run.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel, testCaller } from "../../src/testing/test-kernel.ts";
import { errand, gated, intentType, oneStep, operator, step } from "./fixture.ts";
import { toWorkflow } from "./tier-signals.ts";

type Lifecycles = NonNullable<ReturnType<TestKernel["kernel"]["lifecycles"]>>;

/** What the fold of these rows says, in the form in which the live actors are told. */
function foldedOf(rows: readonly TurnRow[]): Lifecycles | null {
  const record = foldEvents(openTurns(rows));
  if (record === null) return null;
  return {
    workflow: record.state,
    steps: Object.fromEntries([...record.steps].map(([id, at]) => [id, stepPath(at)])),
    gates: Object.fromEntries([...record.gates].map(([id, gate]) => [id, gate.status])),
  };
}

/** A store that, before each append, has the commits so far compared: then every one of them has been delivered. */
function comparing() {
  const inner = memoryLedger();
  const write = inner.append.bind(inner);
  const rows = new Map<string, TurnRow[]>();
  const compared: { readonly live: Lifecycles; readonly folded: Lifecycles | null }[] = [];
  let kernel: TestKernel["kernel"] | null = null;
  const compare = (): void => {
    for (const [id, committed] of rows) {
      const live = kernel?.lifecycles(id) ?? null;
      if (live !== null) compared.push({ live, folded: foldedOf(committed) });
    }
  };
  const append: LedgerStore["append"] = async (batch) => {
    compare();
    const receipts = await write(batch);
    for (const [n, { row }] of batch.entries()) {
      if (receipts[n]?.ok) rows.set(row.stream, [...(rows.get(row.stream) ?? []), row]);
    }
    return receipts;
  };
  return {
    ledger: Object.assign(inner, { append }),
    compared,
    watch(of: TestKernel): void {
      kernel = of.kernel;
    },
  };
}

const flaky = () => oneStep(({ attempt }) => (attempt < 3 ? Promise.reject(new Error("not yet")) : "done"));
const hopeless = () =>
  errand(
    [
      step("s1", "Test.Fine"),
      step("s2", "Test.Fails", { depends_on: ["s1"] }),
      step("s3", "Test.Fine", { depends_on: ["s2"] }),
    ],
    [operator("Test.Fine"), operator("Test.Fails", () => Promise.reject(new Error("never")), { retry: "NONE" })],
  );
const expiring = () =>
  errand(
    [step("s1", "Test.Do", { gate: { reason: "soon", expiry: { after_ms: 1000, action: "deny" } } })],
    [operator("Test.Do")],
  );
const drafted = () =>
  errand(
    [
      step("s1", "Test.Draft", { outcome: "Note" }),
      step("s2", "Test.Apply", { applies: "s1", gate: { reason: "look" } }),
    ],
    [operator("Test.Draft"), operator("Test.Apply")],
  );

/** `s2` asks a person once `s1` has been tried again. */
const askingLater = () =>
  errand(
    [step("s1", "Test.Flaky"), step("s2", "Test.Do", { depends_on: ["s1"], gate: { reason: "look" } })],
    [
      operator("Test.Flaky", ({ attempt }) => (attempt < 2 ? Promise.reject(new Error("not yet")) : "done")),
      operator("Test.Do"),
    ],
  );
async function decidedAhead(t: TestKernel): Promise<string> {
  const id = await t.submit(intentType);
  await t.clock.settle();
  const payload = { payload_digest: digest({}) };
  const kept = await t.kernel.decideGate(id, { ...testCaller, gate_id: "gate-s2", decision: "approve", payload });
  expect(kept.status).toBe("kept");
  return id;
}

type Story = (t: TestKernel) => Promise<unknown>;
const stories: Readonly<Record<string, readonly [ReturnType<typeof errand>, Story]>> = {
  "a plain run": [oneStep(), (t) => t.run(intentType)],
  "retries with backoff": [flaky(), (t) => t.run(intentType)],
  "failures and replans": [hopeless(), (t) => t.run(intentType)],
  "an approval": [
    gated(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.approve(workflow_id);
      await t.rest(workflow_id);
    },
  ],
  "a rejection": [
    gated(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.reject(workflow_id);
      await t.rest(workflow_id);
    },
  ],
  "a cancel at a gate": [
    gated(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.kernel.cancel(workflow_id, testCaller);
      await t.rest(workflow_id);
    },
  ],
  "a cancel behind a decision whose gate has not opened": [
    askingLater(),
    async (t) => {
      const id = await decidedAhead(t);
      await t.kernel.cancel(id, testCaller);
      await t.rest(id);
    },
  ],
  "a gate that opens behind its decision": [
    askingLater(),
    async (t) => {
      const id = await decidedAhead(t);
      expect((await t.rest(id)).gates).toMatchObject([{ status: "approved" }]);
    },
  ],
  "a gate that expires": [
    expiring(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.clock.advance(2000);
      await t.rest(workflow_id);
    },
  ],
  "a failed workflow resumed": [
    hopeless(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.kernel.retry(workflow_id, { ...testCaller, mode: "resume_failed_steps" });
      await t.rest(workflow_id);
    },
  ],
  "a draft regenerated at its gate": [
    drafted(),
    async (t) => {
      const { workflow_id } = await t.run(intentType);
      await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate" });
      const { payload_digest } = (await t.rest(workflow_id)).gates[0] ?? {};
      await t.approve(workflow_id, undefined, { payload_digest });
      await t.rest(workflow_id);
    },
  ],
  "a workflow put to sleep and woken": [
    gated(),
    async (t) => {
      const id = await t.submit(intentType);
      await t.kernel.ask(4, toWorkflow("sleep", id));
      await t.clock.settle();
      await t.kernel.ask(4, toWorkflow("activate", id));
      await t.rest(id);
    },
  ],
};

describe.each([
  ["without an inspector", {}],
  ["with an inspector", { inspect: () => undefined }],
] as const)("live actors %s", (_how, inspected) => {
  it.each(Object.keys(stories))("equal the folded record after each commit of %s", async (name) => {
    const [capability, story] = stories[name] as NonNullable<(typeof stories)[string]>;
    const { ledger, compared, watch } = comparing();
    await using t = await createTestKernel({ ledger, capabilities: [capability], durability: "full", ...inspected });
    watch(t);
    await story(t);
    expect(compared.length).toBeGreaterThan(1);
    for (const { live, folded } of compared) expect(live).toEqual(folded);
    expect(t.logged.filter(({ message }) => message === "a lifecycle actor failed")).toEqual([]);
  });

  it("let go of a gate that nobody decided once its step begins again", async () => {
    const { ledger, compared, watch } = comparing();
    const later = { name: "later", stages: ["action"], evaluate: () => letRun().then(() => null) } as const;
    const plan = [
      step("s1", "Test.Do", { gate: { reason: "look" } }),
      step("s2", "Test.Do"),
      step("s3", "Test.Do", { depends_on: ["s2"] }),
    ];
    await using t = await createTestKernel({
      ledger,
      capabilities: [errand(plan, [operator("Test.Do")])],
      policies: [later],
      budgets: { limits: [{ scope: "tenant", invocations: 1 }] },
      ...inspected,
    });
    watch(t);
    const workflow_id = await t.submit(intentType);
    const hasFailed = async (times: number): Promise<void> => {
      for await (const { event_type } of t.kernel.events(workflow_id))
        if (event_type === "WORKFLOW_FAILED" && --times === 0) return;
    };
    await hasFailed(1);
    await t.kernel.retry(workflow_id, { ...testCaller, mode: "resume_failed_steps" });
    await hasFailed(2);
    expect(compared.some(({ folded }) => folded?.gates["gate-s1"] === "voided")).toBe(true);
    for (const { live, folded } of compared) expect(live).toEqual(folded);
  });
});

describe("stopping an actor that has a parent", () => {
  const parent = () => createActor(fromCallback(() => undefined)).start();
  const childOf = (under: ReturnType<typeof parent>, systemId = "child", cleanup: () => void = () => undefined) => {
    const logic = fromCallback(() => cleanup);
    return createActor(logic, { parent: under, systemId } as object).start();
  };

  it("is refused by the public stop, which is why stop-actor.ts exists", () => {
    expect(() => childOf(parent()).stop()).toThrow(/non-root/);
  });

  it("ends it at once, runs its cleanup, frees its system id, and is harmless when repeated", () => {
    const root = parent();
    let cleaned = 0;
    const child = childOf(root, "child", () => {
      cleaned += 1;
    });
    stopActor(child);
    stopActor(child);
    expect([child.getSnapshot().status, cleaned]).toEqual(["stopped", 1]);
    expect(root.system.get("child")).toBeUndefined();
    expect(childOf(root).getSnapshot().status).toBe("active");
    expect(root.getSnapshot().status).toBe("active");
  });

  it("ends a statechart too, in whatever state, and one that has reached its end", () => {
    const root = parent();
    for (const last of ["SLEEP", "STOP"] as const) {
      const chart = createActor(tierMachine, { parent: root, systemId: "chart" } as object).start();
      chart.send({ type: last });
      stopActor(chart);
      expect(root.system.get("chart")).toBeUndefined();
    }
  });

  it("takes effect only after the delivery when called from within it: supervision waits for that", () => {
    const root = parent();
    const seen: unknown[] = [];
    const logic = fromCallback(({ receive, self }) =>
      receive(() => {
        stopActor(self);
        seen.push(root.system.get("busy") === self);
      }),
    );
    const busy = createActor(logic, { parent: root, systemId: "busy" } as object).start();
    busy.send({ type: "GO" });
    expect(seen).toEqual([true]);
    expect(root.system.get("busy")).toBeUndefined();
  });
});
