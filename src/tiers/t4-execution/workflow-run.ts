/**
 * One workflow while it is awake: the conductor of its turns.
 *
 * Owns: the order plan → start → run the DAG → rest, replan or end, and what may interrupt it. Never: how a step runs.
 * C1  One drive at a time; whatever happens meanwhile is seen before the run rests.
 * C2  waiting_for_user exactly when a gate is open and no step is running or ready.
 * C3  A failed step is replanned while rounds are left, a blocked one never (C-16).
 * C4  After a lost log the run does nothing more; the workflow is folded again from the ledger.
 */
import type { OperatorResult } from "../../contract/action.ts";
import { checkBudget } from "../../contract/budget.ts";
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { draft } from "../../contract/event.ts";
import { isOpenGate } from "../../contract/gate.ts";
import type { Principal } from "../../contract/intent.ts";
import type { PlanStep } from "../../contract/plan.ts";
import { isRunnable, isStepDone, isTerminal, type StepRecord } from "../../contract/workflow.ts";
import type { Kit } from "../../runtime/kit.ts";
import { errorOf } from "../../runtime/within.ts";
import type { WorkflowLog } from "../../runtime/workflow-log.ts";
import type { Admission } from "./admit-call.ts";
import { type DAGResult, DagExecutor, parked } from "./dag-executor.ts";
import { reviseOutdated } from "./edit-gate.ts";
import { cancelWorkflow, completeWorkflow, failWorkflow } from "./end-workflow.ts";
import { expireGates, forgetExpiry } from "./expire-gates.ts";
import { planWorkflow, warnOfLoop } from "./plan-workflow.ts";
import { findOperator, isRepeatable } from "./prepare-step.ts";
import { dagStatus, lastDecidedGate, queueSteps } from "./read-steps.ts";
import { type Desk, mark, oodaRef, type Run } from "./run.ts";
import { commitBesideOthers, isLost, openDoubtGate, operatorOf, runStep } from "./run-step.ts";

/** What the executor keeps for a run while it is awake. */
export interface RunHost {
  readonly kit: Kit;
  readonly desk: Desk;
  /** The run has come to rest, ended or lost its log: forget it. */
  readonly onRest: (run: WorkflowRun) => void;
}

export class WorkflowRun implements Run {
  readonly log: WorkflowLog;
  readonly kit: Kit;
  readonly desk: Desk;
  readonly parentId: string | null;
  readonly handles = new Map<string, Promise<OperatorResult>>();
  readonly admissions = new Map<string, Admission>();
  readonly #host: RunHost;
  readonly #abort = new AbortController();
  #dag: DagExecutor<PlanStep> | null = null;
  #driving: Promise<void> | null = null;
  #again = false;
  #soon = false;
  #users = 0;
  #asleep = false;
  objective: string | null = null;

  constructor(log: WorkflowLog, host: RunHost, parentId: string | null) {
    this.log = log;
    this.kit = host.kit;
    this.desk = host.desk;
    this.parentId = parentId;
    this.#host = host;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** True while something is under way or somebody works with it. */
  get isBusy(): boolean {
    return this.#driving !== null || this.#users > 0;
  }

  /** True while a command holds it back; it stays in memory, where the command is known. */
  get isAsleep(): boolean {
    return this.#asleep && !this.#isOver();
  }

  readonly commitSoon = (): void => {
    if (this.#soon) return;
    this.#soon = true;
    setImmediate(() => {
      this.#soon = false;
      this.log.commit().catch(() => undefined);
    });
  };

  readonly goOn = (): void => this.drive();

  /** Lets a caller work on the run; it does not rest meanwhile, and goes on afterwards. */
  async use<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      this.#users -= 1;
      this.drive();
    }
  }

  /** As `use`, for the first turn of a workflow: the caller has its answer before anything is fetched or run (INT-04). */
  async begin<T>(work: () => Promise<T>): Promise<T> {
    this.#users += 1;
    try {
      return await work();
    } finally {
      setImmediate(() => {
        this.#users -= 1;
        this.drive();
      });
    }
  }

  /** Goes on, or sees to it that the drive under way looks again. */
  drive(): void {
    this.#heedCancel();
    if (this.#driving !== null) {
      this.#again = true;
      if (this.log.exists && !this.#isOver() && expireGates(this)) this.commitSoon();
      for (const [id, step] of this.log.exists ? this.log.record.steps : [])
        if (step.state !== "queued") this.#dag?.resume(id);
      if (this.#dag !== null && !this.#isOver() && !this.#asleep) this.#resumeIfRunnable();
      return;
    }
    this.#driving = this.#loop().finally(() => {
      this.#driving = null;
      forgetExpiry(this);
      if (this.#users === 0) this.#host.onRest(this);
    });
  }

  /** Resolves when the drive under way, if any, is over. */
  async idle(): Promise<void> {
    while (this.#driving !== null) await this.#driving;
  }

  /** Suspends scheduling (COMMAND sleep) and lifts it (COMMAND activate). */
  setAsleep(asleep: boolean): void {
    this.#asleep = asleep;
    this.#dag?.pause(asleep);
    if (!asleep) this.drive();
  }

  /** Stops without ending the workflow: the owner stops, or another one took over. */
  interrupt(): void {
    this.#abort.abort(new Error("interrupted"));
    forgetExpiry(this);
  }

  /** Ends the workflow as cancelled, by a person. No operator is told before the ledger has it: the append may fail. */
  async cancel(reason: string, principal: Principal): Promise<void> {
    this.#dag?.pause(true);
    cancelWorkflow(this, { reason, error: null, principal });
    await this.log.commit();
    this.#stopWork();
  }

  /** A cancellation that another process appended ends what is under way here; one that is not durable yet does not. */
  #heedCancel(): void {
    const { log } = this;
    if (log.exists && log.record.state === "cancelled" && log.record.sequence === log.confirmed) this.#stopWork();
  }

  #stopWork(): void {
    this.#abort.abort(new Error("cancelled"));
    this.#dag?.halt("cancelled");
  }

  async #loop(): Promise<void> {
    try {
      do {
        this.#again = false;
        await this.#advance();
      } while (this.#again && !this.#isOver());
    } catch (thrown) {
      await this.#giveUp(thrown);
    }
  }

  #isOver(): boolean {
    const { lost, foreign, exists } = this.log;
    return lost !== null || foreign || this.signal.aborted || !exists || isTerminal(this.log.record.state);
  }

  /** One way through: as far as the workflow can go now. */
  async #advance(): Promise<void> {
    if (this.#isOver() || this.#asleep) return;
    mark(this, "ensure_initialized");
    await this.desk.ensureInitialized();
    if (this.#isOver()) return;
    await this.#recoverLost();
    if (this.#isOver()) return;
    await reviseOutdated(this);
    if (this.#isOver()) return;
    expireGates(this);
    if (this.log.record.plan === null) await this.#plan();
    else if (this.log.record.state === "planned") this.#startPlanned();
    for (let rests = false; !rests && !this.#isOver() && !this.#asleep; ) rests = await this.#runRound();
    // What was noted of a workflow that has ended meanwhile, by somebody else, is no part of it any more.
    if (this.log.lost === null && !isTerminal(this.log.record.state)) await this.log.commit();
  }

  /** A workflow that was put to sleep while it was being planned rests as planned. */
  async #plan(): Promise<void> {
    await planWorkflow(this, this.objective);
    if (!this.#asleep || this.log.record.state !== "planned") this.#start();
  }

  /** The plan was made before, perhaps by another process: nothing of it runs unless all of it can. */
  #startPlanned(): void {
    for (const step of this.log.record.plan?.steps ?? []) findOperator(this, step);
    this.#start();
  }

  /** Starts the workflow if this is its first plan, and queues the plan's steps. */
  #start(): void {
    if (this.log.record.state === "planned") this.log.note(draft("WORKFLOW_STARTED", { round: this.log.record.round }));
    const steps = this.log.record.plan?.steps ?? [];
    this.log.note(
      ...queueSteps(
        this.log.record,
        steps.map((s) => s.step_id),
      ),
    );
  }

  /** Runs the plan until it rests. True when the workflow waits or has ended. */
  async #runRound(): Promise<boolean> {
    const next = this.log.record.state === "waiting_for_user" ? this.log.turnOf(null) : null;
    if (next !== null) await next;
    this.#resumeIfRunnable();
    const result = await (this.log.record.plan?.direct_response == null ? this.#runPlan() : this.#respond());
    const turn = this.log.turnOf(null);
    if (turn !== null) await turn;
    if (this.#isOver() || this.#asleep) return true;
    const { record } = this.log;
    if (record.budget_refused !== null)
      return this.#end(() => failWorkflow(this, record.budget_refused as KernelError));
    if (result.waiting.length > 0) return this.#wait();
    // Put to sleep and activated again while its last call ended: the rest of the plan is still to be run.
    const ended = [...result.failed, ...result.cancelled];
    if ([...record.steps].some(([id, s]) => isRunnable(record, s) && !ended.includes(id))) return false;
    const failed = result.failed.map((id) => record.steps.get(id) as StepRecord);
    if (failed.length === 0 && result.cancelled.length === 0) return this.#end(() => completeWorkflow(this));
    if (!this.#mayReplan(failed)) return this.#end(() => this.#endFailed(failed));
    const refusal = checkBudget(record.spent, this.desk.maxCost);
    if (refusal !== null) return this.#end(() => this.#refuseReplan(refusal));
    await this.#replan();
    return false;
  }

  async #end(how: () => void | Promise<void>): Promise<boolean> {
    await how();
    await this.log.commit();
    return true;
  }

  async #endFailed(failed: readonly StepRecord[]): Promise<void> {
    const denied = failed.find((s) => s.error?.code === "T5_HUMAN_DENIED");
    if (denied !== undefined)
      return cancelWorkflow(this, { reason: "human_denied", error: denied.error, principal: null });
    const error =
      failed.find((s) => s.error !== null)?.error ??
      kernelError("T4_DEPENDENCY_FAILED", "a step this workflow needs did not run", oodaRef("end"));
    await failWorkflow(this, error);
  }

  #mayReplan(failed: readonly StepRecord[]): boolean {
    const { record } = this.log;
    const technical = failed.some((s) => !s.blocked);
    // Nor is a call repeated under a new key whose effect nobody knows.
    const final = failed.some((s) => s.error?.code === "T5_HUMAN_DENIED" || s.error?.code === "T4_ACTION_IN_DOUBT");
    return technical && !final && record.plan?.direct_response == null && record.round < this.kit.limits.maxReplans;
  }

  /** What ends the workflow is then the budget, not the failure: with more of it there would be another plan. */
  #refuseReplan(error: KernelError): Promise<void> {
    this.log.note(draft("BUDGET_REFUSED", { error }));
    return failWorkflow(this, error);
  }

  async #replan(): Promise<void> {
    warnOfLoop(this);
    if (this.log.record.state === "waiting_for_user") this.#resume(null);
    await this.#plan();
  }

  #runPlan(): Promise<DAGResult> {
    mark(this, "dag.run");
    const { plan, steps } = this.log.record;
    const dag = new DagExecutor<PlanStep>({
      steps: plan?.steps ?? [],
      executeFn: (step) => runStep(this, step.step_id).finally(() => commitBesideOthers(this)),
      budgetCheckFn: (step) => this.#checkInTurn(step),
      maxConcurrent: this.kit.limits.maxConcurrentSteps,
      settled: new Map(
        [...steps.values()].flatMap((s) => (isStepDone(s.state) ? [[s.step.step_id, dagStatus(s)] as const] : [])),
      ),
      onCancel: (step, because) => this.#skip(step, because),
    });
    this.#dag = dag;
    return dag.run().finally(() => {
      this.#dag = null;
    });
  }

  /** A direct response is one step of the kernel's own; the DAG executor is not entered (C-14). */
  async #respond(): Promise<Pick<DAGResult, "waiting" | "failed" | "cancelled">> {
    const step = this.log.record.plan?.steps[0] as PlanStep;
    const ids = [step.step_id];
    const none = { waiting: [], failed: [], cancelled: [] };
    if (!this.#checkBudget(step)) return { ...none, cancelled: ids };
    const ended = await runStep(this, step.step_id);
    if (ended === parked) return { ...none, waiting: ids };
    return ended.status === "COMPLETED" ? none : { ...none, failed: ids };
  }

  /** A step begins, or is refused, when it is its turn. */
  #checkInTurn(step: PlanStep): boolean | Promise<boolean> {
    const begins = this.log.record.steps.get(step.step_id)?.state === "queued";
    const turn = begins ? this.log.turnOf(step.step_id) : null;
    return turn === null ? this.#checkBudget(step) : turn.then(() => this.#checkBudget(step));
  }

  #checkBudget(step: PlanStep): boolean {
    mark(this, "policy.budget_check", { step_id: step.step_id });
    const known = this.log.record.steps.get(step.step_id);
    const refusal = known?.state === "queued" ? checkBudget(this.log.record.spent, this.desk.maxCost) : null;
    if (refusal === null) return true;
    this.log.note(draft("BUDGET_REFUSED", { error: refusal }, step.step_id));
    return false;
  }

  #skip(step: PlanStep, because: string): void {
    if (this.#isOver()) return;
    const blocked =
      this.log.record.steps.get(because)?.blocked === true ||
      this.log.record.steps.get(because)?.skip_reason === "dependency_blocked";
    const reason = because === "budget" ? "budget" : blocked ? "dependency_blocked" : "dependency_failed";
    if (this.log.record.steps.get(step.step_id)?.state === "queued")
      this.log.note(draft("STEP_SKIPPED", { reason, because }, step.step_id));
  }

  /** WORKFLOW_RESUMED once a decision has made a step ready. */
  #resumeIfRunnable(): void {
    const { record } = this.log;
    if (record.state !== "waiting_for_user") return;
    const ready = [...record.steps.values()].find((s) => isRunnable(record, s));
    if (ready !== undefined) this.#resume(ready.step.step_id);
  }

  #resume(step_id: string | null): void {
    this.log.note(draft("WORKFLOW_RESUMED", { gate_id: lastDecidedGate(this.log.record), step_id }));
  }

  /** Parks: the wait is recorded, the lease given up, nothing of the workflow stays in memory. */
  async #wait(): Promise<boolean> {
    const { record } = this.log;
    const open = [...record.gates.values()].filter(isOpenGate).map((g) => g.gate_id);
    if (open.length === 0 || [...record.steps.values()].some((s) => isRunnable(record, s))) return false;
    if (record.state === "running") this.log.note(draft("WORKFLOW_WAITING", { gates: open }));
    if (this.handles.size === 0 && this.#users === 0 && this.log.isDirty) this.log.releaseWithNext();
    mark(this, "session.park");
    await this.log.commit();
    return true;
  }

  /** After a crash: a call whose end is unknown is made again only if it may be; otherwise a person is asked. */
  async #recoverLost(): Promise<void> {
    for (const step of [...this.log.record.steps.values()]) {
      if (step.state !== "running" || step.phase === "awaiting_approval" || step.phase === "in_doubt") continue;
      if (this.#dag !== null || !isLost(this, step) || isRepeatable(operatorOf(this, step))) continue;
      await openDoubtGate(this, step.step.step_id, "the process ended while the call was under way");
    }
  }

  async #giveUp(thrown: unknown): Promise<void> {
    if (this.#isOver()) {
      if (this.log.lost !== null)
        this.kit.logger.error(
          { error: this.log.lost, workflow_id: this.log.identity.workflow_id },
          "workflow log lost; it will be folded again",
        );
      return;
    }
    const error = errorOf(thrown, "T0_TIER_CRASHED", oodaRef("drive"));
    if (!(thrown instanceof KernelErrorException)) this.kit.logger.error({ error, thrown }, "workflow crashed");
    try {
      await failWorkflow(this, error);
      await this.log.commit();
    } catch (again) {
      this.kit.logger.error(
        { error: errorOf(again, "T0_TIER_CRASHED", oodaRef("drive")) },
        "a failed workflow could not be recorded",
      );
    }
  }
}
