/**
 * The standard tags: who writes them, with which values, and what their readers decide by them (seed 000, tag
 * conventions).
 */
import { describe, expect, it } from "vitest";
import { createSignal, createTextSignal, type Signal } from "../../src/contract/signal.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { errand, eventsOf, intentType, isAnswer, isDelivery, oneStep, step, testRef, tool } from "./fixture.ts";

const says = (text: string) => ({ input: { text } });
const deliveriesTo = (t: TestKernel, tier: number): readonly Signal[] =>
  t.items.filter(isDelivery).flatMap(({ to, signal }) => (to === tier ? [signal] : []));
const activation = (t: TestKernel): Signal | undefined =>
  deliveriesTo(t, 4).find(({ body }) => body["action"] === "activate");

describe("writers", () => {
  it.each([
    ["an errand, whenever", "low"],
    ["an errand", "normal"],
    ["an errand, urgent", "high"],
    ["an errand, it is an outage", "critical"],
  ])("[SIG-11] T1 marks %j with urgency %s, and with a domain", async (text, urgency) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    await t.run(intentType, {}, says(text));
    const [normalized] = deliveriesTo(t, 6);
    expect(normalized).toMatchObject({ origin: { tier: 1 }, tags: { urgency, domain: "test" } });
  });

  it.each([
    ["trivial", 5],
    ["simple", 100],
    ["moderate", 1000],
    ["complex", 5000],
  ])("[SIG-11] T6's router marks an activation with complexity %s", async (complexity, size) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    await t.run(intentType, {}, says("e".repeat(size)));
    expect(activation(t)).toMatchObject({ origin: { tier: 6, module: "activation_router" }, tags: { complexity } });
  });

  it("[SIG-11] T6 marks the final text with confidence and grounding as numbers from 0 to 1", async () => {
    const scorers = { confidence: () => 0.75, grounding: () => 0.9 };
    await using t = await createTestKernel({ capabilities: [oneStep()], scorers });
    const { workflow_id } = await t.run(intentType);
    const judged = t.items.filter(isAnswer).findLast(({ from }) => from === 6)?.result.signals[0];
    expect(judged?.tags).toMatchObject({ confidence: "0.75", grounding: "0.9" });
    const last = (await eventsOf(t, workflow_id)).at(-1);
    expect(last?.payload).toMatchObject({ confidence: "0.75", grounding: "0.9" });
  });

  it("[SIG-11] source_type is user for a request, tool for a tool's result, system for kernel errors", async () => {
    const client = { request: async () => ({ content: [{ type: "text", text: "hi" }], isError: true }) };
    await using t = await createTestKernel({
      capabilities: [errand([step("s1", "Test.Get")], [tool("Test.Get", client)])],
      limits: { maxReplans: 0 },
    });
    await t.run(intentType, {}, says("an errand"));
    const all = t.items.flatMap((item) => (isDelivery(item) ? [item.signal] : item.result.signals));
    const sources = all.filter(({ tags }) => "source_type" in tags);
    const seen = sources.map(({ origin, kind, tags }) => `T${origin.tier} ${kind} ${tags["source_type"]}`);
    expect(seen).toEqual(expect.arrayContaining(["T0 text user", "T0 data user", "T0 text tool", "T4 data system"]));
  });

  it.each([
    ["urgency", "panic"],
    ["complexity", "enormous"],
    ["source_type", "alien"],
    ["confidence", "1.2"],
    ["confidence", "-0.1"],
    ["grounding", "most of it"],
  ])("[SIG-11] %s = %j is refused where the Signal is made", (tag, value) => {
    expect(() => createTextSignal("hi", testRef, "cor_test", { [tag]: value })).toThrow(
      /T0_VALIDATION_SCHEMA_MISMATCH/,
    );
  });
});

const second = { workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZZZZ", trace_id: "cor_01KDVDNA0047C4FEZDQK8YZZZZ" };

/** What is decided about a normalised intent with these tags: its pipeline, and the tiers it passes. */
async function decidedFor(tags: Readonly<Record<string, string>>): Promise<string> {
  await using t = await createTestKernel({ capabilities: [oneStep()] });
  await t.run(intentType, {}, says("an errand"));
  const { body, origin } = deliveriesTo(t, 6)[0] as Signal;
  const again = { data: { ...(body["data"] as object), workflow_id: second.workflow_id }, schema: "NormalizedIntent" };
  const result = await t.kernel.ask(6, createSignal("data", again, origin, second.trace_id, tags));
  expect(result.status).toBe("ok");
  await t.rest(second.workflow_id);
  const passed = t.items.filter(isDelivery).filter(({ signal }) => signal.trace_id === second.trace_id);
  const routed = deliveriesTo(t, 4).findLast(({ kind }) => kind === "command");
  return JSON.stringify([routed?.body["pipeline"], passed.map(({ to }) => to)]);
}

describe("readers", () => {
  it("[SIG-11] T6's router decides by urgency", async () => {
    expect(await decidedFor({ urgency: "critical", domain: "code" })).not.toBe(
      await decidedFor({ urgency: "low", domain: "code" }),
    );
  });

  it("[SIG-11] T6's router or T7 decides by domain", async () => {
    expect(await decidedFor({ urgency: "low", domain: "finance" })).not.toBe(
      await decidedFor({ urgency: "low", domain: "code" }),
    );
  });

  it("[SIG-11] T4 decides by complexity: a trivial request does not take the way of a complex one", async () => {
    const wayOf = async (size: number): Promise<readonly number[]> => {
      await using t = await createTestKernel({ capabilities: [oneStep()] });
      await t.run(intentType, {}, says("e".repeat(size)));
      return t.items.filter(isDelivery).map(({ to }) => to);
    };
    expect(await wayOf(5)).not.toEqual(await wayOf(5000));
  });

  it.each([
    ["confidence", "T6_OVERCONFIDENCE_DETECTED"],
    ["grounding", "T6_HALLUCINATION_DETECTED"],
  ])("[SIG-11, SIG-12] the noise gate decides by %s: low is PARTIAL with %s, high passes as OK", async (tag, code) => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const sound = { confidence: "0.9", grounding: "0.9" };
    const judge = (value: string) =>
      t.kernel.ask(6, createTextSignal("the answer", testRef, "cor_test", { ...sound, [tag]: value }));
    expect(await judge("0.1")).toMatchObject({ status: "partial", error: { code, source: { tier: 6 } } });
    const passed = await judge("0.9");
    expect(passed).toMatchObject({ status: "ok", error: null });
    expect(passed.signals.map(({ body, tags }) => [body, tags["confidence"], tags["grounding"]])).toEqual([
      [{ text: "the answer" }, "0.9", "0.9"],
    ]);
  });

  it("[SIG-12] the gate reads the two tags alone: what the text says, and who sent it, changes nothing", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep()] });
    const tags = { confidence: "0.9", grounding: "0.2", urgency: "critical", domain: "finance", evidence: "12" };
    for (const text of ["", "certainly", "maybe, I am not sure"]) {
      const result = await t.kernel.ask(6, createTextSignal(text, testRef, "cor_test", tags));
      expect(result.error?.code).toBe("T6_HALLUCINATION_DETECTED");
    }
  });

  it("[SIG-12] a workflow whose text is not grounded ends with the warning, one that is ends without", async () => {
    for (const [score, warnings] of [
      [0.1, ["T6_HALLUCINATION_DETECTED"]],
      [0.9, []],
    ] as const) {
      await using t = await createTestKernel({ capabilities: [oneStep()], scorers: { grounding: () => score } });
      const ended = await t.run(intentType);
      expect(ended.state).toBe("completed");
      expect(ended.warnings.map(({ code }) => code)).toEqual(warnings);
    }
  });

  it("[SIG-12] the thresholds are the host's", async () => {
    const thresholds = { grounding: 0.95, confidence: 0 };
    await using t = await createTestKernel({ capabilities: [oneStep()], thresholds });
    const judged = await t.kernel.ask(
      6,
      createTextSignal("hi", testRef, "cor_test", { confidence: "0.01", grounding: "0.94" }),
    );
    expect(judged.error?.code).toBe("T6_HALLUCINATION_DETECTED");
  });
});
