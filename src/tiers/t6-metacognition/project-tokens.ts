/**
 * The token view of a workflow (seed 001): which pieces of work were scheduled, admitted, refused and done, read from its
 * ledger and stored nowhere else (C-05).
 *
 * T1  A token's id is the one that the fold gives: its place among those that were scheduled.
 * T2  Virtual time is the place in this stream; `sequence` in each detail leads to the ledger event.
 * T3  What a call used of capability and governor is counted here as the fold counts it; ceilings are the kernel's own.
 */
import type { EventPayloads, LedgerEvent } from "../../contract/event.ts";
import { payloadOf } from "../../contract/event.ts";
import type { JsonObject } from "../../contract/json.ts";
import type {
  CapabilityEntry,
  CapabilityUsage,
  GovernorUsage,
  ResourceRequest,
  TokenEvent,
  TokenEventKind,
  TokenKind,
} from "../../contract/token.ts";

/** The ceilings that the view names beside what was used. */
export interface TokenShelf {
  readonly find: (name: string) => CapabilityEntry | null;
  readonly governor: GovernorUsage;
}

interface Viewed {
  readonly shelf: TokenShelf;
  readonly told: TokenEvent[];
  /** The queued or running token of each step, and whether its call has begun. */
  readonly steps: Map<string, { readonly id: number; readonly begun: boolean }>;
  readonly dependencies: Map<string, readonly string[]>;
  readonly used: Map<string, CapabilityUsage>;
  governor: GovernorUsage;
  scheduled: number;
  intentType: string;
}

type Told = readonly [kind: TokenEventKind, detail: object, label?: string];
type Teller = (view: Viewed, event: LedgerEvent) => void;

const nothing: ResourceRequest = Object.freeze({ cpu_time: 0, memory_bytes: 0, network_bytes: 0, tokens: 0 });

export function projectTokens(events: readonly LedgerEvent[], shelf: TokenShelf): readonly TokenEvent[] {
  const view: Viewed = {
    shelf,
    told: [],
    steps: new Map(),
    dependencies: new Map(),
    used: new Map(),
    governor: shelf.governor,
    scheduled: 0,
    intentType: "",
  };
  for (const event of events) tellers[event.event_type]?.(view, event);
  return view.told;
}

function tell(view: Viewed, id: number, { sequence, step_id }: LedgerEvent, ...told: readonly Told[]): void {
  const place = step_id === null ? { sequence } : { sequence, step_id };
  for (const [kind, detail, label] of told)
    view.told.push({
      token_id: id,
      timestamp: view.told.length + 1,
      kind,
      label: label ?? null,
      detail: { ...detail, ...place } as JsonObject,
    });
}

function schedule(view: Viewed, event: LedgerEvent, kind: TokenKind, detail: object = {}): number {
  view.scheduled += 1;
  tell(view, view.scheduled, event, ["scheduled", { kind, dependencies: [], ...detail }]);
  return view.scheduled;
}

/** Work of a tier that is done within one event. */
function tellWork(view: Viewed, event: LedgerEvent, kind: TokenKind, end: object = {}): void {
  const after = view.scheduled === 0 ? [] : [view.scheduled];
  const id = schedule(view, event, kind, { dependencies: after });
  const name = kind === "Plan" ? view.intentType : null;
  tell(view, id, event, ["started", start(view, { name, cost: 0, resources: nothing })], ["completed", end]);
}

interface Started {
  readonly name: string | null;
  readonly cost: number;
  readonly resources: ResourceRequest;
}

/** The detail of `started`, with the counters after it. */
function start(view: Viewed, { name, cost, resources }: Started): object {
  const { cpu, memory, network, tokens } = view.governor;
  view.governor = {
    cpu: { ...cpu, consumed: cpu.consumed + resources.cpu_time },
    memory: { ...memory, consumed: memory.consumed + resources.memory_bytes },
    network: { ...network, consumed: network.consumed + resources.network_bytes },
    tokens: { ...tokens, consumed: tokens.consumed + resources.tokens },
  };
  const told = { resources: { requested: resources, usage: view.governor } };
  return name === null ? told : { ...told, ...attribute(view, name, cost) };
}

function attribute({ used, shelf }: Viewed, name: string, cost: number) {
  const before = used.get(name) ?? { invocations: 0, tokens: 0 };
  const after = { invocations: before.invocations + 1, tokens: before.tokens + cost };
  used.set(name, after);
  return {
    capability_handle: shelf.find(name)?.handle ?? null,
    capability_name: name,
    invocations: after.invocations,
    tokens_total: after.tokens,
    tokens_consumed: cost,
  };
}

/** The step's next attempt is a token of its own; it rests on the last tokens of the steps it depends on. */
function queue(view: Viewed, event: LedgerEvent, detail: object): void {
  const stepId = event.step_id ?? "";
  const before = (view.dependencies.get(stepId) ?? []).flatMap((id) => view.steps.get(id)?.id ?? []);
  const id = schedule(view, event, "Act", { dependencies: before, ...detail });
  view.steps.set(stepId, { id, begun: false });
}

const tokenOfStep = (view: Viewed, event: LedgerEvent) => view.steps.get(event.step_id ?? "");

function tellCall(view: Viewed, event: LedgerEvent): void {
  const { token, operator_name, attempt } = payloadOf(event, "ACTION_STARTED");
  if (token !== undefined && token.id > view.scheduled) queueAgain(view, event);
  const id = token?.id ?? tokenOfStep(view, event)?.id;
  // What the record answers once more, for a token that has started, is no further piece of work.
  if (id === undefined || (token === undefined && isOver(view, id))) return;
  view.steps.set(event.step_id ?? "", { id, begun: true });
  const asked = { cost: token?.cost ?? 0, resources: token?.resources ?? nothing };
  const detail = start(view, { name: token === undefined ? null : operator_name, ...asked });
  tell(view, id, event, ["started", { ...detail, attempt }]);
}

/** A call made again without a pause: the one before it was lost with its process, or a person settled it. */
function queueAgain(view: Viewed, event: LedgerEvent): void {
  tellEnd(view, event, { status: "failed", lost: true });
  queue(view, event, {});
}

function tellEnd(view: Viewed, event: LedgerEvent, detail: object): void {
  const token = tokenOfStep(view, event);
  if (token?.begun !== true) return;
  view.steps.set(event.step_id ?? "", { ...token, begun: false });
  tell(view, token.id, event, ["completed", detail]);
}

/** A token whose call never began: it was refused, or what it waited for will never complete. */
function tellRefused(view: Viewed, event: LedgerEvent, ...told: Told): void {
  const token = tokenOfStep(view, event);
  if (token === undefined || token.begun || isOver(view, token.id)) return;
  tell(view, token.id, event, told);
}

const isOver = ({ told }: Viewed, id: number): boolean =>
  told.findLast((event) => event.token_id === id)?.kind !== "scheduled";

const violations: ReadonlySet<string> = new Set(["capability_violation", "resource_violation", "budget_violation"]);

function tellBudget(view: Viewed, event: LedgerEvent): void {
  const { code, detail } = payloadOf(event, "BUDGET_REFUSED").error;
  const kind = violations.has(String(detail["kind"])) ? (detail["kind"] as TokenEventKind) : "budget_violation";
  tellRefused(view, event, kind, { code, ...detail });
}

function tellPlan(view: Viewed, event: LedgerEvent): void {
  const { plan, planner_cost } = payloadOf(event, "PLAN_CREATED");
  for (const step of plan.steps) view.dependencies.set(step.step_id, step.depends_on);
  tellWork(view, event, "Plan", { plan_id: plan.plan_id, planner_cost });
}

const failed = ({ error, pending }: EventPayloads["ACTION_FAILED"]) => ({
  status: "failed",
  code: error.code,
  pending,
});

const tellers: { readonly [type: string]: Teller } = {
  INTENT_RECEIVED(view, event) {
    view.intentType = payloadOf(event, "INTENT_RECEIVED").intent.type;
    tellWork(view, event, "Perception", { intent_type: view.intentType });
  },
  CONTEXT_BUILT: (view, event) => tellWork(view, event, "Reason"),
  PLAN_CREATED: tellPlan,
  PLAN_REJECTED: (view, event) => tellWork(view, event, "Plan", { status: "failed" }),
  STEP_QUEUED: (view, event) => queue(view, event, { goal: payloadOf(event, "STEP_QUEUED").name }),
  ACTION_RETRY_SCHEDULED: (view, event) =>
    queue(view, event, { due_at: payloadOf(event, "ACTION_RETRY_SCHEDULED").due_at }),
  ACTION_STARTED: tellCall,
  ACTION_SUCCEEDED: (view, event) => tellEnd(view, event, { cached: payloadOf(event, "ACTION_SUCCEEDED").cached }),
  ACTION_FAILED: (view, event) => tellEnd(view, event, failed(payloadOf(event, "ACTION_FAILED"))),
  ACTION_SETTLED: (view, event) => tellEnd(view, event, { settled: payloadOf(event, "ACTION_SETTLED").resolution }),
  BUDGET_REFUSED: tellBudget,
  STEP_FAILED(view, event) {
    const { error } = payloadOf(event, "STEP_FAILED");
    tellRefused(view, event, "capability_violation", { error: "denied", code: error.code });
  },
  STEP_SKIPPED: (view, event) =>
    tellRefused(view, event, "custom", { reason: payloadOf(event, "STEP_SKIPPED").reason }, "dependency_cancelled"),
  TOKEN_RECORDED(view, event) {
    const { token_id, kind, label, detail } = payloadOf(event, "TOKEN_RECORDED");
    tell(view, token_id, event, label === null ? [kind, detail] : [kind, detail, label]);
  },
  MEMORY_WRITTEN(view, event) {
    const token = tokenOfStep(view, event);
    const { key } = payloadOf(event, "MEMORY_WRITTEN").record;
    if (token?.begun === true) tell(view, token.id, event, ["memory_write", { key }]);
  },
  WORKFLOW_COMPLETED: (view, event) => tellWork(view, event, "Reflect"),
};
