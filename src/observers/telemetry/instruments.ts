/**
 * The table of instruments, once for OpenTelemetry and for Prometheus.
 *
 * 1.  Labels are few and closed, or names that the host registers; never an id. A label with more values than
 *     `maxLabelValues` is "other" from then on. The tenant is a label only if the host asks for it.
 * 2.  Durations are seconds; those of workflows, steps, calls and gates are between instants of the ledger.
 */
export interface InstrumentRow {
  readonly kind: "counter" | "histogram" | "gauge";
  /** The name in OpenTelemetry's form; Prometheus has `_` for `.`, the unit, and `_total` behind counters. */
  readonly name: string;
  readonly unit: "s" | "By" | "1";
  readonly help: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly number[];
}

const quick = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** People take minutes, hours and days. */
const patient = [1, 10, 60, 300, 900, 3_600, 14_400, 86_400, 259_200, 604_800];
const counts = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** All instruments, by their key here. */
export const instruments = {
  events: {
    kind: "counter",
    name: "countersign.ledger.events",
    unit: "1",
    help: "Events that this process committed, by type",
    labels: ["type"],
  },
  rows: {
    kind: "counter",
    name: "countersign.ledger.rows",
    unit: "1",
    help: "Rows that this process committed to logs of workflows",
    labels: [],
  },
  commitBatch: {
    kind: "histogram",
    name: "countersign.ledger.batch",
    unit: "1",
    help: "Rows that shared a transaction",
    labels: [],
    buckets: counts,
  },
  commitDuration: {
    kind: "histogram",
    name: "countersign.ledger.commit.duration",
    unit: "s",
    help: "How long a transaction took, its sync included",
    labels: [],
    buckets: quick,
  },
  takeUps: {
    kind: "counter",
    name: "countersign.takeups",
    unit: "1",
    help: "Workflows that this process took up though it had not begun them: abandoned by another, or due",
    labels: ["kind"],
  },
  leaseAge: {
    kind: "gauge",
    name: "countersign.lease.age",
    unit: "s",
    help: "How long ago this process told the ledger that it lives; at limits.leaseMs others take over what it holds",
    labels: [],
  },
  lagRows: {
    kind: "gauge",
    name: "countersign.ledger.lag.rows",
    unit: "1",
    help: "Rows that are committed and that streams and feeds do not show yet, as far as 10,000",
    labels: [],
  },
  lagTransactions: {
    kind: "gauge",
    name: "countersign.ledger.xmin.age",
    unit: "1",
    help:
      "Transactions of the database since the oldest that has not ended: it keeps streams of a tenant " +
      "and feeds back",
    labels: [],
  },
  lagOldest: {
    kind: "gauge",
    name: "countersign.ledger.xmin.duration",
    unit: "s",
    help: "How long ago that transaction began, as far as the ledger's role may see it",
    labels: [],
  },
  notices: {
    kind: "counter",
    name: "countersign.notices",
    unit: "1",
    help: "Attempts to tell people of gates, by notifier and by what came of them: delivered, put_back, failed",
    labels: ["notifier", "outcome"],
  },
  refused: {
    kind: "counter",
    name: "countersign.requests.refused",
    unit: "1",
    help: "Requests that became no workflow, by error code",
    labels: ["code"],
  },
  transitions: {
    kind: "counter",
    name: "countersign.workflow.transitions",
    unit: "1",
    help:
      "What happened to workflows: received, started, waiting, resumed, restarted, completed, failed, " +
      "paused, unpaused, queued, admitted, held, released, cancelling, compensating, rolling_back, cancelled",
    labels: ["transition", "intent"],
  },
  compensations: {
    kind: "counter",
    name: "countersign.workflow.compensations",
    unit: "1",
    help: "Workflows that ended after they had undone what they did, by the part that is undone: all, partly, none",
    labels: ["compensated", "intent"],
  },
  workflowDuration: {
    kind: "histogram",
    name: "countersign.workflow.duration",
    unit: "s",
    help: "From the request, or the retry, to the end",
    labels: ["intent", "outcome"],
    buckets: [...quick, ...patient.slice(4)],
  },
  queueWait: {
    kind: "histogram",
    name: "countersign.queue.wait",
    unit: "s",
    help: "How long a workflow waited for its place in a queue; 0 if one was free at once",
    labels: ["intent"],
    buckets: [...quick, ...patient.slice(4)],
  },
  stepDuration: {
    kind: "histogram",
    name: "countersign.step.duration",
    unit: "s",
    help: "From a step's start to its end, waiting included",
    labels: ["operator", "outcome"],
    buckets: [...quick, ...patient.slice(4)],
  },
  attemptDuration: {
    kind: "histogram",
    name: "countersign.attempt.duration",
    unit: "s",
    help: "Calls of operators",
    labels: ["operator", "outcome"],
    buckets: quick,
  },
  retries: {
    kind: "counter",
    name: "countersign.attempt.retries",
    unit: "1",
    help: "Calls that were put off to be made again",
    labels: ["operator"],
  },
  decisions: {
    kind: "counter",
    name: "countersign.policy.decisions",
    unit: "1",
    help: "Decisions of policy, by stage and verdict",
    labels: ["stage", "decision"],
  },
  gateWait: {
    kind: "histogram",
    name: "countersign.gate.wait",
    unit: "s",
    help: "How long gates stood open, by how they closed",
    labels: ["kind", "outcome"],
    buckets: patient,
  },
  budgetRefusals: {
    kind: "counter",
    name: "countersign.budget.refusals",
    unit: "1",
    help: "Calls and rounds that a budget refused, by error code",
    labels: ["code"],
  },
  tokens: {
    kind: "counter",
    name: "countersign.tokens",
    unit: "1",
    help: "Model tokens that calls reported",
    labels: ["operator", "model", "direction"],
  },
  cost: {
    kind: "counter",
    name: "countersign.cost",
    unit: "1",
    help: "Cost that calls reported, in the host's currency",
    labels: ["operator", "model"],
  },
  httpDuration: {
    kind: "histogram",
    name: "http.server.request.duration",
    unit: "s",
    help: "Requests over HTTP, by route",
    labels: ["http.request.method", "http.route", "http.response.status_code"],
    buckets: quick,
  },
  gatesOpen: {
    kind: "gauge",
    name: "countersign.gates.open",
    unit: "1",
    help: "Gates that wait for a person, as far as maxGatesCounted",
    labels: [],
  },
  workflowsAwake: {
    kind: "gauge",
    name: "countersign.workflows.awake",
    unit: "1",
    help: "Workflows that run in this process",
    labels: [],
  },
  placesTaken: {
    kind: "gauge",
    name: "countersign.places.taken",
    unit: "1",
    help: "Places that workflows have in this process, of limits.maxInFlight",
    labels: [],
  },
  submitsWaiting: {
    kind: "gauge",
    name: "countersign.submits.waiting",
    unit: "1",
    help: "Submits and accepted workflows that wait in this process for a place among limits.maxInFlight",
    labels: [],
  },
  workflowsPaused: {
    kind: "gauge",
    name: "countersign.workflows.paused",
    unit: "1",
    help: "Workflows of the ledger that a person has paused, over all tenants",
    labels: [],
  },
  workflowsQueued: {
    kind: "gauge",
    name: "countersign.workflows.queued",
    unit: "1",
    help: "Workflows that wait for a place in a queue, over all tenants of the ledger",
    labels: [],
  },
  haltsStanding: {
    kind: "gauge",
    name: "countersign.halts",
    unit: "1",
    help: "Halts that hold, over all tenants of the ledger",
    labels: [],
  },
  workflowsHeld: {
    kind: "gauge",
    name: "countersign.workflows.held",
    unit: "1",
    help: "Workflows that halts hold as a whole",
    labels: [],
  },
  stepsHeld: {
    kind: "gauge",
    name: "countersign.steps.held",
    unit: "1",
    help: "Single steps that halts keep from their calls",
    labels: [],
  },
  listeners: {
    kind: "gauge",
    name: "countersign.listeners",
    unit: "1",
    help: "Readers that follow workflows in this process: open streams among them",
    labels: [],
  },
  loopDelay: {
    kind: "gauge",
    name: "countersign.event_loop.delay.p99",
    unit: "s",
    help: "The 99th percentile of the event loop's delay since it was last read",
    labels: [],
  },
  failures: {
    kind: "counter",
    name: "countersign.telemetry.failures",
    unit: "1",
    help: "Times that a tracer or meter threw",
    labels: [],
  },
} as const satisfies Readonly<Record<string, InstrumentRow>>;

/** The key of an instrument. */
export type InstrumentName = keyof typeof instruments;
export type Labels = Readonly<Record<string, string>>;

export const rowOf = (name: InstrumentName): InstrumentRow => instruments[name];
export const instrumentNames = Object.keys(instruments) as readonly InstrumentName[];
