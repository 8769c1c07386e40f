/** Which gates the inbox lists: search, order and filters, each a member of the address, and views with names. */
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import { choosing, type InboxQuery, inboxHref } from "../inbox-query.ts";
import { useSettled } from "../loaded.tsx";
import { forgetView, savedViews, saveView } from "../saved-views.ts";
import { Line } from "./shown.tsx";
import { Suggestions } from "./suggestions.tsx";

type Change = (part: Partial<InboxQuery>) => void;

interface FilterProps {
  readonly query: InboxQuery;
  readonly change: Change;
  /** What the list shows now, for suggestions. */
  readonly gates: readonly Gate[];
}

type Options = readonly (readonly [value: string, words: string])[];

const shows: Options = [
  ["", "Waiting for me"],
  ["assigned", "I look after"],
  ["unassigned", "Nobody looks after"],
  ["snoozed", "I have snoozed"],
  ["voted", "I have voted"],
  ["all", "All open"],
];
const sorts: Options = [
  ["", "Due first"],
  ["oldest", "Oldest first"],
  ["newest", "Newest first"],
];
const choices = [
  [
    "risk",
    "Risk",
    [
      ["", "any"],
      ["high", "high"],
      ["medium", "medium"],
      ["low", "low"],
    ],
  ],
  [
    "due",
    "Due",
    [
      ["", "any time"],
      ["overdue", "overdue"],
      ["today", "within a day"],
      ["week", "within a week"],
    ],
  ],
  [
    "age",
    "Waits for",
    [
      ["", "any time"],
      ["hour", "more than an hour"],
      ["day", "more than a day"],
      ["week", "more than a week"],
    ],
  ],
  [
    "group",
    "Group",
    [
      ["", "no groups"],
      ["type", "by kind of work"],
      ["operator", "by operation"],
      ["asker", "by who asked"],
    ],
  ],
] as const satisfies readonly (readonly [keyof InboxQuery, string, Options])[];
const texts = [
  ["type", "Kind of work"],
  ["operator", "Operation"],
  ["asker", "Asked by"],
  ["role", "For the role"],
] as const;

/** How long one may pause while typing before the list follows. */
const typingMs = 200;

export function InboxFilter({ query, change, gates }: FilterProps) {
  const given = choosing.filter((name) => query[name] !== "" && !["show", "sort", "text"].includes(name));
  return (
    <form class="finder" aria-label="Which decisions" onSubmit={(event) => event.preventDefault()}>
      {/* A gate that was opened while the search was typed stays open. */}
      <Search text={query.text} set={(text) => change({ text, gate: query.gate })} />
      <Choice name="Show" value={query.show} options={shows} set={(show) => change({ show })} />
      <Choice name="Order" value={query.sort} options={sorts} set={(sort) => change({ sort })} />
      <details class="filter-more">
        <summary>Filters{given.length > 0 && <span class="badge">{given.length}</span>}</summary>
        <div class="filters">
          {texts.map(([name, title]) => (
            <Words
              key={name}
              title={title}
              value={query[name]}
              known={knownOf(name, gates)}
              set={(value) => change({ [name]: value })}
            />
          ))}
          {choices.map(([name, title, options]) => (
            <label key={name} class="field">
              <span>{title}</span>
              <select value={query[name]} onChange={(e) => change({ [name]: e.currentTarget.value })}>
                <OptionList options={options} />
              </select>
            </label>
          ))}
          <p class="row">
            <button type="button" onClick={() => change(Object.fromEntries(choosing.map((name) => [name, ""])))}>
              Clear all
            </button>
          </p>
          <Views query={query} />
        </div>
      </details>
    </form>
  );
}

function knownOf(name: string, gates: readonly Gate[]): readonly string[] {
  const values = gates.flatMap((gate) =>
    name === "operator"
      ? [gate.operator]
      : name === "asker"
        ? [String(gate.requester?.id ?? "")]
        : name === "role"
          ? (gate.roles ?? [])
          : [],
  );
  return [...new Set(values.filter((value) => value !== ""))].sort().slice(0, 50);
}

interface SearchProps {
  readonly text: string;
  readonly set: (text: string) => void;
}

/** The list follows what is typed. */
export function Search({ text, set }: SearchProps) {
  const typed = useSignal(text);
  const last = useRef(text);
  const follow = useSettled(() => {
    last.current = typed.value;
    set(typed.value);
  }, typingMs);
  // Before the next key is pressed: an effect after painting would take back what was typed meanwhile.
  useLayoutEffect(() => {
    // The address was changed by something else.
    if (text !== last.current) typed.value = text;
    last.current = text;
  }, [text, typed]);
  return (
    <input
      type="search"
      aria-label="Search"
      placeholder="Search"
      maxLength={200}
      value={typed.value}
      onInput={(e) => {
        typed.value = e.currentTarget.value;
        follow();
      }}
    />
  );
}

interface ChoiceProps {
  readonly value: string;
  readonly options: Options;
  readonly set: (value: string) => void;
}

const OptionList = ({ options }: Pick<ChoiceProps, "options">) => (
  <>
    {options.map(([value, words]) => (
      <option key={value} value={value}>
        {words}
      </option>
    ))}
  </>
);

export const Choice = ({ name, value, options, set }: ChoiceProps & { readonly name: string }) => (
  <label class="choice">
    <span class="unseen">{name}</span>
    <select value={value} onChange={(e) => set(e.currentTarget.value)}>
      <OptionList options={options} />
    </select>
  </label>
);

interface WordsProps {
  readonly title: string;
  readonly value: string;
  readonly known: readonly string[];
  readonly set: (value: string) => void;
}

export function Words({ title, value, known, set }: WordsProps) {
  const id = `known-${title.replaceAll(" ", "-")}`;
  return (
    <label class="field">
      <span>{title}</span>
      <input list={id} maxLength={200} value={value} onChange={(e) => set(e.currentTarget.value.trim())} />
      <Suggestions id={id} known={known} />
    </label>
  );
}

function Views({ query }: Pick<FilterProps, "query">) {
  const name = useSignal("");
  const href = inboxHref({ ...query, gate: "" });
  const save = () => {
    if (name.value.trim() === "") return;
    saveView({ name: name.value.trim(), href });
    name.value = "";
  };
  return (
    <p class="row save-view">
      <input
        aria-label="Name of this view"
        placeholder="Name this view"
        maxLength={40}
        value={name.value}
        onInput={(e) => {
          name.value = e.currentTarget.value;
        }}
      />
      <button type="button" disabled={name.value.trim() === ""} onClick={save}>
        Save view
      </button>
    </p>
  );
}

/** The views that were saved, each a link to it. */
export const SavedViews = ({ query }: Pick<FilterProps, "query">) => {
  const here = inboxHref({ ...query, gate: "" });
  if (savedViews.value.length === 0) return null;
  return (
    <nav class="views" aria-label="Saved views">
      <a href="#/" aria-current={here === "#/" ? "page" : undefined}>
        Waiting for me
      </a>
      {savedViews.value.map(({ name, href }) => (
        <span key={name}>
          <a href={href} aria-current={here === href ? "page" : undefined}>
            <Line text={name} />
          </a>
          <button type="button" class="text" aria-label={`Forget the view ${name}`} onClick={() => forgetView(name)}>
            ×
          </button>
        </span>
      ))}
    </nav>
  );
};
