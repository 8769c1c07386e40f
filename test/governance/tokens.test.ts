// The token view of workflows: every piece of tier work is a token; what calls use is counted once, in the ledger
// (C-05, C-23).

import { describe, expect, it } from "vitest";
import { compileChart, tokenMachine } from "../../machines/index.ts";
import { operatorError, TokenEvent } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { flow, intent, named, payloads, skill, step } from "../execution/flow.ts";

const kindsOf = (events: readonly TokenEvent[], id: number): readonly string[] =>
  events.filter((e) => e.token_id === id).map((e) => e.kind);

const flaky = (failures: number) => {
  let left = failures;
  return skill("Probe.Flaky", () => {
    left -= 1;
    if (left >= 0) throw operatorError({ code: "BUSY", category: "transient", message: "not yet", retryable: true });
    return "done";
  });
};

describe("tokens of a workflow", () => {
  it("[BUD-05] a step that succeeds at its third attempt charges the request once, its capability thrice", async () => {
    await using t = await createTestKernel({
      capabilities: [flow([flaky(2)], [step("s1", "Probe.Flaky", { estimated_cost: 2 })])],
    });
    const { workflow_id, spent } = await t.run(intent);
    expect(spent).toBe(2);
    expect(named(t, "policy.record_step_cost", "step_id")).toEqual(["s1"]);
    const usage = (await t.kernel.tokens.capabilities(workflow_id)).find((c) => c.name === "Probe.Flaky")?.usage;
    expect(usage).toEqual({ invocations: 3, tokens: 0 });
    const acts = (await t.kernel.tokens.events(workflow_id)).filter(
      (e) => e.kind === "started" && e.detail["capability_name"] === "Probe.Flaky",
    );
    expect(acts.map((e) => e.detail["invocations"])).toEqual([1, 2, 3]);
  });

  it("[REG-06] loading a package registers it and its operators; an operator's usage rises per action", async () => {
    const work = skill("Probe.Work", () => "done", { resources: { tokens: 40 }, limits: { max_invocations: 9 } });
    const steps = [step("s1", "Probe.Work"), step("s2", "Probe.Work", { params: { n: 2 }, depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [flow([work], steps)] });
    const registry = await t.kernel.tokens.capabilities();
    const names = registry.map((c) => c.name);
    expect(names).toEqual(expect.arrayContaining(["Probe.Work", intent]));
    expect(new Set(registry.map((c) => c.handle)).size).toBe(registry.length);
    const entry = registry.find((c) => c.name === "Probe.Work");
    expect(entry?.limits).toEqual({ max_invocations: 9, max_tokens: null });
    const { workflow_id } = await t.run(intent);
    const started = (await t.kernel.tokens.events(workflow_id)).filter(
      (e) => e.kind === "started" && e.detail["capability_name"] === "Probe.Work",
    );
    expect(started.map(({ detail: d }) => [d["capability_handle"], d["invocations"], d["tokens_total"]])).toEqual([
      [entry?.handle, 1, 40],
      [entry?.handle, 2, 80],
    ]);
    expect((await t.kernel.tokens.governor(workflow_id)).tokens).toEqual({ limit: null, consumed: 80 });
  });

  it("[CARD-21] one run has Signals, tokens, ledger events, keyed actions, trace and progress that agree", async () => {
    const work = skill("Probe.Work", ({ stream }) => {
      stream("half");
      return "done";
    });
    const steps = [step("s1", "Probe.Work"), step("s2", "Probe.Work", { params: { n: 2 }, depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [flow([work], steps)] });
    const { workflow_id, correlation_id } = await t.run(intent);
    const { kernel } = t;
    const events = [];
    for await (const event of kernel.events(workflow_id, { live: false })) events.push(event);
    expect(t.signals.filter((s) => s.trace_id === correlation_id).length).toBeGreaterThan(10);
    expect(events.every((e) => e.correlation_id === correlation_id)).toBe(true);
    const tokens = await kernel.tokens.events(workflow_id);
    expect(tokens.filter((e) => e.kind === "scheduled").map((e) => e.detail["kind"])).toEqual([
      "Perception",
      "Reason",
      "Plan",
      "Act",
      "Act",
      "Reflect",
    ]);
    const bySequence = new Map(events.map((e) => [e.sequence, e]));
    expect(tokens.every((e) => bySequence.has(e.detail["sequence"] as number))).toBe(true);
    const actions = await kernel.actions(workflow_id);
    expect(actions.map((a) => [a.step_id, a.status, a.idempotency_key.length > 10])).toEqual([
      ["s1", "succeeded", true],
      ["s2", "succeeded", true],
    ]);
    const started = events.filter((e) => e.event_type === "ACTION_STARTED");
    expect(started.map((e) => (e.payload["token"] as { id: number }).id)).toEqual([4, 5]);
    expect((await kernel.trace(workflow_id)).steps.map((s) => s.attempts.length)).toEqual([1, 1]);
    const progress = [];
    for await (const at of kernel.progress(workflow_id, { live: false })) progress.push(at.percent);
    expect(progress.at(-1)).toBe(100);
    expect((await kernel.verify(workflow_id)).ok).toBe(true);
  });

  it("the view is lawful: dense time, five keys, and each token goes the way of its chart", async () => {
    const chart = compileChart(tokenMachine);
    const refuse = skill("Probe.Refuse", () => {
      throw operatorError({ code: "BAD", category: "validation", message: "no", retryable: false });
    });
    const steps = [
      step("s1", "Probe.Flaky"),
      step("s2", "Probe.Refuse", { depends_on: ["s1"] }),
      step("s3", "Probe.Flaky", { params: { n: 3 }, depends_on: ["s2"] }),
    ];
    await using t = await createTestKernel({
      capabilities: [flow([flaky(1), refuse], steps)],
      limits: { maxReplans: 1 },
    });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("failed");
    const tokens = await t.kernel.tokens.events(workflow_id);
    expect(tokens.map((e) => e.timestamp)).toEqual(tokens.map((_, i) => i + 1));
    for (const event of tokens) expect(TokenEvent.safeParse(event).error).toBeUndefined();
    for (const id of new Set(tokens.map((e) => e.token_id))) {
      let at = chart.initial;
      for (const { kind, label, detail } of tokens.filter((e) => e.token_id === id)) {
        const next = chart.next(at, { type: kind, label, status: detail["status"] ?? null } as never);
        expect([id, at, kind, next]).toEqual([id, at, kind, expect.any(String)]);
        at = next as string;
      }
      expect(chart.isFinal(at)).toBe(true);
    }
    expect((await t.kernel.tokens.toJsonl(workflow_id)).split("\n").map((line) => JSON.parse(line))).toEqual(tokens);
  });

  it("an operator's own events and checkpoints are its token's; the next attempt finds the checkpoint", async () => {
    const seen: unknown[] = [];
    const work = skill("Probe.Work", ({ attempt, restored, checkpoint, emit, capabilityUsage }) => {
      seen.push(restored, capabilityUsage().invocations);
      emit("progress", { attempt });
      checkpoint({ upTo: attempt });
      if (attempt < 2) throw operatorError({ code: "BUSY", category: "transient", message: "x", retryable: true });
      return "done";
    });
    await using t = await createTestKernel({ capabilities: [flow([work], [step("s1", "Probe.Work")])] });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("completed");
    expect(seen).toEqual([null, 1, { upTo: 1 }, 2]);
    const tokens = await t.kernel.tokens.events(workflow_id);
    expect(kindsOf(tokens, 4)).toEqual(["scheduled", "started", "custom", "snapshot_created", "completed"]);
    expect(kindsOf(tokens, 5)).toEqual(["scheduled", "started", "custom", "snapshot_created", "completed"]);
    expect(tokens.filter((e) => e.label === "progress").map((e) => (e.detail as { attempt?: number }).attempt)).toEqual(
      [1, 2],
    );
  });

  it.each([
    ["no JSON", (call: { emit: (label: string, detail: never) => void }) => call.emit("x", { f: () => 1 } as never)],
    ["no label", (call: { emit: (label: string) => void }) => call.emit("")],
    ["a label of the kernel's own", (call: { emit: (label: string) => void }) => call.emit("dependency_cancelled")],
    ["a label without end", (call: { emit: (label: string) => void }) => call.emit("x".repeat(10_000))],
    ["a list", (call: { emit: (label: string, detail: never) => void }) => call.emit("x", [1] as never)],
  ])("what cannot be kept is refused into the operator: %s", async (_, use) => {
    const work = skill("Probe.Work", (call) => use(call as never), { retry: "NONE" });
    await using t = await createTestKernel({
      capabilities: [flow([work], [step("s1", "Probe.Work")])],
      limits: { maxReplans: 0 },
    });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("failed");
    expect(await payloads(t, workflow_id, "TOKEN_RECORDED")).toEqual([]);
  });
});
