/**
 * A run: its plan as a graph, the lifecycles of workflow, step and gate with the current state lit, and what is chosen.
 * With a sequence, all of it as it was when that event had happened.
 *
 * 1.  What is shown at a sequence is the server's fold; nothing is folded here.
 */
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { announce } from "../announce.ts";
import { kernel, workflowPath } from "../api.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { Charts } from "../parts/charts.tsx";
import { LostEvents } from "../parts/lost-events.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { Block } from "../parts/shown.tsx";
import { Slider } from "../parts/slider.tsx";
import { StepDetail } from "../parts/step-detail.tsx";
import { StepGraph } from "../parts/step-graph.tsx";
import { runHref } from "../route.ts";
import { useRunEvents } from "../run-events.ts";
import { tellState } from "../words.ts";

interface RunProps {
  readonly workflow: string;
  readonly at: number | null;
}

export interface Machines {
  readonly machines: readonly (object & { readonly id: string })[];
}

export function Run({ workflow, at }: RunProps) {
  const read = useRunEvents(workflow);
  const { events } = read;
  const loaded = useLoaded<WorkflowState>(workflowPath(workflow, at === null ? "" : `?at=${at}`));
  const machines = useLoaded<Machines>(`${kernel}/machines`);
  const reload = useSettled(() => void loaded.reload(), 60);
  const last = events.value.at(-1)?.sequence ?? 0;
  useEffect(() => {
    if (at === null && last > 0) reload();
  }, [last, at, reload]);
  const state = loaded.answer.value?.ok ? loaded.answer.value.value.state : null;
  useEffect(() => {
    if (state !== null) announce(`The run ${at === null ? "is" : `at event ${at} was`} ${tellState(state)}`);
  }, [state, at]);
  const past = useMemo(() => (at === null ? events.value : events.value.slice(0, at)), [events.value, at]);
  return (
    <Show loaded={loaded}>
      {(run) => (
        <>
          <RunHead run={run} tab="run" isPast={at !== null} />
          <LostEvents run={read} />
          <Slider events={events.value} at={at} href={runHref(workflow)} />
          <Show loaded={machines}>
            {({ machines: all }) => <Board run={run} events={past} machines={all} isPast={at !== null} />}
          </Show>
        </>
      )}
    </Show>
  );
}

interface BoardProps extends Machines {
  readonly run: WorkflowState;
  readonly events: readonly LedgerEvent[];
  readonly isPast: boolean;
}

/** The step that one would look at first: what runs or waits, else the last. */
const current = ({ steps }: WorkflowState): string | null =>
  (steps.find(({ state }) => state === "running" || state === "failed") ?? steps.at(-1))?.step_id ?? null;

export function Board({ run, events, machines, isPast }: BoardProps) {
  const chosen = useSignal<string | null>(null);
  const step = run.steps.find(({ step_id }) => step_id === (chosen.value ?? current(run))) ?? null;
  return (
    <div class="board">
      <div class="content">
        <section class="card">
          <h2>Plan</h2>
          {run.plan !== null && <p class="quiet">{run.plan.reasoning}</p>}
          <StepGraph
            steps={run.steps}
            gates={run.gates}
            chosen={step?.step_id ?? null}
            choose={(id) => {
              chosen.value = id;
            }}
          />
        </section>
        {step !== null && <StepDetail run={run} step={step} events={events} isPast={isPast} />}
        {run.response.text !== "" && (
          <section class="card">
            <h2>Answer</h2>
            <Block text={run.response.text} />
          </section>
        )}
      </div>
      <Charts run={run} step={step} events={events} machines={machines} />
    </div>
  );
}
