/** A question over every face: HTTP, JSON-RPC, MCP, the command line, notices, drawings, explanations, signatures. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { signApproval } from "../../src/adapters/jws-signer.ts";
import { askForm } from "../../src/faces/cli/ask-form.ts";
import { renderGate } from "../../src/faces/cli/render-gate.ts";
import { type AnswerForm, defineCapability, defineOperator, type Gate, type WorkflowState } from "../../src/index.ts";
import { readRun } from "../../src/observers/drawing/plan-model.ts";
import { renderPlanMermaid } from "../../src/observers/drawing/render-plan-mermaid.ts";
import { renderPlanSvg } from "../../src/observers/drawing/render-plan-svg.ts";
import { composeMessage } from "../../src/observers/notifiers/slack-message.ts";
import { createTestKernel, type TestKernelOptions, testCaller } from "../../src/testing/index.ts";
import { readHere, runHere } from "../cli/command-line.ts";
import { codeOf, openEdge } from "../http/edge-fixture.ts";
import { call, openMcp, workflowOf } from "../mcp/mcp-fixture.ts";
import { notice } from "../notifiers/notices.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";
import { keyPairOf } from "./key-pair.ts";

const intentType = "Shop.Terms.Ask";
const Terms = z.object({
  limit: z.int().min(1).max(1000).meta({ title: "Monthly limit", description: "In EUR." }),
  fast: z.boolean().default(false),
  speed: z.enum(["slow", "quick"]).optional(),
  tags: z.array(z.string()).default([]),
});
const take = defineOperator({ name: "Shop.Take", input: z.looseObject({}), run: () => "taken" });
const asking = (gate: object = {}) =>
  defineCapability({
    intentType,
    version: "1.0",
    input: z.looseObject({}),
    operators: [take],
    plan: ({ ask }) => ({
      reasoning: "ask",
      steps: [ask({ step_id: "q", name: "Agree on terms", question: "Which terms?", form: Terms, gate })],
    }),
  });
const whole = { limit: 20, fast: false, tags: [] };

async function open(gate: object = {}, more: TestKernelOptions = {}) {
  const t = await createTestKernel({ capabilities: [asking(gate)], ...more });
  const state = await t.run(intentType);
  return { t, state, gate: state.gates[0] as Gate, [Symbol.asyncDispose]: () => t[Symbol.asyncDispose]() };
}

describe("a question over HTTP", () => {
  const openAsked = async () => {
    const edge = await openEdge({ capabilities: [asking()] });
    const { workflow_id } = await edge.t.run(intentType);
    return { edge, workflow_id, path: `/v1/kernel/workflows/${workflow_id}/gate` };
  };

  it("takes an answer, and refuses one with a pointer to each member", async () => {
    const { edge, path, workflow_id } = await openAsked();
    await using _e = edge;
    const refused = await edge.post(path, {
      gate_id: "gate-q",
      decision: "approve",
      payload: { answer: { limit: 0 } },
    });
    expect([refused.status, codeOf(refused as never)]).toEqual([400, "T5_ANSWER_INVALID"]);
    expect(refused.body).toMatchObject({
      errors: [{ pointer: "#/payload/answer/limit" }],
    });
    const taken = await edge.post(path, { gate_id: "gate-q", decision: "approve", payload: { answer: { limit: 20 } } });
    expect(taken).toMatchObject({ status: 200, body: { status: "resumed" } });
    const { body } = await edge.ask(`/v1/kernel/workflows/${workflow_id}/gates/gate-q`);
    expect(body).toMatchObject({ kind: "ask", decision: { answer: whole } });
  });

  it("is listed among open gates by its operator, and answered by JSON-RPC", async () => {
    const { edge, workflow_id } = await openAsked();
    await using _e = edge;
    const listed = await edge.ask<{ gates: unknown[] }>("/v1/kernel/gates?operator=Kernel.Ask");
    expect(listed.body.gates).toMatchObject([{ kind: "ask", workflow_id }]);
    const params = { workflow_id, gate_id: "gate-q", decision: "approve", payload: { answer: { limit: 20 } } };
    const { body } = await edge.post("/rpc", { jsonrpc: "2.0", id: 1, method: "kernel/gate", params });
    expect(body).toMatchObject({ result: { status: "resumed" } });
  });
});

describe("a question over MCP", () => {
  const asked: { readonly requestedSchema?: object; readonly message: string }[] = [];
  const openAsked = async (content: object | null) => {
    asked.length = 0;
    const face = await openMcp({ capabilities: [asking()] }, { answersGates: true });
    const client = await face.connect("own", {
      person: (question) => {
        asked.push(question as never);
        return content === null ? { action: "decline" } : ({ action: "accept", content } as never);
      },
    });
    return { face, result: workflowOf(await call(client, "Shop_Terms_Ask")) };
  };

  it("is a form of its own fields; what no client can show is filled with JSON", async () => {
    const { face, result } = await openAsked({ limit: 20, fast: true, speed: "", tags: '["a"]' });
    await using _f = face;
    expect(asked[0]?.requestedSchema).toMatchObject({
      type: "object",
      properties: {
        limit: { type: "integer", minimum: 1, maximum: 1000, title: "Monthly limit" },
        fast: { type: "boolean", default: false },
        speed: { type: "string", enum: ["slow", "quick"] },
        tags: { type: "string" },
      },
      required: ["limit"],
    });
    expect(asked[0]?.message).toContain("Which terms?");
    expect(result.state).toBe("completed");
    const { gates } = await face.t.kernel.workflow(result.workflow_id);
    expect(gates[0]?.decision?.answer).toEqual({ limit: 20, fast: true, tags: ["a"] });
  });

  it("is rejected by a person who declines, and answered by the tool", async () => {
    const { face, result } = await openAsked(null);
    await using _f = face;
    expect(result.state).toBe("cancelled");
    const { workflow_id, gates } = await face.t.run(intentType);
    const { payload_digest } = gates[0] as Gate;
    const args = { workflow_id, payload_digest, decision: "approve", answer: { limit: 20 } };
    expect((await call(await face.connect(), "decide-gate", args)).structuredContent).toMatchObject({
      status: "resumed",
    });
  });
});

describe("a question on the command line", () => {
  it("is answered with --answer, and refused without one where nobody can be asked", async () => {
    using folder = makeTempFolder();
    const file = join(folder.path, "asks.ts");
    const from = (path: string) => JSON.stringify(join(import.meta.dirname, path));
    writeFileSync(
      file,
      `import { z } from ${JSON.stringify(import.meta.resolve("zod"))};
import { defineCapability } from ${from("../../src/define/define-capability.ts")};
import { defineOperator } from ${from("../../src/define/define-operator.ts")};
const take = defineOperator({ name: "Shop.Take", input: z.looseObject({}), run: () => "taken" });
const form = z.object({ limit: z.int() });
export const asks = defineCapability({
  intentType: "${intentType}", version: "1.0", input: z.object({}), operators: [take],
  plan: ({ ask }) => ({ reasoning: "ask", steps: [ask({ step_id: "q", name: "Q", form })] }),
});`,
    );
    const at = ["--db", join(folder.path, "asks.db"), "--capabilities", file];
    const { workflow_id: id } = await readHere<WorkflowState>("run", intentType, "--wait", ...at);
    const refused = await runHere("approve", id, ...at);
    expect(refused.code).not.toBe(0);
    expect(refused.err).toContain("--answer");
    const shown = await runHere("show", id, ...at);
    expect(shown.out).toContain("limit: a whole number, required");
    const taken = await runHere("approve", id, "--answer", '{"limit":20}', ...at);
    expect(taken.code).toBe(0);
    expect((await runHere("explain", id, "--all", ...at)).out).toContain('{"limit":20}');
  });

  it("asks a person for each field, and again for what cannot be read", async () => {
    await using s = await open();
    const { form } = s.gate.payload as unknown as { readonly form: AnswerForm };
    const typed = ["", "many", "20", "yes", "", "[]"];
    const printed: string[] = [];
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return typed.shift() ?? null;
    };
    const answer = await askForm(form, { ask, print: (line) => void printed.push(line) });
    expect(answer).toEqual({ limit: 20, fast: true, tags: [] });
    expect(printed).toHaveLength(2);
    expect(asked[0]).toContain("Monthly limit, a whole number, 1 to 1000, required. In EUR.");
    expect(await askForm(form, { ask, print: () => undefined })).toBeNull();
  });
});

describe("a question to its readers", () => {
  it("is told with its fields, and its answer once it is given", async () => {
    await using s = await open();
    const look = { paint: (_style: unknown, text: string) => text, now: () => s.t.clock.now() };
    const text = renderGate(s.gate, look as never);
    expect(text).toContain("Which terms?");
    expect(text).toContain("fast: yes or no, false by default");
    await s.t.approve(s.state.workflow_id, "gate-q", { answer: { limit: 20 } });
    await s.t.rest(s.state.workflow_id);
    const told = JSON.stringify(await s.t.kernel.explain(s.state.workflow_id, testCaller));
    expect(told).toContain(JSON.stringify(`answered gate-q with ${JSON.stringify(whole)}`).slice(1, -1));
  });

  it("has a shape of its own in drawings", async () => {
    await using s = await open();
    const plan = readRun(s.state);
    expect(renderPlanMermaid(plan)).toMatch(/n0\{\{"q: Agree on terms/);
    expect(renderPlanSvg(plan)).toContain('class="box asks waits"');
  });

  it("is announced with a link to answer it, and without buttons that could not", async () => {
    await using s = await open();
    const { blocks } = composeMessage(notice(s.gate), { consoleUrl: "https://gates.test/", hasButtons: true } as never);
    const text = JSON.stringify(blocks);
    expect(text).toContain("Open the question to answer it");
    expect(text).not.toContain("countersign_approve");
  });
});

it("an answer is part of what is signed: a signature on another answer is refused", async () => {
  const { secret, open: jwk } = await keyPairOf();
  await using s = await open({ signed: true }, { approverKeys: () => jwk as never });
  const { principal } = testCaller;
  const sign = (answer: object) =>
    signApproval(s.gate, { principal, decision: "approve", answer: answer as never, key: secret, nonce: "1" });
  const say = (signature: string) =>
    s.t.kernel.decideGate(s.state.workflow_id, {
      ...testCaller,
      gate_id: "gate-q",
      decision: "approve",
      payload: { answer: { limit: 20 }, signature },
    });
  await expect(say(await sign({ ...whole, limit: 30 }))).rejects.toMatchObject({
    error: { code: "T5_SIGNATURE_INVALID" },
  });
  expect(await say(await sign(whole))).toMatchObject({ status: "resumed" });
});
