/**
 * A plan as the drawings see it: its steps, their dependencies, and their states in a run.
 *
 * Owns: the text in a box.
 * 1.  Text from outside is shown whole, with invisible characters named.
 */
import { isOpenGate } from "../../contract/gate.ts";
import { type ExecutionPlan, isCallDraft, operatorOf, type PlanStep } from "../../contract/plan.ts";
import { idOfDependency, type StepKind } from "../../contract/step-kinds.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { linesOfGate } from "./gate-lines.ts";
import { stepsBefore } from "./step-depths.ts";
import { aboutStep, declaredGate, linesOfView } from "./step-lines.ts";
import { wrapText } from "./text-size.ts";

export interface PlanModel {
  readonly title: string;
  readonly subtitle: string;
  readonly nodes: readonly PlanNode[];
}

export interface PlanNode {
  readonly id: string;
  /** Whether it runs a child workflow: it has a shape of its own. */
  readonly runs: boolean;
  readonly dependsOn: readonly string[];
  /** Its id and name, in lines. */
  readonly head: readonly string[];
  readonly lines: readonly string[];
  /** The state of a step, `waits` for one with an open gate; null in a plan that does not run. */
  readonly mark: string | null;
  /** The shape: a step that asks people has one of its own. */
  readonly shape: "box" | "asks";
}

const most = 34;

/** Reads a plan as it is written. `effectOf` returns the effect of an operator, if it is known. */
export function readPlan(title: string, plan: ExecutionPlan, effectOf: (operator: string) => string | null): PlanModel {
  const steps = plan.steps.map((step) => {
    const operator = operatorOf(step);
    const { step_id, name, depends_on = [] } = step;
    const { kind = "call" } = step;
    const shown = { step_id, name, operator, kind, depends_on: depends_on.map(idOfDependency) };
    const about = aboutStep(step, isCallDraft(step) ? effectOf(operator) : null);
    return nodeOf(shown, { about, gates: declaredGate(step), mark: null });
  });
  return {
    title: showLine(title),
    subtitle: `${countSteps(plan.steps.length)}, and policy may ask a person as well`,
    nodes: steps,
  };
}

/** Reads a run in its present state, with every gate on record, whoever asked for it. */
export function readRun(state: WorkflowState): PlanModel {
  const asked = new Set(state.gates.filter(isOpenGate).map(({ step_id }) => step_id));
  const planned = new Map(state.plan?.steps.map((step) => [step.step_id, step]));
  const known = new Set(state.steps.map(({ step_id }) => step_id));
  const nodes = state.steps.map((view) => {
    const step = planned.get(view.step_id);
    const stands = view.phase === null ? view.state : `${view.state}: ${view.phase.replaceAll("_", " ")}`;
    const about = step === undefined ? [] : aboutStep(step, step.effect ?? null);
    const mark = asked.has(view.step_id) ? "waits" : view.state;
    const asking = state.gates.filter(({ step_id }) => step_id === view.step_id);
    const declared = step === undefined ? [] : declaredGate(step);
    const gates = asking.length === 0 ? declared : asking.flatMap(linesOfGate);
    const shown = { ...view, depends_on: stepsBefore(view, (id) => known.has(id)) };
    return nodeOf(shown, { about: [stands, ...about, ...linesOfView(view)], gates, mark });
  });
  return { title: showLine(state.intent.type), subtitle: describeRun(state), nodes };
}

const describeRun = ({ workflow_id, state, accepted_at, finished_at }: WorkflowState): string =>
  `${workflow_id} ${state.replaceAll("_", " ")}, accepted at ` +
  `${accepted_at}${finished_at === null ? "" : `, ended at ${finished_at}`}`;

type Shown = Pick<PlanStep, "step_id" | "name" | "operator"> & {
  readonly kind?: StepKind | undefined;
  readonly depends_on: readonly string[];
};

interface NodeLabels {
  readonly about: readonly string[];
  /** Shown text. */
  readonly gates: readonly string[];
  readonly mark: string | null;
}

function nodeOf({ step_id, name, operator, kind, depends_on }: Shown, { about, gates, mark }: NodeLabels): PlanNode {
  return {
    id: step_id,
    runs: kind === "run",
    dependsOn: depends_on,
    head: wrapText(`${step_id}: ${showLine(name)}`, most),
    lines: [
      ...[operator, ...about].flatMap((line) => wrapText(showLine(line), most + 8)),
      ...gates.flatMap(wrapGateLine),
    ],
    mark,
    shape: kind === "ask" ? "asks" : "box",
  };
}

/** Marks a continued line, so that no text from outside begins a line like a fact of the record. */
const wrapGateLine = (line: string): readonly string[] =>
  wrapText(line, most + 8).map((part, at) => (at === 0 ? part : `↳ ${part}`));

const countSteps = (count: number): string => (count === 1 ? "1 step" : `${count} steps`);
