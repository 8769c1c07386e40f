/** What came of a decided gate: the end of its step, and where the run is now. It follows the run as it goes on. */
import { useEffect } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import type { StepView, WorkflowState } from "../../../src/contract/workflow-state.ts";
import { skipWords } from "../../../src/protocol/skip-words.ts";
import { workflowPath } from "../api.ts";
import { followFeed } from "../live.ts";
import { useLoaded } from "../loaded.tsx";
import { State } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

export function GateOutcome({ gate: { workflow_id, step_id } }: { readonly gate: Gate }) {
  const { answer, reload } = useLoaded<WorkflowState>(workflowPath(workflow_id));
  useEffect(
    () =>
      followFeed((item) => {
        if (item.workflow_id === workflow_id) void reload();
      }),
    [workflow_id, reload],
  );
  const run = answer.value?.ok === true ? answer.value.value : null;
  const step = run?.steps.find((one) => one.step_id === step_id);
  if (run === null) return null;
  return (
    <div class="outcome">
      <h3>What came of it</h3>
      {step !== undefined && <Ended step={step} />}
      <p>
        The run: <State state={run.state} />{" "}
        {run.response.text !== "" && run.response.text !== step?.output_text && <Line text={run.response.text} />}
      </p>
    </div>
  );
}

function Ended({ step: { state, operator, output_text, error, skip_reason } }: { readonly step: StepView }) {
  if (state === "succeeded")
    return (
      <>
        <p>
          <code>{operator}</code> succeeded{output_text === "" ? "." : " and gave:"}
        </p>
        {output_text !== "" && <Block text={output_text} />}
      </>
    );
  if (state === "failed")
    return (
      <p>
        <code>{operator}</code> failed{error === null ? "." : ": "}
        {error !== null && <Line text={error.message} />}
      </p>
    );
  if (state === "skipped")
    return (
      <p>
        <code>{operator}</code> did not run{skip_reason === null ? "." : `: ${skipWords[skip_reason]}.`}
      </p>
    );
  return (
    <p>
      <code>{operator}</code>: <State state={state} />
    </p>
  );
}
