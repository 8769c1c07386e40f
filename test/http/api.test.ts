/** The addresses of the API: each is one call of the in-process API, and answers what that answers. */
import { describe, expect, it } from "vitest";
import { kernelError } from "../../src/contract/error-codes.ts";
import { KernelErrorException } from "../../src/contract/kernel-error.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { operatorError, ProblemDetails, SubmitResponse } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { counted, eventsOf, gatedSteps, intent, publishing, step, story } from "../gates/story.ts";
import { codeOf, openEdge, pathOf, submitPath, withoutIds } from "./edge-fixture.ts";

const hint = { intent_hint: { intent_type: intent, inputs: {} } };
const publish = () => ({ capabilities: [publishing().capability] });

describe("submit", () => {
  it("[API-01] a request is accepted at once, and the answer holds its schema", async () => {
    await using edge = await openEdge(publish());
    const told = await edge.post(submitPath, { ...testCaller, source: "chat", thread_id: 4512, ...hint });
    expect(told.status).toBe(202);
    const accepted = SubmitResponse.parse(told.body);
    expect(accepted.status).toBe("accepted");
    expect(told.headers.get("location")).toBe(pathOf(accepted.workflow_id));
    expect((await edge.t.kernel.workflow(accepted.workflow_id)).thread_id).toBe(4512);
  });

  it.each([
    ["no object", [], "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["a wrong field", { ...hint, source: "carrier pigeon" }, "T0_VALIDATION_SCHEMA_MISMATCH"],
    ["an unknown intent", { intent_hint: { intent_type: "No.Such" } }, "T1_NORMALIZE_UNKNOWN_INTENT"],
  ])("[API-01] %s is refused with problem details", async (_what, body, code) => {
    await using edge = await openEdge(publish());
    const told = await edge.post(submitPath, body);
    expect([told.status, codeOf(told)]).toEqual([400, code]);
    expect(told.headers.get("content-type")).toBe("application/problem+json");
    const problem = ProblemDetails.parse(told.body);
    expect(problem.extensions.next).toMatch(/\.$/);
    expect(problem.instance).toBe(told.headers.get("x-request-id"));
    expect(problem.extensions.chain.length).toBeGreaterThan(0);
    expect(told.headers.has("retry-after")).toBe(false);
  });

  it("[API-07] a JobRequest begins as the submit that says the same, and a refusal of policy is 403", async () => {
    const received = async (body: object) => {
      await using edge = await openEdge({ ...publish(), fallbackIntent: intent });
      const told = await edge.post<{ workflow_id: string }>(submitPath, body);
      expect(told.status).toBe(202);
      const [first] = await eventsOf(edge.t, told.body.workflow_id);
      expect(first?.event_type).toBe("INTENT_RECEIVED");
      return withoutIds(first);
    };
    const constraints = { job_type: "report", depth: 2, max_steps: 3 };
    expect(await received({ query: "say something", ...constraints })).toEqual(
      await received({ input: { mode: "message", text: "say something" }, constraints }),
    );
    await using edge = await openEdge({ ...publish(), roles: { user: { scopes: ["outcome:read"] } } });
    const refused = await edge.post(submitPath, hint);
    expect([refused.status, codeOf(refused)]).toEqual([403, "T5_AUTHZ_FORBIDDEN"]);
  });

  it("[API-07] a JobRequest with bad values is refused", async () => {
    await using edge = await openEdge(publish());
    expect((await edge.post(submitPath, { query: "x", depth: -1 })).status).toBe(400);
  });
});

describe("a workflow", () => {
  it("[API-02] a gate is decided, and the same decision again gets the same body", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id, correlation_id } = await edge.t.run(intent);
    const decision = { ...testCaller, gate_id: "gate-publish", decision: "approve" };
    const told = await edge.post(pathOf(workflow_id, "/gate"), decision);
    expect(told).toMatchObject({ status: 200, body: { workflow_id, status: "resumed", correlation_id } });
    await edge.t.rest(workflow_id);
    expect((await edge.post(pathOf(workflow_id, "/gate"), decision)).body).toEqual(told.body);
    const other = await edge.post(pathOf(workflow_id, "/gate"), { ...decision, decision: "reject" });
    expect([other.status, codeOf(other)]).toEqual([409, "T5_GATE_CONFLICT"]);
  });

  it("[CARD-17] deciding over HTTP leaves the events that deciding in process leaves", async () => {
    const decision = { gate_id: "gate-publish", decision: "approve", payload: { comment: "good" } } as const;
    const ui_actions = [{ action: "open_editor", label: "Edit the note", payload: { field: "text" } }];
    const capability = () => publishing({}, { uiActions: { publish: ui_actions } }).capability;
    const play = async (overHttp: boolean) => {
      await using edge = await openEdge({ capabilities: [capability()] });
      const { t } = edge;
      const accepted = overHttp ? (await edge.post<{ workflow_id: string }>(submitPath, hint)).body : null;
      const workflow_id = accepted?.workflow_id ?? (await t.submit(intent));
      await t.rest(workflow_id);
      const gates = overHttp
        ? (await edge.ask<{ gates: unknown[] }>("/v1/kernel/gates")).body.gates
        : await t.kernel.gates({}, testCaller);
      expect(withoutIds(gates)).toMatchObject([{ gate_id: "gate-publish", status: "open", ui_actions }]);
      if (overHttp) await edge.post(pathOf(workflow_id, "/gate"), decision);
      else await t.kernel.decideGate(workflow_id, { ...testCaller, ...decision });
      expect((await t.rest(workflow_id)).state).toBe("completed");
      return withoutIds(await eventsOf(t, workflow_id));
    };
    expect(await play(true)).toEqual(await play(false));
  });

  it("[API-03] its outcomes, state, trace, explanation and events are read as in process", async () => {
    await using edge = await openEdge(publish());
    const { kernel } = edge.t;
    const { workflow_id: id } = await edge.t.run(intent);
    const plain = (value: unknown) => JSON.parse(JSON.stringify(value)) as unknown;
    for (const [path, expected] of [
      ["/outcomes", await kernel.outcomes(id)],
      ["", await kernel.workflow(id, testCaller)],
      ["/trace", await kernel.trace(id)],
      ["/explain", await kernel.explain(id)],
      ["/events", { workflow_id: id, events: await eventsOf(edge.t, id), next: null }],
    ] as const) {
      const told = await edge.ask(pathOf(id, path));
      expect([path, told.status, told.body]).toEqual([path, 200, plain(expected)]);
    }
  });

  it("[API-03] an unknown workflow and another tenant's are refused alike", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id: id } = await edge.t.run(intent);
    const blank = `${id.slice(0, -4)}ZZZZ`;
    for (const path of ["", "/outcomes", "/trace", "/explain", "/events"]) {
      const [foreign, unknown] = [
        await edge.ask(pathOf(id, path), { as: "foreign" }),
        await edge.ask(pathOf(blank, path), { as: "foreign" }),
      ];
      expect([path, foreign.status, codeOf(foreign)]).toEqual([path, 404, "T4_WORKFLOW_NOT_FOUND"]);
      const problem = (told: typeof foreign) => JSON.stringify({ ...told.body, instance: "" }).replaceAll(blank, id);
      expect(problem(foreign)).toBe(problem(unknown));
    }
  });

  it("[API-04] a retry runs what failed and what never ran, under the same correlation", async () => {
    const first = counted("Story.First");
    let broken = true;
    const second = counted("Story.Second", {}, () => {
      if (!broken) return { done: true };
      throw operatorError({ code: "DOWN", category: "dependency", message: "down" });
    });
    const steps = [step("a", first), step("b", second, { depends_on: ["a"] })];
    await using edge = await openEdge({ capabilities: [story([first, second], steps)] });
    const { workflow_id, correlation_id, state } = await edge.t.run(intent);
    expect(state).toBe("failed");
    broken = false;
    const failed = second.calls.length;
    const told = await edge.post(pathOf(workflow_id, "/retry"), { ...testCaller, mode: "resume_failed_steps" });
    expect(told).toMatchObject({ status: 200, body: { workflow_id, status: "restarted", correlation_id } });
    expect((await edge.t.rest(workflow_id)).state).toBe("completed");
    expect([first.calls.length, second.calls.length]).toEqual([1, failed + 1]);
  });

  it("[API-05] a retry keeps intent and keys; regenerating raises the draft version and changes keys", async () => {
    await using edge = await openEdge(publish());
    const { kernel } = edge.t;
    const { workflow_id, intent: before } = await edge.t.run(intent);
    const keys = async (id: string) => (await kernel.actions(id)).map((action) => action.idempotency_key);
    const first = await keys(workflow_id);
    const told = await edge.post<{ workflow_id: string }>(pathOf(workflow_id, "/retry"), { mode: "regenerate" });
    expect(told.status).toBe(200);
    const again = await edge.t.rest(told.body.workflow_id);
    expect(again.intent.intent_id).toBe(before.intent_id);
    expect(again.outcomes.at(-1)?.draft_version).toBe(2);
    expect((await keys(told.body.workflow_id)).at(-1)).not.toBe(first.at(-1));
  });

  it("is cancelled, and cancelling without a body does as well", async () => {
    await using edge = await openEdge(publish());
    const { workflow_id } = await edge.t.run(intent);
    const told = await edge.ask(pathOf(workflow_id, "/cancel"), { method: "POST" });
    expect(told).toMatchObject({ status: 200, body: { workflow_id, status: "cancelled" } });
  });
});

describe("lists", () => {
  it("are pages in a stable order that lose and repeat nothing", async () => {
    await using edge = await openEdge({ capabilities: [gatedSteps(2).capability] });
    const ids: string[] = [];
    for (let i = 0; i < 5; i += 1) ids.push((await edge.t.run(intent)).workflow_id);
    const seen: string[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const page: { workflows: { workflow_id: string }[]; next: string | null } = (
        await edge.ask<{ workflows: { workflow_id: string }[]; next: string | null }>(
          `/v1/kernel/workflows?limit=2&state=waiting_for_user&intent_type=${intent}${next && `&after=${next}`}`,
        )
      ).body;
      seen.push(...page.workflows.map((one) => one.workflow_id));
      next = page.next;
    }
    expect(seen).toEqual(ids.toReversed());
    const gates = await edge.ask<{ gates: unknown[]; next: string }>("/v1/kernel/gates?limit=3");
    const rest = await edge.ask<{ gates: unknown[] }>(`/v1/kernel/gates?limit=100&after=${gates.body.next}`);
    expect([gates.body.gates.length, rest.body.gates.length]).toEqual([3, 7]);
    const events = await edge.ask<{ events: { sequence: number }[]; next: number }>(
      `${pathOf(ids[0] as string, "/events")}?limit=3&after=2`,
    );
    expect(events.body.events.map((event) => event.sequence)).toEqual([3, 4, 5]);
    expect(events.body.next).toBe(5);
    expect((await edge.ask<{ workflows: [] }>("/v1/kernel/workflows", { as: "foreign" })).body.workflows).toEqual([]);
  });

  it.each(["limit=0", "limit=501", "limit=x", "state=asleep"])("a filter %s is refused", async (query) => {
    await using edge = await openEdge();
    expect((await edge.ask(`/v1/kernel/workflows?${query}`)).status).toBe(400);
  });
});

describe("the process", () => {
  it("is healthy while it lives and ready while its kernel serves; both tell anybody", async () => {
    const edge = await openEdge();
    expect((await edge.ask("/health", { as: null })).body).toEqual({ status: "ok" });
    expect((await edge.ask("/ready", { as: null })).status).toBe(200);
    await edge.t.kernel.stop({ drainMs: 0 });
    expect(await edge.ask("/ready", { as: null })).toMatchObject({
      status: 503,
      body: { status: "unavailable", code: "T0_KERNEL_STOPPED" },
    });
    expect((await edge.ask("/health", { as: null })).status).toBe(200);
    const stopped = await edge.post(submitPath, hint);
    expect([stopped.status, codeOf(stopped)]).toEqual([503, "T0_KERNEL_STOPPED"]);
  });

  it("is not ready if its ledger cannot be written or is too slow to answer; it is still healthy", async () => {
    let check = () => Promise.resolve();
    await using edge = await openEdge({ ledger: { ...sqliteLedger({}), check: () => check() } });
    const ready = async () => (await edge.ask("/ready", { as: null })).body;
    expect(await ready()).toEqual({ status: "ready", places_taken: 0, submits_waiting: 0 });
    check = () =>
      Promise.reject(
        new KernelErrorException(kernelError("T0_LEDGER_READ_ONLY", "read only", moduleRef(0, "test", "check"))),
      );
    expect(await ready()).toEqual({ status: "unavailable", code: "T0_LEDGER_READ_ONLY" });
    const mute = Promise.withResolvers<void>();
    check = () => mute.promise;
    const asked = ready();
    await edge.t.clock.advance(2_000);
    expect(await asked).toEqual({ status: "unavailable", code: "T0_LEDGER_UNAVAILABLE" });
    expect((await edge.ask("/health", { as: null })).status).toBe(200);
    check = () => Promise.resolve();
    mute.resolve();
    expect(await ready()).toEqual({ status: "ready", places_taken: 0, submits_waiting: 0 });
  });

  it("an address that is not there is unknown", async () => {
    await using edge = await openEdge();
    const told = await edge.ask("/v2/kernel/submit");
    expect([told.status, codeOf(told)]).toEqual([404, "T0_HTTP_ROUTE_UNKNOWN"]);
  });

  it("an address with other methods names them; OPTIONS lists them, HEAD is GET without its body", async () => {
    await using edge = await openEdge();
    for (const [method, path, allow] of [
      ["GET", submitPath, "POST, OPTIONS"],
      ["PATCH", "/v1/kernel/gates", "GET, HEAD, OPTIONS"],
      ["DELETE", "/health", "GET, HEAD, OPTIONS"],
    ] as const) {
      const told = await edge.ask(path, { method });
      expect([told.status, codeOf(told), told.headers.get("allow")]).toEqual([
        405,
        "T0_HTTP_METHOD_NOT_ALLOWED",
        allow,
      ]);
      const asked = await edge.ask(path, { method: "OPTIONS" });
      expect([asked.status, asked.headers.get("allow"), asked.body]).toEqual([204, allow, {}]);
    }
    const head = await edge.fetch("/v1/kernel/gates", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
  });

  it("(C-35) Retry-After is sent where another attempt may help, and never below 0", async () => {
    await using edge = await openEdge({ ...publish(), limits: { maxInFlight: 1, maxWaitingSubmits: 0 } });
    await edge.t.submit(intent);
    const busy = await edge.post(submitPath, hint);
    expect([busy.status, busy.headers.get("retry-after")]).toEqual([429, "1"]);
    const refused = await edge.post(submitPath, hint, "stranger");
    expect([refused.status, refused.headers.has("retry-after")]).toEqual([401, false]);
  });
});
