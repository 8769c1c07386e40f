/**
 * A turn as deciding sees it: the folded record, what is under way, and the ways to ask and to want.
 *
 * Owns: the words of deciding, and readings of the record. Never: waits; what a question is not answered with at once ends
 * the pass, and the answer begins it anew.
 * 1.  Everything here but the log can be derived from the record: after waking, and where an append came first.
 */

import { addedIdOf } from "../../../../../machines/added-id.ts";
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
import { type Asked, type Intention, tellTier } from "./intention.ts";
import { ReadySteps } from "./ready-steps.ts";

/** The amounts that were set aside for one call. A key that is called again reserves again. */
export interface Charged {
  readonly action_id: string;
  readonly reservation: BoundReservation;
  /** Epoch ms. */
  readonly started_at: number;
}

/** What a kernel's options fix for every workflow. */
export interface Settings {
  readonly registry: Pick<Registry, "findOperator" | "getCapability" | "retrievalFor">;
  readonly limits: Limits;
  /** What is synced before anything rests on it: every commit, or what has an effect outside. */
  readonly durability: "full" | "effects";
  /** True when the host brought its own output validator: streams are held until it has passed (SEC-04). */
  readonly holdsStreams: boolean;
  readonly checkAllOutput: boolean;
  readonly middleware: readonly Middleware[];
  readonly maxCost: number | null;
  /** What the tokens of one step may cost. */
  readonly perToken: number | null;
  /** Whether calls reserve from budgets over workflows. */
  readonly reserves: boolean;
  /** Maximum attempts by retry policy. */
  readonly retryPolicies: Readonly<Record<string, number>>;
  readonly policyVersion: string;
  /** The halts that concern work of this intent, oldest first. */
  readonly haltsOn: (tenantId: string | number, intent: Pick<Intent, "type" | "actor">) => readonly MetHalt[];
  /** Who is one person. @throws KernelErrorException T5_PERSON_UNDECIDED. */
  readonly same: Same;
  /** Whether a host's own word is behind it: votes then say whom they were held against. */
  readonly tellsPeople: boolean;
}

/** A halt that concerns a workflow: as a whole, or (null if it names none) the steps that would call an operator. */
export interface MetHalt {
  readonly halt_id: string;
  readonly operator: string | null;
}

/** A call that a step waits for in this process. */
export interface UnderWay {
  readonly action_id: string;
  readonly attempt: number;
  /** False until the row with its start is committed and it was made. */
  made: boolean;
}

/** A call whose operator has not ended in this process, also where nobody waits for it any more. */
export interface Handle {
  readonly key: string;
  /** What was set aside for it. */
  readonly charged: Charged | null;
}

export type Ending = { readonly how: "complete" } | { readonly how: "fail"; readonly error: KernelError };

export type Commanding = Extract<Input, { readonly type: "decided" | "commanded" }>;

export type DecidingLog = Pick<
  WorkflowLog,
  "record" | "exists" | "identity" | "lost" | "foreign" | "position" | "accepts" | "note" | "noteBy"
>;

/** What a run keeps between its turns, in this process. */
export class RunMemory {
  /** By step. */
  readonly calls = new Map<string, UnderWay>();
  /** By call: a person may have a key called again while its first call goes on. */
  readonly handles = new Map<string, Handle>();
  /** Calls admitted when T5 found that a step's next call fits; null where no ceiling concerns it. */
  readonly admissions = new Map<string, number | null>();
  /** What middleware sees of a step's attempt. */
  readonly contexts = new Map<string, SkillExecutionContext>();
  /** Commands that wait for an answer, by who waits for theirs. */
  readonly commands = new Map<number, Commanding>();
  /** Parked steps of which this process has asked whether what they wait for is there. */
  readonly looked = new Set<string>();
  /** Children whose end this run has asked for. */
  readonly cancelled = new Set<string>();
  /** What of the plan is ready. */
  readonly ready = new ReadySteps();
  /** A pivot's word to the next planning. */
  objective: string | null = null;
  /** Held back by a command. */
  asleep = false;
  /** The host's initialisation has been asked for by this run. */
  initialized = false;
  /** How the workflow is about to end, while the tiers above are asked. */
  ending: Ending | null = null;
  /** The plan whose steps this run has begun to work on. */
  workingOn: string | null = null;

  /** What was asked and decided on a record that no longer stands. */
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
  /** The instant of the input that is handled; epoch ms. */
  readonly now: number;
  readonly scopes: PassScopes;
  /** The owner stops, or another took over: nothing is begun any more. */
  readonly interrupted: boolean;
  readonly intend: (intention: Intention) => void;
  /** Draws an id for a record inside a payload. */
  readonly drawId: (kind: DrawnId) => string;
  /** Absent where nobody listens. */
  readonly mark: ((stage: string, detail?: Readonly<Record<string, unknown>>) => void) | undefined;
  readonly warn: (detail: object, message: string) => void;
}

/** Thrown to end a pass that waits for an answer. No Error: nothing went wrong, and a stack costs more than the rest. */
export const pending: unique symbol = Symbol("pending");

/** Thrown to leave a step waiting for a person. */
export const parked: unique symbol = Symbol("parked");

/** @throws pending; KernelErrorException what the answer says. */
export function ask<Answer>(run: Run, key: string, asked: Asked<Answer>): Answer {
  const { answer } = run.scopes.hear(key, asked);
  return answer.error === null ? answer.data : raise(answer.error);
}

/** Tells the outside, through T6's artifact bus. */
export const notify = (run: Run, fn: string, data: JsonObject): void =>
  run.intend(tellTier(t6.notify, { fn, data, tags: { source_type: "system" } }));

/** A question's name in its pass: with what it is about, where that is no longer what it was first put about. */
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

/** A gate of the record as it stands now. */
export const gateNow = ({ log }: Run, gateId: string): Gate => log.record.gates.get(gateId) as Gate;

/** Returns whether the gate was opened under another policy than the one that holds now. A lost call has been made already. */
export const isOutdated = (run: Run, { kind, policy_version }: Gate): boolean =>
  kind === "approval" && policy_version !== run.settings.policyVersion;

/** Returns whether a gate shows what its step would do now: of the newest draft, and of the inputs of this round. */
export function showsNewest(run: Pick<Run, "log">, { step_id, target, draft_version }: Gate): boolean {
  const { step } = stepOf(run, step_id);
  if (draft_version !== undefined && draft_version !== step.draft_version) return false;
  const newest = draftOfStep(run.log.record, step.applies);
  return newest === null || newest.version === target?.version;
}

/** The approved gate that a step's call is made under: on what its step would do now, or, once it was called, on what that was. */
export function approvedGate(run: Pick<Run, "log">, stepId: string): Gate | null {
  const gate = run.log.record.gates.get(gateIdOf(stepId));
  if (gate?.status !== "approved") return null;
  return stepOf(run, stepId).attempt > 0 || showsNewest(run, gate) ? gate : null;
}

/** Names a call of this process. */
export const callIdOf = ({ step_id, action_id, run, attempt }: CallOf): string =>
  `${step_id}/${action_id}/${run}/${attempt}`;

/** Returns whether a call under this key goes on in this process. */
export function isUnderWay({ handles }: Pick<Run, "handles">, key: string): boolean {
  for (const handle of handles.values()) if (handle.key === key) return true;
  return false;
}

export const scopeOf = (stepId: string): string => `step:${stepId}`;

/** `s2_r1` → `s2`: the step whose work this one does again. */
export const baseIdOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");

/** `s2_r3` → `s2_r1`: the step of an earlier plan that this one stands for; null where it is the first. */
export function stepBefore({ steps }: WorkflowRecord, stepId: string): StepRecord | null {
  const base = baseIdOf(stepId);
  const own = Number(stepId.slice(base.length + 2));
  for (let round = Math.min(own - 1, steps.size); round >= 0; round -= 1) {
    const step = steps.get(round === 0 ? base : `${base}_r${round}`);
    if (step !== undefined) return step.plan_id === steps.get(stepId)?.plan_id ? null : step;
  }
  return null;
}

/** The newest version of the outcome that a step, or the step it does again, drafted. */
export const outcomeOfStep = (record: WorkflowRecord, stepId: string | null): Outcome | null =>
  versionsOf(record, stepId).at(-1) ?? null;

/** What an apply is about: the newest draft. The final version is a copy of one under a number of its own (IDM-08). */
export const draftOfStep = (record: WorkflowRecord, stepId: string | null): Outcome | null =>
  versionsOf(record, stepId).findLast((version) => version.status === "draft") ?? null;

/** The version that a step's call is about: the one that its gate was approved on, or the newest draft. */
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
 * What a step's templates see of another: its output if it succeeded and the step rests on it; where an outcome was
 * drafted, its newest content. What merely happened to end earlier is not there, or the order of ends would decide what a
 * call gets. Undefined where there is nothing to see.
 */
export const outputsOf =
  (record: WorkflowRecord, of: PlanStep) =>
  (id: string): Json | undefined => {
    const own = record.steps.get(of.step_id)?.added;
    if (own?.as === "item" && id === "item") return own.value;
    if (id === (own?.of ?? of.step_id)) return lastRoundOf(record, id, own?.index)?.output;
    const step = record.steps.get(id);
    if (step?.state !== "succeeded" || !restsOn(record, of, id)) return undefined;
    const outcome = step.step.outcome === null ? null : outcomeOfStep(record, id);
    return outcome === null ? step.output : outcome.content;
  };

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

/** Returns whether a step depends on another, directly or through others; the nearest are looked at first. */
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

/** Returns whether every step of a plan that another plan follows is through, or its failure is answered for. */
export function hasGoneThrough({ steps }: WorkflowRecord, plan: Plan | null): boolean {
  const own = (plan?.steps ?? []).flatMap(({ step_id }) => steps.get(step_id) ?? []);
  return plan?.continues === true && own.every((step) => isThrough(step) || isHandled(step, own));
}
