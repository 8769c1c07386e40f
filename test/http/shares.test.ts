/**
 * What one reader or principal may take of an API and a kernel that others use too: reads, unread answers, streams, and
 * workflows that run.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createReadTurns } from "../../src/faces/http/read-turns.ts";
import { defineCapability, defineOperator } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { counted, refusalOf } from "../fixtures.ts";
import { publishing } from "../gates/story.ts";
import { codeOf, openEdge, pathOf } from "./edge-fixture.ts";

const never = (): Promise<never> => new Promise(() => undefined);
const callerOf = (id: string, tenant_id = 1) => ({ tenant_id, principal: { type: "user", id, role: "user" } });

/** A workflow whose ledger has events of this many characters. */
function talker(chars: number) {
  const operator = defineOperator({
    name: "Big.Talk",
    effect: "none",
    input: z.object({}),
    run: () => ({ text: "x".repeat(chars) }),
  });
  const steps = ["a", "b", "c", "d"].map((step_id) => ({ step_id, name: step_id, operator: "Big.Talk" }));
  return defineCapability({
    intentType: "Big.Talk",
    version: "1.0",
    input: z.object({}),
    operators: [operator],
    plan: { reasoning: "talks", steps },
  });
}

interface Page {
  readonly events: readonly { readonly sequence: number }[];
  readonly next: number | null;
}

describe("a page of events", () => {
  it("is bounded in characters, has one event at least, and the pages together have every event once", async () => {
    await using edge = await openEdge({ capabilities: [talker(30_000)] }, { limits: { maxPageChars: 40_000 } });
    const { workflow_id, sequence } = await edge.t.run("Big.Talk");
    const seen: number[] = [];
    let pages = 0;
    for (let after: number | null = 0; after !== null; pages += 1) {
      const response = await edge.fetch(pathOf(workflow_id, `/events?limit=500&after=${after}`));
      const text = await response.text();
      const { events, next } = JSON.parse(text) as Page;
      expect(events.length).toBeGreaterThan(0);
      if (events.length > 1) expect(text.length).toBeLessThan(41_000);
      seen.push(...events.map((event) => event.sequence));
      after = next;
    }
    expect(pages).toBeGreaterThan(4);
    expect(seen).toEqual(Array.from({ length: sequence }, (_, i) => i + 1));
  });

  it("is bounded over JSON-RPC as well", async () => {
    await using edge = await openEdge({ capabilities: [talker(30_000)] }, { limits: { maxPageChars: 40_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const params = { workflow_id, limit: 500 };
    const { body } = await edge.post<{ result: Page }>("/rpc", {
      jsonrpc: "2.0",
      id: 1,
      method: "kernel/events",
      params,
    });
    expect(JSON.stringify(body).length).toBeLessThan(80_000);
    expect(body.result.next).not.toBeNull();
  });
});

describe("an answer that nobody reads", () => {
  const big = { capabilities: [talker(100_000)] };

  it("is counted while it is held: a caller's further ones are refused, others are answered", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytesPerCaller: 500_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const path = pathOf(workflow_id);
    const held = await edge.fetch(path);
    expect(held.status).toBe(200);
    const refused = await edge.ask(path);
    expect([refused.status, codeOf(refused)]).toEqual([429, "T0_HTTP_CALLER_UNREAD_LIMIT"]);
    expect((await edge.ask(path, { as: "support" })).status).toBe(200);
    const text = await held.text();
    expect(JSON.parse(text)).toMatchObject({ workflow_id, state: "completed" });
    expect((await edge.ask(path)).status).toBe(200);
  });

  it("is refused beyond what all may leave unread together", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytes: 500_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const held = await edge.fetch(pathOf(workflow_id));
    const refused = await edge.ask(pathOf(workflow_id), { as: "support" });
    expect([refused.status, codeOf(refused)]).toEqual([503, "T0_HTTP_UNREAD_LIMIT"]);
    await held.body?.cancel();
    expect((await edge.ask(pathOf(workflow_id), { as: "support" })).status).toBe(200);
  });

  it("is cut off after maxStallMs without a piece taken, and its bytes are free", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytesPerCaller: 500_000, maxStallMs: 1_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const held = await edge.fetch(pathOf(workflow_id));
    const reader = held.body?.getReader();
    await reader?.read();
    await edge.t.clock.advance(999);
    expect((await edge.ask(pathOf(workflow_id))).status).toBe(429);
    await edge.t.clock.advance(1_000);
    expect((await edge.ask(pathOf(workflow_id))).status).toBe(200);
    const readOn = async (): Promise<void> => {
      for (let next = await reader?.read(); next?.done === false; ) next = await reader?.read();
    };
    await expect(readOn()).rejects.toThrow("took nothing for 1000 ms");
  });

  it("to a batch of JSON-RPC is bounded too: messages beyond a caller's unread limit are refused", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytesPerCaller: 900_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const batch = [1, 2, 3, 4].map((id) => ({
      jsonrpc: "2.0",
      id,
      method: "kernel/workflow",
      params: { workflow_id },
    }));
    const { body } = await edge.post<readonly { readonly id: number }[]>("/rpc", batch);
    expect(body.map((answer) => [answer.id, JSON.stringify(answer).includes("T0_HTTP_CALLER_UNREAD_LIMIT")])).toEqual([
      [1, false],
      [2, false],
      [3, true],
      [4, true],
    ]);
  });

  it("to HEAD holds nothing", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytesPerCaller: 500_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    for (let i = 0; i < 3; i += 1) expect((await edge.fetch(pathOf(workflow_id), { method: "HEAD" })).status).toBe(200);
    expect((await edge.ask(pathOf(workflow_id))).status).toBe(200);
  });
});

describe("reads", () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it("of callers take turns: one of another waits for no more than what runs", async () => {
    const turns = createReadTurns({ maxReads: 1, maxReadsPerCaller: 1, maxWaitingReadsPerCaller: 100 });
    const order: string[] = [];
    const read = (who: string) => turns.run(callerOf(who), () => void order.push(who));
    await Promise.all([...Array.from({ length: 5 }, () => read("greedy")), read("ann"), read("bo")]);
    expect(order).toEqual(["greedy", "ann", "bo", "greedy", "greedy", "greedy", "greedy"]);
  });

  it("of one caller leave the event loop to others between them", async () => {
    const turns = createReadTurns({ maxReads: 8, maxReadsPerCaller: 2, maxWaitingReadsPerCaller: 100 });
    let done = 0;
    const count = (): void => {
      done += 1;
    };
    const all = Array.from({ length: 20 }, () => turns.run(callerOf("greedy"), count));
    const seen: number[] = [];
    while (done < 20) {
      await turn();
      seen.push(done);
    }
    await Promise.all(all);
    expect(seen.length).toBeGreaterThan(8);
  });

  it("of one caller in sequence are in one round of the event loop no more than may run at once", async () => {
    const turns = createReadTurns({ maxReads: 8, maxReadsPerCaller: 2, maxWaitingReadsPerCaller: 100 });
    let done = 0;
    for (let i = 0; i < 20; i += 1) {
      void turns.run(callerOf("greedy"), () => {
        done += 1;
      });
      for (let ticks = 0; ticks < 10; ticks += 1) await Promise.resolve();
    }
    expect(done).toBe(2);
    let others = 0;
    await turns.run(callerOf("ann"), () => {
      others = done;
    });
    expect(others).toBe(2);
    while (done < 20) await turn();
  });

  it("that fail give their turn back", async () => {
    const turns = createReadTurns({ maxReads: 1, maxReadsPerCaller: 1, maxWaitingReadsPerCaller: 1 });
    const fail = () => turns.run(callerOf("ann"), () => Promise.reject(new Error("no")));
    await expect(fail()).rejects.toThrow("no");
    await expect(fail()).rejects.toThrow("no");
    expect(await turns.run(callerOf("ann"), () => 1)).toBe(1);
  });

  it("of one caller beyond the waiting limit are refused over HTTP and JSON-RPC; others' are not", async () => {
    const gate = Promise.withResolvers<void>();
    await using edge = await openEdge({}, { limits: { maxReadsPerCaller: 1, maxWaitingReadsPerCaller: 1 } });
    const { kernel } = edge.t;
    const list = kernel.workflows;
    Object.assign(kernel, {
      workflows: async (...given: Parameters<typeof list>) => {
        if (given[1]?.principal.id === 1) await gate.promise;
        return list(...given);
      },
    });
    const path = "/v1/kernel/workflows";
    const [first, second] = [edge.ask(path), edge.ask(path)];
    await turn();
    const third = await edge.ask(path);
    expect([third.status, codeOf(third)]).toEqual([429, "T0_HTTP_CALLER_READ_LIMIT"]);
    const call = { jsonrpc: "2.0", id: 1, method: "kernel/workflows" };
    expect(JSON.stringify((await edge.post("/rpc", call)).body)).toContain("T0_HTTP_CALLER_READ_LIMIT");
    expect((await edge.ask(path, { as: "support" })).status).toBe(200);
    gate.resolve();
    expect([(await first).status, (await second).status]).toEqual([200, 200]);
  });
});

describe("streams", () => {
  it("of one tenant are at most its share; another tenant finds a place", async () => {
    const limits = { maxStreams: 3, maxStreamsPerTenant: 2 };
    await using edge = await openEdge({ capabilities: [publishing().capability] }, { limits });
    const open = (as: string) => edge.fetch("/v1/kernel/stream/feed", { as });
    const held = [await open("own"), await open("support")];
    const refused = await edge.ask("/v1/kernel/stream/feed", { as: "admin" });
    expect([refused.status, codeOf(refused)]).toEqual([429, "T0_HTTP_TENANT_STREAM_LIMIT"]);
    const foreign = await open("foreign");
    expect(foreign.status).toBe(200);
    for (const { body } of [...held, foreign]) await body?.cancel();
  });
});

describe("streams of large messages", () => {
  const big = { capabilities: [talker(100_000)] };
  const eventsOf = (id: string) => `/v1/kernel/stream/${id}/events`;

  it("go on beside an answer that somebody leaves unread, and beside a stream of another", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadBytes: 500_000, maxUnreadStreamBytesPerCaller: 1 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const answer = await edge.fetch(pathOf(workflow_id));
    const unread = await edge.fetch(eventsOf(workflow_id), { as: "admin" });
    const read = await edge.fetch(eventsOf(workflow_id), { as: "support" });
    expect(await read.text()).toContain("WORKFLOW_COMPLETED");
    await answer.body?.cancel();
    await unread.body?.cancel();
  });

  it("do not open beyond what all may leave unread: 503 and Retry-After, until somebody has read", async () => {
    await using edge = await openEdge(big, { limits: { maxUnreadStreamBytes: 150_000 } });
    const { workflow_id } = await edge.t.run("Big.Talk");
    const { events } = (
      await edge.ask<{ events: { sequence: number; event_type: string }[] }>(pathOf(workflow_id, "/events"))
    ).body;
    const large = events.filter((event) => JSON.stringify(event).length > 100_000);
    const [first, second] = large.map(({ sequence }) => `${eventsOf(workflow_id)}?after=${sequence - 1}`);
    const held = await edge.fetch(first as string, { as: "admin" });
    const same = await edge.fetch(first as string, { as: "support" });
    expect(same.status).toBe(200);
    await same.body?.cancel();
    const refused = await edge.ask(second as string, { as: "support" });
    expect([refused.status, codeOf(refused), refused.headers.get("retry-after")]).toEqual([
      503,
      "T0_HTTP_UNREAD_LIMIT",
      "1",
    ]);
    await held.body?.cancel();
    const again = await edge.fetch(second as string, { as: "support" });
    expect(await again.text()).toContain("WORKFLOW_COMPLETED");
  });

  it("end before a message that is too large; they give its address, and continue behind it", async () => {
    await using edge = await openEdge(big, { limits: { maxStreamMessageBytes: 50_000 } });
    const { workflow_id, sequence } = await edge.t.run("Big.Talk");
    const seen: number[] = [];
    let refusals = 0;
    for (let status = 200; status !== 204; ) {
      const after = seen.at(-1) ?? 0;
      const response = await edge.fetch(`${eventsOf(workflow_id)}?after=${after}`);
      const text = await response.text();
      status = response.status;
      seen.push(...[...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)));
      if (status !== 503) continue;
      refusals += 1;
      expect(text).toContain("T0_HTTP_MESSAGE_TOO_LARGE");
      expect(response.headers.has("retry-after")).toBe(false);
      const page = await edge.ask<Page>(pathOf(workflow_id, `/events?after=${after}&limit=1`));
      seen.push(...page.body.events.map(({ sequence }) => sequence));
    }
    expect(refusals).toBeGreaterThan(3);
    expect(seen).toEqual(Array.from({ length: sequence }, (_, i) => i + 1));
  });
});

describe("workflows that run", () => {
  const stuck = () => {
    const operator = counted("T.Stuck", { effect: "none", timeoutSec: 3600 }, never);
    return defineCapability({
      intentType: "T.Job",
      version: "1.0",
      input: z.object({}),
      operators: [operator.operator],
      plan: { reasoning: "waits", steps: [{ step_id: "s", name: "s", operator: "T.Stuck" }] },
    });
  };

  it("of one principal, and of one tenant, take no more than their share of all places", async () => {
    await using t = await createTestKernel({
      capabilities: [stuck()],
      limits: { maxInFlight: 8, maxWaitingSubmits: 0 },
    });
    const submit = (id: string, tenant = 1) => t.submit("T.Job", {}, callerOf(id, tenant));
    const ids: string[] = [];
    for (let i = 0; i < 4; i += 1) ids.push(await submit("ann"));
    const refused = await refusalOf(submit("ann"));
    expect(refused).toMatchObject({ code: "T7_SPAWN_SHARE_EXCEEDED", retry_eligible: true });
    expect(refused.message).toContain("limits.inFlightPrincipalPercent = 50");
    for (let i = 0; i < 2; i += 1) await submit("bo");
    expect((await refusalOf(submit("cy"))).message).toContain("limits.inFlightTenantPercent = 75");
    await submit("dee", 2);
    await t.kernel.cancel(ids[0] as string, { ...callerOf("ann"), reason: "enough" });
    await t.clock.settle();
    await submit("ann");
    await submit("dee", 2);
    expect((await refusalOf(submit("eve", 3))).code).toBe("T7_SPAWN_INSUFFICIENT_RESOURCES");
  });

  it("may all be one principal's where the host says so", async () => {
    const limits = { maxInFlight: 4, maxWaitingSubmits: 0, inFlightTenantPercent: 100, inFlightPrincipalPercent: 100 };
    await using t = await createTestKernel({ capabilities: [stuck()], limits });
    for (let i = 0; i < 4; i += 1) await t.submit("T.Job");
    expect((await refusalOf(t.submit("T.Job"))).code).toBe("T7_SPAWN_INSUFFICIENT_RESOURCES");
  });
});
