/** Two runs beside one another, step by step, with what differs. Which runs these are stands in the address. */
import { useSignal } from "@preact/signals";
import type { LedgerEvent } from "../../../src/contract/event.ts";
import type { EventPage } from "../../../src/contract/page.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import {
  type ComparedFact,
  type ComparedRow,
  comparedFacts,
  compareRuns,
  type SideFacts,
} from "../../../src/protocol/compare-runs.ts";
import { nameRun } from "../../../src/protocol/name-run.ts";
import { workflowPath } from "../api.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";
import { compareHref, runHref } from "../route.ts";
import { count, spaced } from "../words.ts";

interface CompareProps {
  readonly one: string;
  /** The other run; null while it is not chosen. */
  readonly other: string | null;
}

export function Compare({ one, other }: CompareProps) {
  const first = useLoaded<WorkflowState>(workflowPath(one));
  return (
    <>
      <Heading title="Compare two runs" />
      <Show loaded={first}>
        {(run) => (
          <>
            <Choose run={run} other={other} />
            {other !== null && <Beside run={run} other={other} />}
          </>
        )}
      </Show>
    </>
  );
}

/** Asks for the other run, and offers those that this one comes from or that come from it. */
function Choose({ run, other }: { readonly run: WorkflowState; readonly other: string | null }) {
  const typed = useSignal(other ?? "");
  const { workflow_id, forks, forked_from, regenerated_from } = run;
  const near = [...forks, forked_from?.workflow_id, regenerated_from].filter((id) => id != null);
  return (
    <form
      class="card"
      onSubmit={(e) => {
        e.preventDefault();
        if (typed.value.trim() !== "") location.hash = compareHref(workflow_id, typed.value.trim());
      }}
    >
      <p>
        A: <a href={runHref(workflow_id)}>{nameRun(run.intent)}</a> <code class="id">{workflow_id}</code>
      </p>
      <label class="field">
        <span>B: the id of the other run</span>
        <input value={typed.value} onInput={(e) => (typed.value = e.currentTarget.value)} />
      </label>
      <button type="submit">Compare</button>
      {near.map((id) => (
        <p key={id}>
          Related: <a href={compareHref(workflow_id, id)}>{id}</a>
        </p>
      ))}
    </form>
  );
}

/** The events of a run that are read for a comparison; later ones change little of what is compared. */
const mostEvents = 500;

function Beside({ run, other }: { readonly run: WorkflowState; readonly other: string }) {
  const page = (id: string): string => workflowPath(id, `/events?after=0&limit=${mostEvents}`);
  const state = useLoaded<WorkflowState>(workflowPath(other));
  const [own, others] = [useLoaded<EventPage>(page(run.workflow_id)), useLoaded<EventPage>(page(other))];
  return (
    <Show loaded={state}>
      {(right) => (
        <Show loaded={own}>
          {(events) => (
            <Show loaded={others}>
              {(more) => (
                <>
                  {(events.next !== null || more.next !== null) && (
                    <p class="note wait">Only the first {count(mostEvents, "event")} of a run are compared here.</p>
                  )}
                  <Rows runs={[sideOf(run, events.events), sideOf(right, more.events)]} />
                </>
              )}
            </Show>
          )}
        </Show>
      )}
    </Show>
  );
}

const sideOf = (state: WorkflowState, events: readonly LedgerEvent[]) => ({ state, events });

function Rows({ runs: [one, other] }: { readonly runs: readonly [Side, Side] }) {
  const onlyOthers = useSignal(true);
  const rows = compareRuns(one, other);
  const differing = rows.filter(({ differs }) => differs.length > 0);
  return (
    <section class="card" aria-labelledby="compared">
      <h2 id="compared">
        {differing.length === 0 ? "Nothing differs" : `${differing.length} of ${rows.length} parts differ`}
      </h2>
      <label>
        <input
          type="checkbox"
          checked={onlyOthers.value}
          onChange={(e) => (onlyOthers.value = e.currentTarget.checked)}
        />{" "}
        Only what differs
      </label>
      {(onlyOthers.value ? differing : rows).map((row) => (
        <Row key={row.step_id ?? ""} row={row} onlyOthers={onlyOthers.value} />
      ))}
    </section>
  );
}

type Side = Parameters<typeof compareRuns>[0];

function Row({
  row: { step_id, name, sides, differs },
  onlyOthers,
}: {
  readonly row: ComparedRow;
  readonly onlyOthers: boolean;
}) {
  const [a, b] = sides;
  const isShown = (fact: ComparedFact): boolean =>
    differs.includes(fact) ||
    (!onlyOthers && (a?.[fact] ?? b?.[fact]) != null) ||
    (fact === "time" && differs.length > 0);
  return (
    <>
      <h3>
        {step_id === null ? "The run" : "Step"} <Line text={name} />
      </h3>
      {a === null || b === null ? (
        <p>Only in {a === null ? "B" : "A"}.</p>
      ) : (
        <table class="compared">
          <thead>
            <tr>
              <th scope="col">Part</th>
              <th scope="col">A</th>
              <th scope="col">B</th>
            </tr>
          </thead>
          <tbody>
            {comparedFacts.filter(isShown).map((fact) => (
              <tr key={fact} class={differs.includes(fact) ? "differs" : undefined}>
                <th scope="row">{fact}</th>
                <Cell side={a} fact={fact} />
                <Cell side={b} fact={fact} />
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const longest = 2_000;

function Cell({ side, fact }: { readonly side: SideFacts; readonly fact: ComparedFact }) {
  const text = side[fact];
  if (text === null) return <td class="quiet">none</td>;
  const left = text.length - longest;
  return (
    <td>
      <Line text={fact === "state" ? spaced(text) : text.slice(0, longest)} />
      {left > 0 && <small> and {count(left, "more character")}</small>}
    </td>
  );
}
