/**
 * Where a gate stands in its run: the plan's reasoning, what the steps before it found, and the steps that come after
 * it.
 */
import type { Gate } from "../../../src/contract/gate.ts";
import type { StepView, WorkflowState } from "../../../src/contract/workflow-state.ts";
import { defaultFacts, tellFact } from "../../../src/protocol/present-facts.ts";
import { workflowPath } from "../api.ts";
import { useLoaded } from "../loaded.tsx";
import { Fact, Facts, State } from "./marks.tsx";
import { Line } from "./shown.tsx";

export function GateContext({ gate: { workflow_id, step_id } }: { readonly gate: Gate }) {
  const { answer } = useLoaded<WorkflowState>(workflowPath(workflow_id));
  const run = answer.value?.ok === true ? answer.value.value : null;
  if (run === null) return null;
  const before = stepsBefore(run.steps, step_id).filter(({ state }) => state === "succeeded");
  const after = stepsAfter(run.steps, step_id);
  const reasoning = run.plan?.reasoning ?? "";
  if (reasoning === "" && before.length === 0 && after.length === 0) return null;
  return (
    <section class="card around">
      <h2>Where it stands in the work</h2>
      {reasoning !== "" && (
        <p>
          <Line text={reasoning} />
        </p>
      )}
      {before.length > 0 && <h3>What came before</h3>}
      {before.map((step) => (
        <Found key={step.step_id} step={step} />
      ))}
      {after.length > 0 && (
        <>
          <h3>What comes after</h3>
          <ul class="plain">
            {after.map((step) => (
              <li key={step.step_id}>
                <Line text={step.name} /> <small class="quiet">{step.operator}</small>{" "}
                {step.state !== "queued" && <State state={step.state} />}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

/** What a step before found: the members of its output as facts, or its text. */
function Found({ step: { name, output_text } }: { readonly step: StepView }) {
  const facts = factsOf(output_text);
  return (
    <details class="more" open={facts.length > 0 && facts.length <= 6}>
      <summary>
        <Line text={name} />
      </summary>
      {facts.length === 0 ? (
        <p>
          <Line text={output_text === "" ? "It gave nothing." : output_text.slice(0, longest)} />
        </p>
      ) : (
        <Facts>
          {facts.map((fact, at) => (
            <Fact key={at} name={fact.label}>
              <Line text={tellFact(fact)} />
            </Fact>
          ))}
        </Facts>
      )}
    </details>
  );
}

const longest = 1_000;

function factsOf(output: string) {
  try {
    return defaultFacts({ kind: "approval", payload: JSON.parse(output) }, null);
  } catch {
    return [];
  }
}

/** Returns the steps that a step rests on, at every level. */
function stepsBefore(steps: readonly StepView[], id: string): readonly StepView[] {
  const found = new Set<string>();
  const add = (one: string): void => {
    for (const before of steps.find(({ step_id }) => step_id === one)?.depends_on ?? [])
      if (!found.has(before)) {
        found.add(before);
        add(before);
      }
  };
  add(id);
  return steps.filter(({ step_id }) => found.has(step_id));
}

/** Returns the steps that rest on a step, at every level. */
const stepsAfter = (steps: readonly StepView[], id: string): readonly StepView[] =>
  steps.filter(({ step_id }) => stepsBefore(steps, step_id).some((one) => one.step_id === id));
