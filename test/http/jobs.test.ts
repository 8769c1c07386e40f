/** A job: asked, waited for, and answered with what its workflow gave; or told what it still waits for. */
import { describe, expect, it } from "vitest";
import type { ProblemDetails } from "../../src/index.ts";
import { JobResponse } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { counted, held, intent, Note, publishing, step, story } from "../gates/story.ts";
import { codeOf, type EdgeUnderTest, openEdge, pathOf, requestOf, type Told } from "./edge-fixture.ts";

const jobPath = "/v1/kernel/jobs";
const query = { query: "write a note" };
const idOf = ({ headers }: Told): string => headers.get("location")?.split("/").at(-1) ?? "";

/** One step, which answers as it is told. */
const writing = (answer: () => unknown = () => ({ text: "a note" })) => {
  const write = counted("Note.Write", {}, answer);
  const steps = [step("write", write, { outcome: "Note" })];
  return { write, kernel: { capabilities: [story([write], steps, { outcomes: { Note } })], fallbackIntent: intent } };
};
const gated = () => ({ capabilities: [publishing().capability], fallbackIntent: intent });

const ask = (edge: EdgeUnderTest, headers: Readonly<Record<string, string>> = {}, body: object = query) =>
  edge.ask(jobPath, { body, headers });

/** A step that is under way until it is let go. */
function slow() {
  const under = held<{ text: string }>();
  return { ...writing(() => under.promise), release: () => under.release({ text: "at last" }) };
}
const begun = async (edge: EdgeUnderTest): Promise<string> => {
  for (;;) {
    await edge.t.clock.settle();
    const [one] = await edge.t.kernel.workflows({ states: ["running"] });
    if (one !== undefined) return one.workflow_id;
  }
};

describe("a job that is done in time", () => {
  it("[BRG-02] is answered with its outcomes and its words as Signals", async () => {
    await using edge = await openEdge(writing().kernel);
    const told = await ask(edge, {}, { ...query, job_type: "note", depth: 2, max_steps: 3 });
    expect(told.status).toBe(200);
    const { success, status, data, job, metrics } = JobResponse.parse(told.body);
    expect([success, status]).toEqual([true, "ok"]);
    const { outcomes } = await edge.t.kernel.outcomes(idOf(told), testCaller);
    expect(data[0]).toMatchObject({ kind: "data", body: { data: { text: "a note" }, schema: "Note" } });
    expect(data[0]?.tags).toMatchObject({ outcome_id: outcomes[0]?.outcome_id, status: outcomes[0]?.status });
    const workflow = await edge.t.kernel.workflow(idOf(told));
    expect(data[1]).toMatchObject({ kind: "text", body: { text: workflow.response.text } });
    expect(job).toEqual({ trace_id: workflow.correlation_id, job_type: "note", depth: 2, max_steps: 3 });
    expect(metrics.module_ref.tier).toBe(0);
  });

  it("and failed is a problem with its error's status, and names its workflow", async () => {
    await using edge = await openEdge(writing(() => Promise.reject(new Error("no ink"))).kernel);
    const told = await ask(edge);
    const workflow = await edge.t.kernel.workflow(idOf(told));
    expect(workflow.state).toBe("failed");
    expect([told.status, codeOf(told)]).toEqual([500, workflow.error?.code]);
    expect((told.body as unknown as ProblemDetails).instance).toBe(workflow.correlation_id);
  });
});

describe("a job that is not done", () => {
  it("because of a gate answers so at once; after the decision the same key gets the result or refusal", async () => {
    await using edge = await openEdge(gated());
    for (const [key, decision, status] of [
      ["a", "approve", 200],
      ["b", "reject", 403],
    ] as const) {
      const waiting = await ask(edge, { "idempotency-key": key });
      const id = idOf(waiting);
      expect([waiting.status, waiting.body["status"], waiting.body["workflow_id"]]).toEqual([
        202,
        "waiting_for_user",
        id,
      ]);
      await edge.post(pathOf(id, "/gate"), { gate_id: "gate-publish", decision });
      await edge.t.rest(id);
      const done = await ask(edge, { "idempotency-key": key });
      expect([done.status, idOf(done)]).toEqual([status, id]);
    }
  });

  it("is answered as passed over, without data, once it is cancelled", async () => {
    await using edge = await openEdge(gated());
    const key = { "idempotency-key": "k-1" };
    const id = idOf(await ask(edge, key));
    await edge.t.kernel.cancel(id, testCaller);
    await edge.t.rest(id);
    const told = await ask(edge, key);
    expect(told).toMatchObject({ status: 200, body: { success: true, status: "skip", data: [] } });
    expect(told.body["reason"]).toMatch(/cancelled/);
  });

  it("is told to be running when its time is over, and nothing of the waiting is left", async () => {
    const { kernel, release } = slow();
    await using edge = await openEdge(kernel, { limits: { maxWaitMs: 5_000 } });
    const { listeners } = edge.t.kernel.vitals();
    const asked = ask(edge, { prefer: "wait=2" });
    const id = await begun(edge);
    await edge.t.clock.advance(2_000);
    const told = await asked;
    expect([told.status, told.body["status"], idOf(told)]).toEqual([202, "running", id]);
    expect(edge.t.kernel.vitals().listeners).toBe(listeners);
    release();
    expect((await edge.t.rest(id)).state).toBe("completed");
  });

  it.each(["wait=900", "respond-async; x=1", ""])(
    "waits no longer than the server's limit (Prefer: %s)",
    async (prefer) => {
      const { kernel } = slow();
      await using edge = await openEdge(kernel, { limits: { maxWaitMs: 5_000 } });
      const asked = ask(edge, { prefer });
      await begun(edge);
      await edge.t.clock.advance(5_000);
      expect((await asked).status).toBe(202);
    },
  );

  it("waits for nothing where that is asked for, whatever else is preferred", async () => {
    const { kernel } = slow();
    await using edge = await openEdge(kernel);
    expect((await ask(edge, { prefer: 'respond-async, Wait="0"; x=1, wait=9' })).status).toBe(202);
  });

  it("goes on when its client is gone, and its place is free again", async () => {
    const { kernel, release } = slow();
    await using edge = await openEdge(kernel, { limits: { maxStreamsPerCaller: 1 } });
    const { listeners } = edge.t.kernel.vitals();
    const client = new AbortController();
    const asked = edge.app.fetch(new Request(requestOf(jobPath, { body: query }), { signal: client.signal }));
    const id = await begun(edge);
    const second = await ask(edge);
    expect([second.status, codeOf(second)]).toEqual([429, "T0_HTTP_CALLER_STREAM_LIMIT"]);
    client.abort();
    await asked;
    expect(edge.t.kernel.vitals().listeners).toBe(listeners);
    expect((await ask(edge, { prefer: "wait=0" })).status).toBe(202);
    release();
    expect((await edge.t.rest(id)).state).toBe("completed");
  });

  it("is refused when the kernel stops under it", async () => {
    const { kernel } = slow();
    await using edge = await openEdge(kernel);
    const asked = ask(edge);
    await begun(edge);
    await edge.t.kernel.stop({ drainMs: 0 });
    expect((await asked).status).toBe(503);
  });
});

describe("a job", () => {
  it("[API-01] under one key is one workflow, also when both are asked at once", async () => {
    const { write, kernel } = writing();
    await using edge = await openEdge(kernel);
    const key = { "idempotency-key": "k-1" };
    const told = await Promise.all([ask(edge, key), ask(edge, key)]);
    expect(told.map(({ status }) => status)).toEqual([200, 200]);
    expect(new Set(told.map(idOf)).size).toBe(1);
    expect(write.calls).toHaveLength(1);
    const submitted = await edge.ask("/v1/kernel/submit", { body: query, headers: key });
    expect(idOf(submitted)).toBe(idOf(told[0] as Told));
    expect((await ask(edge, key, { query: "another" })).status).toBe(422);
  });

  it("is a JobRequest and nothing else", async () => {
    await using edge = await openEdge(gated());
    for (const body of [{}, { query: "" }, { ...query, tenant_id: 2 }, { intent_hint: { intent_type: intent } }, []])
      expect((await ask(edge, {}, body)).status).toBe(400);
    expect(await edge.t.kernel.workflows()).toHaveLength(0);
  });

  it("is not begun for who may not read what it would give", async () => {
    const submitter = { ...testCaller, token: "submitter", scopes: ["intent:submit"] };
    await using edge = await openEdge(gated(), { tokens: [submitter] });
    expect((await edge.post(jobPath, query, "submitter")).status).toBe(403);
    expect(await edge.t.kernel.workflows()).toHaveLength(0);
  });
});
