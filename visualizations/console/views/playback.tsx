/**
 * A recording of runs, played: its plan as a graph, the lifecycles of workflow, step and gate, who did what, who sent
 * what to whom, and every event, each as it was when an event had happened.
 *
 * Owns: the reading of the recording. Never: asks a server; what is not in the recording is named as missing.
 */
import { useMemo } from "preact/hooks";
import type { Json } from "../../../src/contract/json.ts";
import type { RecordedRun, Recording, RecordingCut } from "../../../src/contract/recording.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { withChanges } from "../../../src/protocol/state-changes.ts";
import { announcement } from "../announce.ts";
import { History } from "../parts/history.tsx";
import { State, tellInstant } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { People } from "../parts/people.tsx";
import { Sequence } from "../parts/sequence.tsx";
import { Line } from "../parts/shown.tsx";
import { Slider } from "../parts/slider.tsx";
import { TimeSpent } from "../parts/time-spent.tsx";
import { type Route, route, runHref } from "../route.ts";
import { count, nameSteps, tellPerson } from "../words.ts";
import { Board } from "./run.tsx";

export function Playback({ recording }: { readonly recording: Recording }) {
  const { runs, cut, made_at } = recording;
  const at = route.value;
  const asked = workflowIn(at);
  const run = runs.find(({ workflow_id }) => workflow_id === asked) ?? (asked === null ? runs[0] : undefined);
  return (
    <>
      <header class="bar">
        <span class="brand">Countersign</span>
        <p class="who">
          <span>Recording of {tellInstant(made_at)}</span>
        </p>
      </header>
      <main id="main" tabIndex={-1}>
        {run === undefined ? (
          <Missing workflow={asked} first={runs[0]} />
        ) : (
          <Recorded key={run.workflow_id} run={run} recording={recording} at={"at" in at ? at.at : null} />
        )}
        <Cut cut={cut} />
        {runs.length > 1 && <Runs runs={runs} shown={run?.workflow_id ?? null} />}
      </main>
      <div class="unseen" role="status">
        {announcement}
      </div>
    </>
  );
}

const workflowIn = (at: Route): string | null => ("workflow" in at ? at.workflow : null);

const Missing = ({
  workflow,
  first,
}: {
  readonly workflow: string | null;
  readonly first: RecordedRun | undefined;
}) => (
  <>
    <Heading title="This run is not in the recording" />
    <p>
      <code class="id">{workflow ?? "No run is"}</code>{" "}
      {first !== undefined && <a href={runHref(first.workflow_id)}>Go to the first run.</a>}
    </p>
  </>
);

function Runs({ runs, shown }: { readonly runs: readonly RecordedRun[]; readonly shown: string | null }) {
  return (
    <nav class="card" aria-label="Runs of this recording">
      <h2>{count(runs.length, "run")} in this recording</h2>
      <ul class="plain">
        {runs.map(({ workflow_id, title }) => (
          <li key={workflow_id}>
            <a href={runHref(workflow_id)} aria-current={workflow_id === shown ? "page" : undefined}>
              <Line text={title} />
            </a>{" "}
            <code class="id">{workflow_id}</code>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function Cut({ cut: { runs, events, texts, chars } }: { readonly cut: RecordingCut }) {
  const left = [
    ...(runs > 0 ? [count(runs, "run")] : []),
    ...(events > 0 ? [`${count(events, "event")} at the end of runs`] : []),
    ...(texts > 0 ? [`the ends of ${count(texts, "text")} of more than ${count(chars, "character")}`] : []),
  ];
  if (left.length === 0) return null;
  return <p class="note wait">This file is bounded. Left out: {left.join("; ")}.</p>;
}

interface RecordedProps {
  readonly run: RecordedRun;
  readonly recording: Recording;
  readonly at: number | null;
}

function Recorded({ run, recording: { machines }, at }: RecordedProps) {
  const { events, workflow_id, title, messages, names } = run;
  const shown = Math.min(at ?? events.length, events.length);
  const states = useMemo(() => statesOf(run), [run]);
  const state = states(shown);
  const past = useMemo(() => events.slice(0, shown), [events, shown]);
  const said = useMemo(() => {
    const last = past.at(-1)?.sequence ?? 0;
    return messages.filter(({ sequence }) => sequence <= last);
  }, [messages, past]);
  return (
    <>
      <Heading title={title} />
      {state !== null && (
        <p class="chips">
          <State state={state.state} />
          <span>{state.progress.percent} %</span>
          <code>{state.intent.type}</code>
          <span>
            asked by <Line text={tellPerson(state.intent.actor)} />, {tellInstant(state.accepted_at)}
          </span>
          {state.compensated !== null && <span>undone: {state.compensated}</span>}
          <code class="id">{workflow_id}</code>
        </p>
      )}
      {state?.parent != null && (
        <p>
          Child of step {state.parent.step_id} of{" "}
          <a href={runHref(state.parent.workflow_id)}>
            <code class="id">{state.parent.workflow_id}</code>
          </a>
        </p>
      )}
      <Slider events={events} at={at} href={runHref(workflow_id)} />
      {state === null ? (
        <p>The request is not on record yet, or was refused.</p>
      ) : (
        <>
          <Board run={state} events={past} machines={machines} isPast />
          <People messages={said} names={names} steps={nameSteps(state)} events={past} />
          <TimeSpent events={past} end={past.at(-1)?.timestamp ?? null} names={nameSteps(state)} />
        </>
      )}
      <section class="card" aria-labelledby="messages">
        <h2 id="messages">{count(said.length, "message")}, in their order</h2>
        <Sequence messages={said} nameOf={(id) => names[id] ?? id} />
      </section>
      <History events={past} names={state === null ? new Map() : nameSteps(state)} />
    </>
  );
}

/** Returns a function that gives the state after so many events. Each state is made once, from the one before it. */
function statesOf({ changes }: RecordedRun): (length: number) => WorkflowState | null {
  const made: Json[] = [null];
  return (length) => {
    while (made.length <= length) made.push(withChanges(made.at(-1) ?? null, changes[made.length - 1] ?? []));
    return made[length] as unknown as WorkflowState | null;
  };
}
