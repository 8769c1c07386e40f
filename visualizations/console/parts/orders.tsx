/**
 * The orders on a run: pause it and let it go on, cancel it, run again what failed, roll it back once it has ended, and
 * fork it at a step.
 *
 * 1.  A person who may not give an order is told so by the answer, with what to do.
 * 2.  Pausing needs no second look, because resuming takes it back. The end of a run and a rollback are ordered only
 *     after their words were typed; these and a fork state a reason.
 */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { PlanStep, StepTemplate } from "../../../src/contract/plan.ts";
import type { Pause, WorkflowState } from "../../../src/contract/workflow-state.ts";
import { announce } from "../announce.ts";
import { ask, type Problem, workflowPath } from "../api.ts";
import { makeKey } from "../decide.ts";
import { tellPerson } from "../words.ts";
import { Fork, mayFork } from "./fork-order.tsx";
import { Ago } from "./marks.tsx";
import { OrderForm } from "./order-form.tsx";
import { ProblemNote } from "./problem.tsx";
import { Line } from "./shown.tsx";

interface OrdersProps {
  readonly run: WorkflowState;
}

export function Orders({ run }: OrdersProps) {
  const { state, paused, rolled_back, finished_at } = run;
  return (
    <>
      {paused !== null && (
        <p class="note wait">
          <Order of="Paused" order={paused} /> Nothing begins until it is resumed.
        </p>
      )}
      {rolled_back !== null && (
        <p class="note wait">
          <Order of="Rolled back" order={rolled_back} />
        </p>
      )}
      {finished_at === null && state !== "cancelling" && state !== "compensating" && <Pausing run={run} />}
      {finished_at === null && state !== "cancelling" && <Cancel run={run} />}
      {state === "failed" && <Retry run={run} />}
      {mayRollBack(run) && <RollBack run={run} />}
      {mayFork(run) && <Fork run={run} />}
    </>
  );
}

const Order = ({ of, order: { principal, at, reason } }: { readonly of: string; readonly order: Pause }) => (
  <>
    {of} by {tellPerson(principal)}, <Ago at={at} />: <Line text={reason} />.
  </>
);

function Pausing({ run: { workflow_id, paused } }: OrdersProps) {
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const [word, button, done] =
    paused === null ? ["pause", "Pause", "The run is paused"] : ["resume", "Resume", "The run goes on"];
  const give = async (): Promise<void> => {
    isBusy.value = true;
    const answer = await ask(workflowPath(workflow_id, `/${word}`), { method: "POST", body: {} });
    isBusy.value = false;
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) announce(done as string);
  };
  return (
    <>
      <p class="row">
        <button type="button" disabled={isBusy.value} onClick={() => void give()}>
          {button}
        </button>
      </p>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
    </>
  );
}

const Cancel = ({ run: { workflow_id } }: OrdersProps) => (
  <OrderForm
    title="Cancel"
    confirmation="cancel"
    give={async ({ reason }) => {
      const answer = await ask(workflowPath(workflow_id, "/cancel"), { method: "POST", body: { reason } });
      if (answer.ok) announce("The run is being cancelled");
      return answer.ok ? null : answer.problem;
    }}
  >
    <p>
      The run ends early: nothing more begins, and its open decisions close. What it did stays, unless its steps say how
      it is undone.
    </p>
  </OrderForm>
);

function Retry({ run: { workflow_id, updated_at } }: OrdersProps) {
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  // An attempt that was not answered is repeated under its key, and then counts once.
  const key = useMemo(makeKey, [updated_at]);
  const give = async (): Promise<void> => {
    isBusy.value = true;
    const body = { mode: "resume_failed_steps" };
    const answer = await ask(workflowPath(workflow_id, "/retry"), { method: "POST", body, key });
    isBusy.value = false;
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) announce("What failed runs again");
  };
  return (
    <>
      <p class="row">
        <button type="button" disabled={isBusy.value} onClick={() => void give()}>
          Run again what failed
        </button>
      </p>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
    </>
  );
}

/** Returns whether a rollback may find something to undo: a step that states how, or the work of a child. */
const mayRollBack = ({ finished_at, rolled_back, compensated, plan, steps }: WorkflowState): boolean =>
  finished_at !== null &&
  rolled_back === null &&
  compensated !== "all" &&
  (steps.some(({ child }) => child !== null) || (plan?.steps.flatMap(withTemplate).some(hasUndo) ?? false));

type UndoneStep = Pick<StepTemplate, "kind" | "undo">;

/** Returns a step with what it does for each item or round. */
const withTemplate = (step: PlanStep): readonly UndoneStep[] =>
  [step, step.each?.do, step.repeat?.do].filter((one) => one !== undefined);

const hasUndo = ({ kind, undo }: UndoneStep): boolean => kind === "run" || undo !== undefined;

const RollBack = ({ run: { workflow_id } }: OrdersProps) => (
  <OrderForm
    title="Roll back"
    confirmation="roll back"
    give={async ({ reason }) => {
      const answer = await ask(workflowPath(workflow_id, "/rollback"), { method: "POST", body: { reason } });
      if (answer.ok) announce("The run undoes what it has done");
      return answer.ok ? null : answer.problem;
    }}
  >
    <p>
      The run undoes what it has done, the last first, and ends as cancelled. This cannot be taken back. Some of what it
      did may not be undoable; the run then says that it is undone in part.
    </p>
  </OrderForm>
);
