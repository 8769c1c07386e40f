// The ledger service of a workflow: what each of its calls stores, and what reading it back gives.
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { quietLogger, quietTelemetry } from "../../src/adapters/quiet-telemetry.ts";
import { draft } from "../../src/contract/event.ts";
import { createIdSource } from "../../src/contract/ids.ts";
import { createSignalFactory } from "../../src/contract/signal.ts";
import { kernelClock } from "../../src/engine/actors/kernel-clock.ts";
import { defaultLimits, type Runtime } from "../../src/engine/actors/runtime.ts";
import { createFeed } from "../../src/engine/follow/feed.ts";
import { createLedgerReading } from "../../src/engine/follow/ledger-reader.ts";
import { createLedgerWatch } from "../../src/engine/follow/ledger-watch.ts";
import { createWorkflowTails } from "../../src/engine/follow/workflow-tails.ts";
import { KernelRegistration } from "../../src/engine/log/kernel-registration.ts";
import { createLedgerWriter } from "../../src/engine/log/ledger-writer.ts";
import { WorkflowLog } from "../../src/engine/log/workflow-log.ts";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger, seededRandom } from "../../src/testing/index.ts";

const draftOnce = defineOperator({ name: "Service.Draft", input: z.object({}), run: () => ({ text: "hello" }) });
const capability = defineCapability({
  intentType: "Service.Draft.Run",
  version: "1.0",
  input: z.object({}),
  operators: [draftOnce],
  outcomes: { "Draft.Text": z.object({ text: z.string() }) },
  plan: {
    reasoning: "one draft",
    steps: [{ step_id: "s1", name: "Draft", operator: "Service.Draft", outcome: "Draft.Text" }],
  },
});

describe("the ledger service", () => {
  it("[LED-06] each call returns the id that it stored, and readWorkflowState folds them into the state", async () => {
    const store = memoryLedger();
    await using t = await createTestKernel({ ledger: store, capabilities: [capability] });
    const ended = await t.run("Service.Draft.Run");
    const clock = createVirtualClock();
    const ids = createIdSource({ now: clock.now, random: seededRandom(7) });
    const runtime: Runtime = {
      clock,
      ids,
      limits: defaultLimits,
      logger: quietLogger,
      telemetry: quietTelemetry,
      signals: createSignalFactory({ ids, now: clock.now }),
      ask: () => Promise.reject(new Error("no tiers here")),
      askNow: () => Promise.reject(new Error("no tiers here")),
      send: () => undefined,
    };
    const watch = createLedgerWatch({ store, feed: createFeed(() => undefined), clock, pollMs: 250 });
    const reading = createLedgerReading({ store, tails: createWorkflowTails({ store, watch, maxTailChars: 1_000 }) });
    const events = await reading.events(ended.workflow_id);
    const workflow_id = ids.next("workflow");
    const first = await reading.readWorkflowState(ended.workflow_id);
    const identity = {
      tenant_id: 1,
      workflow_id,
      thread_id: null,
      intent_id: first.intent.intent_id,
      plan_id: first.plan_id,
      correlation_id: first.correlation_id,
    };
    const log = new WorkflowLog(identity, {
      runtime,
      mayBeLazy: false,
      halts: { of: () => ({ at: 0, halts: [] }), refresh: async () => undefined },
      writer: createLedgerWriter(store, { maxBatch: 8, maxBurst: 8 }),
      read: (id, after) => store.read(id, after),
      registration: new KernelRegistration({ store, clock: kernelClock(clock), owner: "me", leaseMs: 1000 }),
      onCommitted: () => undefined,
      onForeign: () => undefined,
    });

    const stored: string[] = [];
    for (const event of events) {
      const again = draft(event.event_type as "INTENT_RECEIVED", event.payload as never, event.step_id);
      if (event.event_type === "ACTION_STARTED")
        stored.push(log.recordAction(event.payload as never, event.step_id ?? ""));
      else if (event.event_type === "OUTCOME_DRAFTED")
        stored.push(log.recordOutcome(event.payload as never, event.step_id ?? ""));
      else expect(log.appendEvent(again)).toMatch(/^evt_/);
    }
    await log.commit();

    const state = await reading.readWorkflowState(workflow_id);
    expect(stored).toEqual([[...state.actions.keys()][0], [...state.outcomes.keys()][0]]);
    expect(state).toEqual(log.record);
    expect(state.state).toBe(ended.state);
    const written = (await reading.events(workflow_id)).map((event) => event.event_type);
    expect(written).toEqual(events.map((event) => event.event_type));
  });
});
