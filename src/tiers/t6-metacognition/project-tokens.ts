/**
 * The token view of a workflow: the pieces of work that were scheduled, admitted, refused and done, read from its
 * ledger and stored nowhere else.
 *
 * 1.  A token's id is the one that the fold gives: its index among the scheduled ones.
 * 2.  Virtual time is the index in this stream; `sequence` in each detail leads to the ledger event.
 * 3.  The usage of capability and governor is counted as the fold counts it; ceilings are the kernel's own.
 */
import type { KernelError } from "../../contract/error.ts";
import type { EventPayloads, LedgerEvent } from "../../contract/event.ts";
import type { JsonObject } from "../../contract/json.ts";
import { type EventReaders, readEvent } from "../../contract/read-event.ts";
import type {
  CapabilityEntry,
  CapabilityUsage,
  GovernorUsage,
  ResourceRequest,
  TokenEvent,
  TokenEventKind,
  TokenKind,
} from "../../contract/token.ts";

/** Returns the ceilings that the view shows beside the usage. */
export interface CapabilityLookup {
  readonly find: (name: string) => CapabilityEntry | null;
  readonly governor: GovernorUsage;
}

interface Viewed {
  readonly capabilityRegistry: CapabilityLookup;
  readonly reported: TokenEvent[];
  /** The queued or running token of each step, and whether its call has begun. */
  readonly steps: Map<string, { readonly id: number; readonly begun: boolean }>;
  readonly dependencies: Map<string, readonly string[]>;
  readonly used: Map<string, CapabilityUsage>;
  governor: GovernorUsage;
  scheduled: number;
  intentType: string;
}

type TokenLine = readonly [kind: TokenEventKind, detail: object, label?: string];

const nothing: ResourceRequest = Object.freeze({ cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 });

export function projectTokens(
  events: readonly LedgerEvent[],
  capabilityRegistry: CapabilityLookup,
): readonly TokenEvent[] {
  const view: Viewed = {
    capabilityRegistry,
    reported: [],
    steps: new Map(),
    dependencies: new Map(),
    used: new Map(),
    governor: capabilityRegistry.governor,
    scheduled: 0,
    intentType: "",
  };
  for (const event of events) readEvent(emitters, event, view);
  return view.reported;
}

function emit(view: Viewed, id: number, { sequence, step_id }: LedgerEvent, ...reported: readonly TokenLine[]): void {
  const place = step_id === null ? { sequence } : { sequence, step_id };
  for (const [kind, detail, label] of reported)
    view.reported.push({
      token_id: id,
      timestamp: view.reported.length + 1,
      kind,
      label: label ?? null,
      detail: { ...detail, ...place } as JsonObject,
    });
}

function schedule(view: Viewed, event: LedgerEvent, kind: TokenKind, detail: object = {}): number {
  view.scheduled += 1;
  emit(view, view.scheduled, event, ["scheduled", { kind, dependencies: [], ...detail }]);
  return view.scheduled;
}

/** Emits the work of a tier that is done within one event. */
function emitWork(view: Viewed, event: LedgerEvent, kind: TokenKind, end: object = {}): void {
  const after = view.scheduled === 0 ? [] : [view.scheduled];
  const id = schedule(view, event, kind, { dependencies: after });
  const name = kind === "Plan" ? view.intentType : null;
  emit(view, id, event, ["started", start(view, { name, cost: 0, resources: nothing })], ["completed", end]);
}

interface Started {
  readonly name: string | null;
  readonly cost: number;
  readonly resources: ResourceRequest;
}

/** Returns the detail of `started`, with the counters after it. */
function start(view: Viewed, { name, cost, resources }: Started): object {
  const { cpu, memory, network, tokens } = view.governor;
  view.governor = {
    cpu: { ...cpu, consumed: cpu.consumed + resources.cpu_time },
    memory: { ...memory, consumed: memory.consumed + resources.memory_bytes },
    network: { ...network, consumed: network.consumed + resources.network_bytes },
    tokens: { ...tokens, consumed: tokens.consumed + resources.tokens },
  };
  const reported = { resources: { requested: resources, usage: view.governor } };
  return name === null ? reported : { ...reported, ...attribute(view, name, cost) };
}

function attribute({ used, capabilityRegistry }: Viewed, name: string, cost: number) {
  const before = used.get(name) ?? { invocations: 0, tokens: 0 };
  const after = { invocations: before.invocations + 1, tokens: before.tokens + cost };
  used.set(name, after);
  return {
    capability_handle: capabilityRegistry.find(name)?.handle ?? null,
    capability_name: name,
    invocations: after.invocations,
    tokens_total: after.tokens,
    tokens_consumed: cost,
  };
}

/**
 * Queues the step's next attempt, which is a token of its own and depends on the last tokens of the steps it depends
 * on.
 */
function queue(view: Viewed, event: LedgerEvent, detail: object): void {
  const stepId = event.step_id ?? "";
  const before = (view.dependencies.get(stepId) ?? []).flatMap((id) => view.steps.get(id)?.id ?? []);
  const id = schedule(view, event, "Act", { dependencies: before, ...detail });
  view.steps.set(stepId, { id, begun: false });
}

const tokenOfStep = (view: Viewed, event: LedgerEvent) => view.steps.get(event.step_id ?? "");

function emitCall(
  { token, operator_name, attempt }: EventPayloads["ACTION_STARTED"],
  event: LedgerEvent,
  view: Viewed,
): void {
  if (token !== undefined && token.id > view.scheduled) queueAgain(view, event);
  const id = token?.id ?? tokenOfStep(view, event)?.id;
  // A repeated answer from the record, for a token that has started, is no further piece of work.
  if (id === undefined || (token === undefined && isOver(view, id))) return;
  view.steps.set(event.step_id ?? "", { id, begun: true });
  const asked = { cost: token?.cost ?? 0, resources: token?.resources ?? nothing };
  const detail = start(view, { name: token === undefined ? null : operator_name, ...asked });
  emit(view, id, event, ["started", { ...detail, attempt }]);
}

/** Queues a repeated call without a pause: the previous one was interrupted, or a person settled it. */
function queueAgain(view: Viewed, event: LedgerEvent): void {
  emitEnd(view, event, { status: "failed", lost: true });
  queue(view, event, {});
}

function emitEnd(view: Viewed, event: LedgerEvent, detail: object): void {
  const token = tokenOfStep(view, event);
  if (token?.begun !== true) return;
  view.steps.set(event.step_id ?? "", { ...token, begun: false });
  emit(view, token.id, event, ["completed", detail]);
}

/** Emits a token whose call never began: it was refused, or one of its dependencies will never complete. */
function emitRefused(view: Viewed, event: LedgerEvent, ...reported: TokenLine): void {
  const token = tokenOfStep(view, event);
  if (token === undefined || token.begun || isOver(view, token.id)) return;
  emit(view, token.id, event, reported);
}

const isOver = ({ reported }: Viewed, id: number): boolean =>
  reported.findLast((event) => event.token_id === id)?.kind !== "scheduled";

const violations: ReadonlySet<string> = new Set(["capability_violation", "resource_violation", "budget_violation"]);

function emitBudget(view: Viewed, event: LedgerEvent, { code, detail }: KernelError): void {
  const kind = violations.has(String(detail["kind"])) ? (detail["kind"] as TokenEventKind) : "budget_violation";
  emitRefused(view, event, kind, { code, ...detail });
}

function emitPlan({ plan, planner_cost }: EventPayloads["PLAN_CREATED"], event: LedgerEvent, view: Viewed): void {
  for (const step of plan.steps) view.dependencies.set(step.step_id, step.depends_on);
  emitWork(view, event, "Plan", { plan_id: plan.plan_id, planner_cost });
}

const emitters: EventReaders<void, [view: Viewed]> = {
  INTENT_RECEIVED({ intent }, event, view) {
    view.intentType = intent.type;
    emitWork(view, event, "Perception", { intent_type: intent.type });
  },
  CONTEXT_BUILT: (_built, event, view) => emitWork(view, event, "Reason"),
  PLAN_CREATED: emitPlan,
  PLAN_REJECTED: (_rejected, event, view) => emitWork(view, event, "Plan", { status: "failed" }),
  STEP_QUEUED: ({ name }, event, view) => queue(view, event, { goal: name }),
  ACTION_RETRY_SCHEDULED: ({ due_at }, event, view) => queue(view, event, { due_at }),
  ACTION_STARTED: emitCall,
  ACTION_SUCCEEDED: ({ cached }, event, view) => emitEnd(view, event, { cached }),
  ACTION_FAILED: ({ error, pending }, event, view) =>
    emitEnd(view, event, { status: "failed", code: error.code, pending }),
  ACTION_SETTLED: ({ resolution }, event, view) => emitEnd(view, event, { settled: resolution }),
  BUDGET_REFUSED: ({ error }, event, view) => emitBudget(view, event, error),
  STEP_FAILED: ({ error }, event, view) =>
    emitRefused(view, event, "capability_violation", { error: "denied", code: error.code }),
  STEP_SKIPPED: ({ reason }, event, view) => emitRefused(view, event, "custom", { reason }, "dependency_cancelled"),
  TOKEN_RECORDED: ({ token_id, kind, label, detail }, event, view) =>
    emit(view, token_id, event, label === null ? [kind, detail] : [kind, detail, label]),
  MEMORY_WRITTEN({ record }, event, view) {
    const token = tokenOfStep(view, event);
    if (token?.begun === true) emit(view, token.id, event, ["memory_write", { key: record.key }]);
  },
  WORKFLOW_COMPLETED: (_completed, event, view) => emitWork(view, event, "Reflect"),
};
