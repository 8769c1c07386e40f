/**
 * Runs as a table whose columns no word can push away: by search, filters and order, all in the address.
 *
 * 1.  What begins or changes appears by itself on the first page. The count is the server's.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { WorkflowPage } from "../../../src/contract/page.ts";
import type { WorkflowSummary } from "../../../src/contract/workflow-summary.ts";
import { type AddressQuery, givenMembers, hrefWith, readAddressQuery } from "../address-query.ts";
import { kernel } from "../api.ts";
import { followFeed } from "../live.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { Choice, Search } from "../parts/inbox-filter.tsx";
import { Ago, State } from "../parts/marks.tsx";
import { MoreFilters } from "../parts/more-filters.tsx";
import { Heading } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { Line } from "../parts/shown.tsx";
import { goTo, route, runHref } from "../route.ts";
import { count, tellPerson, tellState } from "../words.ts";

const names = ["text", "state", "sort", "type", "asker", "since", "until"] as const;
type Query = AddressQuery<(typeof names)[number]>;

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
/** The states of runs that are at work, as a filter names them. */
export const atWork = "accepted,planned,running,cancelling,compensating";
const stateOptions = [
  ["", "Any state"] as const,
  [atWork, "at work"] as const,
  ...states.map((state) => [state, tellState(state)] as const),
];
const sortOptions = [
  ["", "Newest first"],
  ["oldest", "Oldest first"],
] as const;
const pageSize = 50;

/** Returns the address of the runs that a filter chooses. */
export const runsHref = (query: Partial<Query>): string =>
  hrefWith("#/runs", givenMembers(names, { ...readAddressQuery(names, ""), ...query }));

/** The names of the server for those of the address. */
const asked: Readonly<Record<string, string>> = { type: "intent_type", asker: "principal" };

function pathOf(query: Query, after: string | null): string {
  const given = givenMembers(names, query).map(([name, value]) => [asked[name] ?? name, value.trim()]);
  const page = [["limit", String(pageSize)], ["total", "true"], ...(after === null ? [] : [["after", after]])];
  return `${kernel}/workflows?${new URLSearchParams([...given, ...page])}`;
}

export function Runs() {
  const at = route.value;
  const query = readAddressQuery(names, at.view === "runs" ? at.query : "");
  const after = useSignal<readonly string[]>([]);
  const loaded = useLoaded<WorkflowPage>(pathOf(query, after.value.at(-1) ?? null));
  const reload = useSettled(() => void loaded.reload(), 500);
  useEffect(
    () =>
      followFeed(() => {
        if (after.peek().length === 0) reload();
      }),
    [reload, after],
  );
  const change = (part: Partial<Query>) => {
    after.value = [];
    goTo(runsHref({ ...query, ...part }));
  };
  return (
    <>
      <Heading title="Runs">
        <a class="button" href="#/start">
          New run
        </a>
      </Heading>
      <Filters query={query} change={change} />
      <Show loaded={loaded}>
        {({ workflows, next, total }) => (
          <>
            <p class="quiet">{count(total ?? workflows.length, "run")}</p>
            {workflows.length === 0 ? <p class="empty">No run is like that.</p> : <RunTable runs={workflows} />}
            <Pager after={after} next={next} />
          </>
        )}
      </Show>
    </>
  );
}

interface FiltersProps {
  readonly query: Query;
  readonly change: (part: Partial<Query>) => void;
}

const dates = [
  ["since", "Asked since"],
  ["until", "Asked before"],
] as const;
const words = [
  ["type", "Kind of work"],
  ["asker", "Asked by"],
] as const;

const Filters = ({ query, change }: FiltersProps) => (
  <form class="finder runs-finder" aria-label="Which runs" onSubmit={(event) => event.preventDefault()}>
    <Search text={query.text} set={(text) => change({ text })} />
    <Choice name="State" value={query.state} options={stateOptions} set={(state) => change({ state })} />
    <Choice name="Order" value={query.sort} options={sortOptions} set={(sort) => change({ sort })} />
    <MoreFilters query={query} words={words} dates={dates} set={(name, value) => change({ [name]: value })} />
  </form>
);

export const RunTable = ({ runs }: { readonly runs: readonly WorkflowSummary[] }) => (
  <table class="runs card">
    <thead>
      <tr>
        <th scope="col">What</th>
        <th scope="col" class="run-state">
          State
        </th>
        <th scope="col" class="run-more run-done">
          Done
        </th>
        <th scope="col" class="run-more">
          Asked by
        </th>
        <th scope="col" class="run-more">
          Begun
        </th>
      </tr>
    </thead>
    <tbody>
      {runs.map((run) => (
        <tr key={run.workflow_id}>
          <td>
            <a href={runHref(run.workflow_id)} data-item title={run.title || run.intent_type}>
              <Line text={run.title || run.intent_type} />
            </a>
            {run.title !== "" && (
              <small>
                <Line text={run.intent_type} />
              </small>
            )}
          </td>
          <td>
            <State state={run.state} />
            {run.paused && <State state="paused" />}
            {run.queued && <State state="queued" />}
            {run.held_by.length > 0 && <State state="held" />}
            {run.compensated !== null && <small>undone: {run.compensated}</small>}
          </td>
          <td class="run-more number">{run.progress.percent} %</td>
          <td class="run-more">
            <Line text={tellPerson(run.principal)} />
          </td>
          <td class="run-more">
            <Ago at={run.created_at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);
