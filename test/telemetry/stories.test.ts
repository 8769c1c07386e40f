/**
 * Random stories, watched: every span ends, hangs in its workflow's tree, and lies between instants of the ledger; what
 * was counted is what the ledger holds.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foldEvents } from "../../machines/fold.ts";
import type { LedgerEvent } from "../../src/index.ts";
import type { Observer } from "../../src/observers/telemetry/index.ts";
import { anyStory, type Play, playStory } from "../invariants/stories.ts";
import { runs } from "../properties/property-runs.ts";
import { readSamples } from "./read-samples.ts";
import { hrTimeOf, msOf, openObserver, type Tracing } from "./spans-fixture.ts";

interface Watched {
  readonly play: Play;
  readonly events: readonly LedgerEvent[];
  readonly tracing: Tracing;
  readonly observer: Observer;
}

/** Plays stories, each under an observer of its own, and holds the law against each. */
const watch = (law: (watched: Watched) => Promise<void> | void, maxLives = 20_000): Promise<void> =>
  fc.assert(
    fc.asyncProperty(anyStory(), async (story) => {
      const { observer, ...tracing } = openObserver({ limits: { maxLives } });
      await using play = await playStory(story, { telemetry: observer });
      await law({ play, events: await play.events(), tracing, observer });
    }),
    { numRuns: runs(12) },
  ) as Promise<void>;

const count = (events: readonly LedgerEvent[], ...types: readonly string[]): number =>
  events.filter((event) => types.includes(event.event_type)).length;

describe("every story, watched", () => {
  it("every span that was started has ended, in one trace and before what it is under, and nothing is held", () =>
    watch(({ tracing, observer }) => {
      const spans = tracing.spans();
      expect(tracing.started()).toBe(spans.length);
      expect(observer.size()).toBe(0);
      expect(new Set(spans.map((s) => s.spanContext().traceId)).size).toBe(1);
      const ids = spans.map((s) => s.spanContext().spanId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(spans.filter((s) => s.parentSpanContext === undefined)).toHaveLength(1);
      for (const [at, { name, parentSpanContext: above, startTime }] of spans.entries()) {
        if (above === undefined) continue;
        const parent = spans[ids.indexOf(above.spanId)];
        expect(parent).toBeDefined();
        expect(msOf(startTime)).toBeGreaterThanOrEqual(msOf(parent?.startTime ?? [0, 0]));
        // A run that is made again comes after the one it is under; all else has ended before that.
        if (!name.startsWith("workflow")) expect(at).toBeLessThan(ids.indexOf(above.spanId));
      }
    }));

  it("there is a span for each run, step, call and gate that the ledger has begun, at instants of the ledger", () =>
    watch(({ tracing, events }) => {
      const spans = tracing.spans();
      const told = (verb: string) => spans.filter((s) => s.name.startsWith(`${verb} `)).length;
      const begun = events.filter((e) => e.event_type === "ACTION_STARTED" && e.payload["recovered"] !== true).length;
      expect([told("workflow"), told("step"), told("call"), told("gate")]).toEqual([
        count(events, "INTENT_RECEIVED", "WORKFLOW_RESTARTED"),
        count(events, "STEP_STARTED"),
        begun,
        count(events, "GATE_OPENED"),
      ]);
      const instants = new Set(events.map((event) => JSON.stringify(hrTimeOf(event.timestamp))));
      for (const { startTime, endTime } of spans)
        for (const at of [startTime, endTime]) expect(instants).toContain(JSON.stringify(at));
    }));

  it("what is forgotten at once is told the same", () =>
    watch(({ tracing, events }) => {
      const ids = tracing.spans().map((s) => s.spanContext().spanId);
      expect(new Set(ids).size).toBe(ids.length);
      expect(tracing.spans().filter((s) => s.name.startsWith("workflow"))).toHaveLength(
        count(events, "INTENT_RECEIVED", "WORKFLOW_RESTARTED"),
      );
      expect(tracing.spans().filter((s) => s.name.startsWith("step"))).toHaveLength(count(events, "STEP_STARTED"));
    }, 0));

  it("the counters are what the ledger holds, and the durations what its fold says", () =>
    watch(async ({ play, events, observer }) => {
      const samples = readSamples(await observer.prometheus());
      const sumOf = (name: string, labels: object = {}) => samples.sum(name, labels);
      for (const type of new Set(events.map((e) => e.event_type)))
        expect(sumOf("countersign_ledger_events_total", { type })).toBe(count(events, type));
      expect(sumOf("countersign_ledger_events_total")).toBe(events.length);
      expect(sumOf("countersign_attempt_retries_total")).toBe(count(events, "ACTION_RETRY_SCHEDULED"));
      expect(sumOf("countersign_policy_decisions_total", { decision: "DENY" })).toBe(
        events.filter((e) => e.event_type === "POLICY_DECIDED" && e.payload["decision"] === "DENY").length,
      );
      expect(sumOf("countersign_gate_wait_seconds_count")).toBe(count(events, "GATE_OPENED"));
      expect(sumOf("countersign_gate_wait_seconds_count", { outcome: "approved" })).toBe(
        count(events, "USER_APPROVED"),
      );
      const record = foldEvents(events);
      const { state } = await play.state();
      expect(record?.state).toBe(state);
      expect(sumOf("countersign_workflow_transitions_total", { transition: state })).toBe(
        count(events, `WORKFLOW_${state.toUpperCase()}`),
      );
    }));
});
