/** A gated workflow is a run of AG-UI that ends with an interrupt: the official client drives it to its end. */
import { HttpAgent, type Interrupt, type RunAgentParameters } from "@ag-ui/client";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineCapability, definePolicy } from "../../src/define/define-capability.ts";
import { createHttpApp } from "../../src/faces/http/index.ts";
import { type AgUiHandlerOptions, createAgUiHandler } from "../../src/faces/protocols/agui/index.ts";
import { type Clock, type Kernel, wallClock } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, type TestKernelOptions } from "../../src/testing/index.ts";
import { counted } from "../fixtures.ts";
import { intent, publishing, step, story } from "../gates/story.ts";
import { tokens } from "../http/edge-fixture.ts";
import { asking, termsIntent } from "./asking.ts";

const stateKey = new Uint8Array(32).fill(7);
const begin = { forwardedProps: { countersign: { intent_type: intent, inputs: {} } } };

interface Seen {
  readonly type: string;
  readonly [name: string]: unknown;
}

function openPage(kernel: Kernel, options: AgUiHandlerOptions = {}) {
  const handler = createAgUiHandler(kernel, { stateKey, ...options });
  const agent = { token: "agent", tenant_id: 1, principal: { type: "agent", id: "bot", role: "user" } };
  const app = createHttpApp(kernel, { tokens: [...tokens, agent], mounts: { "/ag-ui": handler.handle } });
  const page = (threadId = "t-1", as = "own") => {
    const headers = { authorization: `Bearer ${as}` };
    const fetch = async (url: string, init: RequestInit) => app.fetch(new Request(url, init));
    const client = new HttpAgent({ url: "http://127.0.0.1:1/ag-ui", threadId, headers, fetch });
    const run = async (given: RunAgentParameters = {}) => {
      const seen: Seen[] = [];
      await client.runAgent(given, { onEvent: ({ event }) => void seen.push(event as unknown as Seen) });
      return { seen, types: seen.map(({ type }) => type), last: seen.at(-1), interrupts: client.pendingInterrupts };
    };
    const answer = (asked: Interrupt | undefined, payload: unknown, status: "resolved" | "cancelled" = "resolved") =>
      run({ resume: [{ interruptId: asked?.id ?? "", status, payload }] });
    return { client, run, answer };
  };
  const post = async (body: object | string, as = "own") => {
    const init = { method: "POST", headers: { authorization: `Bearer ${as}`, "content-type": "application/json" } };
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.fetch(new Request("http://127.0.0.1:1/ag-ui", { ...init, body: text }));
    return { status: response.status, text: await response.text() };
  };
  return { page, post };
}

async function open(kernelOptions: TestKernelOptions = {}, options: AgUiHandlerOptions = {}) {
  const made = publishing();
  const t = await createTestKernel({ capabilities: [made.capability], ...kernelOptions });
  return { t, made, ...openPage(t.kernel, options), [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

describe("a workflow with a gate, driven by the client of AG-UI", () => {
  it("[GAT-07] ends a run with an interrupt that shows the call, and finishes in the run that approves", async () => {
    await using s = await open();
    const page = s.page();
    const { interrupts, types } = await page.run(begin);
    expect(types[0]).toBe("RUN_STARTED");
    expect(types.filter((type) => type === "STEP_STARTED").length).toBe(
      types.filter((type) => type === "STEP_FINISHED").length,
    );
    expect(interrupts).toMatchObject([
      {
        reason: "tool_call",
        responseSchema: { required: ["approved"], properties: { editedArgs: { type: "object" } } },
        metadata: { countersign: { gate: { gate_id: "gate-publish", payload: { text: "draft 1", to: "board" } } } },
      },
    ]);
    const call = page.client.messages.flatMap((message) => ("toolCalls" in message ? (message.toolCalls ?? []) : []));
    expect(call.at(-1)).toMatchObject({ id: interrupts[0]?.toolCallId, function: { name: "Note.Publish" } });
    const done = await page.answer(interrupts[0], { approved: true });
    expect(done.last).toMatchObject({
      type: "RUN_FINISHED",
      outcome: { type: "success" },
      result: { state: "completed" },
    });
    expect(done.seen).toContainEqual(
      expect.objectContaining({ type: "TOOL_CALL_RESULT", toolCallId: interrupts[0]?.toolCallId }),
    );
    expect(done.types).not.toContain("TOOL_CALL_START");
    expect(page.client.state).toMatchObject({ state: "completed", percent: 100 });
    expect(s.made.publish.calls).toHaveLength(1);
  });

  it("[GAT-07] is rejected with words, which stand in the record", async () => {
    await using s = await open();
    const page = s.page();
    const { interrupts } = await page.run(begin);
    const done = await page.answer(interrupts[0], { approved: false, comment: "Not this week." });
    expect(done.last).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    const [only] = await s.t.kernel.workflows();
    const gate = await s.t.kernel.gate(only?.workflow_id ?? "", "gate-publish");
    expect(gate.decision).toMatchObject({ decision: "reject", comment: "Not this week." });
    expect(s.made.publish.calls).toEqual([]);
  });

  it("[GAT-07] is edited: what is called is the payload of the edit", async () => {
    await using s = await open();
    const page = s.page();
    const { interrupts } = await page.run(begin);
    await page.answer(interrupts[0], { approved: true, editedArgs: { text: "better" } });
    expect(s.made.publish.calls.map(({ input }) => input)).toMatchObject([{ text: "better" }]);
  });

  it("is cancelled by a dismissed interrupt", async () => {
    await using s = await open();
    const page = s.page();
    const { interrupts } = await page.run(begin);
    const done = await page.answer(interrupts[0], undefined, "cancelled");
    expect(done.last).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } });
    expect(s.made.publish.calls).toEqual([]);
  });

  it("is answered by the form of its question", async () => {
    const { buy, capability } = asking();
    await using s = await open({ capabilities: [capability] });
    const page = s.page();
    const { interrupts } = await page.run({ forwardedProps: { countersign: { intent_type: termsIntent } } });
    expect(interrupts).toMatchObject([
      { reason: "input_required", responseSchema: { properties: { limit: { maximum: 1000 } } } },
    ]);
    await expect(page.answer(interrupts[0], { limit: 5000, currency: "EUR" })).rejects.toThrow(/T5_ANSWER_INVALID/);
    const done = await page.answer(interrupts[0], { limit: 5, currency: "EUR" });
    expect(done.last).toMatchObject({ outcome: { type: "success" } });
    expect(buy.calls.map(({ input }) => input)).toEqual([{ limit: 5 }]);
  });

  describe("with two gates that are answered in one resume", () => {
    const openTwo = async (policies: TestKernelOptions["policies"] = []) => {
      const [one, two] = [counted("Note.One"), counted("Note.Two")];
      const gated = [one, two].map((each, at) => step(`s${at + 1}`, each, { gate: { reason: "look" } }));
      const capability = story([one, two], gated);
      const s = await open({ capabilities: [capability], policies });
      const page = s.page();
      const { interrupts } = await page.run(begin);
      const resume = (second: unknown) =>
        page.run({
          resume: interrupts.map(({ id }, at) => ({
            interruptId: id,
            status: "resolved" as const,
            payload: at === 0 ? { approved: true } : second,
          })),
        });
      const calls = () => [one.calls.length, two.calls.length];
      return { s, interrupts, resume, calls, [Symbol.asyncDispose]: () => s[Symbol.asyncDispose]() };
    };

    it("both are given", async () => {
      await using of = await openTwo();
      expect(of.interrupts).toHaveLength(2);
      expect((await of.resume({ approved: true })).last).toMatchObject({ outcome: { type: "success" } });
      expect(of.calls()).toEqual([1, 1]);
    });

    it("none is given if the second cannot be read", async () => {
      await using of = await openTwo();
      await expect(of.resume({ approved: "yes" })).rejects.toThrow(/T0_VALIDATION_SCHEMA_MISMATCH/);
      expect(of.calls()).toEqual([0, 0]);
    });

    it("a refusal by a policy names the interrupt whose answer was taken", async () => {
      const not = definePolicy({
        name: "not.two",
        stages: ["gate"],
        evaluate: ({ subject }) =>
          subject.name === "gate-s2" ? { decision: "DENY", reason: "the second is not approved" } : null,
      });
      await using of = await openTwo([not]);
      const refusal = await of.resume({ approved: true }).then(String, String);
      expect(refusal).toContain("T5_POLICY_DENIED");
      expect(refusal).toContain(`"taken":["${of.interrupts[0]?.id}"]`);
      expect(of.calls()[1]).toBe(0);
    });
  });

  it("[GAT-07] is approved after the process that asked has ended, where both have one key", async () => {
    const ledger = memoryLedger();
    const kept: LedgerStore = Object.assign(Object.create(ledger), { close: async () => undefined });
    const [first, second] = [publishing(), publishing()];
    const before = await createTestKernel({ capabilities: [first.capability], ledger: kept });
    const { interrupts } = await openPage(before.kernel).page().run(begin);
    await before.kernel.stop({ drainMs: 0 });
    await using after = await createTestKernel({ capabilities: [second.capability], ledger, seed: 2 });
    const done = await openPage(after.kernel).page().answer(interrupts[0], { approved: true });
    expect(done.last).toMatchObject({ outcome: { type: "success" } });
    expect([first.publish.calls.length, second.publish.calls.length]).toEqual([0, 1]);
  });

  it("passes on what an operator streams, once, and the text of a user begins the capability of the host", async () => {
    const say = counted("Note.Say", {}, (call) => {
      call.stream(`You said `);
      call.stream(String(call.input["question"]));
      return `You said ${call.input["question"]}`;
    });
    const capability = defineCapability({
      intentType: intent,
      version: "1.0",
      input: z.object({ question: z.string() }),
      operators: [say.operator],
      plan: ({ input: params, step }) => ({
        reasoning: "say it",
        steps: [step({ step_id: "say", name: "Say", operator: "Note.Say", params })],
      }),
    });
    await using s = await open({ capabilities: [capability] }, { intentType: intent, textInput: "question" });
    const page = s.page();
    page.client.addMessage({ id: "u-1", role: "user", content: "hello" });
    const done = await page.run();
    expect(done.last).toMatchObject({ outcome: { type: "success" } });
    const texts = page.client.messages.filter(({ role }) => role === "assistant").map(({ content }) => content);
    expect(texts.filter((text) => text !== undefined && text !== "")).toEqual(["You said hello"]);
  });
});

describe("a run that is sent again", () => {
  it("[IDM-01] begins nothing twice, and tells the same from the beginning", async () => {
    await using s = await open();
    const first = await s.page().run({ ...begin, runId: "r-1" });
    const again = await s.page().run({ ...begin, runId: "r-1" });
    expect(await s.t.kernel.workflows()).toHaveLength(1);
    const kinds = (types: readonly string[]) => types.filter((type) => !type.startsWith("STATE_"));
    expect(kinds(again.types)).toEqual(kinds(first.types));
  });

  it("follows a workflow that is named, and asks there", async () => {
    await using s = await open();
    const { workflow_id } = await s.t.run(intent);
    const page = s.page("another");
    const { interrupts } = await page.run({ forwardedProps: { countersign: { workflow_id } } });
    expect((await page.answer(interrupts[0], { approved: true })).last).toMatchObject({ outcome: { type: "success" } });
  });
});

describe("a caller who may not decide", () => {
  it.each(["agent", "reader"])(
    "[GAT-07] %s is asked nothing, and goes on once somebody else has decided",
    async (as) => {
      await using s = await open();
      const { workflow_id } = await s.t.run(intent);
      const page = s.page("t-2", as);
      const { interrupts } = await page.run({ forwardedProps: { countersign: { workflow_id } } });
      expect(interrupts).toMatchObject([{ reason: "countersign:waiting", responseSchema: { properties: {} } }]);
      expect((await page.answer(interrupts[0], {})).interrupts).toMatchObject([{ reason: "countersign:waiting" }]);
      expect((await s.t.kernel.gate(workflow_id, "gate-publish")).status).toBe("open");
      await s.t.approve(workflow_id, "gate-publish");
      await s.t.rest(workflow_id);
      const done = await page.answer(page.client.pendingInterrupts[0], {});
      expect(done.last).toMatchObject({ outcome: { type: "success" } });
    },
  );
});

const input = (more: object = {}) => ({ threadId: "t-1", runId: "r-1", messages: [], ...begin, ...more });
const clockAt = (now: number): Clock => ({ ...wallClock, now: () => now });

describe("what AG-UI refuses", () => {
  it.each([
    ["an unknown member", input({ thread: "t" }), "T0_VALIDATION_SCHEMA_MISMATCH", 400],
    [
      "an unknown member of ours",
      input({ forwardedProps: { countersign: { intent: "x" } } }),
      "T0_VALIDATION_SCHEMA_MISMATCH",
      400,
    ],
    [
      "inputs of no work",
      input({ forwardedProps: { countersign: { inputs: {} } } }),
      "T0_VALIDATION_SCHEMA_MISMATCH",
      400,
    ],
    ["another version", input({ protocolVersion: "2.0" }), "T0_AGUI_VERSION", 400],
    ["no work", input({ forwardedProps: {} }), "T0_AGUI_WORK_UNNAMED", 400],
    [
      "an unknown capability",
      input({ forwardedProps: { countersign: { intent_type: "No.Such.Work" } } }),
      "T1_NORMALIZE_UNKNOWN_INTENT",
      400,
    ],
    [
      "a file in a message",
      input({ forwardedProps: {}, messages: [{ id: "1", role: "user", content: [{ type: "image" }] }] }),
      "T0_VALIDATION_SCHEMA_MISMATCH",
      400,
    ],
    ["a body that is too large", "x".repeat(3000), "T0_VALIDATION_PAYLOAD_TOO_LARGE", 413],
    ["a body that is no JSON", "{", "T0_VALIDATION_SCHEMA_MISMATCH", 400],
    [
      "a workflow that there is not",
      input({ forwardedProps: { countersign: { workflow_id: "wf_01JZ0000000000000000000000" } } }),
      "T4_WORKFLOW_NOT_FOUND",
      404,
    ],
  ])("is %s", async (_what, body, code, status) => {
    await using s = await open({}, { limits: { maxBodyBytes: 2000 } });
    const told = await s.post(body);
    expect([told.status, JSON.parse(told.text).extensions.code]).toEqual([status, code]);
    expect(await s.t.kernel.workflows()).toEqual([]);
  });

  it("[GAT-07] is a resume that is forged, of another caller or thread, expired or replayed", async () => {
    await using s = await open();
    const page = s.page();
    const { interrupts } = await page.run(begin);
    const id = interrupts[0]?.id ?? "";
    const [body = "", seal = ""] = id.split(".");
    const altered = Buffer.from(
      Buffer.from(body, "base64url").toString().replace("gate-publish", "gate-publisx"),
    ).toString("base64url");
    const resume = (interruptId: string, payload: object = { approved: true }, more: object = {}) => ({
      threadId: "t-1",
      runId: "r-2",
      messages: [],
      resume: [{ interruptId, status: "resolved", payload }],
      ...more,
    });
    const refused = async (given: object, as = "own", from = s) => {
      const { status, text } = await from.post(given, as);
      return [status, JSON.parse(text).extensions?.code];
    };
    const forged = [403, "T0_AGUI_RESUME_FORGED"];
    expect(await refused(resume("int-1"))).toEqual(forged);
    expect(await refused(resume(`${altered}.${seal}`))).toEqual(forged);
    expect(await refused(resume(`${body}.${seal.slice(0, -2)}AA`))).toEqual(forged);
    expect(await refused(resume(`${id}.x`))).toEqual(forged);
    expect(await refused(resume(id), "support")).toEqual(forged);
    expect(await refused(resume(id, {}, { threadId: "t-2" }))).toEqual(forged);
    expect(await refused(resume(id, { approved: "yes" }))).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    expect(await refused(resume(id, { approved: true, edit: {} }))).toEqual([400, "T0_VALIDATION_SCHEMA_MISMATCH"]);
    const later = { ...s, ...openPage(s.t.kernel, { clock: clockAt(wallClock.now() + 90_000_000) }) };
    expect(await refused(resume(id), "own", later)).toEqual([410, "T0_AGUI_RESUME_EXPIRED"]);
    const otherKey = { ...s, ...openPage(s.t.kernel, { stateKey: new Uint8Array(32).fill(8) }) };
    expect(await refused(resume(id), "own", otherKey)).toEqual(forged);
    const [only] = await s.t.kernel.workflows();
    expect((await s.t.kernel.gate(only?.workflow_id ?? "", "gate-publish")).status).toBe("open");
    await page.answer(interrupts[0], { approved: true });
    expect(await refused(resume(id))).toEqual([409, "T0_QUESTION_OVER"]);
    expect(await refused(resume(id, { approved: false }))).toEqual([409, "T0_QUESTION_OVER"]);
    expect(s.made.publish.calls).toHaveLength(1);
  });

  it("[INV-12] is a workflow of another tenant, to the byte as one that there is not", async () => {
    await using s = await open();
    const { workflow_id } = await s.t.run(intent);
    const told = async (id: string) => {
      const { status, text } = await s.post(input({ forwardedProps: { countersign: { workflow_id: id } } }), "foreign");
      return [status, text.replaceAll(id, "ID").replaceAll(/req_\w+/g, "REQ")];
    };
    expect(await told(workflow_id)).toEqual(await told("wf_01JZ0000000000000000000000"));
  });
});
