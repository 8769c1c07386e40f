/**
 * The compiler: makes a complete Plan of a planner's proposal.
 *
 * 1.  Steps are ordered topologically (stable), then a planner's plan is cut; a kept step never depends on a dropped
 *     one. A plan of a package's own code is never cut.
 * 2.  Each operator must be registered and on the capability's list, or the plan is refused.
 * 3.  An unknown key makes a plan invalid.
 * 4.  Ids are unique in a workflow: an id used before gets `_rN`, references follow; a step whose newest version is
 *     completed is dropped.
 */
import type { z } from "zod";
import type { Same } from "../../../machines/quorum.ts";
import type { CapabilityDefinition } from "../../contract/capability.ts";
import { gatesIn } from "../../contract/gate.ts";
import type { PrincipalRef } from "../../contract/gate-vote.ts";
import { type JsonObject, toJson } from "../../contract/json.ts";
import { keptDraftOf } from "../../contract/kept-draft.ts";
import { explainKeys, type Problem, problemsOf } from "../../contract/known-keys.ts";
import type { RegeneratedSteps } from "../../contract/messages/t3.ts";
import { ExecutionPlan, type Plan, type PlanStep, readPlainPlan } from "../../contract/plan.ts";
import { literalsOf } from "../../contract/reference.ts";
import { type Dependency, idOfDependency, kindNames } from "../../contract/step-kinds.ts";
import { ReadyQueue } from "../../engine/actors/ready-queue.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import { messageOf } from "../../engine/actors/within.ts";
import {
  compileInside,
  compileUndo,
  findOperator,
  joinTags,
  rejectionOf,
  renameInside,
  renameUndo,
  requireSatisfiable,
} from "./compile-template.ts";
import {
  appliedBy,
  type CallDraft,
  type Draft,
  type InnerLiterals,
  isCall,
  isGrowing,
  pinCapability,
  type QuietDraft,
  refuse,
  requireEarlier,
  requireGiven,
  requireNoItem,
} from "./draft-step.ts";
import { respondStep } from "./respond-step.ts";

export interface CompileRequest {
  readonly proposal: unknown;
  readonly capability: CapabilityDefinition;
  readonly registry: Registry;
  readonly maxSteps: number;
  /** The number of items of a list that are gone through at once, if its step does not say. */
  readonly concurrency: number;
  /**
   * Whether a longer plan is cut: a plan of a host's planner, such as a model, is; a plan of a package's own code is
   * refused.
   */
  readonly cuts: boolean;
  readonly identity: Pick<Plan, "plan_id" | "intent_id" | "workflow_id" | "round" | "parent_plan_id">;
  readonly completed: readonly string[];
  readonly used: readonly string[];
  readonly regenerate: RegeneratedSteps;
  readonly rename: (
    written: { readonly params: unknown; readonly literals?: PlanStep["literals"] },
    renamed: ReadonlyMap<string, string>,
  ) => JsonObject;
  /** The principals who asked for the work; they may not decide on it if a gate separates the two. */
  readonly requesters: readonly PrincipalRef[];
  readonly same: Same;
  readonly takesSignatures: boolean;
}

/** A cycle is for T2 to name: the ids in it come back in place of a plan. */
export type Compiled =
  | { readonly plan: Plan; readonly dropped: readonly string[] }
  | { readonly cyclic: readonly { readonly id: string; readonly depends_on: readonly string[] }[] };

/**
 * @throws KernelErrorException T3_PLAN_INVALID, T3_PLAN_EMPTY, T3_PLAN_TOO_LONG, T3_PLAN_UNKNOWN_OPERATOR,
 * T3_PLAN_OPERATOR_NOT_ALLOWED, T3_DAG_COMPILE_UNRESOLVED_DEPS.
 */
export function compilePlan(request: CompileRequest): Compiled {
  const { steps, reasoning, direct_response, continues = false } = readProposal(request.proposal);
  if (direct_response !== null) {
    const steps = [respondStep(request, direct_response)];
    return { plan: assemble(request, { reasoning, direct_response, steps }), dropped: [] };
  }
  requireEarlier(requireUnique(steps), request.completed);
  requireNoItem(steps, request.completed);
  const done = namesOfDone(request, steps);
  const fresh = renameUsed(
    request,
    steps.filter((s) => !done.has(s.step_id)),
    done,
  );
  if (fresh.length === 0) return refuse("T3_PLAN_EMPTY", "the plan has no steps and no direct response");
  requireFew(request, fresh.length);
  requireGiven(fresh);
  const isOrdered = requireDependencies(fresh, request.completed);
  const ordered = isOrdered ? fresh : orderSteps(fresh, new Set(request.completed));
  if (ordered === null) return { cyclic: fresh.map((s) => ({ id: s.step_id, depends_on: s.depends_on })) };
  const kept = ordered.slice(0, request.maxSteps);
  const compiled = kept.map((step) => compileStep(step, request));
  const plan = assemble(request, { reasoning, direct_response: null, steps: compiled });
  return {
    plan: continues ? { ...plan, continues } : plan,
    dropped: ordered.slice(request.maxSteps).map((s) => s.step_id),
  };
}

/** Checks the number of steps. @throws KernelErrorException T3_PLAN_TOO_LONG. */
function requireFew({ maxSteps, cuts }: CompileRequest, steps: number): void {
  if (steps <= maxSteps || cuts) return;
  const message = `the plan has ${steps} steps, more than limits.maxSteps = ${maxSteps}`;
  refuse("T3_PLAN_TOO_LONG", message, { limit: "maxSteps", maxSteps, steps });
}

/** Reads the proposed plan, with the texts that its author marked. @throws KernelErrorException T3_PLAN_INVALID. */
function readProposal(proposal: unknown): Omit<z.output<typeof ExecutionPlan>, "steps"> & { steps: readonly Draft[] } {
  const plain = toPlain(proposal);
  const read = readPlainPlan(plain) ?? readPlan(plain);
  const given = proposal as { readonly steps: readonly GivenStep[] };
  const steps = read.steps.map((step, i): Draft => {
    const literals = literalsOf(given.steps[i]?.params);
    const when_literals = step.when === undefined ? undefined : literalsOf(given.steps[i]?.when);
    const marks = {
      ...(literals !== undefined && { literals }),
      ...(when_literals !== undefined && { when_literals }),
      ...(("do" in step || "undo" in step) && { inner: innerLiteralsOf(given.steps[i]) }),
    };
    return { ...step, ...nameDependencies(step.depends_on), ...marks };
  });
  return Object.assign(read, { steps });
}

/** A step as it was given, with the texts that its author marked. */
interface GivenStep {
  readonly params?: unknown;
  readonly when?: unknown;
  readonly until?: unknown;
  readonly undo?: { readonly params?: unknown };
  readonly do?: Pick<GivenStep, "params" | "when" | "undo">;
}

const innerLiteralsOf = ({ do: inner, until, undo = inner?.undo }: GivenStep = {}): InnerLiterals => ({
  params: literalsOf(inner?.params),
  when: literalsOf(inner?.when),
  until: literalsOf(until),
  undo: literalsOf(undo?.params),
});

function nameDependencies(written: readonly Dependency[]): Pick<PlanStep, "depends_on" | "settled"> {
  const settled = written.filter((one) => typeof one !== "string").map(idOfDependency);
  return { depends_on: [...new Set(written.map(idOfDependency))], ...(settled.length > 0 && { settled }) };
}

function readPlan(plain: unknown): z.output<typeof ExecutionPlan> {
  const { data, error } = ExecutionPlan.safeParse(plain, { error: explainKeys });
  return error === undefined ? data : refuseProposal(plain, problemsOf(error));
}

/**
 * Refuses a proposal with its problems by step, such as `step s2: gates: there is no such key; did you mean "gate"?`.
 * @throws KernelErrorException T3_PLAN_INVALID.
 */
function refuseProposal(plain: unknown, problems: readonly Problem[]): never {
  const stepIdAt = (at: string | undefined): string | null => {
    const id = (plain as { readonly steps: readonly ({ readonly step_id?: unknown } | null)[] }).steps[Number(at)]
      ?.step_id;
    return typeof id === "string" ? id : null;
  };
  const list = problems.map(({ path, problem }) => {
    const [part, at, ...rest] = path.split(".");
    const step_id = part === "steps" && at !== undefined ? stepIdAt(at) : null;
    return { step_id, path, problem, where: step_id === null ? path : `step ${step_id}: ${rest.join(".")}` };
  });
  const words = list.map(({ where, problem }) => (where === "" ? problem : `${where}: ${problem}`)).join("; ");
  return refuse("T3_PLAN_INVALID", `the planner's output is no plan: ${words}`, {
    problems: list.map(({ where: _told, ...one }) => one),
    ...(list[0]?.step_id != null && { step_id: list[0].step_id }),
  });
}

/** Returns a copy that shares nothing with the planner's objects and can be kept. */
function toPlain(proposal: unknown): unknown {
  try {
    return toJson(proposal);
  } catch (thrown) {
    return refuse("T3_PLAN_INVALID", `the planner's output is no JSON: ${messageOf(thrown)}`);
  }
}

function requireUnique(steps: readonly Draft[]): readonly Draft[] {
  const seen = new Set<string>();
  for (const { step_id } of steps) {
    if (seen.has(step_id)) refuse("T3_PLAN_INVALID", `two steps are called ${step_id}`, { step_id });
    seen.add(step_id);
  }
  return steps;
}

const baseOf = (stepId: string): string => stepId.replace(/_r\d+$/, "");

/** Returns the proposed steps that are completed already, with the name under which each was completed last. */
function namesOfDone({ used, completed }: CompileRequest, steps: readonly Draft[]): ReadonlyMap<string, string> {
  const done = new Map<string, string>();
  for (const { step_id } of steps) {
    if (!used.includes(step_id)) continue;
    const newest = used.findLast((id) => baseOf(id) === baseOf(step_id)) ?? step_id;
    if (completed.includes(newest)) done.set(step_id, newest);
  }
  return done;
}

/** Renames steps whose id was used in an earlier round: they get the round's suffix, and references to them follow. */
function renameUsed(
  { used, identity, rename }: CompileRequest,
  steps: readonly Draft[],
  done: ReadonlyMap<string, string>,
): readonly Draft[] {
  if (used.length === 0) return steps;
  const freeIdOf = (base: string, round: number): string =>
    used.includes(`${base}_r${round}`) ? freeIdOf(base, round + 1) : `${base}_r${round}`;
  const renamed = new Map([
    ...[...done].filter(([id, name]) => id !== name),
    ...steps
      .filter((s) => used.includes(s.step_id))
      .map((s) => [s.step_id, freeIdOf(baseOf(s.step_id), identity.round)] as const),
  ]);
  if (renamed.size === 0) return steps;
  const to = (id: string): string => renamed.get(id) ?? id;
  return steps.map((s) => ({
    ...s,
    step_id: to(s.step_id),
    depends_on: s.depends_on.map(to),
    ...(s.settled === undefined ? {} : { settled: s.settled.map(to) }),
    params: rename(s, renamed),
    ...(s.when === undefined ? {} : { when: rename({ params: s.when, literals: s.when_literals }, renamed) }),
    ...(isCall(s) && s.applies !== undefined ? { applies: to(s.applies) } : {}),
    ...(isCall(s) ? renameUndo(s, s.inner, (params, literals) => rename({ params, literals }, renamed)) : {}),
    ...(isGrowing(s) ? renameInside(s, (params, literals) => rename({ params, literals }, renamed)) : {}),
  })) as readonly Draft[];
}

/** Returns whether each step already follows all its dependencies. @throws if a step depends on a missing one. */
function requireDependencies(steps: readonly Draft[], completed: readonly string[]): boolean {
  const known = new Set(completed);
  const later = new Set(steps.map((s) => s.step_id));
  const unresolved: string[] = [];
  let isOrdered = true;
  for (const step of steps) {
    const { step_id, depends_on } = step;
    const applies = appliedBy(step);
    for (const id of depends_on) {
      if (!known.has(id)) isOrdered = false;
      if (!known.has(id) && !later.has(id)) unresolved.push(`${step_id} → ${id}`);
    }
    if (applies !== undefined && !known.has(applies) && !later.has(applies)) unresolved.push(`${step_id} → ${applies}`);
    known.add(step_id);
  }
  if (unresolved.length > 0)
    refuse("T3_DAG_COMPILE_UNRESOLVED_DEPS", `steps depend on what is not in the plan: ${unresolved.join(", ")}`, {
      unresolved,
    });
  return isOrdered;
}

/** Sorts steps by Kahn's algorithm, keeping their order otherwise; returns null if a cycle leaves steps over. */
function orderSteps(steps: readonly Draft[], completed: ReadonlySet<string>): readonly Draft[] | null {
  const queue = new ReadyQueue<string>();
  for (const [sequence, { step_id: id, depends_on }] of steps.entries())
    queue.add({ id, priority: 0, sequence, dependencies: depends_on.filter((on) => !completed.has(on)) });
  const named = new Map(steps.map((step) => [step.step_id, step]));
  const ordered: Draft[] = [];
  for (let next = queue.next(); next !== undefined; next = queue.next()) {
    queue.remove(next);
    queue.complete(next);
    ordered.push(named.get(next) as Draft);
  }
  return ordered.length === steps.length ? ordered : null;
}

const compileStep = (step: Draft, request: CompileRequest): PlanStep =>
  isCall(step) ? compileCall(step, request) : compileQuiet(step, request);

/** Compiles a step that calls no operator: it costs nothing and has no effect of its own. */
function compileQuiet(step: QuietDraft, request: CompileRequest): PlanStep {
  const { policyTags, weights } = request.capability;
  const { regenerate } = request;
  const { kind, step_id, name, depends_on, weight, priority = 0 } = step;
  const params = step.kind === "run" ? pinCapability(step, request) : step.params;
  const base = baseOf(step_id);
  const gate = step.kind === "ask" ? (step.gate ?? { reason: "the plan asks for an answer" }) : null;
  if (gate !== null) requireSatisfiable({ step_id, gate }, request);
  return {
    kind,
    step_id,
    name,
    operator: kindNames[kind],
    operator_version: "1.0",
    params: params as JsonObject,
    ...marksOf(step),
    depends_on,
    outcome: null,
    applies: null,
    outputs: [],
    policy_tags: joinTags([], [], policyTags[base]),
    risk_level: "low",
    effect: "none",
    gate,
    ...rejectionOf(step),
    idempotency: { strategy: "inputs", target: null },
    weight: weight ?? weights[base] ?? 1,
    estimated_cost: 0,
    priority,
    draft_version: versionOf(base, regenerate),
    ...(isGrowing(step) && compileInside(step, request)),
  };
}

/** Returns the optional members of a step: condition, dependencies of any end, texts that are no references. */
const marksOf = ({ literals, settled, when, when_literals }: Draft): Partial<PlanStep> => ({
  ...(literals !== undefined && { literals }),
  ...(settled !== undefined && { settled }),
  ...(when !== undefined && { when }),
  ...(when_literals !== undefined && { when_literals }),
});

/** Fills what the planner left out from the operator and the package. */
function compileCall(step: CallDraft, request: CompileRequest): PlanStep {
  const { metadata } = findOperator(request, step);
  requireSatisfiable(step, request);
  const { policyTags, weights } = request.capability;
  const base = baseOf(step.step_id);
  const applies = step.applies ?? null;
  return {
    kind: "call",
    step_id: step.step_id,
    name: step.name,
    operator: step.operator,
    operator_version: metadata.version,
    params: step.params,
    ...marksOf(step),
    depends_on:
      applies === null || step.depends_on.includes(applies) || request.completed.includes(applies)
        ? step.depends_on
        : [...step.depends_on, applies],
    outcome: step.outcome ?? null,
    applies,
    outputs: step.outputs ?? (metadata.outputs as string[]),
    policy_tags: joinTags(metadata.policy_tags, step.policy_tags, policyTags[base]),
    risk_level: step.risk_level ?? metadata.risk_level,
    effect: metadata.effect,
    gate: step.gate ?? null,
    ...rejectionOf(step),
    idempotency: { strategy: applies === null ? "inputs" : "applies", target: applies },
    weight: step.weight ?? weights[base] ?? 1,
    estimated_cost: step.estimated_cost ?? metadata.estimated_cost,
    priority: step.priority ?? 0,
    draft_version: versionOf(base, request.regenerate),
    ...compileUndo(step, request),
    ...(step.pivot === true && { pivot: true }),
  };
}

/** Returns the version with which a step begins: a kept one, the new one of a step that is made anew, or the first. */
function versionOf(base: string, { steps, draft_version, kept }: RegeneratedSteps): number {
  const before = keptDraftOf(kept, base);
  return before.draft_version === 1 && steps.includes(base) ? draft_version : before.draft_version;
}

function assemble({ identity }: CompileRequest, parts: Pick<Plan, "reasoning" | "direct_response" | "steps">): Plan {
  return { ...identity, ...parts, gates: gatesIn(parts.steps) };
}
