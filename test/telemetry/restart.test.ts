/** What goes on in another process goes on in the same trace, and nothing of it is told twice. */
import { describe, expect, it } from "vitest";
import { createObserver, traceIdOf } from "../../src/observers/telemetry/index.ts";
import { createWorld, job, ledgerPaths, minute, never, openProcess, step, work } from "../recovery/shared-file.ts";
import { readSamples } from "./read-samples.ts";
import { describeSpans, msOf, named, openTracing } from "./spans-fixture.ts";

const pathOf = ledgerPaths();
const day = 24 * 60 * minute;

const traceIds = (spans: ReturnType<ReturnType<typeof openTracing>["spans"]>) =>
  new Set(spans.map((span) => span.spanContext().traceId));

describe("a workflow that goes on in another process", () => {
  it("is one whole tree with derived ids: the gate opened here and was decided there", async () => {
    const path = pathOf();
    const world = createWorld();
    const steps = [step("s1", "T.Act"), step("s2", "T.Act", { depends_on: ["s1"], gate: {} })];
    const capabilities = [job(steps, [work(world, "T.Act")])];
    const { options, spans } = openTracing();
    const first = await openProcess(path, { capabilities, telemetry: createObserver(options) });
    const { workflow_id } = await first.run("Test.Job");
    await first.kernel.stop();
    await using second = await openProcess(path, { capabilities, at: day, telemetry: createObserver(options) });
    await second.approve(workflow_id);
    await second.rest(workflow_id);
    expect(describeSpans(spans())).toEqual([
      "call T.Act < step T.Act: succeeded",
      "step T.Act < workflow Test.Job: succeeded",
      "gate T.Act < step T.Act: approved",
      "call T.Act < step T.Act: succeeded",
      "step T.Act < workflow Test.Job: succeeded",
      "workflow Test.Job < root: completed",
    ]);
    expect(traceIds(spans())).toEqual(new Set([traceIdOf(workflow_id)]));
    const [gate] = named(spans(), "gate T.Act");
    expect(msOf(gate?.endTime ?? [0, 0]) - msOf(gate?.startTime ?? [0, 0])).toBe(day);
    const [run] = named(spans(), "workflow Test.Job");
    expect(msOf(run?.endTime ?? [0, 0]) - msOf(run?.startTime ?? [0, 0])).toBe(day);
  });

  it("is one trace where the SDK makes its own ids, too", async () => {
    const path = pathOf();
    const capabilities = [job([step("s1", "T.Act", { gate: {} })], [work(createWorld(), "T.Act")])];
    const tracings = [openTracing({ derived: false }), openTracing({ derived: false })] as const;
    const first = await openProcess(path, { capabilities, telemetry: createObserver(tracings[0].options) });
    const { workflow_id } = await first.run("Test.Job");
    await first.kernel.stop();
    await using second = await openProcess(path, {
      capabilities,
      at: minute,
      telemetry: createObserver(tracings[1].options),
    });
    await second.approve(workflow_id);
    await second.rest(workflow_id);
    expect(tracings[0].spans()).toEqual([]);
    expect(describeSpans(tracings[1].spans())).toEqual([
      "gate T.Act < step T.Act: approved",
      "call T.Act < step T.Act: succeeded",
      "step T.Act < workflow Test.Job: succeeded",
      "workflow Test.Job < nowhere: completed",
    ]);
    expect(traceIds(tracings[1].spans())).toEqual(new Set([traceIdOf(workflow_id)]));
  });

  it("a call that died with its process is in doubt, and its span lasts until a person has settled it", async () => {
    const path = pathOf();
    let dead = true;
    const act = work(createWorld(), "T.Act", { run: () => (dead ? never() : {}) });
    const capabilities = [job([step("s1", "T.Act")], [act])];
    const { options, spans } = openTracing();
    const first = await openProcess(path, { capabilities, telemetry: createObserver(options) });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    dead = false;
    await using second = await openProcess(path, { capabilities, at: 10 * minute, telemetry: createObserver(options) });
    await second.clock.advance(minute);
    const { gates } = await second.kernel.workflow(id);
    await second.clock.advance(day);
    await second.approve(id, gates[0]?.gate_id, { resolution: "done", result: {} });
    await second.rest(id);
    expect(describeSpans(spans())).toEqual([
      "gate T.Act < step T.Act: approved",
      "call T.Act < step T.Act: succeeded",
      "step T.Act < workflow Test.Job: succeeded",
      "workflow Test.Job < root: completed",
    ]);
    expect(named(spans(), "call T.Act").map((s) => s.attributes["countersign.cached"])).toEqual([undefined]);
    const [call] = named(spans(), "call T.Act");
    expect(msOf(call?.endTime ?? [0, 0]) - msOf(call?.startTime ?? [0, 0])).toBeGreaterThanOrEqual(day + 10 * minute);
  });

  it("an idempotent call that is made again is the same attempt, from its first start", async () => {
    const path = pathOf();
    let dead = true;
    const act = work(createWorld(), "T.Act", { idempotent: true, run: () => (dead ? never() : {}) });
    const capabilities = [job([step("s1", "T.Act")], [act])];
    const { options, spans } = openTracing();
    const first = await openProcess(path, { capabilities, telemetry: createObserver(options) });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    dead = false;
    await using second = await openProcess(path, { capabilities, at: 10 * minute, telemetry: createObserver(options) });
    await second.clock.advance(minute);
    expect((await second.rest(id)).state).toBe("completed");
    expect(describeSpans(spans())).toEqual([
      "call T.Act < step T.Act: succeeded",
      "step T.Act < workflow Test.Job: succeeded",
      "workflow Test.Job < root: completed",
    ]);
    const [call] = spans();
    expect(msOf(call?.endTime ?? [0, 0]) - msOf(call?.startTime ?? [0, 0])).toBeGreaterThanOrEqual(10 * minute);
  });

  it("is counted where it was taken up; the lease's age is that of the last word to the ledger", async () => {
    const path = pathOf();
    let dead = true;
    const act = work(createWorld(), "T.Act", { idempotent: true, run: () => (dead ? never() : {}) });
    const capabilities = [job([step("s1", "T.Act")], [act])];
    const first = await openProcess(path, { capabilities });
    const id = await first.submit("Test.Job");
    await first.clock.settle();
    first.freeze();
    dead = false;
    const observer = createObserver();
    await using second = await openProcess(path, { capabilities, at: 10 * minute, telemetry: observer });
    observer.watch(second.kernel);
    await second.clock.advance(minute);
    expect((await second.rest(id)).state).toBe("completed");
    const { sum } = readSamples(await observer.prometheus());
    expect(sum("countersign_takeups_total", { kind: "abandoned" })).toBe(1);
    const { lease_age } = second.kernel.vitals();
    await second.clock.advance(700);
    expect(second.kernel.vitals().lease_age).toBe(lease_age + 700);
    observer.stop();
  });

  it("cancelled after a restart: what the dead process had begun ends with the run", async () => {
    const path = pathOf();
    const capabilities = [job([step("s1", "T.Act", { gate: {} })], [work(createWorld(), "T.Act")])];
    const { options, spans } = openTracing();
    const first = await openProcess(path, { capabilities, telemetry: createObserver(options) });
    const { workflow_id } = await first.run("Test.Job");
    await first.kernel.stop();
    const telemetry = createObserver(options);
    await using second = await openProcess(path, { capabilities, at: minute, telemetry });
    await second.kernel.cancel(workflow_id, { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } });
    await second.rest(workflow_id);
    expect(describeSpans(spans())).toEqual([
      "gate T.Act < step T.Act: voided",
      "step T.Act < workflow Test.Job: skipped",
      "workflow Test.Job < root: cancelled",
    ]);
    expect(telemetry.size()).toBe(0);
  });

  it("a decision of another process ends the gate that is open here, and is counted by that one alone", async () => {
    const path = pathOf();
    const slow = Promise.withResolvers<object>();
    const run = () => slow.promise;
    const operators = [work(createWorld(), "T.Act"), work(createWorld(), "T.Slow", { run })];
    const capabilities = [job([step("s1", "T.Act", { gate: {} }), step("s2", "T.Slow")], operators)];
    const { options, spans } = openTracing();
    const [here, there] = [createObserver(options), createObserver()];
    await using owner = await openProcess(path, { capabilities, telemetry: here });
    const id = await owner.submit("Test.Job");
    await owner.clock.settle();
    await using other = await openProcess(path, { capabilities, at: 100, telemetry: there });
    await other.approve(id, "gate-s1");
    await owner.clock.advance(minute);
    slow.resolve({});
    await owner.rest(id);
    expect(named(spans(), "gate T.Act")).toHaveLength(1);
    expect([...describeSpans(spans())].filter((line) => line.includes("cut") || line.includes("nowhere"))).toEqual([]);
    const waits = await Promise.all(
      [here, there].map(async (o) => readSamples(await o.prometheus()).sum("countersign_gate_wait_seconds_count")),
    );
    expect(waits).toEqual([0, 1]);
    expect(here.size()).toBe(0);
  });
});
