/**
 * What waits for whoever is signed in: what falls due first comes first, then what has waited longest.
 * A page of a hundred is shown at first, and every other gate on a person's word.
 *
 * 1.  Only what one may decide is listed, and the count says how many there are, also of those that are not shown.
 * 2.  What is decided meanwhile stays, greyed, with who and when, until one leaves.
 * 3.  Several are approved at once only where they are alike and wholly shown; each by its own digest and request.
 */
import { useSignal } from "@preact/signals";
import { useCallback, useEffect, useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import type { GatePage } from "../../../src/contract/page.ts";
import { describeChange, describeComment } from "../../../src/protocol/describe-edits.ts";
import { saysPayload } from "../../../src/protocol/hidden-fields.ts";
import { announce } from "../announce.ts";
import { type Answer, ask, askInTime, kernel, workflowPath } from "../api.ts";
import { followFeed } from "../live.ts";
import { type Loaded, Show, useLoaded, useReconnected, useSettled } from "../loaded.tsx";
import { Bulk, mayJoin } from "../parts/bulk.tsx";
import { Ago, Due, EditedBy, Risk } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Line } from "../parts/shown.tsx";
import { gateHref } from "../route.ts";
import { waiting } from "../waiting.ts";
import { count, tellAsker, tellDecided, tellEffect, tellPerson } from "../words.ts";

const most = 100;
type Order = "due" | "oldest";

/** So many pages of gates. The list is newest first; what waits longest is read from its other end. */
interface Listing {
  readonly gates: readonly ListedGate[];
  readonly hasMore: boolean;
}

/** A cursor that is older than every gate. */
const beforeAll = `wf_${"0".repeat(26)}/gate-0`;

async function readListing(order: Order, pages: number): Promise<Answer<Listing>> {
  const gates: ListedGate[] = [];
  let cursor = order === "oldest" ? `&before=${encodeURIComponent(beforeAll)}` : "";
  for (let page = 1; ; page += 1) {
    const reported = await askInTime<GatePage>(`${kernel}/gates?mine=true&limit=${most}${cursor}`);
    if (!reported.ok) return reported;
    const { gates: found, next } = reported.value;
    gates.push(...found);
    const [newest] = found;
    const goesOn = order === "oldest" ? found.length === most : next !== null;
    if (!goesOn || page >= pages) return { ok: true, value: { gates, hasMore: goesOn } };
    cursor =
      order === "oldest" && newest !== undefined
        ? `&before=${encodeURIComponent(keyOf(newest))}`
        : `&after=${encodeURIComponent(next as string)}`;
  }
}

function useListing(order: Order, pages: number): Loaded<Listing> {
  const answer = useSignal<Answer<Listing> | null>(null);
  const latest = useRef(0);
  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    const got = await readListing(order, pages);
    if (mine !== latest.current) return;
    // What is shown stays while the server is away.
    if (!got.ok && got.problem.status === 0 && answer.peek()?.ok === true) return;
    answer.value = got;
  }, [order, pages, answer]);
  useEffect(() => void reload(), [reload]);
  useReconnected(answer, reload);
  return { answer, reload };
}

/** Those that ever fall due: of many gates they are the ones that must not be missed. */
const falling = `${kernel}/gates?mine=true&limit=${most}&due_before=9999-12-31`;

const keyOf = ({ workflow_id, gate_id }: { readonly workflow_id: string; readonly gate_id: string }) =>
  `${workflow_id}/${gate_id}`;

/** What shows something else by now was not chosen. */
const shownKey = (gate: ListedGate): string => `${keyOf(gate)}/${gate.payload_digest}/${gate.opened_at}`;

const dueOf = ({ due_at }: ListedGate): number => (due_at === null ? Number.POSITIVE_INFINITY : Date.parse(due_at));

export const inOrder = (gates: readonly ListedGate[], order: Order): readonly ListedGate[] =>
  [...new Map(gates.map((gate) => [keyOf(gate), gate])).values()].sort(
    (a, b) => (order === "due" && dueOf(a) - dueOf(b)) || Date.parse(a.opened_at) - Date.parse(b.opened_at),
  );

export function Inbox() {
  const order = useSignal<Order>("due");
  const pages = useSignal(1);
  const page = useListing(order.value, pages.value);
  const due = useLoaded<GatePage>(falling);
  const decided = useSignal<ReadonlyMap<string, Gate>>(new Map());
  const reported = page.answer.value;
  const shown = reported?.ok === true ? reported.value.gates.length : null;
  // A page that is full may have more behind it: their number is counted once, for the bar.
  const hasMore = reported?.ok === true && reported.value.hasMore;
  const total = hasMore ? waiting.value && Math.max(waiting.value, shown ?? 0) : shown;
  const reload = useSettled(() => void Promise.all([page.reload(), due.reload()]), 300);
  const listed = () => [...gatesIn(page.answer.peek()), ...gatesIn(due.answer.peek())];
  useEffect(
    () =>
      followFeed((item) => {
        const closed = item.gates
          .filter(({ change }) => change === "closed")
          .map((gate) => keyOf({ ...item, ...gate }));
        for (const gate of listed().filter((one) => closed.includes(keyOf(one)))) void keepDecided(gate);
        if (item.gates.length > 0) reload();
      }),
    [reload],
  );
  useEffect(() => {
    if (shown !== null && !hasMore) waiting.value = shown;
  }, [shown, hasMore]);
  const keepDecided = async (gate: ListedGate) => {
    const whole = await ask<Gate>(workflowPath(gate.workflow_id, `/gates/${gate.gate_id}`));
    if (!whole.ok) return;
    decided.value = new Map([...decided.value, [keyOf(gate), whole.value] as const].slice(-20));
    announce(`${whole.value.title} was ${tellDecided(whole.value)}`);
  };
  return (
    <>
      <Heading title="Inbox" prefix={total ? `(${total}) ` : ""}>
        <p class="lede">
          {total === null
            ? ""
            : total === 0
              ? "Nothing waits for you."
              : `${count(total, "decision")} wait${total === 1 ? "s" : ""} for you.`}
        </p>
      </Heading>
      {(hasMore || pages.value > 1 || order.value === "oldest") && (
        <OrderField
          order={order.value}
          choose={(chosen) => {
            order.value = chosen;
            pages.value = 1;
          }}
        />
      )}
      <Show loaded={page}>
        {({ gates }) => (
          <GateList
            gates={inOrder([...gates, ...(order.value === "due" ? gatesIn(due.answer.value) : [])], order.value).filter(
              (gate) => !decided.value.has(keyOf(gate)),
            )}
            total={total ?? 0}
            onDecided={reload}
            showMore={hasMore ? () => (pages.value += 1) : null}
          />
        )}
      </Show>
      {decided.value.size > 0 && <DecidedList gates={[...decided.value.values()].reverse()} />}
    </>
  );
}

interface OrderFieldProps {
  readonly order: Order;
  readonly choose: (order: Order) => void;
}

const OrderField = ({ order, choose }: OrderFieldProps) => (
  <label class="field order">
    <span>First</span>
    <select value={order} onChange={(e) => choose(e.currentTarget.value as Order)}>
      <option value="due">what falls due first</option>
      <option value="oldest">what has waited longest</option>
    </select>
  </label>
);

const gatesIn = (answer: Answer<Pick<Listing, "gates">> | null): readonly ListedGate[] =>
  answer?.ok ? answer.value.gates : [];

interface GateListProps {
  readonly gates: readonly ListedGate[];
  readonly total: number;
  readonly onDecided: () => void;
  /** Null where all are listed. */
  readonly showMore: (() => void) | null;
}

function GateList({ gates, total, onDecided, showMore }: GateListProps) {
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const picked = gates.filter((gate) => chosen.value.has(shownKey(gate)));
  const choose = (gate: ListedGate, on: boolean) => {
    const next = new Set(picked.map(shownKey));
    if (on) next.add(shownKey(gate));
    else next.delete(shownKey(gate));
    chosen.value = next;
  };
  if (gates.length === 0) return <p class="empty">When something needs your decision, it appears here by itself.</p>;
  return (
    <>
      {picked.length > 0 && (
        <Bulk
          gates={picked}
          onDone={() => {
            chosen.value = new Set();
            onDecided();
          }}
        />
      )}
      <ul class="cards">
        {gates.map((gate) => (
          <li key={keyOf(gate)}>
            <Card
              gate={gate}
              isChosen={chosen.value.has(shownKey(gate))}
              mayJoin={mayJoin(gate, picked)}
              choose={choose}
            />
          </li>
        ))}
      </ul>
      {showMore !== null && (
        <p class="row">
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

/** The beginning of what it shows, so that gates of one name can be told apart. */
function glimpseOf({ preview, payload }: ListedGate): string {
  const isPayload = payload !== null && saysPayload(preview, payload);
  const text = isPayload ? JSON.stringify(payload) : preview.trim().replace(/\s+/gu, " ");
  return text.length > 140 ? `${text.slice(0, 140)}…` : text;
}

interface CardProps {
  readonly gate: ListedGate;
  readonly isChosen: boolean;
  readonly mayJoin: boolean;
  readonly choose: (gate: ListedGate, on: boolean) => void;
}

function Card({ gate, isChosen, mayJoin: joins, choose }: CardProps) {
  const votes = gate.votes.filter(({ advisory, stage }) => !advisory && stage === gate.stage).length;
  return (
    <article class="card item">
      {joins || isChosen ? (
        <label class="pick">
          <input type="checkbox" checked={isChosen} onChange={(e) => choose(gate, e.currentTarget.checked)} />
          <span class="unseen">Select {gate.title}</span>
        </label>
      ) : (
        <span class="pick" />
      )}
      <div>
        <h2>
          <a href={gateHref(gate.workflow_id, gate.gate_id)} data-item>
            <Line text={gate.title} />
          </a>
        </h2>
        <p>
          {tellAsker(gate)} asked; {tellCall(gate)}.
        </p>
        {gate.edits?.map((edit) => (
          <p key={edit.at + tellPerson(edit.by)} class="note wait">
            <EditedBy edit={edit} />
            {[...edit.changes.map(describeChange), ...describeComment(edit)].map((line) => (
              <>
                ; <Line text={line} />
              </>
            ))}
          </p>
        ))}
        <p class="glimpse">
          <Line text={glimpseOf(gate)} />
        </p>
        {gate.reasons.map(({ source, rule, reason }) => (
          <p key={`${source} ${rule}`} class="quiet">
            <Line text={reason} />
          </p>
        ))}
      </div>
      <p class="chips">
        {!gate.checked && <strong>Not checked against the ledger</strong>}
        <Risk level={gate.risk_level} />
        {gate.estimated_cost > 0 && <span>cost {gate.estimated_cost}</span>}
        {gate.seat?.voted !== undefined && <strong>you voted to {gate.seat.voted}</strong>}
        {gate.quorum !== null && (
          <span>
            {votes} of {gate.quorum.approvals} votes
            {gate.stage !== undefined && <> in stage {gate.stage}</>}
          </span>
        )}
        {gate.due_at === null ? (
          <span>
            asked <Ago at={gate.opened_at} />
          </span>
        ) : (
          <Due at={gate.due_at} />
        )}
      </p>
    </article>
  );
}

const DecidedList = ({ gates }: { readonly gates: readonly Gate[] }) => (
  <section class="past">
    <h2>Decided while you were here</h2>
    <ul class="plain">
      {gates.map((gate) => (
        <li key={keyOf(gate)}>
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

/** Says what the call would do, has done, or that a person is asked for an answer. */
const tellCall = ({ kind, operator, effect }: ListedGate) => {
  if (kind === "ask") return "the work needs an answer from a person";
  const does = kind === "in_doubt" ? "was called, and nobody knows whether it happened" : tellEffect(effect);
  return (
    <>
      <code>{operator}</code> {does}
    </>
  );
};
