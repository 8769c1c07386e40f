/** A gate in the list of the inbox: two lines by which one knows it again, and a third where somebody has edited it. */
import type { ListedGate } from "../../../src/contract/listed-gate.ts";
import { describeChange, describeComment } from "../../../src/protocol/describe-edits.ts";
import { countApprovals } from "../../../src/protocol/gate-standing.ts";
import { tellClosely } from "../../../src/protocol/tell-span.ts";
import { isMe } from "../api.ts";
import { now } from "../loaded.tsx";
import { count, tellAsker, tellPerson } from "../words.ts";
import { keyFacts, tellFact, tellWhy } from "./key-facts.ts";
import { EditedBy, tellInstant, tellMoment } from "./marks.tsx";
import { Line } from "./shown.tsx";

interface RowProps {
  readonly gate: ListedGate;
  readonly href: string;
  readonly isOpen: boolean;
  readonly isChosen: boolean;
  readonly mayJoin: boolean;
  readonly choose: (gate: ListedGate, on: boolean) => void;
  readonly open: (gate: ListedGate) => void;
}

export const InboxRow = ({ gate, href, isOpen, isChosen, mayJoin, choose, open }: RowProps) => (
  <article class={`item${isOpen ? " open" : ""}${isChosen ? " chosen" : ""}`} data-row>
    {mayJoin || isChosen ? (
      <label class="pick">
        <input type="checkbox" checked={isChosen} onChange={(e) => choose(gate, e.currentTarget.checked)} />
        <span class="unseen">Select {gate.title}</span>
      </label>
    ) : (
      <span class="pick" />
    )}
    <h2>
      <a
        href={href}
        data-item
        aria-current={isOpen ? "true" : undefined}
        onClick={(event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          open(gate);
        }}
      >
        <Line text={gate.title} />
      </a>
    </h2>
    <p class="item-when">
      <When gate={gate} />
    </p>
    <p class="item-why">
      {gate.risk_level === "high" && <span class="risk high">high risk</span>}
      <Line text={[...factsBeside(gate), tellAsker(gate), tellWhy(gate)].filter((part) => part !== "").join(" · ")} />
    </p>
    <Standing gate={gate} />
    <Notes gate={gate} />
    {gate.edits?.map((edit) => (
      <p key={edit.at + tellPerson(edit.by)} class="item-edit">
        <EditedBy edit={edit} />
        {[...edit.changes.map(describeChange), ...describeComment(edit)].map((line) => (
          <>
            ; <Line text={line} />
          </>
        ))}
      </p>
    ))}
  </article>
);

/** The facts that the title does not say already. */
const factsBeside = (gate: ListedGate): readonly string[] =>
  keyFacts(gate)
    .filter((fact) => !gate.title.includes(tellFact(fact)) && !gate.title.includes(String(fact.value)))
    .slice(0, 2)
    .map((fact) => `${fact.name} ${tellFact(fact)}`);

/** When the gate falls due or, if it never does, when it was opened; the exact instant is in its title. */
function When({ gate: { due_at, opened_at } }: Pick<RowProps, "gate">) {
  const at = due_at ?? opened_at;
  const ms = Date.parse(at) - now.value;
  const span = tellShortly(tellClosely(ms));
  const words = due_at === null ? `${span} ago` : ms > 0 ? `due in ${span}` : `overdue ${span}`;
  return (
    <time dateTime={at} title={tellInstant(at)} class={due_at !== null && ms < 3_600_000 ? "soon" : undefined}>
      {words}
    </time>
  );
}

const tellShortly = (span: string): string =>
  span.replace(
    / (d)ays?| (h)ours?| (min)utes?| (s)econds?/g,
    (_, ...units: (string | undefined)[]) => ` ${units.find(Boolean)}`,
  );

/** What stands at the gate so far, and the reader's own vote. */
function Standing({ gate }: Pick<RowProps, "gate">) {
  const { checked, seat, quorum, stage } = gate;
  if (!checked) return <p class="item-state problem">not checked</p>;
  const tally = quorum === null ? "" : `${countApprovals(gate)} of ${quorum.approvals}`;
  const mine = seat?.voted === undefined ? "" : seat.voted === "approve" ? "you approved" : "you rejected";
  const words = [mine, tally, stage === undefined ? "" : `stage ${stage}`].filter((part) => part !== "").join("; ");
  return words === "" ? null : <p class="item-state">{words}</p>;
}

/** For whom the reader decides, who looks after the gate, until when it is snoozed, and how much is written there. */
function Notes({ gate: { seat, conversation, truncated } }: Pick<RowProps, "gate">) {
  const { assigned_to = null, snoozed = [], comments = [] } = conversation ?? {};
  const own = snoozed.find(({ by, until }) => isMe(by) && Date.parse(until) > now.value);
  const isMore = truncated && comments.length === mostListed;
  const words = [
    seat?.may === true && seat.for !== null ? `You decide for ${tellPerson(seat.for)}` : "",
    assigned_to === null ? "" : isMe(assigned_to) ? "You look after it" : `${tellPerson(assigned_to)} looks after it`,
    own === undefined ? "" : `snoozed until ${tellMoment(own.until)}`,
    comments.length === 0 ? "" : isMore ? `${mostListed}+ comments` : count(comments.length, "comment"),
  ].filter((part) => part !== "");
  return words.length === 0 ? null : (
    <p class="item-notes">
      <Line text={words.join(" · ")} />
    </p>
  );
}

/** The number of comments that a list keeps of a gate. */
const mostListed = 8;
