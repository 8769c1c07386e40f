/**
 * What waits for whoever is signed in: the list, and beside it, where there is room, the gate that is open.
 *
 * 1.  What the list shows is in the address: filters, order, and the gate that is open. The count is the server's.
 * 2.  What is decided meanwhile stays, greyed, with who and when, until one leaves.
 * 3.  After an answer the next gate is shown, and gets the focus; what came of the answer stands above it.
 */
import { useSignal } from "@preact/signals";
import { Fragment, type VNode } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import { sumFacts, tellMoney } from "../../../src/protocol/present-facts.ts";
import { announce } from "../announce.ts";
import { ask, workflowPath } from "../api.ts";
import { ended } from "../held.ts";
import { type InboxQuery, inboxHref, isUnfiltered, readInboxQuery } from "../inbox-query.ts";
import { whenReached } from "../keys.ts";
import { gateAfter, gateKey, mostAtOnce, pageSize, readListing, scrolled, useListing } from "../listing.ts";
import { followFeed } from "../live.ts";
import { Show, useSettled } from "../loaded.tsx";
import { Bulk, mayJoin } from "../parts/bulk.tsx";
import { InboxFilter, SavedViews } from "../parts/inbox-filter.tsx";
import { InboxRow } from "../parts/inbox-row.tsx";
import { Ago } from "../parts/marks.tsx";
import { Beside, Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";
import { gateHref, goTo, route } from "../route.ts";
import { waiting } from "../waiting.ts";
import { isWide } from "../wide.ts";
import { count, tellAsker, tellDecided } from "../words.ts";
import { GateView } from "./gate.tsx";

/** What shows something else by now was not chosen. */
const shownKey = (gate: ListedGate): string => `${gateKey(gate)}/${gate.payload_digest}/${gate.opened_at}`;

export function Inbox() {
  const at = route.value;
  const query = readInboxQuery(at.view === "inbox" ? at.query : "");
  const listing = useListing(query);
  const reported = listing.answer.value;
  const listed = reported?.ok === true ? reported.value.gates : [];
  const decided = useDecided(listed, listing.reload);
  const gates = listed.filter((gate) => !decided.has(gateKey(gate)));
  const selection = useSelection(query, gates, listing.reload);
  const total = reported?.ok === true ? reported.value.total : null;
  const change = (part: Partial<InboxQuery>) => goTo(inboxHref({ ...query, gate: "", ...part }));
  const isWhole = isUnfiltered(query);
  useEffect(() => {
    if (total !== null && isWhole) waiting.value = total;
  }, [total, isWhole]);
  const waits = waiting.value;
  useEffect(() => {
    if (isWhole && waits !== null && total !== null && waits !== total) void listing.reload();
  }, [waits]);
  const isBulk = selection.bulk !== null;
  return (
    <div class={isWide.value ? "split" : "single"}>
      <div class="list-pane">
        <Heading title="Inbox" prefix={total ? `(${total}) ` : ""}>
          <p class="lede">{total === null ? "" : tellTotal(query, total)}</p>
        </Heading>
        <SavedViews query={query} />
        <InboxFilter query={query} change={change} gates={listed} />
        <Show loaded={listing}>
          {({ hasMore }) => (
            <GateList
              query={query}
              gates={gates}
              total={total ?? 0}
              selection={selection}
              showMore={hasMore ? listing.showMore : null}
            />
          )}
        </Show>
        {decided.size > 0 && <DecidedList gates={[...decided.values()].reverse()} />}
      </div>
      {isWide.value ? (
        <div class="detail-pane" id="detail">
          {selection.bulk}
          <div hidden={isBulk}>
            <OpenGate query={query} />
          </div>
        </div>
      ) : (
        isBulk && <div class="sheet">{selection.bulk}</div>
      )}
    </div>
  );
}

function tellTotal(query: InboxQuery, total: number): string {
  if (!isUnfiltered(query)) return total === 0 ? "No decision is like that." : `${count(total, "decision")}.`;
  if (total === 0) return "Nothing waits for you.";
  return `${count(total, "decision")} wait${total === 1 ? "s" : ""} for you.`;
}

/** The gates that were decided while one looked at the list, and the list read again as work goes on. */
function useDecided(gates: readonly ListedGate[], reload: () => Promise<void>): ReadonlyMap<string, Gate> {
  const decided = useSignal<ReadonlyMap<string, Gate>>(new Map());
  const listed = useRef(gates);
  listed.current = gates;
  const settled = useSettled(() => void reload(), 300);
  useEffect(() => {
    const keep = async (gate: ListedGate) => {
      const whole = await ask<Gate>(workflowPath(gate.workflow_id, `/gates/${gate.gate_id}`));
      if (!whole.ok) return;
      decided.value = new Map([...decided.value, [gateKey(gate), whole.value] as const].slice(-20));
      announce(`${whole.value.title} was ${tellDecided(whole.value)}`);
    };
    return followFeed((item) => {
      const closed = item.gates
        .filter(({ change }) => change === "closed")
        .map((gate) => gateKey({ ...item, ...gate }));
      for (const gate of listed.current.filter((one) => closed.includes(gateKey(one)))) void keep(gate);
      if (item.gates.length > 0) settled();
    });
  }, [settled, decided]);
  return decided.value;
}

interface Selection {
  readonly picked: readonly ListedGate[];
  readonly choose: (gate: ListedGate, on: boolean) => void;
  /** The gates that are decided together, or what came of that; null while none is chosen. */
  readonly bulk: VNode | null;
}

/** What is chosen to be decided together. A gate that shows something else by now is no longer chosen. */
function useSelection(query: InboxQuery, gates: readonly ListedGate[], reload: () => Promise<void>): Selection {
  const chosen = useSignal<ReadonlyMap<string, ListedGate>>(new Map());
  const answered = useSignal<readonly ListedGate[]>([]);
  const now = new Map(gates.map((gate) => [gateKey(gate), shownKey(gate)]));
  const isSame = (gate: ListedGate) => (now.get(gateKey(gate)) ?? shownKey(gate)) === shownKey(gate);
  const picked = [...chosen.value.values()].filter(isSame);
  const shown = answered.value.length > 0 ? answered.value : picked;
  const set = (all: readonly ListedGate[]) => {
    chosen.value = new Map(all.map((gate) => [shownKey(gate), gate]));
    answered.value = [];
  };
  const choose = (gate: ListedGate, on: boolean) =>
    set(on ? [...picked, gate] : picked.filter((one) => shownKey(one) !== shownKey(gate)));
  const chooseAll = async (first: ListedGate) => {
    const read = await readListing({ ...query, operator: first.operator }, mostAtOnce / pageSize);
    if (!read.ok) return;
    const all = read.value.gates.filter((gate) => mayJoin(gate, [first])).slice(0, mostAtOnce);
    set(all);
    announce(`${count(all.length, "decision")} selected`);
  };
  const onDone = (asked: readonly ListedGate[], done: readonly ListedGate[]) => {
    const wasHere = document.activeElement === document.body || document.activeElement?.closest(".bulk") != null;
    const isIn = (all: readonly ListedGate[], gate: ListedGate) => all.some((one) => shownKey(one) === shownKey(gate));
    const left = [...chosen.peek().values()].filter((gate) => !isIn(asked, gate));
    const failed = asked.filter((gate) => !isIn(done, gate));
    set(left.length === 0 ? [] : [...failed, ...left]);
    if (left.length === 0 && failed.length > 0) answered.value = asked;
    if (left.length === 0 && failed.length === 0 && wasHere) focusList();
    void reload();
  };
  const [first] = picked;
  const bulk =
    shown.length === 0 ? null : (
      <Bulk
        gates={shown}
        chooseAll={first === undefined || answered.value.length > 0 ? null : () => void chooseAll(first)}
        clear={() => {
          set([]);
          focusList();
        }}
        onDone={onDone}
      />
    );
  return { picked, choose, bulk };
}

/** The heading of the list takes the focus once what had it is gone. */
const focusList = (): void => document.querySelector<HTMLElement>(".list-pane h1")?.focus();

interface GateListProps {
  readonly query: InboxQuery;
  readonly gates: readonly ListedGate[];
  readonly total: number;
  readonly selection: Selection;
  /** Null where all are listed. */
  readonly showMore: (() => void) | null;
}

function GateList({ query, gates, total, selection: { picked, choose }, showMore }: GateListProps) {
  const list = useScrollKept(inboxHref({ ...query, gate: "" }));
  useOpenByKeys(query, gates);
  return (
    <>
      {gates.length === 0 && (
        <p class="empty">
          {isUnfiltered(query)
            ? "When something needs your decision, it appears here by itself."
            : "Another search or filter may show more."}
        </p>
      )}
      <ul class="cards" ref={list}>
        {inGroups(gates, groups[query.group]).map(({ name, members }) => (
          <Fragment key={name}>
            {name !== null && <GroupHead name={name} members={members} isAll={showMore === null} />}
            {members.map((gate) => (
              <li key={gateKey(gate)}>
                <InboxRow
                  gate={gate}
                  href={hrefOf(query, gate)}
                  isOpen={isWide.value && query.gate === gateKey(gate)}
                  isChosen={picked.some((one) => shownKey(one) === shownKey(gate))}
                  mayJoin={mayJoin(gate, picked)}
                  choose={choose}
                  open={(one) => open(query, one, true)}
                />
              </li>
            ))}
          </Fragment>
        ))}
      </ul>
      {showMore !== null && (
        <p class="row more-rows">
          <span class="quiet">
            These are {gates.length.toLocaleString("en")} of {Math.max(total, gates.length).toLocaleString("en")}.
          </span>
          <button type="button" onClick={showMore}>
            Show more
          </button>
        </p>
      )}
    </>
  );
}

interface GroupHeadProps {
  readonly name: string;
  readonly members: readonly ListedGate[];
  /** Whether all gates of the list are shown. */
  readonly isAll: boolean;
}

/** The head of a group: how many gates it has, and the sums of what their operators present to be summed. */
function GroupHead({ name, members, isAll }: GroupHeadProps) {
  const sums = sumFacts(members).map(({ label, currency, amount }) => `${label} ${tellMoney(amount, currency)}`);
  return (
    <li class="group">
      <h2>
        <Line text={name} />
      </h2>
      <span class="quiet">
        {count(members.length, "decision")}
        {!isAll && " shown"}
        {sums.length > 0 && (
          <>
            {" "}
            · <Line text={sums.join(" · ")} />
          </>
        )}
      </span>
    </li>
  );
}

interface Group {
  /** Null for a list without groups. */
  readonly name: string | null;
  readonly members: readonly ListedGate[];
}

/** What the gates of a group have in common, by the word of the address. */
const groups: Readonly<Record<string, (gate: ListedGate) => string>> = {
  type: ({ intent_type }) => intent_type ?? "not checked",
  operator: ({ operator }) => operator,
  asker: tellAsker,
};

function inGroups(gates: readonly ListedGate[], nameOf: ((gate: ListedGate) => string) | undefined): readonly Group[] {
  if (nameOf === undefined) return [{ name: null, members: gates }];
  return [...Map.groupBy(gates, nameOf)]
    .map(([name, members]) => ({ name, members }))
    .toSorted((a, b) => a.name.localeCompare(b.name));
}

const hrefOf = (query: InboxQuery, gate: ListedGate): string =>
  isWide.value ? inboxHref({ ...query, gate: gateKey(gate) }) : gateHref(gate.workflow_id, gate.gate_id);

/** The gate whose heading gets the focus once it is shown. */
let focused: string | null = null;

/** Opens a gate: beside the list, or on a page of its own. */
function open(query: InboxQuery, gate: ListedGate, takesFocus: boolean): void {
  if (!isWide.value) return location.assign(gateHref(gate.workflow_id, gate.gate_id));
  const isShown = query.gate === gateKey(gate);
  focused = takesFocus ? gateKey(gate) : null;
  if (isShown) document.querySelector<HTMLElement>("#detail h1")?.focus();
  else goTo(inboxHref({ ...query, gate: gateKey(gate) }));
}

/** A gate that j or k has come to is shown beside the list. */
function useOpenByKeys(query: InboxQuery, gates: readonly ListedGate[]): void {
  const latest = useRef({ query, gates });
  latest.current = { query, gates };
  useEffect(
    () =>
      whenReached((item) => {
        const { query: asked, gates: listed } = latest.current;
        const gate = listed.find((one) => hrefOf(asked, one) === item.getAttribute("href"));
        if (gate !== undefined && isWide.peek()) open(asked, gate, false);
      }),
    [],
  );
}

/** Keeps how far the list is scrolled while another page is looked at. */
function useScrollKept(place: string) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const pane = () => (isWide.peek() ? list.current?.closest(".list-pane") : document.scrollingElement);
    const before = pane();
    if (scrolled.place === place && before) before.scrollTop = scrolled.top;
    const keep = () => {
      const scroller = pane();
      if (scroller) Object.assign(scrolled, { place, top: scroller.scrollTop });
    };
    window.addEventListener("scroll", keep, { capture: true, passive: true });
    return () => window.removeEventListener("scroll", keep, { capture: true });
  }, [place]);
  return list;
}

interface Answered {
  readonly gate: Gate;
  readonly words: string;
}

function OpenGate({ query }: { readonly query: InboxQuery }) {
  const last = useSignal<Answered | null>(null);
  const [workflow = "", gate] = query.gate.split("/");
  if (gate === undefined)
    return (
      <>
        {last.value !== null && <LastAnswer {...last.value} />}
        <p class="empty">
          Choose a decision: <kbd>j</kbd> and <kbd>k</kbd> go through them.
        </p>
      </>
    );
  const goOn = (shown: Gate) => {
    const next = gateAfter(gateKey(shown));
    focused = next === null ? null : gateKey(next);
    goTo(inboxHref({ ...query, gate: next === null ? "" : gateKey(next) }));
    if (next === null) focusList();
  };
  const onAnswer = (shown: Gate, words: string) => {
    // What was held says by itself what came of it.
    const isHeld = ended.peek()?.messages.some((message) => gateKey(message) === gateKey(shown));
    last.value = isHeld ? null : { gate: shown, words };
    goOn(shown);
  };
  return (
    <>
      {last.value !== null && gateKey(last.value.gate) !== query.gate && <LastAnswer {...last.value} />}
      <Beside.Provider value={focused === query.gate ? "focus" : "quiet"}>
        <GateView key={query.gate} workflow={workflow} gate={gate} onAnswer={onAnswer} onHeld={goOn} />
      </Beside.Provider>
    </>
  );
}

const LastAnswer = ({ gate, words }: Answered) => (
  <p class="note good">
    <a href={gateHref(gate.workflow_id, gate.gate_id)}>
      <Line text={gate.title} />
    </a>
    : {words}
  </p>
);

const DecidedList = ({ gates }: { readonly gates: readonly Gate[] }) => (
  <section class="past">
    <h2>Decided while you were here</h2>
    <ul class="plain">
      {gates.map((gate) => (
        <li key={gateKey(gate)}>
          <a href={gateHref(gate.workflow_id, gate.gate_id)}>
            <Line text={gate.title} />
          </a>{" "}
          {tellDecided(gate)}
          {gate.decision !== null && (
            <>
              , <Ago at={gate.decision.at} />
            </>
          )}
        </li>
      ))}
    </ul>
  </section>
);
