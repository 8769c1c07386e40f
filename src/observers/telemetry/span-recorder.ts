/**
 * The spans: one for every life, started and ended at the instants of the ledger.
 *
 * Owns: the span of each life, and its parent. Never: holds a span that its life does not hold.
 * 1.  All spans of a workflow are of one trace, which is derived from the workflow's id, in any process.
 * 2.  With `ids` (which the SDK then has as well) their ids are derived too: a life that continues in another process
 *     keeps its id, and its children find it. Without, a span that outlived its process begins again under a new one.
 * 3.  A dropped life is never ended here: it is no span until it has ended.
 */
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type TimeInput,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { Lifetime, LifetimeEnd } from "./lifetime.ts";
import type { LifeListener } from "./lifetimes.ts";
import { factsOf, factsOfEnd, nameOf } from "./span-facts.ts";
import { rootSpanIdOf, spanIdOf, traceIdOf, type WorkflowIds } from "./workflow-ids.ts";

/** Seconds and nanoseconds: a plain number that is small would be taken for a time since the process began. */
const timeOf = (ms: number): TimeInput => [Math.floor(ms / 1000), (ms % 1000) * 1_000_000];

export class SpanRecorder implements LifeListener {
  readonly #tracer: Tracer;
  readonly #ids: WorkflowIds | null;
  readonly #isModel: (operator: string) => boolean;
  readonly #spans = new WeakMap<Lifetime, Span>();

  constructor(tracer: Tracer, ids: WorkflowIds | null, isModel: (operator: string) => boolean) {
    this.#tracer = tracer;
    this.#ids = ids;
    this.#isModel = isModel;
  }

  began(life: Lifetime, record: WorkflowRecord): void {
    const start = (): Span =>
      this.#tracer.startSpan(
        nameOf(life),
        {
          startTime: timeOf(life.began),
          attributes: factsOf(life, record),
          kind: life.kind === "attempt" && this.#isModel(life.subject) ? SpanKind.CLIENT : SpanKind.INTERNAL,
          ...linksOf(life, record),
        },
        this.#contextAbove(life),
      );
    const named = { traceId: traceIdOf(life.workflowId), spanId: spanIdOf(life) };
    this.#spans.set(life, this.#ids === null ? start() : this.#ids.starting(named, start));
  }

  ended(life: Lifetime, end: LifetimeEnd): void {
    const span = this.#spans.get(life);
    if (span === undefined) return;
    this.#spans.delete(life);
    const facts = factsOfEnd(life, end);
    span.setAttributes(facts);
    if (end.error !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: end.error });
    nameModelCall(span, facts);
    span.end(timeOf(end.at));
  }

  forgotten(life: Lifetime): void {
    this.#spans.delete(life);
  }

  /** Returns a context in which spans become children of this life's; null if it has none. */
  contextOf(life: Lifetime, within: Context): Context | null {
    const span = this.#spans.get(life);
    return span === undefined ? null : trace.setSpan(within, span);
  }

  #contextAbove({ parent, workflowId, number }: Lifetime): Context {
    const above = parent === null ? undefined : this.#spans.get(parent);
    if (above !== undefined) return trace.setSpan(ROOT_CONTEXT, above);
    // The first run's span is the root, where it can have the root's id.
    if (parent === null && number === 1 && this.#ids !== null) return ROOT_CONTEXT;
    return trace.setSpanContext(ROOT_CONTEXT, rootContextOf(workflowId));
  }
}

/** Returns the parent of all spans of a workflow. */
const rootContextOf = (workflowId: string): SpanContext => ({
  traceId: traceIdOf(workflowId),
  spanId: rootSpanIdOf(workflowId),
  traceFlags: TraceFlags.SAMPLED,
  isRemote: true,
});

/** Returns the links: repeated work points to the workflow that did it first, a fork to the one that it continues. */
function linksOf({ kind }: Lifetime, { regenerated_from, fork }: WorkflowRecord) {
  const first = regenerated_from ?? fork?.workflow_id ?? null;
  return kind === "workflow" && first !== null ? { links: [{ context: rootContextOf(first) }] } : {};
}

/** Names a model call `chat MODEL`, by the conventions: the model is known once the call was routed. */
function nameModelCall(span: Span, facts: Attributes): void {
  const operation = facts["gen_ai.operation.name"];
  if (operation !== undefined) span.updateName(`${operation} ${facts["gen_ai.request.model"]}`);
}
