/** Metrics: the same measurements for OpenTelemetry and for Prometheus, from one table. */
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, it } from "vitest";
import { createObserver, instruments } from "../../src/observers/telemetry/index.ts";
import { instrumentNames } from "../../src/observers/telemetry/instruments.ts";
import { MeterInstruments } from "../../src/observers/telemetry/meter-instruments.ts";
import { prometheusMeter, prometheusNameOf } from "../../src/observers/telemetry/prometheus-meter.ts";
import { llmOperator } from "../../src/packages/operators/llm/index.ts";
import { createTestKernel, memoryLedger, testCaller } from "../../src/testing/index.ts";
import { begin, booking, empty, trip } from "../lifecycle/booked-trip.ts";
import { createWorld, job, minute, step, work } from "../recovery/shared-file.ts";
import { endpoint, modelThat, says } from "../routing/model-fixture.ts";
import { readSamples } from "./read-samples.ts";
import { eventsOf } from "./spans-fixture.ts";

/** A real SDK; `sums` gives counters' values and histograms' sums over all labels, by name. */
function openMeter() {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({
    exporter,
    exportIntervalMillis: 86_400_000,
    exportTimeoutMillis: 1_000,
  });
  const provider = new MeterProvider({ readers: [reader] });
  const collect = async () => {
    exporter.reset();
    await reader.forceFlush();
    return exporter.getMetrics().flatMap((m) => m.scopeMetrics.flatMap((s) => s.metrics));
  };
  return {
    meter: provider.getMeter("countersign"),
    close: () => provider.shutdown(),
    async sums() {
      const totals = new Map<string, number>();
      for (const metric of await collect())
        totals.set(
          metric.descriptor.name,
          metric.dataPointType === DataPointType.HISTOGRAM
            ? metric.dataPoints.reduce((sum, p) => sum + p.value.count, 0)
            : (metric.dataPoints as readonly { readonly value: number }[]).reduce((sum, p) => sum + p.value, 0),
        );
      return totals;
    },
  };
}

const gated = () => job([step("s1", "T.Act", { gate: {} })], [work(createWorld(), "T.Act")]);

describe("measurements", () => {
  it("are the same at an OpenTelemetry meter and in Prometheus' text, and what the ledger holds", async () => {
    const { meter, sums, close } = openMeter();
    const observer = createObserver({ meter });
    await using t = await createTestKernel({
      telemetry: observer,
      ledger: observer.ledger(Object.freeze(memoryLedger())),
      capabilities: [gated()],
    });
    const end = observer.watch(t.kernel);
    const { workflow_id } = await t.run("Test.Job");
    await t.run("Test.Job");
    await t.clock.advance(minute);
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const samples = readSamples(await observer.prometheus());
    const totals = await sums();
    for (const name of [
      "events",
      "rows",
      "transitions",
      "workflowDuration",
      "stepDuration",
      "gateWait",
      "commitBatch",
    ] as const) {
      const spelled = prometheusNameOf(name);
      const shown = instruments[name].kind === "histogram" ? `${spelled}_count` : spelled;
      expect([name, totals.get(instruments[name].name)]).toEqual([name, samples.sum(shown)]);
      expect(samples.sum(shown)).toBeGreaterThan(0);
    }
    const events = [...(await eventsOf(t.kernel, workflow_id))];
    expect(samples.sum("countersign_ledger_events_total")).toBeGreaterThan(events.length);
    expect(samples.sum("countersign_gate_wait_seconds_sum", { outcome: "approved" })).toBe(60);
    expect(samples.sum("countersign_gates_open")).toBe(1);
    expect(totals.get("countersign.gates.open")).toBe(1);
    expect(samples.sum("countersign_event_loop_delay_p99_seconds")).toBeGreaterThanOrEqual(0);
    end();
    expect(readSamples(await observer.prometheus()).all.filter((s) => s.name === "countersign_gates_open")).toEqual([]);
    await close();
  });

  it("of several kernels in a process are told together, and of those that are still watched", async () => {
    const { meter, sums, close } = openMeter();
    const observer = createObserver({ meter });
    const ledger = memoryLedger();
    await using one = await createTestKernel({ ledger, capabilities: [gated()] });
    await using reader = await createTestKernel({ ledger, recover: false });
    await using other = await createTestKernel({ capabilities: [gated()], seed: 2 });
    const ends = [one, reader, other, other].map((t) => observer.watch(t.kernel));
    await one.run("Test.Job");
    await other.run("Test.Job");
    await other.run("Test.Job");
    const open = async () => readSamples(await observer.prometheus()).sum("countersign_gates_open");
    expect([await open(), (await sums()).get("countersign.gates.open")]).toEqual([3, 3]);
    ends[2]?.();
    expect(await open()).toBe(3);
    ends[3]?.();
    expect([await open(), (await sums()).get("countersign.gates.open")]).toEqual([1, 1]);
    ends[0]?.();
    expect(await open()).toBe(1);
    ends[1]?.();
    expect((await observer.prometheus()).includes("countersign_gates_open 1")).toBe(false);
    await close();
  });

  it("every row of the table is a family of the text once it is measured, under its name and type", async () => {
    const { meter, text } = prometheusMeter();
    const measured = new MeterInstruments([meter]);
    for (const name of instrumentNames)
      if (instruments[name].kind === "gauge") measured.watch(name, () => 1);
      else measured.record(name, 1);
    const { types } = readSamples(await text(() => undefined));
    const expected = instrumentNames.map((name) => [prometheusNameOf(name), instruments[name].kind]);
    expect([...types].sort()).toEqual(expected.sort());
  });

  it("a counter without labels stands in the text at 0 before anything is counted", async () => {
    const { all } = readSamples(await createObserver().prometheus());
    expect(all.map(({ name, value }) => [name, value]).sort()).toEqual([
      ["countersign_ledger_rows_total", 0],
      ["countersign_telemetry_failures_total", 0],
    ]);
  });

  it("a gauge that throws is counted, and the others are in the text", async () => {
    const { meter, text } = prometheusMeter();
    const measured = new MeterInstruments([meter]);
    measured.watch("listeners", () => 3);
    measured.watch("gatesOpen", () => Promise.reject(new Error("the ledger is away")));
    const thrown: unknown[] = [];
    const { sum } = readSamples(await text((each) => thrown.push(each)));
    expect([sum("countersign_listeners"), thrown.length]).toEqual([3, 1]);
  });

  it("more combinations of labels than an SDK keeps by itself stay apart", async () => {
    const { meter, text } = prometheusMeter();
    const measured = new MeterInstruments([meter]);
    for (let i = 0; i < 3_000; i += 1)
      measured.record("tokens", 1, { operator: `o${i % 60}`, model: `m${Math.floor(i / 60)}`, direction: "in" });
    const { all } = readSamples(await text(() => undefined));
    expect(all.filter(({ name }) => name === "countersign_tokens_total")).toHaveLength(3_000);
  });

  it("what was undone is counted by the part that is undone, once for each end", async () => {
    empty();
    const observer = createObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [trip([booking("a"), booking("b", ["a"])])],
    });
    const { id } = await begin(t);
    await t.kernel.rollback(id, testCaller);
    await t.rest(id);
    const { all } = readSamples(await observer.prometheus());
    const counted = all.filter(({ name }) => name === "countersign_workflow_compensations_total");
    expect(counted).toMatchObject([{ value: 1, labels: { compensated: "all", intent: "Trip.Plan" } }]);
  });

  it("tokens and cost are counted by operator and model, once", async () => {
    const observer = createObserver();
    const ask = llmOperator({ name: "Model.Say", models: { small: modelThat(() => says("yes")) } });
    await using t = await createTestKernel({
      telemetry: observer,
      models: { endpoints: [endpoint("small", { price: { in: 1_000_000, out: 0 } })] },
      capabilities: [job([step("s1", "Model.Say", { params: { prompt: "?" } })], [ask])],
    });
    await t.run("Test.Job");
    const { sum } = readSamples(await observer.prometheus());
    const labels = { operator: "Model.Say", model: "small" };
    expect(sum("countersign_tokens_total", { ...labels, direction: "in" })).toBe(30);
    expect(sum("countersign_tokens_total", { ...labels, direction: "out" })).toBe(12);
    expect(sum("countersign_cost_total", labels)).toBe(30);
  });

  it("a refused request, a denial and a refused budget are counted by their codes", async () => {
    const observer = createObserver();
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [job([step("s1", "T.Act")], [work(createWorld(), "T.Act", { estimatedCost: 5 })])],
      policies: [{ name: "never", stages: ["action"], evaluate: () => ({ decision: "DENY" }) }],
    });
    await t.kernel
      .submit({ ...testCaller, intent_hint: { intent_type: "No.Such", inputs: {} } })
      .catch(() => undefined);
    await t.run("Test.Job");
    const { sum } = readSamples(await observer.prometheus());
    expect(sum("countersign_requests_refused_total")).toBe(1);
    expect(sum("countersign_policy_decisions_total", { stage: "action", decision: "DENY" })).toBe(1);
    expect(sum("countersign_step_duration_seconds_count", { outcome: "blocked" })).toBe(1);
  });
});

describe("labels", () => {
  const namesOf = (count: number) => Array.from({ length: count }, (_, i) => `T.Op${i}`);

  it("take at most maxLabelValues values; further ones are other, and nothing is lost", async () => {
    const observer = createObserver({ limits: { maxLabelValues: 3 } });
    const world = createWorld();
    const names = namesOf(6);
    await using t = await createTestKernel({
      telemetry: observer,
      capabilities: [
        job(
          names.map((name, i) => step(`s${i}`, name)),
          names.map((name) => work(world, name)),
        ),
      ],
    });
    await t.run("Test.Job");
    const samples = readSamples(await observer.prometheus());
    const mine = samples.all.filter((s) => s.name === "countersign_attempt_duration_seconds_count");
    expect(mine).toHaveLength(4);
    expect(samples.sum("countersign_attempt_duration_seconds_count")).toBe(6);
    expect(samples.sum("countersign_attempt_duration_seconds_count", { operator: "other" })).toBe(3);
  });

  it("name no id; the tenant only where the host asks for it", async () => {
    const texts = await Promise.all(
      [false, true].map(async (tenantLabel) => {
        const observer = createObserver({ tenantLabel });
        await using t = await createTestKernel({ telemetry: observer, capabilities: [gated()] });
        const { workflow_id } = await t.run("Test.Job");
        await t.approve(workflow_id);
        await t.rest(workflow_id);
        const text = await observer.prometheus();
        for (const { event_id, correlation_id } of await eventsOf(t.kernel, workflow_id))
          for (const id of [workflow_id, event_id, correlation_id, "gate-s1", "s1"])
            expect(text).not.toContain(`"${id}"`);
        return text;
      }),
    );
    expect(texts.map((text) => /tenant="1"/.test(text))).toEqual([false, true]);
  });
});
