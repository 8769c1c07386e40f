/** The head of all views of one run: what was asked, by whom, how it stands, and the other views of it. */
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { nameRun } from "../../../src/protocol/name-run.ts";
import { compareHref, gateHref, type RunTab, runHref } from "../route.ts";
import { tellPerson } from "../words.ts";
import { GatesBelow } from "./gates-below.tsx";
import { Lineage } from "./lineage.tsx";
import { Ago, State } from "./marks.tsx";
import { Orders } from "./orders.tsx";
import { Heading } from "./page.tsx";
import { Line } from "./shown.tsx";

interface RunHeadProps {
  readonly run: WorkflowState;
  readonly tab: RunTab;
  /** Whether it is shown as it once was. */
  readonly isPast?: boolean;
}

const tabs = [
  ["run", "Run"],
  ["time", "Timeline"],
  ["why", "Why"],
] as const;

const isOpen = (status: string): boolean => status === "open" || status === "suspended";

const isHeld = ({ held_by, steps }: WorkflowState): boolean =>
  held_by.length > 0 || steps.some((step) => step.held_by.length > 0);

export function RunHead({ run, tab, isPast = false }: RunHeadProps) {
  const { workflow_id, intent, state, paused, progress, accepted_at, gates, warnings, compensated } = run;
  return (
    <>
      <Heading title={nameRun(intent)} />
      <p class="chips">
        <State state={state} />
        {paused !== null && <State state="paused" />}
        {run.queue?.place === "waiting" && <State state="queued" />}
        {isHeld(run) && <State state="held" />}
        <span>{progress.percent} %</span>
        {compensated !== null && <span>undone: {compensated}</span>}
        {nameRun(intent) !== intent.type && <code>{intent.type}</code>}
        <span>
          asked by {tellPerson(intent.actor)}, <Ago at={accepted_at} />
        </span>
        <code class="id">{workflow_id}</code>
      </p>
      {tab === "run" && !isPast && <Orders run={run} />}
      <Lineage run={run} />
      {isHeld(run) && (
        <p class="note wait">
          <a href="#/halts">Work is stopped</a>: what it holds here goes on once the halt is lifted.
        </p>
      )}
      {warnings.map(({ code, message }) => (
        <p key={message} class="note wait">
          Warning: <Line text={message} /> <code>{code}</code>
        </p>
      ))}
      {gates
        .filter(({ status }) => isOpen(status))
        .map((gate) => (
          <p key={gate.gate_id} class="note wait">
            A person decides:{" "}
            <a href={gateHref(workflow_id, gate.gate_id)}>
              <Line text={gate.title} />
            </a>
          </p>
        ))}
      {!isPast && <GatesBelow run={run} />}
      <nav class="tabs" aria-label="Views of this run">
        {tabs.map(([name, title]) => (
          <a key={name} href={runHref(workflow_id, name)} aria-current={tab === name ? "page" : undefined}>
            {title}
          </a>
        ))}
        <a href={compareHref(workflow_id)}>Compare</a>
        <a href={`#/inspect?workflow=${encodeURIComponent(workflow_id)}`}>Inspect</a>
      </nav>
    </>
  );
}
