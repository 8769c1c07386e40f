/** How a gate opens: by whom it is asked for, under which id, with what, and that nobody is asked twice. */
import { getShortestPaths } from "@xstate/graph";
import { describe, expect, it } from "vitest";
import { stepMachine } from "../../machines/step.ts";
import { definePolicy } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import {
  count,
  counted,
  eventsOf,
  gatedSteps,
  gateOf,
  intent,
  payloads,
  publishing,
  step,
  steps,
  story,
} from "./story.ts";

describe("a gate opens", () => {
  it("[GAT-05] before every final write and every apply, though the plan declares none", async () => {
    const write = counted("Note.Write", { effect: "final_write" });
    const draft = counted("Note.Draft", {}, () => ({ text: "a" }));
    const file = counted("Note.File", { effect: "none" });
    const capability = story(
      [write, draft, file],
      [step("w", write), step("d", draft, { outcome: "Draft.Note" }), step("f", file, { applies: "d" })],
    );
    await using t = await createTestKernel({ capabilities: [capability] });
    const state = await t.run(intent);
    expect(state.state).toBe("waiting_for_user");
    expect(state.gates.map((g) => g.gate_id)).toEqual(["gate-w", "gate-f"]);
    expect(state.plan?.gates).toEqual([]);
    expect([write.calls.length, file.calls.length]).toEqual([0, 0]);
  });

  it("[GAT-05] on no path of the step's model is a gated call started without an approval", () => {
    const events = [
      "STEP_STARTED",
      "GATE_OPENED",
      "GATE_REVISED",
      "USER_REJECTED",
      "ACTION_STARTED",
      "ACTION_SUCCEEDED",
      "ACTION_SETTLED",
      "ACTION_IN_DOUBT",
      "ACTION_RETRY_SCHEDULED",
    ].map((type) => ({ type }) as { readonly type: "GATE_OPENED" });
    const open = { type: "GATE_EXPIRED", action: "deny" } as const;
    const gated = getShortestPaths(stepMachine, { events: [{ type: "STEP_STARTED" }, { type: "GATE_OPENED" }] })
      .map((path) => path.state)
      .find((state) => state.matches({ running: "awaiting_approval" }));
    const reached = getShortestPaths(stepMachine, { fromState: gated as never, events: [...events, open] });
    expect(reached.map((path) => path.state.value)).toEqual([{ running: "awaiting_approval" }]);
    const approved = getShortestPaths(stepMachine, { fromState: gated as never, events: [{ type: "USER_APPROVED" }] });
    expect(approved.map((path) => path.state.value)).toContainEqual({ running: "judging" });
  });

  it("[GAT-06] under the id of its step", async () => {
    const { send } = gatedSteps(1);
    const capability = story([send], [step("s6", send, { gate: {} })]);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { gates } = await t.run(intent);
    expect(gates.map((g) => [g.gate_id, g.step_id, g.kind])).toEqual([["gate-s6", "s6", "approval"]]);
  });

  it("[GAT-06] for a replanned step under the id it got there", async () => {
    const send = counted("Note.Send", {}, () => {
      if (send.calls.length === 1) throw new Error("not this time");
      return {};
    });
    await using t = await createTestKernel({ capabilities: [story([send], [step("s6", send, { gate: {} })])] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id, "gate-s6");
    const { gates, plan } = await t.rest(workflow_id);
    expect(gates.map((g) => [g.gate_id, g.status])).toEqual([
      ["gate-s6", "approved"],
      ["gate-s6_r1", "open"],
    ]);
    expect(plan?.gates).toEqual(["gate-s6_r1"]);
  });

  it("[GAT-06] for a lost call beside the approval's own", async () => {
    const send = counted("Note.Send", { effect: "final_write", timeoutSec: 1 }, () => new Promise(() => undefined));
    await using t = await createTestKernel({ capabilities: [story([send], [step("s6", send)])] });
    const { workflow_id } = await t.run(intent);
    await t.approve(workflow_id);
    const { gates } = await t.rest(workflow_id);
    expect(gates.map((g) => [g.gate_id, g.kind, g.status])).toEqual([
      ["gate-s6", "approval", "approved"],
      ["gate-s6_doubt1", "in_doubt", "open"],
    ]);
  });

  it("[GAT-08] once for all that asks for it, and one decision is enough", async () => {
    const send = counted("Note.Send", { policyTags: ["human_approval"] });
    const capability = story([send], [step("s1", send, { gate: { reason: "the plan says so" } })]);
    const evaluate = () => ({ decision: "REQUIRE_APPROVAL", reason: "the rule says so" }) as const;
    const rule = definePolicy({ name: "ask", stages: ["action"], evaluate });
    await using t = await createTestKernel({ capabilities: [capability], policies: [rule] });
    const waiting = await t.run(intent);
    expect(waiting.gates).toHaveLength(1);
    expect(waiting.gates[0]?.reasons.map((r) => r.source)).toEqual(["policy", "plan", "operator"]);
    await t.approve(waiting.workflow_id);
    const done = await t.rest(waiting.workflow_id);
    expect([done.state, done.gates.length, send.calls.length]).toEqual(["completed", 1, 1]);
    const types = await t.types(waiting.workflow_id);
    expect([count(types, "GATE_OPENED"), count(types, "USER_APPROVED")]).toEqual([1, 1]);
  });

  it("[GAT-09] with the package's own descriptors for that step, and tells the outside once", async () => {
    const publish = [
      { action: "apply", label: "Publish" },
      { action: "upload", label: "Upload missing documents", payload: { kind: "scan" } },
    ];
    const { capability } = publishing({}, { uiActions: { publish, draft: [{ action: "none", label: "None" }] } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const [opened] = await payloads(t, workflow_id, "GATE_OPENED");
    expect(opened?.gate.ui_actions).toEqual(publish);
    const told = t.items.filter((i) => "to" in i && i.to === 6 && i.signal.body["schema"] === "Notification");
    expect(told).toHaveLength(1);
  });

  it("and k gates of one run are each asked for once, at the same time", async () => {
    const { capability, ids, sent } = gatedSteps(4);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, state } = await t.run(intent);
    expect(state).toBe("waiting_for_user");
    expect(await steps(t, workflow_id, ["GATE_OPENED"])).toEqual(ids.map((id) => `GATE_OPENED:${id}`));
    for (const id of ids) {
      await t.approve(workflow_id, `gate-${id}`);
      await t.rest(workflow_id);
    }
    expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
    expect(sent()).toEqual(ids);
    const types = await t.types(workflow_id);
    expect([count(types, "GATE_OPENED"), count(types, "GATE_REVISED"), count(types, "USER_APPROVED")]).toEqual([
      4, 0, 4,
    ]);
  });

  it("one after another for steps in a row, with payloads resolved from the steps before", async () => {
    const send = counted("Note.Send");
    const rows = [
      step("a", send, { gate: {}, params: { n: 1 } }),
      step("b", send, { gate: {}, depends_on: ["a"], params: { n: "{{a.output.n}}" } }),
    ];
    await using t = await createTestKernel({ capabilities: [story([send], rows)] });
    const { workflow_id, gates } = await t.run(intent);
    expect(gates.map((g) => g.gate_id)).toEqual(["gate-a"]);
    await t.approve(workflow_id);
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    expect((await gateOf(t, workflow_id, "gate-b")).payload).toEqual({ n: 1 });
  });
});

describe("at a gate", () => {
  it("[EXE-05] the step is held, a person is asked, and the step runs after the approval", async () => {
    const ui = [{ action: "apply", label: "Publish" }];
    const { capability, publish } = publishing({}, { uiActions: { publish: ui } });
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id, state } = await t.run(intent);
    await t.clock.advance(60_000);
    expect([state, publish.calls.length]).toEqual(["waiting_for_user", 0]);
    const before = await eventsOf(t, workflow_id);
    expect(before.at(-1)?.event_type).toBe("WORKFLOW_WAITING");
    expect(before.filter((e) => e.event_type === "ACTION_STARTED").map((e) => e.step_id)).toEqual(["draft"]);
    expect((await payloads(t, workflow_id, "GATE_OPENED"))[0]?.gate.ui_actions).toEqual(ui);

    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const wanted = ["GATE_OPENED", "WORKFLOW_WAITING", "USER_APPROVED", "WORKFLOW_RESUMED", "ACTION_STARTED"];
    expect((await steps(t, workflow_id, wanted)).slice(1)).toEqual([
      "GATE_OPENED:publish",
      "WORKFLOW_WAITING:",
      "USER_APPROVED:publish",
      "WORKFLOW_RESUMED:",
      "ACTION_STARTED:publish",
    ]);
    expect(publish.calls).toHaveLength(1);
  });
});
