/** The lifecycles of the workflow, of the chosen step and of its gate, one at a time, as they stand. */
import { useSignal } from "@preact/signals";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import type { Gate } from "../../../src/contract/gate.ts";
import type { StepView, WorkflowState } from "../../../src/contract/workflow-state.ts";
import { LitChart } from "./lit-chart.tsx";

interface ChartsProps {
  readonly run: WorkflowState;
  readonly step: StepView | null;
  readonly events: readonly LedgerEvent[];
  readonly machines: readonly (object & { readonly id: string })[];
}

interface ChartState {
  readonly machine: string;
  readonly title: string;
  readonly name: string;
  readonly state: string;
  readonly phase: string | null;
  readonly last: string | null;
}

export function Charts({ run, step, events, machines }: ChartsProps) {
  const chosen = useSignal("workflow");
  const reported = tellCharts({ run, step, events, machines });
  const shown = reported.find(({ machine }) => machine === chosen.value) ?? reported[0];
  const definition = machines.find(({ id }) => id === shown?.machine);
  return (
    <section class="card charts" aria-labelledby="lifecycle">
      <h2 id="lifecycle">Lifecycle</h2>
      <fieldset class="row">
        <legend class="unseen">Whose</legend>
        {reported.map(({ machine, title }) => (
          <button
            key={machine}
            type="button"
            aria-pressed={machine === shown?.machine}
            onClick={() => {
              chosen.value = machine;
            }}
          >
            {title}
          </button>
        ))}
      </fieldset>
      {shown !== undefined && definition !== undefined && <LitChart definition={definition} {...shown} />}
    </section>
  );
}

function tellCharts({ run, step, events, machines }: ChartsProps): readonly ChartState[] {
  const last = (machine: string, of: (event: LedgerEvent) => boolean): string | null => {
    const taken = eventsOf(machines.find(({ id }) => id === machine) ?? {});
    return events.findLast((event) => taken.has(event.event_type) && of(event))?.event_type ?? null;
  };
  const gate = run.gates.findLast(({ step_id }) => step_id === step?.step_id) ?? null;
  const own = (event: LedgerEvent): boolean => event.step_id === step?.step_id;
  return [
    {
      machine: "workflow",
      title: "Workflow",
      name: "the workflow",
      state: run.state,
      phase: null,
      last: last("workflow", () => true),
    },
    ...(step === null
      ? []
      : [
          {
            machine: "step",
            title: "Step",
            name: `step ${step.step_id}`,
            state: step.state,
            phase: step.phase,
            last: last("step", own),
          },
        ]),
    ...(gate === null ? [] : [tellGateChart(gate, last("gate", own))]),
  ];
}

const tellGateChart = ({ gate_id, status }: Gate, last: string | null): ChartState => ({
  machine: "gate",
  title: "Gate",
  name: gate_id,
  state: status,
  phase: null,
  last,
});

/** All events that a chart takes, wherever in it. */
function eventsOf(definition: object, found = new Set<string>()): ReadonlySet<string> {
  const { on = {}, states = {} } = definition as {
    readonly on?: object;
    readonly states?: Readonly<Record<string, object>>;
  };
  for (const event of Object.keys(on)) found.add(event);
  for (const state of Object.values(states)) eventsOf(state, found);
  return found;
}
