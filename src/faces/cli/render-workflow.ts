/**
 * Renders workflows as text: one workflow with its steps, open gates and outcomes, and the progress bar.
 * Owns: the colour of each state. Never: decides anything by a state.
 */
import type { ParentLink } from "../../contract/child.ts";
import type { KernelProgress, WorkflowStateName } from "../../contract/progress.ts";
import type { QueueStanding } from "../../contract/queue.ts";
import type { StepState } from "../../contract/step.ts";
import {
  isWorking,
  type ParkedFor,
  type Pause,
  type StepView,
  type WorkflowState,
} from "../../contract/workflow-state.ts";
import { skipWords } from "../../protocol/skip-words.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { type Column, renderTable } from "./render-table.ts";
import { cutLine, describeTime, hangLines, indent } from "./render-text.ts";
import type { Paint, Style, Terminal } from "./terminal.ts";

export type Look = Pick<Terminal, "paint" | "now" | "columns">;

const styles: Readonly<Record<WorkflowStateName | StepState, Style>> = {
  accepted: "dim",
  planned: "dim",
  running: "cyan",
  waiting_for_user: "yellow",
  waiting: "blue",
  cancelling: "magenta",
  compensating: "magenta",
  completed: "green",
  failed: "red",
  cancelled: "magenta",
  queued: "dim",
  succeeded: "green",
  skipped: "dim",
};

export const styleOfState = (state: WorkflowStateName | StepState): Style => styles[state];

const isDebounced = ({ state, queue }: WorkflowState): boolean =>
  state === "accepted" && queue?.place === null && queue.debounced_until !== undefined;

const describeDebounce = ({ name, key, debounced_until }: QueueStanding): string =>
  `waits for newer requests of the queue ${name}${key === "" ? "" : ` (${key})`} until ${debounced_until}`;

const describeQueue = ({ name, key, concurrency }: QueueStanding): string =>
  `waits for a place in the queue ${name}${key === "" ? "" : ` (${key})`}, which has ${concurrency}`;

export function renderWorkflow(state: WorkflowState, look: Look): string {
  const { paint, now } = look;
  const { percent } = state.progress;
  const name = `${paint("bold", state.workflow_id)}  ${showLine(state.intent.type)}`;
  const head = `${name}  ${paint(styles[state.state], state.state)}  ${percent} %`;
  const end = state.finished_at === null ? "" : `, ended ${describeTime(state.finished_at, now())}`;
  const since = `accepted ${describeTime(state.accepted_at, now())}${end}`;
  const facts = `${since}, by ${state.intent.actor.id}, cost ${state.spent}, ${state.sequence} events`;
  const parts = [head, indent(showLine(facts))];
  if (state.parent !== null) parts.push(indent(describeParent(state.parent)));
  if (state.paused !== null) parts.push(indent(paint("yellow", showLine(describePause(state.paused)))));
  if (isDebounced(state)) parts.push(indent(paint("dim", showLine(describeDebounce(state.queue as QueueStanding)))));
  if (state.queue?.place === "waiting") parts.push(indent(paint("yellow", showLine(describeQueue(state.queue)))));
  if (state.held_by.length > 0) parts.push(indent(paint("yellow", describeHeld(state.held_by))));
  if (state.steps.length > 0) parts.push("", indent(renderSteps(state.steps, { ...look, columns: look.columns - 2 })));
  for (const outcome of state.outcomes) {
    parts.push(
      indent(
        showLine(`outcome ${outcome.outcome_type} ${outcome.outcome_id} version ${outcome.version}, ${outcome.status}`),
      ),
    );
  }
  for (const { code, message } of state.warnings)
    parts.push(indent(paint("yellow", hangLines(`warning: ${code}: ${message}`, 2))));
  if (state.error !== null)
    parts.push(indent(paint("red", hangLines(`${state.error.code}: ${state.error.message}`, 2))));
  return parts.join("\n");
}

const describePause = ({ principal, at, reason }: Pause): string => `paused by ${principal.id} at ${at}: ${reason}`;
const describeParent = ({ workflow_id, step_id, detached }: ParentLink): string =>
  `${detached === true ? "detached child" : "child"} of step ${step_id} of ${workflow_id}`;

const describeHeld = (halts: readonly string[]): string => `held by ${halts.join(", ")}`;

/** Describes the state of a step: the phase if it waits for something, else the state. */
const describeStepState = ({ phase, state }: StepView): string => (phase === null || isWorking(phase) ? state : phase);

const stepColumns: readonly Column<StepView>[] = [
  { title: "STEP", value: (step) => step.step_id },
  { title: "STATE", value: describeStepState, style: (step) => styles[step.state] },
  { title: "OPERATOR", value: (step) => step.operator, shrinks: true },
  { title: "TRIES", value: (step) => String(step.attempts), labelled: true },
  { title: "WHAT", value: describeStep, shrinks: true },
];

export const renderSteps = (steps: readonly StepView[], look: Look): string => renderTable(steps, stepColumns, look);

function describeStep(step: StepView): string {
  if (step.error !== null) return `${step.error.code}: ${step.error.message}`;
  if (step.child !== null) return `${step.name}: child ${step.child}`;
  if (step.held_by.length > 0) return `${step.name}, ${describeHeld(step.held_by)}`;
  if (step.waits_for !== null) return `${step.name}${describeWait(step.waits_for)}`;
  return step.skip_reason === null ? step.name : `${step.name}: ${skipWords[step.skip_reason]}`;
}

function describeWait(wait: ParkedFor): string {
  const event = wait.source === "event" ? `: waits for ${wait.name} of ${wait.key}` : "";
  return wait.due_at === null ? event : `${event}, until ${wait.due_at}`;
}

const barWidth = 24;

/** Renders progress as a bar, such as `[██████░░]  50 %  Draft the notes`. */
export function renderProgress(
  progress: KernelProgress,
  { paint, columns }: { paint: Paint; columns: number },
): string {
  const full = Math.round((progress.percent / 100) * barWidth);
  const bar = paint("green", "█".repeat(full)) + paint("dim", "░".repeat(barWidth - full));
  const stage = cutLine(describeStage(progress) + describeSub(progress, 1), Math.max(0, columns - barWidth - 10));
  return `${bar} ${describePercent(progress)}  ${stage}`;
}

/** Renders progress as a line of text, in which the progress of a step is given in quarters. */
export const renderProgressLine = (progress: KernelProgress): string =>
  `${describePercent(progress)}  ${cutLine(describeStage(progress) + describeSub(progress, 25), 200)}`;

const describePercent = ({ percent }: KernelProgress): string => `${String(percent).padStart(3)} %`;
const describeStage = ({ current_step, stage, paused }: KernelProgress): string =>
  (current_step === null ? stage.replaceAll("_", " ") : current_step.name) + (paused === true ? ", paused" : "");

/** Returns the progress that a step reports, in multiples of `by` percent; nothing at 0 and 100 percent. */
function describeSub({ sub }: KernelProgress, by: number): string {
  const percent = Math.floor((sub?.percent ?? 0) / by) * by;
  return percent > 0 && percent < 100 ? ` (${percent} %)` : "";
}
