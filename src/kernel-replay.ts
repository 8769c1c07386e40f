/**
 * Replay: from one workflow's ledger alone, with recorded operator results, a fresh kernel produces the same events, ids,
 * hashes and chain head, or the first event that differs is named (C-37).
 *
 * Owns: the order in which the record is fed to a fresh kernel. Never: runs an operator, writes to the host's ledger.
 * R1  What came from outside is given when all that the ledger holds before it has come again, and not before.
 * R2  Time moves only when nothing else can: to the instant of the event that is waited for.
 * R3  A wrong record is refused before anything is replayed.
 */

import { foldEvents } from "../machines/fold.ts";
import { raise } from "./contract/error.ts";
import { kernelError } from "./contract/error-codes.ts";
import { type LedgerEvent, payloadOf } from "./contract/event.ts";
import { moduleRef } from "./contract/module-ref.ts";
import type { Replay } from "./contract/replay.ts";
import { openTurns, type TurnRow, verifyChain } from "./contract/turn.ts";
import { isAtRest, isRunnable, isTerminal, type WorkflowRecord } from "./contract/workflow.ts";
import { type KernelOptions, resolveOptions } from "./kernel-options.ts";
import { fillRegistry, stopParts } from "./kernel-parts.ts";
import { type Input, inputOf } from "./kernel-replay-inputs.ts";
import { openStage, type Rules, type Stage } from "./kernel-replay-stage.ts";
import { compareTurns } from "./runtime/compare-turns.ts";
import { refuseUnreadable } from "./runtime/read-turns.ts";
import type { WorkflowLog } from "./runtime/workflow-log.ts";

const replayRef = moduleRef(0, "kernel", "replay");

/**
 * Replays the rows of one workflow, as `Kernel.export` gives them, under the rules of these options: capabilities, operators,
 * policies, limits. Nothing is run, and no ledger is touched. Rejects as `Kernel.replay` does.
 */
export const replayRows = (rows: readonly TurnRow[], options: KernelOptions): Promise<Replay> =>
  replayTurns(rows, { options, ...fillRegistry(options, resolveOptions(options).budgets) });

/**
 * As `replayRows`, with what a kernel has registered.
 * @throws KernelErrorException T0_LEDGER_CORRUPT for a broken chain, T4_WORKFLOW_CONFLICT where a body was erased,
 * T4_WORKFLOW_NOT_FOUND for the log of a refused request, T1_NORMALIZE_UNKNOWN_INTENT or T4_OPERATOR_UNKNOWN for what is not
 * registered in this process.
 */
export async function replayTurns(rows: readonly TurnRow[], rules: Rules): Promise<Replay> {
  try {
    const events = openRecord(rows);
    requireRegistered(events, rules);
    const replaying: Replaying = new Replaying(events, await openStage(events, rules, () => replaying.lookSoon()));
    return await replaying.run(rows);
  } catch (thrown) {
    // A record of which nothing can be made, though its chain is sound: no kernel wrote it.
    return refuseUnreadable(String(rows[0]?.stream), thrown);
  }
}

/** Rounds of the event loop without news after which nothing more happens by itself. */
const quietRounds = 40;

class Replaying {
  readonly #stage: Stage;
  readonly #first: LedgerEvent;
  readonly #workflowId: string;
  readonly #mayGoOn: boolean;
  /** Inputs given, and crashes tried, by the sequence of the event that was waited for. */
  readonly #given = new Set<number>();
  readonly #crashed = new Set<number>();
  #isLooking = false;

  constructor(events: readonly LedgerEvent[], stage: Stage) {
    this.#stage = stage;
    this.#first = events[0] as LedgerEvent;
    this.#workflowId = this.#first.workflow_id as string;
    const record = foldEvents(events);
    this.#mayGoOn = record !== null && !isTerminal(record.state) && !(isAtRest(record.state) && !isUnderWay(record));
  }

  async run(rows: readonly TurnRow[]): Promise<Replay> {
    const { parts, source } = this.#stage;
    this.#begin();
    do await this.#settle();
    while (source.next !== null && (this.#mayGoOn || source.extras.length === 0) && this.#goOn(source.next));
    while (!this.#mayGoOn && source.next === null && !this.#isEnded() && source.releaseFirst()) await this.#settle();
    // What an ended workflow's open questions still bring is noted by nobody.
    if (!this.#isEnded())
      await this.#log()
        ?.commit()
        .catch(() => undefined);
    const replayed = await parts.store.read(this.#workflowId);
    const goesBeyond = (replayed.at(-1)?.last_sequence ?? 0) > (rows.at(-1)?.last_sequence ?? 0);
    const extras = source.next === null && (this.#mayGoOn || !goesBeyond) ? [] : source.extras;
    await stopParts(parts, 0);
    return compareTurns(this.#workflowId, rows, { rows: replayed, extras });
  }

  #log(): WorkflowLog | undefined {
    return this.#stage.parts.executor.awake(this.#workflowId)?.log;
  }

  /** All has come, and the workflow has ended. */
  #isEnded(): boolean {
    const log = this.#log();
    return this.#stage.source.next === null && (log === undefined || isTerminal(log.record.state));
  }

  /** Answers what can be answered at once, so that completions of one instant come as close together as they did. */
  lookSoon(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    queueMicrotask(() => {
      this.#isLooking = false;
      const { source, calls, clock } = this.#stage;
      const { next } = source;
      if (next === null) return;
      const isDue = Date.parse(next.timestamp) <= clock.now();
      if (!isDue || !calls.give(next)) this.#interrupt(next);
    });
  }

  /** T6's activation, as it was when the intent was received. */
  #begin(): void {
    const { kit } = this.#stage.parts;
    const { tenant_id, thread_id, correlation_id } = this.#first;
    const { pipeline, complexity, ...facts } = payloadOf(this.#first, "INTENT_RECEIVED");
    const { urgency, domain, regenerate = [] } = facts;
    const intake = { ...facts, regenerate, workflow_id: this.#workflowId, tenant_id, thread_id };
    const tags = { complexity, urgency, domain };
    const payload = { pipeline, intake };
    const target = moduleRef(4, "ooda_loop", "act");
    void kit.ask(4, kit.signals.createCommandSignal("activate", target, replayRef, correlation_id, payload, { tags }));
  }

  async #settle(): Promise<void> {
    const { source, answers } = this.#stage;
    for (let seen = -1; seen !== source.met || answers.waits(); ) {
      seen = source.met;
      await answers.idle();
      for (let i = 0; i < quietRounds; i += 1) await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  /** Nothing happens by itself any more: what the next recorded event needs is done. False when nothing is left to do. */
  #goOn(next: LedgerEvent): boolean {
    const { calls, clock, source } = this.#stage;
    const at = Date.parse(next.timestamp);
    clock.reach(at);
    if (calls.give(next, true)) return true;
    const input = this.#inputOf(next);
    if (input !== null) return this.#give(next, input);
    if (this.#isAfterCrash(next) && this.#crash(next)) return true;
    return clock.fireNext(at) || source.releaseFirst() || clock.fireNext(at + lateMs) || this.#crash(next);
  }

  /** While work is under way a decision or a cancellation is not kept waiting until it has come to rest. */
  #interrupt(next: LedgerEvent): void {
    const run = this.#stage.parts.executor.awake(this.#workflowId);
    if (run === null || !run.log.exists || !isInterruption(next)) return;
    const { gates, kept } = run.log.record;
    if (!isUnderWay(run.log.record) || this.#waitsForCall(next)) return;
    const gateId = next.event_type === "POLICY_DECIDED" ? payloadOf(next, "POLICY_DECIDED").subject : null;
    if (gateId !== null && (!gates.has(gateId) || kept.has(gateId))) return;
    const input = this.#inputOf(next);
    if (input !== null) this.#give(next, input);
  }

  /** The call that a cancellation left in doubt had been made: what it used was settled later. */
  #waitsForCall({ event_type: type, step_id }: LedgerEvent): boolean {
    const { source, calls } = this.#stage;
    return type === "ACTION_IN_DOUBT" && !calls.isOpen(step_id) && source.peek("BUDGET_SETTLED", step_id) !== null;
  }

  #inputOf(next: LedgerEvent): Input | null {
    const { source, calls } = this.#stage;
    if (this.#given.has(next.sequence)) return null;
    const isRepair = next.event_type === "POLICY_DECIDED" && payloadOf(next, "POLICY_DECIDED").stage === "action";
    return isRepair && !calls.isOpen(next.step_id) ? null : inputOf(next, source);
  }

  #give(next: LedgerEvent, input: Input): boolean {
    this.#given.add(next.sequence);
    const { executor } = this.#stage.parts;
    const run = executor.awake(this.#workflowId);
    const work = run === null ? executor.withRun(this.#workflowId, null, input) : run.use(() => input(run));
    // What was refused when it was given is refused again.
    work.catch(() => undefined);
    return true;
  }

  /** A call that was lost is asked about, or made again: the second start, with what is set aside for it before. */
  #isAfterCrash({ event_type: type, step_id }: LedgerEvent): boolean {
    if (type !== "ACTION_STARTED" && type !== "BUDGET_RESERVED") return type === "ACTION_IN_DOUBT";
    return this.#stage.source.peek("ACTION_STARTED", step_id)?.payload["recovered"] === true;
  }

  /** As a process that ends and another that takes up what it left; once for each event that is waited for. */
  #crash({ sequence }: LedgerEvent): boolean {
    if (this.#crashed.has(sequence)) return false;
    this.#crashed.add(sequence);
    const { parts, calls } = this.#stage;
    const log = this.#log();
    const takeUp = async (): Promise<void> => {
      await log?.commit();
      calls.drop();
      parts.executor.dropAll();
      await parts.wake(this.#workflowId);
    };
    takeUp().catch(() => undefined);
    return true;
  }
}

/**
 * How far a timer may lie behind the instant of what follows from it: a turn that had begun before has its older instant.
 * No longer than a call may take.
 */
const lateMs = 30 * 86_400_000;

/** Work goes on, or is about to: a step of a waiting workflow may run again. */
const isUnderWay = (record: WorkflowRecord): boolean =>
  record.state === "running" ||
  (record.state === "waiting_for_user" && [...record.steps.values()].some((step) => isRunnable(record, step)));

const interruptions: ReadonlySet<string> = new Set(["ACTION_IN_DOUBT", "STEP_SKIPPED", "WORKFLOW_CANCELLED"]);

const isInterruption = (event: LedgerEvent): boolean =>
  interruptions.has(event.event_type) ||
  (event.event_type === "POLICY_DECIDED" && payloadOf(event, "POLICY_DECIDED").stage === "gate");

/** The events of a sound record. */
function openRecord(rows: readonly TurnRow[]): readonly LedgerEvent[] {
  const broken = verifyChain(rows);
  if (broken !== null)
    raise(
      kernelError(
        "T0_LEDGER_CORRUPT",
        `${broken.stream} cannot be replayed: its chain is broken at sequence ${broken.sequence} (${broken.reason})`,
        replayRef,
        { detail: { broken } },
      ),
    );
  const erased = rows.find((row) => row.body === null);
  if (erased !== undefined)
    raise(
      kernelError("T4_WORKFLOW_CONFLICT", `the body at sequence ${erased.first_sequence} was erased`, replayRef, {
        detail: { sequence: erased.first_sequence },
      }),
    );
  const events = openTurns(rows);
  if (events[0]?.event_type === "INTENT_RECEIVED") return events;
  return raise(kernelError("T4_WORKFLOW_NOT_FOUND", "these rows hold no workflow to replay", replayRef));
}

function requireRegistered(events: readonly LedgerEvent[], { registry }: Rules): void {
  const { intent } = payloadOf(events[0] as LedgerEvent, "INTENT_RECEIVED");
  registry.getCapability(intent.type, intent.version);
  const started = events.filter((e) => e.event_type === "ACTION_STARTED").map((e) => payloadOf(e, "ACTION_STARTED"));
  const missing = started.find((a) => registry.findOperator(a.operator_name, a.operator_version) === null);
  if (missing === undefined) return;
  const name = `${missing.operator_name}@${missing.operator_version}`;
  raise(
    kernelError(
      "T4_OPERATOR_UNKNOWN",
      `operator ${name} is not registered in this process; load the package that brings it`,
      replayRef,
      { detail: { operator: missing.operator_name } },
    ),
  );
}
