/**
 * A plan as the drawings see it: its steps, what each waits for, and of a run where each stands.
 *
 * Owns: which words stand in a box. M1  What came from outside is shown by name where it cannot be seen, and whole.
 */
import { isOpenGate } from "../../contract/gate.ts";
import type { ExecutionPlan } from "../../contract/plan.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { wrapText } from "./text-size.ts";

export interface PlanModel {
  readonly title: string;
  readonly subtitle: string;
  readonly nodes: readonly PlanNode[];
}

export interface PlanNode {
  readonly id: string;
  readonly dependsOn: readonly string[];
  /** Its id and name, in lines. */
  readonly head: readonly string[];
  readonly lines: readonly string[];
  /** Where it stands: the state of a step, `waits` for one that a person is asked about; null in a plan that does not run. */
  readonly mark: string | null;
}

type Drafted = ExecutionPlan["steps"][number];

const most = 34;

/** A plan as it is written. `effectOf` says what an operator may do to the outside, where it is known. */
export function readPlan(title: string, plan: ExecutionPlan, effectOf: (operator: string) => string | null): PlanModel {
  const steps = plan.steps.map((step) => nodeOf(step, aboutStep(step, effectOf(step.operator)), null));
  return { title: showLine(title), subtitle: countSteps(plan.steps.length), nodes: steps };
}

/** A run as it stands. */
export function readRun(state: WorkflowState): PlanModel {
  const asked = new Set(state.gates.filter(isOpenGate).map(({ step_id }) => step_id));
  const planned = new Map(state.plan?.steps.map((step) => [step.step_id, step]));
  const nodes = state.steps.map((view) => {
    const step = planned.get(view.step_id);
    const stands = view.phase === null ? view.state : `${view.state}: ${view.phase.replaceAll("_", " ")}`;
    const about = step === undefined ? [] : aboutStep(step, step.effect ?? null);
    const mark = asked.has(view.step_id) ? "waits" : view.state;
    return nodeOf(view, [stands, ...about], mark);
  });
  const { type } = state.intent;
  return { title: showLine(type), subtitle: `${state.workflow_id} ${state.state.replaceAll("_", " ")}`, nodes };
}

type Shown = Pick<Drafted, "step_id" | "name" | "operator"> & { readonly depends_on?: readonly string[] };

function nodeOf(
  { step_id, name, operator, depends_on }: Shown,
  about: readonly string[],
  mark: string | null,
): PlanNode {
  return {
    id: step_id,
    dependsOn: depends_on ?? [],
    head: wrapText(`${step_id}: ${showLine(name)}`, most),
    lines: [operator, ...about].flatMap((line) => wrapText(showLine(line), most + 8)),
    mark,
  };
}

type About = Pick<Drafted, "outcome" | "applies" | "gate">;

/** What a step does beside its call. */
function aboutStep(
  { outcome, applies, gate }: { readonly [K in keyof About]?: About[K] | null },
  effect: string | null,
) {
  return [
    ...(effect === null || effect === "none" ? [] : [`effect ${effect}`]),
    ...(outcome == null ? [] : [`drafts ${outcome}`]),
    ...(applies == null ? [] : [`applies what ${applies} drafted`]),
    ...(gate == null ? [] : ["asks a person first"]),
  ];
}

const countSteps = (count: number): string => (count === 1 ? "1 step" : `${count} steps`);
