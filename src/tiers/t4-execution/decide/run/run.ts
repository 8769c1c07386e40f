/**
 * The view of a turn that deciding works with: the folded record, the calls under way, and the ways to put questions
 * and intentions.
 *
 * Owns: the vocabulary of deciding, and readings of the record. Never: waits; if a question is not answered at once,
 * the pass ends, and its answer begins the pass anew.
 * 1.  Everything here except the log can be derived from the record, after waking and after a conflicting append.
 */

import { addedIdOf, isUndoing } from "../../../../../machines/added-id.ts";
import type { Same } from "../../../../../machines/quorum.ts";
import type { BoundReservation } from "../../../../contract/budget.ts";
import type { CapabilityDefinition } from "../../../../contract/capability.ts";
import { type KernelError, raise } from "../../../../contract/error.ts";
import { kernelError } from "../../../../contract/error-codes.ts";
import { type Gate, gateIdOf } from "../../../../contract/gate.ts";
import type { Intent } from "../../../../contract/intent.ts";
import type { Json, JsonObject } from "../../../../contract/json.ts";
import { t6 } from "../../../../contract/messages/t6.ts";
import { type ModuleRef, moduleRef } from "../../../../contract/module-ref.ts";
import type { Outcome } from "../../../../contract/outcome.ts";
import type { Plan, PlanStep } from "../../../../contract/plan.ts";
import { isHandled, isThrough, type StepRecord, type WorkflowRecord } from "../../../../contract/workflow.ts";
import type { Registry } from "../../../../engine/actors/registry.ts";
import type { Limits } from "../../../../engine/actors/runtime.ts";
import type { DrawnId } from "../../../../engine/log/turn-source.ts";
import type { WorkflowLog } from "../../../../engine/log/workflow-log.ts";
import type { Middleware, SkillExecutionContext } from "../../../../ports/middleware.ts";
import type { PassScopes } from "./answers.ts";
import type { CallOf, Input } from "./input.ts";
import { type Intention, type TypedQuestion, tellTier } from "./intention.ts";
import { ReadySteps } from "./ready-steps.ts";

/** The amounts that are reserved for one call. A key that is called again reserves again. */
export interface Charged {
  readonly action_id: string;
  readonly reservation: BoundReservation;
  /** The start of the call in epoch ms. */
  readonly started_at: number;
}

/**
 * The limits that deciding reads. They are recorded with the settings, so that a replay decides by the same ones; no
 * other limit can be read from `Settings`.
 */
export const decidingLimits = [
  "maxSteps",
  "maxConcurrentSteps",
  "maxReplans",
  "maxRounds",
  "maxGateEntries",
  "maxChildDepth",
  "maxItems",
  "maxOutputChars",
] as const satisfies readonly (keyof Limits)[];

/** The settings that a kernel's options fix for all workflows. */
export interface Settings {
  readonly registry: Pick<Registry, "findOperator" | "getCapability" | "retrievalFor">;
  readonly limits: Pick<Limits, (typeof decidingLimits)[number]>;
  /** The commits that are synced before anything rests on them: all, or those before an effect outside. */
  readonly durability: "full" | "effects";
  /** True if the host has its own output validator: streams are held until it has passed the output (SEC-04). */
  readonly holdsStreams: boolean;
  readonly checkAllOutput: boolean;
  readonly middleware: readonly Middleware[];
  readonly maxCost: number | null;
  /** The cost of one token, by which a step's cost is limited. */
  readonly perToken: number | null;
  /** Whether calls reserve amounts from budgets over workflows. */
  readonly reserves: boolean;
  /** The largest number of attempts, by retry policy. */
  readonly retryPolicies: Readonly<Record<string, number>>;
  readonly policyVersion: string;
  /** Returns the halts that concern work of this intent, oldest first. */
  readonly haltsOn: (tenantId: string | number, intent: Pick<Intent, "type" | "actor">) => readonly MetHalt[];
  /** Returns whether two principals are one person. @throws KernelErrorException T5_PERSON_UNDECIDED. */
  readonly same: Same;
  /** Whether the host decides who is one person; votes then record with whom their voter was compared. */
  readonly tellsPeople: boolean;
}

/**
 * A halt that concerns a workflow. `operator` names the operator whose steps it holds; null if it holds the whole
 * workflow.
 */
export interface MetHalt {
  readonly halt_id: string;
  readonly operator: string | null;
}

/** A call that a step waits for in this process. */
export interface UnderWay {
  readonly action_id: string;
  readonly attempt: number;
  /** False until the row with its start is committed and the call is made. */
  made: boolean;
}

/** A call whose operator has not ended in this process, even if no step waits for it any more. */
export interface Handle {
  readonly key: string;
  /** The amounts that are reserved for it. */
  readonly charged: Charged | null;
}

export type Ending = { readonly how: "complete" } | { readonly how: "fail"; readonly error: KernelError };

export type Commanding = Extract<Input, { readonly type: "decided" | "commanded" }>;

export type DecidingLog = Pick<
  WorkflowLog,
  "record" | "exists" | "identity" | "lost" | "isOwnedElsewhere" | "position" | "accepts" | "note" | "noteBy"
>;

/** The state that a run keeps between its turns in this process. */
export class RunMemory {
  /** Calls by step. */
  readonly calls = new Map<string, UnderWay>();
  /** Calls by id. A person may have a key called again while its first call is still running. */
  readonly handles = new Map<string, Handle>();
  /** The number of admitted calls when T5 found that a step's next call fits; null if no ceiling concerns it. */
  readonly admissions = new Map<string, number | null>();
  /** The contexts that middleware receives, by step. */
  readonly contexts = new Map<string, SkillExecutionContext>();
  /** Commands that wait for an answer, by the number of the caller who waits for theirs. */
  readonly commands = new Map<number, Commanding>();
  /** Parked steps for which this process has asked whether their event or child is there. */
  readonly looked = new Set<string>();
  /** Children that this run has asked to end. */
  readonly cancelled = new Set<string>();
  /** The ready steps of the plan. */
  readonly ready = new ReadySteps();
  /** The objective that a pivot gives to the next planning. */
  objective: string | null = null;
  /** True if a command holds the workflow back. */
  asleep = false;
  /** True once this run has asked for the host's initialisation. */
  initialized = false;
  /** The end of the workflow that is about to be appended, while the tiers above are asked. */
  ending: Ending | null = null;
  /** The plan on whose steps this run has begun to work. */
  workingOn: string | null = null;

  /** Forgets what was asked and decided on a record that no longer holds. */
  forgetUndecided(): void {
    this.admissions.clear();
    this.cancelled.clear();
    this.commands.clear();
    this.looked.clear();
    this.ending = null;
  }
}

export interface Run extends RunMemory {
  readonly log: DecidingLog;
  readonly settings: Settings;
  /** The instant of the current input in epoch ms. */
  readonly now: number;
  readonly scopes: PassScopes;
  /** True if the owner is stopping or another process has taken over; nothing new is begun then. */
  readonly interrupted: boolean;
  readonly intend: (intention: Intention) => void;
  /** Draws an id for a record inside a payload. */
  readonly drawId: (kind: DrawnId) => string;
  /** Reports a stage to telemetry; absent without telemetry. */
  readonly mark: ((stage: string, detail?: Readonly<Record<string, unknown>>) => void) | undefined;
  readonly warn: (detail: object, message: string) => void;
}

/**
 * Thrown to end a pass that waits for an answer. It is no Error: nothing failed, and a stack trace costs more than the
 * pass.
 */
export const pending: unique symbol = Symbol("pending");

/** Thrown to leave a step waiting for a person. */
export const parked: unique symbol = Symbol("parked");

/**
 * Puts a question and returns the data of its answer. @throws pending; KernelErrorException if the answer is an error.
 */
export function ask<Answer>(run: Run, key: string, asked: TypedQuestion<Answer>): Answer {
  const { answer } = run.scopes.ask(key, asked);
  return answer.error === null ? answer.data : raise(answer.error);
}

/** Notifies subscribers outside, through T6's artifact bus. */
export const notify = (run: Run, fn: string, data: JsonObject): void =>
  run.intend(tellTier(t6.notify, { fn, data, tags: { source_type: "system" } }));

/**
 * Returns the name of a question in its pass. It includes the subject if the question is no longer about the first one.
 */
export const nameAsked = ({ scopes }: Run, name: string, about: string): string =>
  scopes.keep(name, () => about) === about ? name : `${name} ${about}`;

const refs = new Map<string, ModuleRef>();

export function oodaRef(fn: string): ModuleRef {
  const known = refs.get(fn) ?? moduleRef(4, "ooda_loop", fn);
  refs.set(fn, known);
  return known;
}

export function capabilityOf(run: Run): CapabilityDefinition {
  const { type, version } = run.log.record.intent;
  return run.settings.registry.getCapability(type, version);
}

export function stepOf(run: Pick<Run, "log">, stepId: string) {
  return (
    run.log.record.steps.get(stepId) ??
    raise(kernelError("T4_WORKFLOW_CONFLICT", `step ${stepId} is not part of this workflow`, oodaRef("stepOf")))
  );
}

/** Returns a gate in its present state in the record. */
export const gateNow = ({ log }: Run, gateId: string): Gate => log.record.gates.get(gateId) as Gate;

/**
 * Returns whether the gate was opened under another policy than the present one. A gate of a lost call is never
 * outdated, since its call was made already.
 */
export const isOutdated = (run: Run, { kind, policy_version }: Gate): boolean =>
  kind === "approval" && policy_version !== run.settings.policyVersion;

/**
 * Returns whether a gate shows what its step would do now: with the newest draft, and with the inputs of this round.
 */
export function showsNewest(run: Pick<Run, "log">, { step_id, target, draft_version }: Gate): boolean {
  const { step } = stepOf(run, step_id);
  if (draft_version !== undefined && draft_version !== step.draft_version) return false;
  const newest = draftOfStep(run.log.record, step.applies);
  return newest === null || newest.version === target?.version;
}

/**
 * Returns the approved gate under which a step's call is made, or null. The gate must show what the step would do now;
 * once the call was started, the gate it started under stays.
 */
export function approvedGate(run: Pick<Run, "log">, stepId: string): Gate | null {
  const gate = run.log.record.gates.get(gateIdOf(stepId));
  if (gate?.status !== "approved") return null;
  return stepOf(run, stepId).attempt > 0 || showsNewest(run, gate) ? gate : null;
}

/** Returns the name of a call in this process. */
export const callIdOf = ({ step_id, action_id, run, attempt }: CallOf): string =>
  `${step_id}/${action_id}/${run}/${attempt}`;

/** Returns whether a call under this key is running in this process. */
export function isUnderWay({ handles }: Pick<Run, "handles">, key: string): boolean {
  for (const handle of handles.values()) if (handle.key === key) return true;
  return false;
}

export const scopeOf = (stepId: string): string => `step:${stepId}`;

/** Returns the id of the step whose work this one does again: `s2_r1` → `s2`. */
export const baseIdOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");

/** Returns the step of an earlier plan that this one replaces, such as `s2_r1` for `s2_r3`; null if it is the first. */
export function stepBefore({ steps }: WorkflowRecord, stepId: string): StepRecord | null {
  const base = baseIdOf(stepId);
  const own = Number(stepId.slice(base.length + 2));
  for (let round = Math.min(own - 1, steps.size); round >= 0; round -= 1) {
    const step = steps.get(round === 0 ? base : `${base}_r${round}`);
    if (step !== undefined) return step.plan_id === steps.get(stepId)?.plan_id ? null : step;
  }
  return null;
}

/** Returns the newest version of the outcome that was drafted by a step, or by the step that it does again. */
export const outcomeOfStep = (record: WorkflowRecord, stepId: string | null): Outcome | null =>
  versionsOf(record, stepId).at(-1) ?? null;

/**
 * Returns the newest draft, which is the subject of an apply. The final version is a copy of a draft with its own
 * number (IDM-08).
 */
export const draftOfStep = (record: WorkflowRecord, stepId: string | null): Outcome | null =>
  versionsOf(record, stepId).findLast((version) => version.status === "draft") ?? null;

/** Returns the version that a step's call applies: the one that its gate was approved on, or the newest draft. */
export const appliedBy = (record: WorkflowRecord, { applies }: PlanStep, approved: Gate | null): Outcome | null =>
  versionsOf(record, applies).find(({ version }) => version === approved?.target?.version) ??
  draftOfStep(record, applies);

export function versionsOf(record: WorkflowRecord, stepId: string | null): readonly Outcome[] {
  if (stepId === null) return noVersions;
  for (const versions of record.outcomes.values()) {
    const [first] = versions;
    if (first?.step_id != null && baseIdOf(first.step_id) === baseIdOf(stepId)) return versions;
  }
  return noVersions;
}

const noVersions: readonly Outcome[] = [];

/**
 * Returns a function that gives a step's templates the output of another step: its output if it succeeded, or was
 * declined, and this step depends on it, or the newest content if it drafted an outcome; else undefined. Outputs of
 * other steps are hidden, because the order of their ends would otherwise decide what a call receives.
 */
export const outputsOf =
  (record: WorkflowRecord, of: PlanStep) =>
  (id: string): Json | undefined => {
    const own = record.steps.get(of.step_id)?.added;
    if (own?.as === "undo") return outputForUndo(record, own.of, id);
    if (own != null && own.as !== "round" && id === "item") return own.value;
    if (id === (own?.of ?? of.step_id)) return lastRoundOf(record, id, own?.index)?.output;
    const step = record.steps.get(id);
    if (step === undefined || !restsOn(record, of, id)) return undefined;
    if (step.skip_reason === "declined") return step.output;
    if (step.state !== "succeeded") return undefined;
    const outcome = step.step.outcome === null ? null : outcomeOfStep(record, id);
    return outcome === null ? step.output : outcome.content;
  };

/** Returns the output that the params of an undo refer to: that of the undone step, or one that it could read. */
function outputForUndo(record: WorkflowRecord, undone: string, id: string): Json | undefined {
  const step = record.steps.get(undone);
  if (step === undefined) return undefined;
  return id === undone || id === step.added?.of ? step.output : outputsOf(record, step.step)(id);
}

/**
 * Returns the amount that counts against the budget of the request when a step begins: none for what undoes a step,
 * since the budget does not keep anything from being undone.
 */
export function spentFor(record: WorkflowRecord, stepId: string): number {
  const added = record.steps.get(stepId)?.added;
  return added != null && isUndoing(added.as) ? 0 : record.spent;
}

/** Returns the last round of a step that has succeeded, before the one with this index if it is given. */
export function lastRoundOf(record: WorkflowRecord, of: string, before?: number): StepRecord | undefined {
  const group = record.standing.groups.get(of);
  if (group?.as !== "round") return undefined;
  for (let index = (before ?? group.ids.size) - 1; index >= 0; index -= 1) {
    const round = record.steps.get(addedIdOf(of, "round", index));
    if (round?.state === "succeeded") return round;
  }
  return undefined;
}

/** Returns whether a step depends on another, directly or through others; the nearest are examined first. */
export function restsOn(record: WorkflowRecord, of: PlanStep, id: string): boolean {
  if (of.depends_on.includes(id)) return true;
  const found = new Set<string>(needsOf(of));
  if (found.has(id)) return true;
  for (const between of found) {
    const step = record.steps.get(between)?.step;
    if (step !== undefined) for (const further of needsOf(step)) found.add(further);
    if (found.has(id)) return true;
  }
  return false;
}

const needsOf = ({ depends_on, applies }: PlanStep): readonly string[] =>
  applies === null ? depends_on : [...depends_on, applies];

/** Returns whether every step of a plan that another plan follows has ended, with each failure handled. */
export function hasGoneThrough({ steps }: WorkflowRecord, plan: Plan | null): boolean {
  const own = (plan?.steps ?? []).flatMap(({ step_id }) => steps.get(step_id) ?? []);
  return plan?.continues === true && own.every((step) => isThrough(step) || isHandled(step, own));
}
