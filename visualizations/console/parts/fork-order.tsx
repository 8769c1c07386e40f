/** The order to fork a run: a new run takes over what was done before a step, and does that step and the rest anew. */
import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { ForkResponse } from "../../../src/contract/fork.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { announce } from "../announce.ts";
import { ask, workflowPath } from "../api.ts";
import { makeKey } from "../decide.ts";
import { runHref } from "../route.ts";
import { OrderForm } from "./order-form.tsx";

/** Returns whether the run has a plan to fork, and nothing of it was undone. */
export const mayFork = ({ plan, compensated, state }: WorkflowState): boolean =>
  plan !== null && plan.steps.length > 0 && compensated === null && state !== "compensating";

export function Fork({ run: { workflow_id, plan } }: { readonly run: WorkflowState }) {
  const steps = plan?.steps ?? [];
  const at = useSignal(steps[0]?.step_id ?? "");
  const made = useSignal<readonly string[]>([]);
  // An attempt that was not answered is repeated under its key, and then begins no second fork.
  const key = useMemo(makeKey, [at.value, made.value]);
  const give = async ({ reason }: { readonly reason: string }) => {
    const body = { at: at.value, reason };
    const answer = await ask<ForkResponse>(workflowPath(workflow_id, "/fork"), { method: "POST", body, key });
    if (!answer.ok) return answer.problem;
    made.value = [...made.value, answer.value.workflow_id];
    announce("A new run goes on from that step");
    return null;
  };
  return (
    <>
      <OrderForm title="Fork at a step" give={give}>
        <p>
          A new run takes over what was done before the step. It does the step anew, with all that comes after it. This
          run stays as it is.
        </p>
        <label class="field">
          <span>The first step to do anew</span>
          <select value={at.value} onChange={(event) => (at.value = event.currentTarget.value)}>
            {steps.map(({ step_id, name }) => (
              <option key={step_id} value={step_id}>
                {showLine(name)} ({step_id})
              </option>
            ))}
          </select>
        </label>
      </OrderForm>
      {made.value.map((id) => (
        <p key={id} class="note good">
          The new run: <a href={runHref(id)}>{id}</a>
        </p>
      ))}
    </>
  );
}
