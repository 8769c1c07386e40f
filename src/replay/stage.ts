/**
 * A fresh kernel for one replay: the real tiers and the host's own rules, with everything that reaches outside answered from
 * the record.
 *
 * Owns: what of a host takes part. Its capabilities, operators' metadata and input schemas, policies, limits, scorers and
 * parameter checks do; its operators, previews, output validators, middleware, planner, listeners and stores do not.
 */
import { quietLogger, quietTelemetry } from "../adapters/quiet-telemetry.ts";
import { seededRandom } from "../adapters/seeded-random.ts";
import { type KernelError, KernelErrorException } from "../contract/error.ts";
import { type EventPayloads, type LedgerEvent, payloadOf } from "../contract/event.ts";
import { createIdSource } from "../contract/ids.ts";
import { moduleRef } from "../contract/module-ref.ts";
import { fail, metricsOf, ok, type Result } from "../contract/result.ts";
import type { Signal } from "../contract/signal.ts";
import { type KernelOptions, resolveOptions, type TierPatch } from "../kernel/options.ts";
import { KernelParts, openMemoryLedger } from "../kernel/parts.ts";
import type { Middleware } from "../ports/middleware.ts";
import type { ApproverKeys } from "../ports/signature-verifier.ts";
import type { Door } from "../runtime/define-tier.ts";
import type { Kit } from "../runtime/kit.ts";
import { RecordedSource } from "../runtime/recorded-source.ts";
import type { Registry } from "../runtime/registry.ts";
import { isPromise } from "../runtime/within.ts";
import { isBlocking } from "../tiers/t4-execution/end-step.ts";
import type { Desk } from "../tiers/t4-execution/run.ts";
import type { CapabilityShelf } from "../tiers/t5-ego/admission/capability-shelf.ts";
import { RecordedCalls } from "./recorded-calls.ts";
import { createReplayClock, type ReplayClock } from "./replay-clock.ts";

/** What a replay is made with: the host's options, and what is registered in its process. */
export interface Rules {
  readonly options: KernelOptions;
  readonly registry: Registry;
  readonly shelf: CapabilityShelf;
}

/** Answers of T5 that take their own time: signatures are checked off the loop. */
interface Answers {
  readonly idle: () => Promise<unknown>;
  readonly waits: () => boolean;
}

export interface Stage {
  readonly parts: KernelParts;
  readonly source: RecordedSource;
  readonly calls: RecordedCalls;
  readonly clock: ReplayClock;
  readonly answers: Answers;
}

/** Options of a host that have no part in a replay: they watch, keep, or reach outside. */
const outside: ReadonlySet<string> = new Set([
  "ledger",
  "inspect",
  "notify",
  "initialize",
  "artifacts",
  "planner",
  "classifier",
  "retrieval",
  "middleware",
] satisfies (keyof KernelOptions)[]);

/** `onNews` is told when the record has moved on or a call has begun. */
export async function openStage(
  events: readonly LedgerEvent[],
  { options, registry, shelf }: Rules,
  onNews: () => void,
): Promise<Stage> {
  const clock = createReplayClock(Date.parse((events[0] as LedgerEvent).timestamp));
  const random = seededRandom(1);
  const calls: RecordedCalls = new RecordedCalls(() => source, onNews);
  const onMatch = (event: LedgerEvent): void => {
    clock.reach(Date.parse(event.timestamp));
    calls.meet(event);
    onNews();
  };
  const source = new RecordedSource({ events, ids: createIdSource({ now: clock.now, random }), clock, onMatch });
  const store = await openMemoryLedger();
  await store.open();
  const kept = Object.fromEntries(Object.entries(options).filter(([name]) => !outside.has(name))) as KernelOptions;
  const approverKeys = options.approverKeys === undefined ? {} : { approverKeys: keysIn(events) };
  const resolved = resolveOptions({
    ...kept,
    ...approverKeys,
    clock,
    random,
    logger: quietLogger,
    telemetry: quietTelemetry,
  });
  const pending = new Set<Promise<unknown>>();
  const parts = new KernelParts(resolved, store, {
    shelf,
    registry: {
      ...registry,
      findOperator(name, version) {
        const operator = registry.findOperator(name, version);
        return operator === null ? null : calls.answering(operator);
      },
    },
    patchTier: answerDoors({ source, options, pending }),
    sourceOf: () => source,
    fillDesk: (desk) => fillDesk(desk, { source, calls, options }),
  });
  parts.supervision.root.send({ type: "OPENED" });
  return {
    parts,
    source,
    calls,
    clock,
    answers: { idle: () => Promise.allSettled(pending), waits: () => pending.size > 0 },
  };
}

interface Answering {
  readonly source: RecordedSource;
  readonly calls: RecordedCalls;
  readonly options: KernelOptions;
}

function fillDesk(desk: Desk, { source, calls, options: { middleware = [], security = {} } }: Answering): Desk {
  const pass = () => ({ ok: true }) as const;
  return {
    ...desk,
    middleware: middleware.length === 0 ? [] : [recordedMiddleware(source)],
    security: {
      ...desk.security,
      validateOutput: calls.validateOutput,
      ...(security.validateChunk === undefined ? {} : { validateChunk: pass }),
    },
    ensureInitialized: () => initializedAsRecorded(source),
    findSharedKey: async ({ key }) => sharedAsRecorded(source, key),
    findDraft: async (_workflowId, stepId) => {
      const drafted = source.peek("OUTCOME_DRAFTED", stepId);
      return drafted === null ? null : payloadOf(drafted, "OUTCOME_DRAFTED").outcome;
    },
  };
}

/**
 * A custom hook that said no before a call left a blocked step without a start, or a start that made no call and its
 * failure; what it did otherwise left what a call would have left.
 */
function recordedMiddleware(source: RecordedSource): Middleware {
  return {
    name: "recorded",
    before({ step_id, attempt }) {
      const ended = source.peek("ACTION_FAILED", step_id);
      const end = ended === null ? null : payloadOf(ended, "ACTION_FAILED");
      const started = source.peek("ACTION_STARTED", step_id);
      // A start without a token made no call.
      if (end?.attempt === attempt && !end.cached && started !== null && started.payload["token"] === undefined)
        throw new KernelErrorException(end.error);
      const failed = source.peek("STEP_FAILED", step_id);
      if (failed === null || (started !== null && started.sequence < failed.sequence)) return;
      const { error } = payloadOf(failed, "STEP_FAILED");
      if (isBlocking(error)) throw new KernelErrorException(error);
    },
  };
}

const ends: ReadonlySet<string> = new Set(["STEP_SKIPPED", "ERROR_ESCALATED", "WORKFLOW_FAILED"]);

function initializedAsRecorded(source: RecordedSource): Promise<void> | null {
  const failed = source.peek("WORKFLOW_FAILED", null);
  if (failed === null || !ends.has(source.next?.event_type ?? "")) return null;
  const { error } = payloadOf(failed, "WORKFLOW_FAILED");
  return error.code === "T0_KERNEL_INITIALIZE_FAILED" ? Promise.reject(new KernelErrorException(error)) : null;
}

/** What another workflow had made of a key is known by what this one took over from it. */
function sharedAsRecorded(source: RecordedSource, key: string): Awaited<ReturnType<Desk["findSharedKey"]>> {
  const started = source.find((e) => e.event_type === "ACTION_STARTED" && e.payload["key"] === key);
  if (started === null) return sharedInDoubt(source);
  const { action_id } = payloadOf(started, "ACTION_STARTED");
  const ended = source.peek("ACTION_SUCCEEDED", started.step_id, (e) => e.payload["action_id"] === action_id);
  if (ended === null) return null;
  const { cached, result } = payloadOf(ended, "ACTION_SUCCEEDED");
  return cached ? { action_id, result, succeeded: true } : null;
}

function sharedInDoubt(source: RecordedSource): Awaited<ReturnType<Desk["findSharedKey"]>> {
  const failed = source.find((e) => e.event_type === "STEP_FAILED");
  const error = failed === null ? null : payloadOf(failed, "STEP_FAILED").error;
  if (error?.code !== "T4_ACTION_IN_DOUBT") return null;
  return { action_id: String(error.detail["action_id"]), result: null, succeeded: false };
}

/** A door of T5 whose answer waits until its decision is what the record has next. */
function inTurn(handle: Door["handle"], { source, pending }: Answered): Door["handle"] {
  return (signal, kit) => {
    const turn = source.turnOfAnswer();
    const answered = handle(signal, kit);
    if (isPromise(answered) && isSigned(signal)) {
      pending.add(answered);
      void answered.finally(() => pending.delete(answered)).catch(() => undefined);
    }
    return turn === null ? answered : turn.then(() => answered);
  };
}

const isSigned = ({ body }: Signal): boolean =>
  typeof (body["data"] as { readonly signature?: unknown } | undefined)?.signature === "string";

/** The keys that approvers signed with: whose they are was checked when they were taken. */
function keysIn(events: readonly LedgerEvent[]): ApproverKeys {
  const signed = events.flatMap(({ event_type: type, payload }) => {
    if (type !== "GATE_VOTED" && type !== "USER_APPROVED" && type !== "USER_REJECTED") return [];
    const { principal, signature } = payload as unknown as EventPayloads["USER_APPROVED"];
    return principal === null || signature == null ? [] : [{ principal, jwk: signature.jwk }];
  });
  return ({ type, id }) => {
    const own = signed.filter(({ principal }) => principal.type === type && String(principal.id) === String(id));
    return own.map(({ jwk }) => jwk);
  };
}

/** Where T5 is asked what leaves a decision behind. */
const policyDoors: ReadonlySet<string> = new Set([
  "5/data:StepQuestion",
  "5/data:PolicyQuestion",
  "5/data:GateJudgement",
  "5/data:DelegationJudgement",
]);

/** T2 answers with the recorded context, T3 with the recorded plans where a host's own planner made them. */
function answerDoors(answered: Answered): TierPatch {
  const { source, options } = answered;
  const { planner, budgets } = options;
  const answers: Readonly<Record<string, Door["handle"]>> = {
    "2/data:ContextRequest": (signal, kit) => {
      const built = source.peek("CONTEXT_BUILT", null);
      return built === null ? failAsRecorded(source, "WORKFLOW_FAILED") : answer(signal, kit, built.payload);
    },
    "7/data:RouteRequest": (signal, kit) => routeAsRecorded(source, signal, kit),
    ...((budgets?.limits ?? []).length === 0
      ? {}
      : { "5/data:CallQuestion": (signal, kit) => admitAsRecorded(source, signal, kit) }),
    ...(planner === undefined ? {} : { "3/data:PlanRequest": (signal, kit) => planAsRecorded(source, signal, kit) }),
  };
  return (definition) => {
    const doors = Object.entries(definition.doors).map(([key, door]) => {
      const name = `${definition.tier}/${key}`;
      const handle = answers[name] ?? door.handle;
      return [key, { ...door, handle: policyDoors.has(name) ? inTurn(handle, answered) : handle }] as const;
    });
    return { ...definition, doors: Object.fromEntries(doors) };
  };
}

interface Answered {
  readonly source: RecordedSource;
  readonly options: KernelOptions;
  readonly pending: Set<Promise<unknown>>;
}

/** Where a model call went is known by what was decided; what others had used of its endpoint stands in other ledgers. */
function routeAsRecorded(source: RecordedSource, signal: Signal, kit: Kit): Result | Promise<Result> {
  const decided = source.find((e) => e.event_type === "ROUTE_DECIDED");
  if (decided === null) return new Promise(() => undefined);
  const { decision, refusal } = payloadOf(decided, "ROUTE_DECIDED");
  return decision === null ? fail(refusal as KernelError, metricsOf(recordRef)) : answer(signal, kit, decision);
}

/** What a budget over workflows had left is known by what was reserved of it, or refused. */
function admitAsRecorded(source: RecordedSource, signal: Signal, kit: Kit): Result {
  const { hold } = signal.body["data"] as { readonly hold: string };
  const stepId = hold.slice(hold.indexOf("/") + 1);
  const started = source.peek("ACTION_STARTED", stepId)?.sequence ?? Number.POSITIVE_INFINITY;
  const before = (type: "BUDGET_REFUSED" | "BUDGET_RESERVED" | "STEP_FAILED") =>
    source.peek(type, stepId, ({ sequence }) => sequence < started);
  const refused = before("BUDGET_REFUSED");
  if (refused !== null) return fail(payloadOf(refused, "BUDGET_REFUSED").error, metricsOf(recordRef));
  const reserved = before("BUDGET_RESERVED");
  const failed = before("STEP_FAILED");
  // The budget could not be read.
  if (failed !== null && failed.sequence < (reserved?.sequence ?? Number.POSITIVE_INFINITY))
    return fail(payloadOf(failed, "STEP_FAILED").error, metricsOf(recordRef));
  if (reserved === null) return answer(signal, kit, { unlimited: false, reservation: null });
  const { counters, amounts } = payloadOf(reserved, "BUDGET_RESERVED");
  return answer(signal, kit, { unlimited: false, reservation: { counters, amounts } });
}

const recordRef = moduleRef(0, "replay", "answer");

const answer = (signal: Signal, kit: Kit, data: unknown): Result =>
  ok(
    [kit.signals.createDataSignal(data, "Recorded", recordRef, signal.trace_id, null, { parentId: signal.id })],
    metricsOf(recordRef),
  );

/** What was neither answered nor refused before the workflow ended otherwise does not answer. */
function failAsRecorded(source: RecordedSource, type: "WORKFLOW_FAILED" | "PLAN_REJECTED"): Result | Promise<Result> {
  const failed = source.peek(type, null) ?? source.peek("WORKFLOW_FAILED", null);
  if (failed === null) return new Promise(() => undefined);
  return fail(payloadOf(failed, type).error, metricsOf(recordRef));
}

function planAsRecorded(source: RecordedSource, signal: Signal, kit: Kit): Result | Promise<Result> {
  const { plan_id } = signal.body["data"] as { readonly plan_id: string };
  const created = source.peek("PLAN_CREATED", null, (e) => payloadOf(e, "PLAN_CREATED").plan.plan_id === plan_id);
  if (created !== null) {
    const { plan, planner_cost: cost } = payloadOf(created, "PLAN_CREATED");
    const cut = source.peek("PLAN_TRUNCATED", null, (e) => e.sequence === created.sequence + 1);
    const dropped = cut === null ? [] : payloadOf(cut, "PLAN_TRUNCATED").dropped;
    return answer(signal, kit, { plan, dropped, cost });
  }
  const denied = source.peek("POLICY_DECIDED", null, (e) => e.payload["subject"] === plan_id);
  const payload = denied === null ? undefined : payloadOf(denied, "POLICY_DECIDED").payload;
  if (payload === undefined) return failAsRecorded(source, "PLAN_REJECTED");
  return answer(signal, kit, { plan: { ...(payload as object), plan_id }, dropped: [], cost: 0 });
}
