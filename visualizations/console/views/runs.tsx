/** Runs, newest first, by state, words and time. What begins or changes appears by itself on the first page. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WorkflowPage } from "../../../src/contract/page.ts";
import type { WorkflowSummary } from "../../../src/contract/workflow-summary.ts";
import { kernel } from "../api.ts";
import { followFeed } from "../live.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { Ago, State } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";
import { count, tellPerson, tellState } from "../words.ts";

interface Filter {
  readonly state: string;
  readonly text: string;
  readonly since: string;
}

const states = [
  "accepted",
  "planned",
  "running",
  "waiting_for_user",
  "waiting",
  "cancelling",
  "compensating",
  "completed",
  "failed",
  "cancelled",
] as const;
const anything: Filter = { state: "", text: "", since: "" };
const pageSize = 50;

function addressOf(filter: Filter, after: string | null): string {
  const given = Object.entries({ ...filter, after: after ?? "" }).filter(([, value]) => value !== "");
  return `${kernel}/workflows?${new URLSearchParams([...given, ["limit", String(pageSize)], ["total", "true"]])}`;
}

export function Runs() {
  const filter = useSignal(anything);
  const after = useSignal<readonly string[]>([]);
  const loaded = useLoaded<WorkflowPage>(addressOf(filter.value, after.value.at(-1) ?? null));
  const reload = useSettled(() => void loaded.reload(), 500);
  useEffect(
    () =>
      followFeed(() => {
        if (after.peek().length === 0) reload();
      }),
    [reload, after],
  );
  const change = (part: Partial<Filter>) => {
    filter.value = { ...filter.value, ...part };
    after.value = [];
  };
  return (
    <>
      <Heading title="Runs" />
      <Filters filter={filter.value} change={change} />
      <Show loaded={loaded}>
        {({ workflows, next, total }) => (
          <>
            <p class="quiet">{count(total ?? workflows.length, "run")}</p>
            {workflows.length === 0 ? <p class="empty">No run is like that.</p> : <RunTable runs={workflows} />}
            <p class="row">
              <button
                type="button"
                disabled={after.value.length === 0}
                onClick={() => (after.value = after.value.slice(0, -1))}
              >
                Newer
              </button>
              <button
                type="button"
                disabled={next === null}
                onClick={() => (after.value = [...after.value, next as string])}
              >
                Older
              </button>
            </p>
          </>
        )}
      </Show>
    </>
  );
}

interface FiltersProps {
  readonly filter: Filter;
  readonly change: (part: Partial<Filter>) => void;
}

const Filters = ({ filter, change }: FiltersProps) => (
  <form class="card filters" aria-label="Which runs" onSubmit={(event) => event.preventDefault()}>
    <label class="field">
      <span>State</span>
      <select value={filter.state} onChange={(e) => change({ state: e.currentTarget.value })}>
        <option value="">any</option>
        {states.map((state) => (
          <option key={state} value={state}>
            {tellState(state)}
          </option>
        ))}
      </select>
    </label>
    <label class="field">
      <span>Words in title, type or id</span>
      <input
        type="search"
        maxLength={200}
        value={filter.text}
        onChange={(e) => change({ text: e.currentTarget.value.trim() })}
      />
    </label>
    <label class="field">
      <span>Asked since</span>
      <input type="date" value={filter.since} onChange={(e) => change({ since: e.currentTarget.value })} />
    </label>
  </form>
);

const RunTable = ({ runs }: { readonly runs: readonly WorkflowSummary[] }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
  <section class="scrolls card" tabIndex={0} aria-label="Runs">
    <table>
      <thead>
        <tr>
          <th scope="col">What</th>
          <th scope="col">State</th>
          <th scope="col">Done</th>
          <th scope="col">Asked by</th>
          <th scope="col">Begun</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((run) => (
          <tr key={run.workflow_id}>
            <td>
              <a href={runHref(run.workflow_id)} data-item>
                <Line text={run.title || run.intent_type} />
              </a>
              {run.title !== "" && (
                <small>
                  {" "}
                  <Line text={run.intent_type} />
                </small>
              )}
            </td>
            <td>
              <State state={run.state} /> {run.paused && <State state="paused" />}{" "}
              {run.queued && <State state="queued" />}
              {run.held_by.length > 0 && <State state="held" />}
              {run.compensated !== null && <small> undone: {run.compensated}</small>}
            </td>
            <td>{run.progress.percent} %</td>
            <td>{tellPerson(run.principal)}</td>
            <td>
              <Ago at={run.created_at} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </section>
);
