/** What A2A refuses, with which code; and what strangers, other tenants and agents learn: nothing. */
import { describe, expect, it } from "vitest";
import { intent, publishing } from "../gates/story.ts";
import { asked, codeOf, data, openA2a, rpc, send } from "./a2a-fixture.ts";

const story = () => ({ capabilities: [publishing().capability] });
const part = { data: {} };
const message = (more: object = {}) => ({
  message: {
    messageId: "m",
    role: "ROLE_USER",
    parts: [part],
    metadata: { "countersign/skill": intent },
    ...more,
  },
});
const unknownId = "wf_01JZ0000000000000000000000";
const push = { url: "https://client.example/in" };

const refused: readonly (readonly [string, string, object, string, number])[] = [
  ["an unknown method", "message/send", message(), "T0_A2A_METHOD_UNKNOWN", -32601],
  ["an unknown member", "SendMessage", { ...message(), massage: 1 }, "T0_VALIDATION_SCHEMA_MISMATCH", -32602],
  [
    "an unknown member of a part",
    "SendMessage",
    message({ parts: [{ data: {}, kind: "data" }] }),
    "T0_VALIDATION_SCHEMA_MISMATCH",
    -32602,
  ],
  [
    "unknown metadata of ours",
    "SendMessage",
    message({ metadata: { "countersign/skil": intent } }),
    "T0_VALIDATION_SCHEMA_MISMATCH",
    -32602,
  ],
  [
    "a message of the agent's role",
    "SendMessage",
    message({ role: "ROLE_AGENT" }),
    "T0_VALIDATION_SCHEMA_MISMATCH",
    -32602,
  ],
  [
    "an unknown skill",
    "SendMessage",
    message({ metadata: { "countersign/skill": "No.Such.Skill" } }),
    "T1_NORMALIZE_UNKNOWN_INTENT",
    -32602,
  ],
  ["data without a skill", "SendMessage", message({ metadata: {} }), "T0_A2A_SKILL_UNNAMED", -32602],
  ["a part that is a file", "SendMessage", message({ parts: [{ raw: "AAAA" }] }), "T0_A2A_PART_REFUSED", -32005],
  [
    "a part that is an address",
    "SendMessage",
    message({ parts: [{ url: "https://x.test/a" }] }),
    "T0_A2A_PART_REFUSED",
    -32005,
  ],
  [
    "a part with two contents",
    "SendMessage",
    message({ parts: [{ text: "a", data: {} }] }),
    "T0_A2A_PART_REFUSED",
    -32005,
  ],
  [
    "output that is not given",
    "SendMessage",
    { ...message(), configuration: { acceptedOutputModes: ["image/png"] } },
    "T0_A2A_OUTPUT_MODES",
    -32005,
  ],
  ["another tenant", "SendMessage", { ...message(), tenant: "2" }, "T5_IDENTITY_VIOLATION", -32600],
  ["a task that there is not", "GetTask", { id: unknownId }, "T4_WORKFLOW_NOT_FOUND", -32001],
  ["an id that is none", "GetTask", { id: "../../etc/passwd" }, "T4_WORKFLOW_NOT_FOUND", -32001],
  ["a cancellation of no task", "CancelTask", { id: unknownId }, "T4_WORKFLOW_NOT_FOUND", -32001],
  ["a subscription to no task", "SubscribeToTask", { id: unknownId }, "T4_WORKFLOW_NOT_FOUND", -32001],
  ["a message to no task", "SendMessage", message({ taskId: unknownId }), "T4_WORKFLOW_NOT_FOUND", -32001],
  [
    "a list by the time of status",
    "ListTasks",
    { statusTimestampAfter: "2026-01-01T00:00:00Z" },
    "T0_A2A_FILTER_REFUSED",
    -32004,
  ],
  [
    "notifications that are off",
    "SendMessage",
    { ...message(), configuration: { taskPushNotificationConfig: push } },
    "T0_A2A_PUSH_OFF",
    -32003,
  ],
];

describe("what A2A refuses", () => {
  it.each(refused)("is %s, and nothing has begun", async (_what, method, params, code, rpcCode) => {
    await using face = await openA2a(story());
    const { status, body } = await rpc(face, method, params);
    expect([status, codeOf(body), body.error?.code]).toEqual([200, code, rpcCode]);
    expect(body.error?.data.at(-1)?.metadata).toMatchObject({ next: expect.stringMatching(/\.$/) });
    expect(await face.t.kernel.workflows()).toEqual([]);
  });

  it.each(["", "0.3", "2.0", "1.0; drop"])("is version %j of the protocol", async (version) => {
    await using face = await openA2a(story());
    const { body } = await rpc(face, "SendMessage", message(), { version });
    expect([codeOf(body), body.error?.code]).toEqual(["T0_A2A_VERSION", -32009]);
    expect(await face.t.kernel.workflows()).toEqual([]);
  });

  it.each([
    ["a body that is too large", "x".repeat(2000), 413],
    ["a body that is no JSON", "{", 400],
    ["a batch", "[]", 400],
    ["a nesting without end", `${"[".repeat(100)}${"]".repeat(100)}`, 400],
  ])("is %s", async (_what, body, status) => {
    await using face = await openA2a(story(), { limits: { maxBodyBytes: 1000 } });
    const headers = { "content-type": "application/json", "a2a-version": "1.0" };
    const answer = await face.fetchAs("own")("/a2a", { method: "POST", headers, body });
    expect(answer.status).toBe(status);
    expect(await answer.json()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { data: [{ domain: "countersign" }] },
    });
  });

  it("is a caller without a credential, as everywhere", async () => {
    await using face = await openA2a(story());
    expect((await face.fetchAs("")("/a2a", { method: "POST", body: "{}" })).status).toBe(401);
  });

  it("[GAT-07] is an answer in words, to another question, with unknown members, or without a decision", async () => {
    await using face = await openA2a(story());
    const client = await face.connect();
    const task = await send(client, { skill: intent, parts: [data({})] });
    const { question = "" } = asked(task)[0] ?? {};
    const other = question.replace(/[0-9a-f]{64}/, "0".repeat(64));
    const answers: readonly (readonly [object, string])[] = [
      [{ text: "approve" }, "T0_A2A_ANSWER_MISSING"],
      [{ data: { decision: "approve" } }, "T0_A2A_ANSWER_MISSING"],
      [{ data: { question: other, decision: "approve" } }, "T0_QUESTION_OVER"],
      [{ data: { question: "gate-publish", decision: "approve" } }, "T0_QUESTION_OVER"],
      [{ data: { question, decision: "approve", edits: {} } }, "T0_VALIDATION_SCHEMA_MISMATCH"],
      [{ data: { question, decision: "done" } }, "T0_VALIDATION_SCHEMA_MISMATCH"],
      [{ data: { question } }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ];
    for (const [one, code] of answers) {
      const { body } = await rpc(face, "SendMessage", message({ taskId: task.id, parts: [one], metadata: {} }));
      expect([one, codeOf(body)]).toEqual([one, code]);
    }
    expect((await face.t.kernel.gate(task.id, "gate-publish")).status).toBe("open");
  });
});

describe("a task of another tenant", () => {
  it("[INV-12] does not exist, to the byte, for any method", async () => {
    await using face = await openA2a(story());
    const task = await send(await face.connect(), { skill: intent, parts: [data({})] });
    const methods: readonly (readonly [string, (id: string) => object])[] = [
      ["GetTask", (id) => ({ id })],
      ["CancelTask", (id) => ({ id })],
      ["SubscribeToTask", (id) => ({ id })],
      ["SendMessage", (taskId) => message({ taskId, metadata: {} })],
      ["ListTaskPushNotificationConfigs", (taskId) => ({ taskId })],
    ];
    for (const [method, paramsOf] of methods) {
      const told = async (id: string) =>
        JSON.stringify(await rpc(face, method, paramsOf(id), { as: "foreign" })).replaceAll(id, "ID");
      expect([method, await told(task.id)]).toEqual([method, await told(unknownId)]);
    }
    const { body } = await rpc(face, "ListTasks", {}, { as: "foreign" });
    expect(body.result).toEqual({ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 });
    expect((await face.t.kernel.workflow(task.id)).state).toBe("waiting_for_user");
  });
});

describe("the list of tasks", () => {
  it("has pages, a conversation and a state as filters, and artifacts where they are asked for", async () => {
    await using face = await openA2a(story());
    const client = await face.connect();
    const first = await send(client, { skill: intent, contextId: "talk", parts: [data({})] });
    const second = await send(client, { skill: intent, parts: [data({})] });
    const parts = [data({ question: asked(first)[0]?.question, decision: "approve" })];
    await send(client, { taskId: first.id, parts });
    const ids = async (params: object) => {
      const { body } = await rpc(face, "ListTasks", params);
      const { tasks, nextPageToken } = body.result as { tasks: readonly { id: string }[]; nextPageToken: string };
      return [tasks.map(({ id }) => id), nextPageToken];
    };
    expect(await ids({})).toEqual([[second.id, first.id], ""]);
    expect(await ids({ pageSize: 1 })).toEqual([[second.id], second.id]);
    expect(await ids({ pageSize: 1, pageToken: second.id })).toEqual([[first.id], first.id]);
    expect(await ids({ contextId: "talk" })).toEqual([[first.id], ""]);
    expect(await ids({ status: "TASK_STATE_INPUT_REQUIRED" })).toEqual([[second.id], ""]);
    expect(await ids({ status: "TASK_STATE_COMPLETED" })).toEqual([[first.id], ""]);
    const { body } = await rpc(face, "ListTasks", { contextId: "talk", includeArtifacts: true });
    expect(body.result?.["tasks"]).toMatchObject([{ artifacts: [{ name: "Draft.Note" }, { name: "response" }] }]);
  });
});

describe("the agent card", () => {
  it("names no capability to strangers unless the host says so; a caller reads the schemas of all inputs", async () => {
    const card = async (publicSkills: boolean) => {
      await using face = await openA2a(story(), { publicSkills });
      const open = (await (await face.fetchAs("")("/.well-known/agent-card.json")).json()) as Readonly<
        Record<string, unknown>
      >;
      const { body } = await rpc(face, "GetExtendedAgentCard", {});
      return [open, body.result as Readonly<Record<string, unknown>>] as const;
    };
    const [open, extended] = await card(false);
    expect(JSON.stringify(open)).not.toContain(intent);
    expect(open).toMatchObject({
      supportedInterfaces: [{ url: "http://127.0.0.1:1/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      skills: [],
    });
    expect(extended).toMatchObject({ skills: [{ id: intent }] });
    const [{ params }] = (extended["capabilities"] as { extensions: [{ params: object }] }).extensions;
    expect(params).toMatchObject({ skills: { [intent]: { input: { type: "object" } } } });
    expect((await card(true))[0]).toMatchObject({ skills: [{ id: intent }] });
  });
});
