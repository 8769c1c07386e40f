/**
 * The history of decisions: what I decided, or everybody, by search and filters that are all in the address; and the
 * same as a file for a spreadsheet.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Decision, DecisionPage } from "../../../src/contract/decision.ts";
import { writeDecisions } from "../../../src/protocol/decision-table.ts";
import { type AddressQuery, givenMembers, hrefWith, readAddressQuery } from "../address-query.ts";
import { announce } from "../announce.ts";
import { type Answer, ask, kernel, type Problem } from "../api.ts";
import { followFeed } from "../live.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { Choice, Search } from "../parts/inbox-filter.tsx";
import { tellMoment } from "../parts/marks.tsx";
import { MoreFilters } from "../parts/more-filters.tsx";
import { Heading } from "../parts/page.tsx";
import { Pager } from "../parts/pager.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { gateHref, goTo, route, runHref } from "../route.ts";
import { count, tellPerson } from "../words.ts";

const names = ["show", "text", "act", "sort", "person", "type", "operator", "since", "until"] as const;
type Query = AddressQuery<(typeof names)[number]>;

/** The names of the server for those of the address. */
const asked: Readonly<Record<string, string>> = { type: "intent_type", person: "principal" };

/** Returns the parameters of a query; without `show` it asks for the decisions of the reader. */
function parametersOf(query: Query): string[][] {
  const given = givenMembers(names, query).flatMap(([name, value]) =>
    name === "show" ? [] : [[asked[name] ?? name, value.trim()]],
  );
  return query.show === "all" ? given : [["mine", "true"], ...given];
}

const pathOf = (query: Query, page: Readonly<Record<string, string>>): string =>
  `${kernel}/decision-history?${new URLSearchParams([...parametersOf(query), ...Object.entries(page)])}`;

const pageSize = "50";

export function Decisions() {
  const at = route.value;
  const query = readAddressQuery(names, at.view === "decisions" ? at.query : "");
  const after = useSignal<readonly string[]>([]);
  const last = after.value.at(-1);
  const page = { limit: pageSize, total: "true", ...(last !== undefined && { after: last }) };
  const loaded = useLoaded<DecisionPage>(pathOf(query, page));
  const reload = useSettled(() => void loaded.reload(), 1000);
  useEffect(() => followFeed(reload), [reload]);
  const change = (part: Partial<Query>) => {
    after.value = [];
    goTo(hrefWith("#/decisions", givenMembers(names, { ...query, ...part })));
  };
  return (
    <>
      <Heading title="Decisions">
        <Download query={query} />
      </Heading>
      <Filters query={query} change={change} />
      <Show loaded={loaded}>
        {({ decisions, next, total }) => (
          <>
            <p class="quiet">{count(total ?? decisions.length, "decision")}</p>
            {decisions.length === 0 ? <p class="empty">No decision is like that.</p> : <Table decisions={decisions} />}
            <Pager after={after} next={next} />
          </>
        )}
      </Show>
    </>
  );
}

const showOptions = [
  ["", "Mine"],
  ["all", "Everybody's"],
] as const;
const actOptions = [
  ["", "Anything"],
  ["approve", "Approvals"],
  ["reject", "Rejections"],
  ["edit", "Edits"],
  ["withdraw", "Withdrawals"],
] as const;
const sortOptions = [
  ["", "Newest first"],
  ["oldest", "Oldest first"],
] as const;
const words = [
  ["person", "Decided by"],
  ["type", "Kind of work"],
  ["operator", "Operation"],
] as const;
const dates = [
  ["since", "Decided since"],
  ["until", "Decided before"],
] as const;

interface FiltersProps {
  readonly query: Query;
  readonly change: (part: Partial<Query>) => void;
}

const Filters = ({ query, change }: FiltersProps) => (
  <form class="finder runs-finder" aria-label="Which decisions" onSubmit={(event) => event.preventDefault()}>
    <Search text={query.text} set={(text) => change({ text })} />
    <Choice name="Whose" value={query.show} options={showOptions} set={(show) => change({ show, person: "" })} />
    <Choice name="What" value={query.act} options={actOptions} set={(act) => change({ act })} />
    <Choice name="Order" value={query.sort} options={sortOptions} set={(sort) => change({ sort })} />
    <MoreFilters
      query={query}
      words={words}
      dates={dates}
      set={(name, value) => change({ [name]: value, ...(name === "person" && { show: "all" }) })}
    />
  </form>
);

const Table = ({ decisions }: { readonly decisions: readonly Decision[] }) => (
  <table class="runs card">
    <thead>
      <tr>
        <th scope="col">What</th>
        <th scope="col" class="run-state">
          Decision
        </th>
        <th scope="col" class="run-more">
          By
        </th>
        <th scope="col" class="run-more">
          When
        </th>
      </tr>
    </thead>
    <tbody>
      {decisions.map((one) => (
        <tr key={`${one.workflow_id} ${one.sequence}`}>
          <td>
            <a href={gateHref(one.workflow_id, one.gate_id)} data-item title={one.title}>
              <Line text={one.title} />
            </a>
            <small>
              <a href={runHref(one.workflow_id)}>
                <Line text={one.work || one.intent_type} />
              </a>
            </small>
            {one.comment !== null && (
              <small>
                “<Line text={one.comment} />”
              </small>
            )}
          </td>
          <td>
            {tellAct(one)}
            {one.on_behalf_of !== undefined && (
              <small>
                for <Line text={tellPerson(one.on_behalf_of)} />
              </small>
            )}
          </td>
          <td class="run-more">
            <Line text={tellPerson(one.principal)} />
          </td>
          <td class="run-more">
            <time dateTime={one.at}>{tellMoment(one.at)}</time>
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const actWords = { approve: "Approved", reject: "Rejected", edit: "Edited", withdraw: "Took a vote back" } as const;

function tellAct({ act, closes, advisory, grant_id }: Decision): string {
  if (advisory === true) return `${actWords[act]}, as advice`;
  if (grant_id !== undefined) return `${actWords[act]} ahead`;
  return closes || act === "edit" || act === "withdraw" ? actWords[act] : `${actWords[act]}: a vote`;
}

/** The most decisions that a file holds; a narrower filter gives the others. */
const mostInFile = 10_000;

/** Fetches all pages of a query, up to `mostInFile` decisions. */
async function fetchAll(query: Query): Promise<readonly Decision[] | Problem> {
  const all: Decision[] = [];
  let after: string | null = null;
  do {
    const page: Readonly<Record<string, string>> = { limit: "100", ...(after !== null && { after }) };
    const answer: Answer<DecisionPage> = await ask(pathOf(query, page));
    if (!answer.ok) return answer.problem;
    all.push(...answer.value.decisions);
    after = answer.value.next;
  } while (after !== null && all.length < mostInFile);
  return all;
}

function Download({ query }: { readonly query: Query }) {
  const problem = useSignal<Problem | null>(null);
  const isBusy = useSignal(false);
  const download = async () => {
    isBusy.value = true;
    const found = await fetchAll(query);
    isBusy.value = false;
    problem.value = "code" in found ? found : null;
    if ("code" in found) return;
    saveFile("decisions.csv", writeDecisions(found));
    announce(`${count(found.length, "decision")} in decisions.csv`);
  };
  return (
    <>
      <button type="button" disabled={isBusy.value} onClick={() => void download()}>
        Download CSV
      </button>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
    </>
  );
}

function saveFile(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
