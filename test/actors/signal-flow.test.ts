/** The way of one request through the tiers, as the bus shows it. */
import { describe, expect, it } from "vitest";
import type { Signal } from "../../src/contract/signal.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { errand, intentType, isDelivery, oneStep, operator, patchDoors, step, tool } from "./fixture.ts";

const spoken = { input: { text: "an errand, please" } };
const fileTool = () => {
  const client = { request: async () => ({ content: [{ type: "file", data: "aGVsbG8=", mimeType: "text/plain" }] }) };
  return errand([step("s1", "Test.Fetch")], [tool("Test.Fetch", client)]);
};

/** Every Signal of the bus in publication order, each once. */
function publishedOf(t: TestKernel): readonly Signal[] {
  const all = t.items.flatMap((item) => (isDelivery(item) ? [item.signal] : item.result.signals));
  return [...new Set(all)];
}

/** `from → to` of every hop: who made the Signal, what it is, and who got it; answers go back to the asker. */
function hopsOf(t: TestKernel): readonly string[] {
  const askers = new Map<string, number>();
  return t.items.flatMap((item) => {
    if (!isDelivery(item)) {
      const to = askers.get(item.in_reply_to);
      return item.result.signals.map((signal) => `T${item.from} ${nameOf(signal)} → T${to}`);
    }
    if (item.reply === item.signal.id) askers.set(item.reply, item.signal.origin.tier);
    return [`T${item.signal.origin.tier} ${nameOf(item.signal)} → T${item.to}`];
  });
}

function nameOf({ kind, body }: Signal): string {
  if (kind === "data") return `DATA ${body["schema"]}`;
  return kind === "command" ? `COMMAND ${body["action"]}` : kind.toUpperCase();
}

/** Whether these appear in this order, with anything between. */
function firstMissing(all: readonly string[], wanted: readonly string[]): string | null {
  let at = -1;
  for (const one of wanted) {
    at = all.indexOf(one, at + 1);
    if (at === -1) return one;
  }
  return null;
}

describe("the path of a request", () => {
  it("[CARD-07] can be told from origin.tier of the published Signals alone", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    const path: number[] = [];
    t.kernel.bus.signals.subscribe(({ origin }) => path.at(-1) !== origin.tier && path.push(origin.tier));
    await t.run(intentType, {}, spoken);
    const told = path.map((tier) => `T${tier}`);
    const expected = [
      "T0",
      "T1",
      "T0",
      "T1",
      "T6",
      "T4",
      "T7",
      "T4",
      "T2",
      "T4",
      "T5",
      "T4",
      "T3",
      "T4",
      "T0",
      "T4",
      "T6",
    ];
    expect(firstMissing(told, expected), told.join(" ")).toBeNull();
  });

  it("[SIG-24] is the eight hops of the seed, in their order", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    await t.run(intentType, {}, spoken);
    const hops = hopsOf(t);
    const wanted = [
      "T0 TEXT → T1",
      "T1 DATA NormalizedIntent → T6",
      "T6 COMMAND activate → T4",
      "T4 DATA PlanRequest → T3",
      "T3 DATA Plan → T4",
      "T4 DATA ToolCall → T0",
      "T0 FILE → T4",
      "T4 TEXT → T6",
      "T6 TEXT → T4",
    ];
    expect(firstMissing(hops, wanted), hops.join("\n")).toBeNull();
  });

  it("[SIG-24] each hop carries what the seed says: intent, domain, pipeline, objective, entities, graph", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    const { workflow_id } = await t.run(intentType, {}, spoken);
    const bodies = new Map(publishedOf(t).map((signal) => [nameOf(signal), signal.body]));
    const inside = (name: string) => bodies.get(name)?.["data"];
    expect(inside("DATA NormalizedIntent")).toMatchObject({ intent: { type: intentType }, domain: "test" });
    expect(bodies.get("COMMAND activate")).toMatchObject({ pipeline: expect.any(String) });
    expect(inside("DATA PlanRequest")).toMatchObject({ objective: spoken.input.text, bundle: { entities: [] } });
    expect(inside("DATA Plan")).toMatchObject({ plan: { steps: [{ step_id: "s1", depends_on: [] }] } });
    const shown = publishedOf(t).findLast((signal) => signal.kind === "text");
    expect(Object.keys(shown?.tags ?? {})).toEqual(expect.arrayContaining(["confidence", "grounding"]));
    expect((await t.kernel.workflow(workflow_id)).response.text).toBe(shown?.body["text"]);
  });

  it("[RPC-16] an activation is one message, the same object from T6's router over T5 to T4", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    await t.run(intentType);
    const activations = t.items.filter(isDelivery).filter((item) => nameOf(item.signal) === "COMMAND activate");
    expect(activations.map(({ to, signal }) => [to, signal.origin.tier])).toEqual([
      [5, 6],
      [4, 6],
    ]);
    const [atFive, atFour] = activations;
    expect(atFour?.signal.id).toBe(atFive?.signal.id);
    expect(atFour?.signal).toBe(atFive?.signal);
    expect(Object.isFrozen(atFour?.signal.body)).toBe(true);
  });
});

describe("what Signals of a request have in common", () => {
  it("[SIG-07] one trace id, which is the workflow's correlation id", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    const { workflow_id } = await t.run(intentType, {}, spoken);
    const { correlation_id } = await t.kernel.workflow(workflow_id);
    expect([...new Set(publishedOf(t).map((signal) => signal.trace_id))]).toEqual([correlation_id]);
  });

  it("[SIG-06] from the last outbound Signal the parents lead back to the one made of the request", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    await t.run(intentType, {}, spoken);
    const byId = new Map(publishedOf(t).map((signal) => [signal.id, signal]));
    const chain: Signal[] = [];
    let at = [...byId.values()].findLast((signal) => signal.kind === "text");
    for (; at !== undefined; at = byId.get(at.parent_id ?? "")) chain.push(at);
    expect(chain[0]?.origin.tier).toBe(6);
    expect(chain.at(-1)).toMatchObject({ kind: "text", body: spoken.input, parent_id: null, origin: { tier: 0 } });
    expect(chain.at(-1)?.tags["source_type"]).toBe("user");
    const strays = [...byId.values()].filter(({ parent_id }) => parent_id !== null && !byId.has(parent_id));
    expect(strays.map(nameOf)).toEqual([]);
  });

  it("[SIG-05] nothing a tier is given is changed by it, and assigning to it fails", async () => {
    const before = new Map<Signal, string>();
    const changed: string[] = [];
    const patchTier = patchDoors((door, tier, key) => ({
      ...door,
      handle: async (signal, runtime) => {
        before.set(signal, before.get(signal) ?? JSON.stringify(signal));
        const result = await door.handle(signal, runtime);
        if (JSON.stringify(signal) !== before.get(signal)) changed.push(`T${tier} ${key}`);
        return result;
      },
    }));
    await using t = await createTestKernel({ capabilities: [fileTool()], patchTier });
    expect((await t.run(intentType, { deep: { list: [1] } }, spoken)).state).toBe("completed");
    expect(before.size).toBeGreaterThan(10);
    expect(changed).toEqual([]);
    const plan = publishedOf(t).find((signal) => nameOf(signal) === "DATA Plan") as Signal;
    const writable = plan as unknown as {
      kind: string;
      tags: { x: string };
      body: { data: { plan: { steps: object[] } } };
    };
    expect(() => (writable.kind = "text")).toThrow(TypeError);
    expect(() => (writable.tags.x = "y")).toThrow(TypeError);
    expect(() => writable.body.data.plan.steps.push({})).toThrow(TypeError);
  });
});

describe("who produces what", () => {
  it("[SIG-25] a tool's file is announced by T4, and the final text comes from T6", async () => {
    await using t = await createTestKernel({ capabilities: [fileTool()] });
    await t.run(intentType, {}, spoken);
    const files = t.items.filter(isDelivery).filter(({ signal }) => signal.kind === "file");
    expect(files.map(({ to, signal }) => [to, signal.origin.tier])).toEqual([[6, 4]]);
    expect(files[0]?.signal.body).toMatchObject({
      file_type: "text/plain",
      file_id: expect.stringMatching(/^sha256-/),
    });
    expect(JSON.stringify(files[0]?.signal)).not.toContain("aGVsbG8=");
    const texts = publishedOf(t).filter((signal) => signal.kind === "text");
    expect(texts.map((signal) => signal.origin.tier)).toEqual([0, 4, 6]);
  });

  it("what an operator streams leaves T4 as STREAM Signals in sequence, the last one final or not at all", async () => {
    const talk = operator("Test.Talk", async ({ stream }) => {
      stream("one ");
      stream("two");
      return "said";
    });
    await using t = await createTestKernel({ capabilities: [errand([step("s1", "Test.Talk")], [talk])] });
    await t.run(intentType);
    const streams = publishedOf(t).filter((signal) => signal.kind === "stream");
    expect(streams.map((signal) => signal.body["chunk"]).join("")).toBe("one two");
    expect(new Set(streams.map((signal) => signal.origin.tier))).toEqual(new Set([4]));
  });
});
