/**
 * What a running workflow's functions share: its log, the desk of T4, and the ways to ask other tiers.
 */

import type { Same } from "../../../machines/quorum.ts";
import type { OperatorResult } from "../../contract/action.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { Gate } from "../../contract/gate.ts";
import type { Json } from "../../contract/json.ts";
import { type ModuleRef, moduleRef } from "../../contract/module-ref.ts";
import type { Outcome } from "../../contract/outcome.ts";
import type { PlanStep } from "../../contract/plan.ts";
import type { Result } from "../../contract/result.ts";
import type { WorkflowRecord } from "../../contract/workflow.ts";
import type { Middleware } from "../../ports/middleware.ts";
import type { Security } from "../../ports/perception.ts";
import type { Tier } from "../../runtime/bus.ts";
import { dataOf, type Kit } from "../../runtime/kit.ts";
import type { Registry } from "../../runtime/registry.ts";
import type { Timers } from "../../runtime/timers.ts";
import type { WorkflowLog } from "../../runtime/workflow-log.ts";
import type { Admission } from "./admit-call.ts";

/** What all runs of T4 work with. */
export interface Desk {
  readonly registry: Registry;
  readonly security: Security;
  /** True when the host brought its own output validator: streams are held until it has passed (SEC-04). */
  readonly holdsStreams: boolean;
  readonly checkAllOutput: boolean;
  readonly middleware: readonly Middleware[];
  /** The host's own initialisation, once for all runs; null when it has been done. */
  readonly ensureInitialized: () => Promise<void> | null;
  readonly timers: Timers;
  readonly maxCost: number | null;
  /** What the tokens of one step may cost. */
  readonly perToken: number | null;
  /** Whether calls reserve from budgets over workflows. */
  readonly reserves: boolean;
  /** Maximum attempts by retry policy. */
  readonly retryPolicies: Readonly<Record<string, number>>;
  /** What another workflow made of a key: one of the same scope for an apply key, or the one whose work is made again. */
  readonly findSharedKey: (question: {
    readonly tenant_id: string | number;
    readonly key: string;
    readonly workflow_id: string;
    readonly parent_workflow_id: string | null;
  }) => Promise<{ readonly action_id: string; readonly result: Json | null; readonly succeeded: boolean } | null>;
  /** The newest draft that a step made in the workflow whose work is made again. */
  readonly findDraft: (workflowId: string, stepId: string) => Promise<Outcome | null>;
  readonly policyVersion: string;
  /** Who is one person. @throws KernelErrorException T5_PERSON_UNDECIDED. */
  readonly same: Same;
  /** Whether a host's own word is behind it: votes then say whom they were held against. */
  readonly tellsPeople: boolean;
}

export interface Run {
  readonly log: WorkflowLog;
  readonly kit: Kit;
  readonly desk: Desk;
  /** Fires when the workflow is cancelled or its owner stops. */
  readonly signal: AbortSignal;
  /** The Signal that woke this run: parent of those it sends. */
  readonly parentId: string | null;
  /** Calls of this process that go on after their attempt, by key. */
  readonly handles: Map<string, Promise<OperatorResult>>;
  /** What T5 found of steps' next calls. */
  readonly admissions: Map<string, Admission>;
  /** Makes what was noted durable in the next turn of the event loop. */
  readonly commitSoon: () => void;
  /** Lets the workflow go on with what has changed. */
  readonly goOn: () => void;
}

export const oodaRef = (fn: string): ModuleRef => moduleRef(4, "ooda_loop", fn);

const refs = new Map<string, ModuleRef>();
const refFor = (fn: string): ModuleRef => {
  const known = refs.get(fn) ?? Object.freeze(oodaRef(fn));
  refs.set(fn, known);
  return known;
};

/** Asks a tier with a DATA Signal. Never rejects. */
export function question(
  run: Run,
  to: Tier,
  { schema, data, fn }: { readonly schema: string; readonly data: unknown; readonly fn: string },
): Promise<Result> {
  return run.kit.ask(
    to,
    run.kit.signals.createDataSignal(data, schema, refFor(fn), run.log.identity.correlation_id, null, {
      parentId: run.parentId,
    }),
  );
}

/** The data of the answer. @throws KernelErrorException the answering tier's error. */
export async function askFor<T>(
  run: Run,
  to: Tier,
  what: { readonly schema: string; readonly data: unknown; readonly fn: string },
): Promise<T> {
  return dataOf<T>(await question(run, to, what), (error) => run.kit.logger.warn({ error }, "partial answer"));
}

export const mark = (run: Run, stage: string, detail: Readonly<Record<string, unknown>> = {}): void =>
  run.kit.telemetry.mark(stage, { workflow_id: run.log.identity.workflow_id, ...detail });

export function capabilityOf(run: Run): CapabilityDefinition {
  const { type, version } = run.log.record.intent;
  return run.desk.registry.getCapability(type, version);
}

export function stepOf(run: Run, stepId: string) {
  return (
    run.log.record.steps.get(stepId) ??
    raise(kernelError("T4_WORKFLOW_CONFLICT", `step ${stepId} is not part of this workflow`, oodaRef("stepOf")))
  );
}

/** Whether the gate was opened under another policy than the one that holds now. A lost call has been made already. */
export const isOutdated = (run: Run, { kind, policy_version }: Gate): boolean =>
  kind === "approval" && policy_version !== run.desk.policyVersion;

/** `s2_r1` → `s2`: the step whose work this one does again. */
export const baseIdOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");

/** The newest version of the outcome that a step, or the step it does again, drafted. */
export const outcomeOfStep = (record: WorkflowRecord, stepId: string): Outcome | null =>
  versionsOf(record, stepId).at(-1) ?? null;

/** What an apply is about: the newest draft. The final version is a copy of one under a number of its own (IDM-08). */
export const draftOfStep = (record: WorkflowRecord, stepId: string): Outcome | null =>
  versionsOf(record, stepId).findLast((version) => version.status === "draft") ?? null;

function versionsOf(record: WorkflowRecord, stepId: string): readonly Outcome[] {
  for (const versions of record.outcomes.values()) {
    const [first] = versions;
    if (first?.step_id != null && baseIdOf(first.step_id) === baseIdOf(stepId)) return versions;
  }
  return [];
}

/**
 * What a step's templates see: outputs of the succeeded steps it depends on; where an outcome was drafted, its newest
 * content. What merely happened to end earlier is not there, or the order of ends would decide what a call gets.
 */
export function outputsOf(record: WorkflowRecord, of: PlanStep): ReadonlyMap<string, Json> {
  const outputs = new Map<string, Json>();
  for (const id of dependenciesOf(record, of)) {
    const step = record.steps.get(id);
    if (step?.state !== "succeeded") continue;
    const outcome = step.step.outcome === null ? null : outcomeOfStep(record, id);
    outputs.set(id, outcome === null ? step.output : outcome.content);
  }
  return outputs;
}

/** Ids of the steps that a step rests on, directly or through others; the set grows while it is walked. */
function dependenciesOf(record: WorkflowRecord, of: PlanStep): ReadonlySet<string> {
  const found = new Set<string>(needsOf(of));
  for (const id of found) {
    const step = record.steps.get(id)?.step;
    if (step !== undefined) for (const further of needsOf(step)) found.add(further);
  }
  return found;
}

const needsOf = ({ depends_on, applies }: PlanStep): readonly string[] =>
  applies === null ? depends_on : [...depends_on, applies];
