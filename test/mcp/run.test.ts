/** A gated run, driven by the official client over streamable HTTP, in both eras of the protocol. */
import type { ClientOptions, ElicitRequest, ElicitResult, Progress } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { anyObject, counted, intent, payloads, publishing, step, story } from "../gates/story.ts";
import { call, openMcp, told, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
const modern: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };
const eras: readonly (readonly [string, ClientOptions])[] = [
  ["2025-11-25", {}],
  ["2026-07-28", modern],
];

describe.each(eras)("a capability as a tool, spoken to as %s", (_, era) => {
  it("waits at its gate, is decided by the digest that was shown, and ends with its outcomes", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect("own", era);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain(name);
    const waiting = workflowOf(await call(client, name));
    expect(waiting).toMatchObject({ state: "waiting_for_user", gates: [{ operator: "Note.Publish" }] });
    expect(publish.calls).toEqual([]);
    const { workflow_id, gates } = waiting;
    const { gate_id, payload_digest } = gates[0] as (typeof gates)[number];
    const decision = { workflow_id, gate_id, payload_digest, decision: "approve" };
    expect(await told(client, "decide-gate", decision)).toMatchObject({ status: "resumed" });
    await face.t.rest(workflow_id);
    expect(await told(client, "read-workflow", { workflow_id })).toMatchObject({ state: "completed", gates: [] });
    const { outcomes } = await told<{ outcomes: { outcome_type: string; status: string }[] }>(client, "read-outcomes", {
      workflow_id,
    });
    expect(outcomes.at(-1)).toMatchObject({ outcome_type: "Draft.Note", status: "final" });
    expect(await told(client, "explain-workflow", { workflow_id })).toMatchObject({ state: "completed" });
  });

  it("is decided together with others, each by the digest that was shown", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const client = await face.connect("own", era);
    const both = [workflowOf(await call(client, name)), workflowOf(await call(client, name))];
    const decisions = both.map(({ workflow_id, gates }) => ({
      ...{ workflow_id, decision: "approve" },
      payload: { payload_digest: gates[0]?.payload_digest },
    }));
    expect(await told(client, "decide-gates", { decisions })).toMatchObject({ taken: 2, refused: 0 });
    for (const { workflow_id } of both) expect((await face.t.rest(workflow_id)).state).toBe("completed");
    expect(publish.calls).toHaveLength(2);
  });

  it("asks the person at the other end, who sees what would run, and decides exactly that", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const asked: ElicitRequest["params"][] = [];
    const person = (question: ElicitRequest["params"]): ElicitResult => {
      asked.push(question);
      return { action: "accept", content: { decision: "approve", edit: '{"text":"mine"}', comment: "there" } };
    };
    const client = await face.connect("own", { ...era, person });
    const done = workflowOf(await call(client, name));
    expect(done.state).toBe("completed");
    expect(publish.calls.map(({ input }) => input)).toEqual([{ text: "mine", to: "board" }]);
    expect(asked).toHaveLength(1);
    const [opened] = await payloads(face.t, done.workflow_id, "GATE_OPENED");
    const { payload_digest } = (opened as { readonly gate: { readonly payload_digest: string } }).gate;
    for (const shown of ["Note.Publish", "final_write", payload_digest, '"to":"board"', "Approve:", "Reject:"])
      expect(asked[0]?.message).toContain(shown);
    const [approved] = await payloads(face.t, done.workflow_id, "USER_APPROVED");
    expect(approved).toMatchObject({ principal: { id: 1 }, comment: "there" });
  });

  it("shows where those who approved would have it applied, and approves that", async () => {
    const { capability, publish } = publishing({ gate: { quorum: { approvals: 2 } } });
    await using face = await openMcp({ capabilities: [capability] });
    const { kernel } = face.t;
    const asked: string[] = [];
    const person = async ({ message }: ElicitRequest["params"]): Promise<ElicitResult> => {
      asked.push(message);
      const [gate] = await kernel.gates({});
      if (gate?.votes.length === 0)
        await kernel.decideGate(gate.workflow_id, {
          tenant_id: 1,
          principal: { type: "user", id: 2, role: "user" },
          gate_id: gate.gate_id,
          decision: "approve",
          payload: { apply_targets: ["the board"] },
        });
      return { action: "accept", content: { decision: "approve" } };
    };
    const client = await face.connect("own", { ...era, person });
    expect(workflowOf(await call(client, name)).state).toBe("completed");
    expect(asked.map((message) => message.includes('["the board"]'))).toEqual([false, true]);
    expect(publish.calls[0]?.context.target?.apply_targets).toEqual(["the board"]);
  });

  const lost = () => {
    const send = counted("Note.Send", { effect: "final_write", policyTags: [] }, () => {
      if (send.calls.length === 1) throw new Error("the line broke");
      return {};
    });
    return { send, kernel: { capabilities: [story([send], [step("send", send)])], defaultPolicies: false } };
  };

  it("asks what became of a call in doubt, of which it says that it was made, and takes what it gave", async () => {
    const { send, kernel } = lost();
    await using face = await openMcp(kernel);
    const asked: ElicitRequest["params"][] = [];
    const person = (question: ElicitRequest["params"]): ElicitResult => {
      asked.push(question);
      return { action: "accept", content: { decision: "done", result: '{"sent":"by hand"}' } };
    };
    const client = await face.connect("own", { ...era, person });
    const done = workflowOf(await call(client, name));
    expect([done.state, send.calls.length]).toEqual(["completed", 1]);
    for (const shown of ["Note.Send was called", "done, retry (to approve):", "failed (to reject):"])
      expect(asked[0]?.message).toContain(shown);
    expect(asked[0]?.message).not.toContain("wants to run");
    expect(await payloads(face.t, done.workflow_id, "ACTION_SETTLED")).toMatchObject([{ result: { sent: "by hand" } }]);
  });

  it("leaves a call in doubt if its person declines to answer; decide-gate then settles it with a result", async () => {
    const { send, kernel } = lost();
    await using face = await openMcp(kernel);
    const client = await face.connect("own", { ...era, person: () => ({ action: "decline" }) });
    const { state, workflow_id, gates } = workflowOf(await call(client, name));
    expect([state, send.calls.length]).toEqual(["waiting_for_user", 1]);
    const { gate_id, payload_digest } = gates[0] as (typeof gates)[number];
    const word = { workflow_id, gate_id, payload_digest, decision: "approve", resolution: "done", result: [1] };
    expect(await told(client, "decide-gate", word)).toMatchObject({ status: "resumed" });
    await face.t.rest(workflow_id);
    expect(await payloads(face.t, workflow_id, "ACTION_SETTLED")).toMatchObject([{ result: [1] }]);
  });

  it.each<readonly [string, ElicitResult, string]>([
    ["declining rejects", { action: "decline" }, "cancelled"],
    ["saying reject rejects", { action: "accept", content: { decision: "reject" } }, "cancelled"],
    ["dismissing leaves it open", { action: "cancel" }, "waiting_for_user"],
    ["accepting without a decision leaves it open", { action: "accept", content: {} }, "waiting_for_user"],
  ])("%s", async (_law, answer, state) => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const asked: unknown[] = [];
    const person = (question: unknown) => {
      asked.push(question);
      return answer;
    };
    const client = await face.connect("own", { ...era, person });
    expect(workflowOf(await call(client, name)).state).toBe(state);
    expect(asked).toHaveLength(1);
    expect(publish.calls).toEqual([]);
  });

  it("an edit that is no JSON object is refused, and nothing is decided", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const person = (): ElicitResult => ({ action: "accept", content: { decision: "approve", edit: "[1]" } });
    const client = await face.connect("own", { ...era, person });
    const result = await call(client, name);
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } },
    });
    expect((await face.t.kernel.gates()).map(({ status }) => status)).toEqual(["open"]);
  });

  it("who may not decide is not asked, and gets the gate", async () => {
    const { capability } = publishing();
    const submitter = { token: "submitter", tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
    const scoped = { ...submitter, scopes: ["intent:submit", "outcome:read"] };
    await using face = await openMcp({ capabilities: [capability] }, {}, [scoped]);
    const asked: unknown[] = [];
    const person = (question: unknown): ElicitResult => {
      asked.push(question);
      return { action: "accept", content: { decision: "approve" } };
    };
    const client = await face.connect("submitter", { ...era, person });
    const waiting = workflowOf(await call(client, name));
    expect([waiting.state, asked]).toEqual(["waiting_for_user", []]);
    const [gate] = waiting.gates;
    const decision = { ...gate, decision: "approve" };
    const refused = await told(client, "decide-gate", {
      workflow_id: decision.workflow_id,
      payload_digest: decision.payload_digest,
      decision: "approve",
    });
    expect(refused).toMatchObject({ error: { code: "T5_AUTHZ_FORBIDDEN", next: expect.stringMatching(/./) } });
  });

  it("tells progress where it is asked for, each more than the last", async () => {
    const work = counted("Note.Work");
    const ids = ["s1", "s2", "s3"];
    const steps = ids.map((id, i) => step(id, work, { depends_on: ids.slice(Math.max(0, i - 1), i) }));
    await using face = await openMcp({ capabilities: [story([work], steps)] });
    const client = await face.connect("own", era);
    const seen: Progress[] = [];
    await client.callTool({ name, arguments: {} }, { onprogress: (progress) => void seen.push(progress) });
    const values = seen.map(({ progress }) => progress);
    expect(values.length).toBeGreaterThanOrEqual(3);
    expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
    expect(seen.every(({ total }) => total === 100)).toBe(true);
  });

  it("a call that is cancelled ends the waiting and nothing else", async () => {
    const gate = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    const slow = counted("Note.Slow", {}, async () => {
      begun.resolve();
      await gate.promise;
    });
    await using face = await openMcp({ capabilities: [story([slow], [step("only", slow)])] });
    const client = await face.connect("own", era);
    const stop = new AbortController();
    const pending = client.callTool({ name, arguments: {} }, { signal: stop.signal });
    await begun.promise;
    stop.abort();
    await expect(pending).rejects.toThrow();
    const [{ workflow_id, state } = { workflow_id: "", state: "" }] = await face.t.kernel.workflows();
    // An operator without effect may be called before the row of its start is committed.
    expect(["accepted", "running"]).toContain(state);
    gate.resolve();
    expect((await face.t.rest(workflow_id)).state).toBe("completed");
  });
});

describe("what fails", () => {
  it("a workflow that fails is a result that is an error, with its code and the next step", async () => {
    const bad = counted("Note.Bad", {}, () => {
      throw new Error("the press is broken");
    });
    await using face = await openMcp({ capabilities: [story([bad], [step("only", bad)])] });
    const result = await call(await face.connect(), name);
    expect(result.isError).toBe(true);
    expect(workflowOf(result)).toMatchObject({
      state: "failed",
      error: { code: expect.any(String), next: expect.stringMatching(/./) },
    });
  });

  it("inputs that the capability refuses are an error, and no workflow waits anywhere", async () => {
    const { capability } = publishing({}, { input: anyObject.refine(({ ok }) => ok === true, "ok is true") });
    await using face = await openMcp({ capabilities: [capability] });
    const result = await call(await face.connect(), name, { ok: false });
    expect(result).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "T1_NORMALIZE_INPUTS_INVALID" } },
    });
    expect(await face.t.kernel.gates()).toEqual([]);
    expect(intent).toBe("Story.Note.Publish");
  });
});
