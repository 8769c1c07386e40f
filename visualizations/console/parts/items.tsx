/**
 * The items of a step that goes through a list, or its rounds: counted, and page by page once they are opened.
 *
 * 1.  The pages that are open are read again when the counts change. The order of a list does not change, so that a
 *     cursor stays true.
 */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ItemPage, ListedItem } from "../../../src/contract/listed-item.ts";
import type { StepView } from "../../../src/contract/workflow-state.ts";
import { skipWords } from "../../../src/protocol/skip-words.ts";
import { workflowPath } from "../api.ts";
import { Show, useLoaded, useSettled } from "../loaded.tsx";
import { runHref } from "../route.ts";
import { count } from "../words.ts";
import { State } from "./marks.tsx";
import { ProblemNote } from "./problem.tsx";
import { Block, Line } from "./shown.tsx";

interface ItemsProps {
  readonly workflow: string;
  readonly step: StepView;
}

export function Items({ workflow, step: { step_id, kind, items } }: ItemsProps) {
  const isOpen = useSignal(false);
  if (items === undefined) return null;
  const { total, done, failed, running } = items;
  return (
    <details class="more" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>
        {count(total, kind === "repeat" ? "round" : "item")}: {done} done, {failed} failed, {running} under way
      </summary>
      {isOpen.value && (
        <Pages
          list={{ workflow, of: step_id }}
          change={`${total} ${done} ${failed} ${running}`}
          title={kind === "repeat" ? "Rounds" : "Items"}
        />
      )}
    </details>
  );
}

interface ListOf {
  readonly workflow: string;
  readonly of: string;
}

const addressOf = ({ workflow, of }: ListOf, after: string | null, limit: number | null = null): string => {
  const given = { of, ...(after !== null && { after }), ...(limit !== null && { limit: String(limit) }) };
  return workflowPath(workflow, `/items?${new URLSearchParams(given)}`);
};

interface PagesProps {
  readonly list: ListOf;
  /** Changes whenever the items have changed. */
  readonly change: string;
  readonly title: string;
}

function Pages({ list, change, title }: PagesProps) {
  const cursors = useSignal<readonly (string | null)[]>([null]);
  const next = useSignal<string | null>(null);
  const more = (): void => {
    cursors.value = [...cursors.value, next.value];
    next.value = null;
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys */}
      <section class="scrolls" tabIndex={0} aria-label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col">State</th>
              <th scope="col">What came of it</th>
              <th scope="col">Child</th>
            </tr>
          </thead>
          {cursors.value.map((after, at) => (
            <Page
              key={after}
              list={list}
              after={after}
              change={change}
              next={at === cursors.value.length - 1 ? next : null}
            />
          ))}
        </table>
      </section>
      {next.value !== null && (
        <button type="button" onClick={more}>
          Show more
        </button>
      )}
    </>
  );
}

interface PageProps extends Omit<PagesProps, "title"> {
  readonly after: string | null;
  /** Where the last page says which one follows; null of any other page. */
  readonly next: Signal<string | null> | null;
}

function Page({ list, after, change, next }: PageProps) {
  const { answer, reload } = useLoaded<ItemPage>(addressOf(list, after));
  const readAgain = useSettled(() => void reload(), 500);
  useEffect(readAgain, [change, readAgain]);
  const page = answer.value;
  const following = page?.ok === true ? page.value.next : null;
  useEffect(() => {
    if (next !== null) next.value = following;
  }, [next, following]);
  return (
    <tbody>
      {page?.ok !== true ? (
        <tr>
          <td colSpan={4}>{page === null ? "Loading…" : <ProblemNote problem={page.problem} />}</td>
        </tr>
      ) : (
        page.value.items.map((item, at) => (
          <Row key={item.step_id} item={item} list={list} before={page.value.items[at - 1]?.step_id ?? after} />
        ))
      )}
    </tbody>
  );
}

interface RowProps {
  readonly item: ListedItem;
  readonly list: ListOf;
  /** The item before it, after which it is read by itself. */
  readonly before: string | null;
}

const Row = ({ item, list, before }: RowProps) => (
  <tr>
    <td>
      <Line text={item.key} />
    </td>
    <td>
      <State state={item.state} phase={item.state === "running" ? item.phase : null} />
    </td>
    <td class="wraps">
      {item.truncated === true ? <Whole address={addressOf(list, before, 1)} /> : <Line text={tellEnd(item)} />}
    </td>
    <td>
      {item.child !== null && (
        <a href={runHref(item.child)}>
          <code class="id">{item.child}</code>
        </a>
      )}
    </td>
  </tr>
);

const mostChars = 200;

/** Returns the output or the error of an item on one line, cut where it is long; its child shows the whole. */
function tellEnd({ output, error, skip_reason, state }: ListedItem): string {
  if (error !== null) return `${error.message} (${error.code})`;
  if (skip_reason !== null) return skipWords[skip_reason];
  if (state !== "succeeded") return "";
  const chars = [...JSON.stringify(output)];
  return chars.length <= mostChars ? chars.join("") : `${chars.slice(0, mostChars).join("")}…`;
}

/** An output that is too long for a page is read by itself. */
function Whole({ address }: { readonly address: string }) {
  const isOpen = useSignal(false);
  const loaded = useLoaded<ItemPage>(isOpen.value ? address : null);
  return (
    <details class="more" onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary>a long output</summary>
      {isOpen.value && (
        <Show loaded={loaded}>{({ items: [item] }) => <Block text={JSON.stringify(item?.output, null, 2)} />}</Show>
      )}
    </details>
  );
}
