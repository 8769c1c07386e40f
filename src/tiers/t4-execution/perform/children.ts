/**
 * The children of the workflows that this process drives: begins them, hands their ends to their parents, and ends them
 * with their parents.
 *
 * Owns: the ways between a child and its parent. Never: decides what a child's end means for its parent.
 * 1.  Whatever passes between the two is a command that the other's log takes in, whichever process drives it.
 * 2.  To begin a child again, to hand over an end again, or to cancel a child again changes nothing.
 * 3.  What cannot be handed over now is logged; the sweep over parked steps hands it over later.
 * 4.  A child in the place of an earlier one does the work of that one again, under its keys: what that one has done is
 *     not done twice. One that has undone its work answers nobody.
 */
import {
  type ChildEnd,
  type ChildResult,
  childKey,
  isAwaited,
  type ParentLink,
  pathTo,
} from "../../../contract/child.ts";
import { KernelErrorException, raise } from "../../../contract/error.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { requestFrom, submissionKey } from "../../../contract/intent.ts";
import type { Json } from "../../../contract/json.ts";
import { type ChildRequest, type RepeatedWork, t0 } from "../../../contract/messages/t0.ts";
import { addMoney } from "../../../contract/money.ts";
import { lineOf } from "../../../contract/queue.ts";
import { isCancelled, isTerminal, stepsOf, type WorkflowRecord } from "../../../contract/workflow.ts";
import { askTier } from "../../../engine/actors/ask-tier.ts";
import type { Runtime } from "../../../engine/actors/runtime.ts";
import type { LedgerStore } from "../../../ports/ledger-store.ts";
import { repeatOf } from "../decide/call/repeat-work.ts";
import { stepsToUndo } from "../decide/plan/compensate.ts";
import type { Command } from "../decide/run/input.ts";
import type { HostQuestions, IntentionOf, OrderedChildren } from "../decide/run/intention.ts";
import { oodaRef, stepOf } from "../decide/run/run.ts";
import { childBefore, childrenByWork, workOf } from "../decide/step/earlier-child.ts";
import type { Asking } from "./services.ts";

export interface ChildrenParts {
  readonly store: Pick<LedgerStore, "findKey" | "head">;
  readonly runtime: Pick<Runtime, "logger">;
  /** Reads the record of a workflow as it is committed. */
  readonly read: (workflowId: string) => Promise<WorkflowRecord>;
  /** Hands a workflow a command, in whichever process it is driven. */
  readonly command: (workflowId: string, command: Command) => Promise<unknown>;
}

type Begun = HostQuestions["begin_child"]["answer"];

interface Earlier {
  readonly record: WorkflowRecord;
  /** Its children, by the names of the work that they do. */
  readonly children: ReadonlyMap<string, string>;
}

const childRef = oodaRef("run_child");
const firstPauseMs = 1_000;

export class Children {
  readonly #parts: ChildrenParts;
  /** Children that are being begun here, by their keys. */
  readonly #beginning = new Map<string, Promise<unknown>>();
  /** The ended workflow that was last done again here: the children of a list ask for it one after another. */
  #earlier: Earlier | null = null;

  constructor(parts: ChildrenParts) {
    this.#parts = parts;
  }

  /** Begins the child of a step, or retries that of its earlier run. @throws KernelErrorException what refuses it. */
  async begin(at: Asking, of: HostQuestions["begin_child"]["of"]): Promise<Begun> {
    const key = keyOf(at, of.step_id);
    const begun = this.#beginOrRetry(at, of);
    const known = begun.catch(() => undefined);
    this.#beginning.set(key, known);
    try {
      return await begun;
    } finally {
      if (this.#beginning.get(key) === known) this.#beginning.delete(key);
    }
  }

  /** Finds the child that a step has begun; null if there is none. */
  async find(at: Asking, stepId: string): Promise<Begun | null> {
    const key = keyOf(at, stepId);
    await this.#beginning.get(key);
    const { tenant_id, intent } = at.run.log.record;
    const holder = await this.#parts.store.findKey(tenant_id, submissionKey(intent.actor, key));
    return holder === null ? null : { workflow_id: holder.workflow_id };
  }

  /** Returns whether the parent of a child has ended, or ends: the child is not to begin then. */
  async hasNoParent({ workflow_id }: ParentLink): Promise<boolean> {
    const head = await this.#parts.store.head(workflow_id);
    return head === null || isCancelled(head.state) || isTerminal(head.state);
  }

  /** Returns the end of a child; null while it goes on. */
  async endOf(child: string): Promise<Ended | null> {
    const head = await this.#parts.store.head(child);
    return head !== null && isTerminal(head.state) ? endOf(await this.#parts.read(child)) : null;
  }

  /** Hands the end of a child to its parent, which waits for it. */
  ended(child: WorkflowRecord): void {
    if (isAwaited(child.parent)) this.#attempt(child.workflow_id, () => this.#handOver(child));
  }

  /** Gives a child an order that its parent was given. One that has ended already hands over its end. */
  order({ run }: Pick<Asking, "run">, { child, kind, reason, principal, undo }: IntentionOf<"order_child">): void {
    const command: Command = { kind, reason, principal, undo, auth: run.log.record.auth };
    this.#attempt(child, async () => {
      await isTaken(this.#parts.command(child, command));
      const record = await this.#parts.read(child);
      if (isTerminal(record.state)) await this.#handOver(record);
    });
  }

  /** Has the workflow whose record this one takes over know of it. @throws what refuses it. */
  async noteFork(at: Asking): Promise<void> {
    const { fork, intent, workflow_id } = at.run.log.record;
    if (fork === null) return;
    const { sequence, step_id, reason } = fork;
    const by = { fork: workflow_id, sequence, step_id, reason, principal: intent.actor };
    const command: Command = { kind: "forked", by };
    await untilAnswered(at, () => this.#parts.command(fork.workflow_id, command));
  }

  /** Has a child that has ended roll back; resolves once it has committed the order. @throws what refuses it. */
  async rollBack(at: Asking, { child, reason, principal }: HostQuestions["roll_back_child"]["of"]): Promise<void> {
    const command: Command = { kind: "rollback", reason, principal, auth: at.run.log.record.auth };
    await untilAnswered(at, () => this.#parts.command(child, command));
  }

  /** Gives an order to children, and to those that steps are beginning. @throws what refuses it, but for an end. */
  async orderAll(at: Asking, of: HostQuestions["order_children"]["of"]): Promise<OrderedChildren> {
    const { kind, reason, principal, steps } = of;
    const begun = await Promise.all(steps.map((stepId) => this.find(at, stepId)));
    const children = [...new Set([...of.children, ...begun.flatMap((one) => one?.workflow_id ?? [])])];
    const command: Command = { kind, reason, principal, auth: at.run.log.record.auth };
    await Promise.all(children.map((child) => isTaken(this.#parts.command(child, command))));
    return { children, steps };
  }

  async #handOver(record: WorkflowRecord): Promise<void> {
    const { parent } = record;
    const ended = endOf(record);
    if (parent === null || ended === null) return;
    const { step_id, workflow_id } = parent;
    const head = await this.#parts.store.head(workflow_id);
    if (head === null || isTerminal(head.state)) return;
    const command: Command = { kind: "child_ended", step_id, ...ended };
    await this.#parts.command(workflow_id, command);
  }

  #attempt(child: string, work: () => Promise<void>): void {
    const { logger } = this.#parts.runtime;
    const failed = (error: unknown): void =>
      logger.warn({ error, workflow_id: child }, "a child and its parent could not be told of each other");
    work().catch(failed);
  }

  async #beginOrRetry(at: Asking, { step_id, params, failed }: HostQuestions["begin_child"]["of"]): Promise<Begun> {
    if (failed !== null && (await this.#goesOn(at, failed))) return { workflow_id: failed.workflow_id };
    const repeats = await this.#findRepeated(at, step_id);
    const accepted = await untilAnswered(at, () => submitChild(at, step_id, { ...params, repeats }));
    return { workflow_id: accepted.workflow_id };
  }

  /** Finds the child in whose place that of a step begins, in this workflow and then in those that it does again. */
  async #findRepeated({ run }: Asking, stepId: string): Promise<RepeatedWork | null> {
    const { record } = run.log;
    const step = stepOf(run, stepId);
    const child = childBefore(record, step) ?? (await this.#findEarlier(record, workOf(record, step)));
    const before = child === null ? null : await this.#parts.read(child);
    return before === null || before.compensating !== null ? null : repeatOf(before);
  }

  async #findEarlier({ regenerated_from: from }: WorkflowRecord, work: string): Promise<string | null> {
    if (from === null) return null;
    const { record, children } = await this.#readEarlier(from);
    return children.get(work) ?? this.#findEarlier(record, work);
  }

  async #readEarlier(id: string): Promise<Earlier> {
    if (this.#earlier?.record.workflow_id === id) return this.#earlier;
    const record = await this.#parts.read(id);
    const earlier = { record, children: childrenByWork(record) };
    // One that has not ended may begin further children.
    if (isTerminal(record.state)) this.#earlier = earlier;
    return earlier;
  }

  /** Retries a failed child, unless somebody has done so since. False where nothing of it may run again. */
  async #goesOn(at: Asking, { workflow_id, sequence }: Pick<ChildEnd, "workflow_id" | "sequence">): Promise<boolean> {
    const { state, sequence: now } = await this.#parts.read(workflow_id);
    if (now > sequence || state !== "failed") return state !== "cancelled";
    const { auth, intent, restarted_by, feedback } = at.run.log.record;
    const command: Command = {
      kind: "retry",
      mode: "resume_failed_steps",
      step_ids: undefined,
      feedback: feedback ?? undefined,
      principal: restarted_by ?? intent.actor,
      auth,
    };
    return isTaken(untilAnswered(at, () => this.#parts.command(workflow_id, command)));
  }
}

const keyOf = ({ run }: Pick<Asking, "run">, step_id: string): string =>
  childKey({ workflow_id: run.log.identity.workflow_id, step_id }, stepOf(run, step_id).run);

/** Returns whether a workflow has taken a command: it refuses one that its state does not allow. @throws all else. */
export async function isTaken(answered: Promise<unknown>): Promise<boolean> {
  try {
    await answered;
    return true;
  } catch (thrown) {
    if (thrown instanceof KernelErrorException && thrown.error.code === "T4_WORKFLOW_CONFLICT") return false;
    throw thrown;
  }
}

/** Tries again what another attempt may answer, for as long as the workflow goes on here. */
export async function untilAnswered<T>({ runtime, services, signal }: Asking, work: () => Promise<T>): Promise<T> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, runtime.limits.foldAgainMs)) {
    try {
      return await work();
    } catch (thrown) {
      const mayHelp = thrown instanceof KernelErrorException && thrown.error.retry_eligible;
      if (!mayHelp || signal.aborted) throw thrown;
    }
    await services.timers.until(runtime.clock.now() + pauseMs, signal);
    if (signal.aborted)
      raise(kernelError("T4_WORKFLOW_CONFLICT", "the workflow ended before it was answered", childRef));
  }
}

/** Returns the lines in which a workflow works in a place, its own or that of one above it. */
function linesOf({ intent: { queue }, parent }: WorkflowRecord): readonly string[] {
  const above = parent === null || parent.detached === true ? [] : (parent.lines ?? []);
  return queue === undefined ? above : [...above, lineOf(queue)];
}

/** Submits the child on behalf of the principal of its parent, with the parent's scope, thread and constraints. */
function submitChild(at: Asking, step_id: string, { intent, inputs, detached, repeats }: ChildStart) {
  const { run, runtime, parentId } = at;
  const { record } = run.log;
  const { approval } = stepOf(run, step_id).step;
  const lines = linesOf(record);
  const request = {
    ...requestFrom(record.intent),
    tenant_id: record.tenant_id,
    principal: record.intent.actor,
    thread_id: record.thread_id,
    intent_hint: { intent_type: intent, inputs },
    idempotency_key: keyOf(at, step_id),
  };
  const parent: ParentLink = {
    workflow_id: record.workflow_id,
    step_id,
    above: pathTo(record.parent),
    spent: record.spent,
    ...(detached && { detached: true as const }),
    ...(approval !== undefined && { approval }),
    ...(lines.length > 0 && { lines }),
  };
  const { correlation_id, requesters } = record;
  const by = { source: childRef, traceId: correlation_id, parentId };
  return askTier(runtime, t0.beginChild, { request, parent, correlation_id, requesters, repeats }, by);
}

type ChildStart = HostQuestions["begin_child"]["of"]["params"] & Pick<ChildRequest, "repeats">;

type Ended = NonNullable<HostQuestions["child_end"]["answer"]>;

/** Returns the end of a workflow, and its result if it has completed; null if it has not ended. */
function endOf(record: WorkflowRecord): Ended | null {
  const { workflow_id, state, sequence, error } = record;
  const spent = addMoney(record.spent, record.parent?.spent ?? 0, -1);
  if (state !== "completed" && state !== "failed" && state !== "cancelled") return null;
  const isCompleted = state === "completed";
  return {
    end: {
      ...{ workflow_id, state, sequence, spent, error: isCompleted ? null : error },
      ...(isCompleted && stepsToUndo(record).length > 0 && { undoable: true as const }),
      ...(record.compensated !== null && { compensated: record.compensated }),
    },
    result: isCompleted ? (resultOf(record) as unknown as Json) : null,
  };
}

function resultOf(record: WorkflowRecord): ChildResult {
  const { workflow_id, text, plan, outcomes } = record;
  const steps = stepsOf(record).filter(({ state }) => state === "succeeded");
  const needed = new Set(steps.flatMap(({ step }) => step.depends_on));
  const [last, ...others] = steps.filter(({ step }) => !needed.has(step.step_id));
  return {
    workflow_id,
    text: text || (plan?.direct_response ?? ""),
    result: others.length === 0 ? (last?.output ?? null) : null,
    outcome: [...outcomes.values()].at(-1)?.at(-1)?.content ?? null,
  };
}
