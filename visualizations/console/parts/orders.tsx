/**
 * The orders on a run: pause it, and let it go on. Neither needs a second look: each undoes the other.
 *
 * 1.  A person who may not give an order is told so by the answer, with what to do.
 */
import { useSignal } from "@preact/signals";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { announce } from "../announce.ts";
import { ask, type Problem, workflowPath } from "../api.ts";
import { tellPerson } from "../words.ts";
import { Ago } from "./marks.tsx";
import { ProblemNote } from "./problem.tsx";
import { Line } from "./shown.tsx";

export function Orders({ run }: { readonly run: WorkflowState }) {
  const { workflow_id, state, paused, finished_at } = run;
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  if (finished_at !== null || state === "cancelling" || state === "compensating") return null;
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
      {paused !== null && (
        <p class="note wait">
          Paused by {tellPerson(paused.principal)}, <Ago at={paused.at} />: <Line text={paused.reason} />. Nothing
          begins until it is resumed.
        </p>
      )}
      <p class="row">
        <button type="button" disabled={isBusy.value} onClick={() => void give()}>
          {button}
        </button>
      </p>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
    </>
  );
}
