/**
 * Records the metrics of events and lives, row by row of the table of instruments.
 *
 * Owns: the labels and their bound. Never: counts commits of another process: that one does.
 */
import type { Usage } from "../../contract/action.ts";
import { type EventType, type LedgerEvent, payloadOf } from "../../contract/event.ts";
import { factsOf } from "../../contract/events.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { Commit } from "../../index.ts";
import type { InstrumentName, Labels } from "./instruments.ts";
import type { Lifetime, LifetimeEnd } from "./lifetime.ts";
import type { LifeListener } from "./lifetimes.ts";
import type { MeterInstruments } from "./meter-instruments.ts";
import { modelOf } from "./span-facts.ts";

interface MetricOptions {
  readonly maxLabelValues: number;
  /** Whether measurements are labelled with the tenant. */
  readonly tenantLabel: boolean;
}

/** Labels with few values of our own. */
const closed: ReadonlySet<string> = new Set([
  "type",
  "transition",
  "compensated",
  "outcome",
  "kind",
  "stage",
  "decision",
  "direction",
  "http.request.method",
  "http.response.status_code",
]);

const durations = {
  workflow: "workflowDuration",
  step: "stepDuration",
  attempt: "attemptDuration",
  gate: "gateWait",
} as const satisfies Record<Lifetime["kind"], InstrumentName>;

export class MetricRecorder implements LifeListener {
  readonly #instruments: MeterInstruments;
  readonly #options: MetricOptions;
  /** The values that each label has taken. */
  readonly #values = new Map<string, Set<string>>();

  constructor(instruments: MeterInstruments, options: MetricOptions) {
    this.#instruments = instruments;
    this.#options = options;
  }

  /** Labels of more values than may be are "other". */
  record(name: InstrumentName, value: number, labels: Labels = {}, tenant?: string | number): void {
    this.#instruments.record(name, value, this.#bounded(this.#withTenant(labels, tenant)));
  }

  took({ events, record, own }: Commit): void {
    if (!own) return;
    this.record("rows", 1);
    const tenant = events[0]?.tenant_id;
    for (const [type, count] of countTypes(events)) this.record("events", count, { type }, tenant);
    for (const event of events) this.#count(event, record);
  }

  began(): void {
    // A life is counted when it has ended.
  }

  forgotten(): void {
    // It was counted by no instrument yet.
  }

  ended(life: Lifetime, { at, outcome, own, record }: LifetimeEnd): void {
    if (!own) return;
    const { kind, subject, gateId } = life;
    const labels: Labels =
      kind === "workflow"
        ? { intent: subject, outcome }
        : kind === "gate"
          ? { kind: record.gates.get(gateId ?? "")?.kind ?? "approval", outcome }
          : { operator: subject, outcome };
    this.record(durations[kind], (at - life.began) / 1000, labels, record.tenant_id);
  }

  #withTenant(labels: Labels, tenant: string | number | undefined): Labels {
    const isLabelled = this.#options.tenantLabel && tenant !== undefined && Object.keys(labels).length > 0;
    return isLabelled ? { ...labels, tenant: String(tenant) } : labels;
  }

  /** Returns the same labels, if none of them has too many values. */
  #bounded(labels: Labels): Labels {
    let bounded = labels;
    for (const label of Object.keys(labels)) {
      if (closed.has(label)) continue;
      const value = labels[label] as string;
      const shown = this.#bound(label, value);
      if (shown !== value) bounded = { ...bounded, [label]: shown };
    }
    return bounded;
  }

  #bound(label: string, value: string): string {
    const values = this.#values.get(label) ?? new Set<string>();
    this.#values.set(label, values);
    if (values.has(value)) return value;
    if (values.size >= this.#options.maxLabelValues) return "other";
    values.add(value);
    return value;
  }

  #count(event: LedgerEvent, record: WorkflowRecord | null): void {
    const { event_type: type, tenant_id: tenant } = event;
    const { transition } = factsOf(type);
    if (transition !== undefined)
      this.record("transitions", 1, { transition, intent: record?.intent.type ?? "" }, tenant);
    if (record === null) return this.#countRefusal(event);
    if (type === "WORKFLOW_ADMITTED") {
      const { waited_ms } = payloadOf(event, "WORKFLOW_ADMITTED");
      this.record("queueWait", waited_ms / 1000, { intent: record.intent.type }, tenant);
    }
    if (type === "WORKFLOW_FAILED" || type === "WORKFLOW_CANCELLED") {
      const { compensated } = payloadOf(event, type);
      if (compensated !== undefined)
        this.record("compensations", 1, { compensated, intent: record.intent.type }, tenant);
    }
    this.#countWork(event, record);
  }

  #countRefusal(event: LedgerEvent): void {
    if (event.event_type !== "INTENT_REJECTED") return;
    const { error } = payloadOf(event, "INTENT_REJECTED");
    this.record("refused", 1, { code: error.code }, event.tenant_id);
  }

  #countWork(event: LedgerEvent, record: WorkflowRecord): void {
    const tenant = event.tenant_id;
    switch (event.event_type) {
      case "ACTION_RETRY_SCHEDULED":
        return this.record("retries", 1, { operator: operatorOf(event, record) }, tenant);
      case "POLICY_DECIDED": {
        const { stage, decision } = payloadOf(event, "POLICY_DECIDED");
        return this.record("decisions", 1, { stage, decision }, tenant);
      }
      case "BUDGET_REFUSED":
        return this.record("budgetRefusals", 1, { code: payloadOf(event, "BUDGET_REFUSED").error.code }, tenant);
      case "ACTION_SUCCEEDED":
      case "ACTION_FAILED":
        return this.#countUsage(event, record);
      default:
    }
  }

  /** Counts usage. An answer from the record used nothing: its first call did. */
  #countUsage(event: LedgerEvent, record: WorkflowRecord): void {
    const { action_id, attempt, usage, cached } = payloadOf(event, "ACTION_FAILED");
    if (cached) return;
    const model = modelOf(record, { action_id, number: attempt, usage }) ?? "none";
    const labels = { operator: operatorOf(event, record), model };
    for (const [direction, tokens] of directionsOf(usage))
      if (tokens > 0) this.record("tokens", tokens, { ...labels, direction }, event.tenant_id);
    if (usage.cost !== undefined) this.record("cost", usage.cost.total, labels, event.tenant_id);
  }
}

function countTypes(events: readonly LedgerEvent[]): ReadonlyMap<EventType, number> {
  const counts = new Map<EventType, number>();
  for (const { event_type: type } of events) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}

const directionsOf = ({ tokens = { in: 0, out: 0, total: 0 } }: Usage): readonly (readonly [string, number])[] => [
  ["in", tokens.in],
  ["out", tokens.out],
];

const operatorOf = ({ step_id }: LedgerEvent, { steps }: WorkflowRecord): string =>
  steps.get(step_id ?? "")?.step.operator ?? "unknown";
