/** Two kernels: a capability of one is an operator of the other, over HTTP and in both eras of the protocol. */
import { type CallToolResult, type ElicitResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { idempotencyMeta, mcpOperators, untilMeta } from "../../src/faces/mcp/index.ts";
import { createTestKernel, createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { counted, publishing, step, story } from "../gates/story.ts";
import { intentType, planOf } from "../operators/mcp-fixture.ts";
import { type ConnectOptions, type McpUnderTest, openMcp, origin, workflowOf } from "./mcp-fixture.ts";

const name = "Story_Note_Publish";
type Era = "legacy" | "auto";

/** The inner kernel's tool as an operator, and a kernel whose plan calls it and then `Outer.Next`. */
async function joinTo(face: McpUnderTest, negotiation: Era) {
  const fetch = (url: string | URL, init?: RequestInit) => face.fetch(String(url), init);
  const transport = () => new StreamableHTTPClientTransport(new URL("/mcp", origin), { fetch });
  const tools = { [name]: { effect: "write_draft" } } as const;
  const inner = await mcpOperators({ transport, negotiation, name: "Inner", tools });
  const next = counted("Outer.Next");
  const steps = [{ operator: `Inner.${name}`, params: {} }, { operator: "Outer.Next" }];
  // Both kernels are in this process: nothing outside may answer for the inner one.
  const clock = createVirtualClock(undefined, { patienceMs: 40 });
  const t = await createTestKernel({ clock, capabilities: [planOf([inner.operator(name), next.operator], ...steps)] });
  return {
    t,
    next,
    async [Symbol.asyncDispose]() {
      await t[Symbol.asyncDispose]();
      await inner.close();
    },
  };
}

/** Resolves with the inner workflow that waits for a person. */
async function untilGate(face: McpUnderTest): Promise<string> {
  for await (const item of face.t.kernel.feed({}, testCaller))
    if (item.type === "workflow" && item.state === "waiting_for_user") return item.workflow_id;
  return "";
}

interface Keyed {
  readonly tool?: string;
  readonly args?: Record<string, unknown>;
  readonly as?: string;
  readonly options?: ConnectOptions;
}

/** A call under a key, on a connection of its own. */
async function callKeyed(
  face: McpUnderTest,
  key: unknown,
  { tool = name, args = {}, as = "own", options }: Keyed = {},
) {
  const client = await face.connect(as, options);
  const _meta = { [idempotencyMeta]: key };
  return (await client.callTool({ name: tool, arguments: args, _meta })) as CallToolResult;
}

describe.each<Era>(["legacy", "auto"])("a step that is another kernel's workflow (%s)", (era) => {
  it("has not succeeded while that waits at its gate, and has its result after an approval there", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    await using outer = await joinTo(face, era);
    const id = await outer.t.submit(intentType);
    const inner = await untilGate(face);
    expect(await outer.t.kernel.workflow(id)).toMatchObject({ state: "running", steps: [{ state: "running" }, {}] });
    expect(outer.next.calls).toEqual([]);
    await face.t.approve(inner);
    const done = await outer.t.kernel.settled(id);
    expect(done.state).toBe("completed");
    expect(JSON.parse(done.steps[0]?.output_text ?? "")).toMatchObject({ workflow_id: inner, state: "completed" });
    expect([publish.calls.length, (await face.t.kernel.workflows()).length]).toEqual([1, 1]);
    expect((await outer.t.kernel.replay(id)).identical).toBe(true);
  });

  it("has failed where a person there has said no, and asks nobody a second time", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    await using outer = await joinTo(face, era);
    const id = await outer.t.submit(intentType);
    await face.t.reject(await untilGate(face));
    expect(await outer.t.kernel.settled(id)).toMatchObject({
      state: "cancelled",
      steps: [{ error: { code: "T5_HUMAN_DENIED" } }, {}],
    });
    expect([publish.calls, outer.next.calls, (await face.t.kernel.workflows()).length]).toEqual([[], [], 1]);
    expect((await outer.t.kernel.replay(id)).identical).toBe(true);
  });

  it("that is called again under its key after its time ran out joins the workflow that it began", async () => {
    const { capability, publish } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    await using outer = await joinTo(face, era);
    const id = await outer.t.submit(intentType);
    const inner = await untilGate(face);
    const doubtful = await outer.t.rest(id);
    expect(doubtful).toMatchObject({ state: "waiting_for_user", gates: [{ kind: "in_doubt" }] });
    await face.t.approve(inner);
    await outer.t.approve(id, doubtful.gates[0]?.gate_id, { resolution: "retry" });
    expect((await outer.t.kernel.settled(id)).state).toBe("completed");
    expect([publish.calls.length, (await face.t.kernel.workflows()).length]).toEqual([1, 1]);
    expect((await outer.t.kernel.replay(id)).identical).toBe(true);
  });
});

const modern: ConnectOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

describe.each<readonly [string, ConnectOptions]>([
  ["2025-11-25", {}],
  ["2026-07-28", modern],
])("a key in _meta, in the words of %s", (_, options) => {
  it("makes a call that is sent again one workflow, also a submit; another request under it is refused", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const [first, again] = [await callKeyed(face, "k-1", { options }), await callKeyed(face, "k-1", { options })].map(
      (result) => workflowOf(result).workflow_id,
    );
    expect(again).toBe(first);
    const other = await callKeyed(face, "k-1", { options, args: { other: 1 } });
    expect(other).toMatchObject({
      isError: true,
      structuredContent: { error: { code: "T4_IDEMPOTENCY_PAYLOAD_MISMATCH" } },
    });
    const submit = { options, tool: "submit-intent", args: { intent_type: "Story.Note.Publish" } };
    const [one, two] = [await callKeyed(face, "k-2", submit), await callKeyed(face, "k-2", submit)];
    expect(two.structuredContent).toEqual(one.structuredContent);
    expect(await face.t.kernel.workflows()).toHaveLength(2);
  });

  it("may be longer than a submit's and in any script; what is no text is refused", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    for (const key of ["schlüssel", "k".repeat(1_000)]) {
      const [one, two] = [await callKeyed(face, key, { options }), await callKeyed(face, key, { options })];
      expect(workflowOf(two).workflow_id).toBe(workflowOf(one).workflow_id);
    }
    expect(await face.t.kernel.workflows()).toHaveLength(2);
    for (const key of ["", 7, null])
      expect(await callKeyed(face, key, { options })).toMatchObject({
        structuredContent: { error: { code: "T0_VALIDATION_SCHEMA_MISMATCH" } },
      });
  });

  it("is its principal's: under another's the same key is another workflow", async () => {
    const { capability } = publishing();
    await using face = await openMcp({ capabilities: [capability] });
    const ids = new Set<string>();
    for (const as of ["own", "admin", "foreign"])
      ids.add(workflowOf(await callKeyed(face, "k", { options, as })).workflow_id);
    expect(ids.size).toBe(3);
  });

  it("who waits until the end is asked all the same, and who dismisses waits for somebody else", async () => {
    const send = counted("Note.Send", { effect: "write_draft" });
    const capability = story([send], [step("only", send, { gate: {} })]);
    await using face = await openMcp({ capabilities: [capability] });
    const asked = Promise.withResolvers<void>();
    const person = (): ElicitResult => {
      asked.resolve();
      return { action: "cancel" };
    };
    const client = await face.connect("own", { ...options, person });
    const pending = client.callTool({ name, arguments: {}, _meta: { [untilMeta]: "end" } });
    await asked.promise;
    await face.t.approve(await untilGate(face));
    expect(workflowOf((await pending) as CallToolResult).state).toBe("completed");
  });
});
