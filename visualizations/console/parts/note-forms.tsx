/**
 * The forms by which a person takes part at a gate without deciding it: comment, question, who looks after it, snooze
 * and watch.
 *
 * 1.  A text that was not taken stays in its form.
 */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import type { GateConversation } from "../../../src/contract/gate-conversation.ts";
import type { PrincipalRef } from "../../../src/contract/gate-vote.ts";
import { announce } from "../announce.ts";
import { isMe, type Problem, session } from "../api.ts";
import { now } from "../loaded.tsx";
import { type Note, readPrincipal, readPrincipals, sendNote, snoozeChoices } from "../note.ts";
import { tellPerson } from "../words.ts";
import { tellZoned } from "./marks.tsx";
import { ProblemNote } from "./problem.tsx";
import { Line } from "./shown.tsx";
import { Suggestions } from "./suggestions.tsx";

interface FormProps {
  readonly gate: Gate;
  readonly reload: () => Promise<void>;
}

/** Sends one note at a time, and keeps what was wrong with the last one. */
function useNote({ gate, reload }: FormProps) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const note = async (noted: Note, done: string): Promise<boolean> => {
    if (isBusy.peek()) return false;
    isBusy.value = true;
    const answer = await sendNote(gate, noted);
    isBusy.value = false;
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) announce(done);
    await reload();
    return answer.ok;
  };
  return { note, isBusy: isBusy.value, problem: problem.value };
}

interface KeepingProps extends FormProps {
  readonly assignedTo: PrincipalRef | null;
  readonly mayNote: boolean;
}

/** Who looks after the gate, and the button by which the reader takes it or hands it back. */
export function Keeping({ gate, assignedTo, mayNote, reload }: KeepingProps) {
  const { note, isBusy, problem } = useNote({ gate, reload });
  const me = session.value?.principal;
  const isMine = isMe(assignedTo);
  const claim = () => me !== undefined && void note({ assign: { type: me.type, id: me.id } }, "You look after it.");
  return (
    <>
      <p class="row keeper">
        <span>
          {assignedTo === null ? (
            "Nobody looks after it."
          ) : isMine ? (
            "You look after it."
          ) : (
            <>
              <Line text={tellPerson(assignedTo)} /> looks after it.
            </>
          )}
        </span>
        {mayNote && (
          <button
            type="button"
            data-claim
            disabled={isBusy}
            onClick={isMine ? () => void note({ assign: null }, "You have handed it back.") : claim}
          >
            {isMine ? "Hand it back" : "Look after it"}
          </button>
        )}
      </p>
      {problem !== null && <ProblemNote problem={problem} />}
    </>
  );
}

/** The ids of the people whom a gate names, for suggestions. */
function knownAt({ approvers, votes, requesters = [], conversation }: Gate): readonly string[] {
  const { comments = [], assigned_to = null, watchers = [] } = conversation ?? {};
  const all: readonly (Partial<PrincipalRef> | null)[] = [
    ...(approvers ?? []),
    ...votes.map(({ principal }) => principal),
    ...requesters,
    ...comments.map(({ by }) => by),
    ...watchers,
    assigned_to,
  ];
  const named = all.flatMap((one) => (one?.id === undefined || isMe({ ...one, id: one.id }) ? [] : [writeId(one)]));
  return [...new Set(named)].sort();
}

const writeId = ({ type = "user", id }: Partial<PrincipalRef>): string => (type === "user" ? `${id}` : `${type}:${id}`);

export function CommentForm({ gate, reload }: FormProps) {
  const { note, isBusy, problem } = useNote({ gate, reload });
  const text = useSignal("");
  const mentioned = useSignal("");
  const asks = useSignal(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const askers = (gate.requesters ?? []).map(tellPerson).join(", ");
  const send = async () => {
    const mentions = readPrincipals(mentioned.value);
    const comment = { text: text.value, ...(mentions.length > 0 && { mentions }), ...(asks.value && { asks: true }) };
    if (!(await note({ comment }, "Your comment is noted."))) return;
    text.value = "";
    mentioned.value = "";
    asks.value = false;
    field.current?.focus();
  };
  return (
    <details class="more" data-comment>
      <summary>Comment or ask</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
      >
        <label class="field">
          <span>
            Your comment <small>(it decides nothing)</small>
          </span>
          <textarea
            ref={field}
            rows={3}
            required
            maxLength={4096}
            value={text.value}
            onInput={(e) => {
              text.value = e.currentTarget.value;
            }}
          />
        </label>
        <IdField
          title="For the attention of"
          about="ids, with commas between them"
          value={mentioned.value}
          known={knownAt(gate)}
          set={(value) => {
            mentioned.value = value;
          }}
        />
        <label>
          <input type="checkbox" checked={asks.value} onChange={(e) => (asks.value = e.currentTarget.checked)} /> It is
          a question to whoever asked for the work
          {askers !== "" && (
            <>
              {" "}
              (<Line text={askers} />)
            </>
          )}
        </label>
        {problem !== null && <ProblemNote problem={problem} />}
        <p class="row">
          <button type="submit" disabled={isBusy || text.value.trim() === ""}>
            {asks.value ? "Ask" : "Comment"}
          </button>
        </p>
      </form>
    </details>
  );
}

interface IdFieldProps {
  readonly title: string;
  readonly about: string;
  readonly value: string;
  readonly known: readonly string[];
  readonly set: (value: string) => void;
}

function IdField({ title, about, value, known, set }: IdFieldProps) {
  const list = `known-${title.replaceAll(" ", "-")}`;
  return (
    <label class="field">
      <span>
        {title} <small>({about})</small>
      </span>
      <input list={list} maxLength={400} value={value} onInput={(e) => set(e.currentTarget.value)} />
      <Suggestions id={list} known={known} />
    </label>
  );
}

interface NoteFormsProps extends FormProps {
  readonly conversation: GateConversation;
}

export function NoteForms({ gate, conversation, reload }: NoteFormsProps) {
  const { note, isBusy, problem } = useNote({ gate, reload });
  const isWatching = conversation.watchers.some(isMe);
  return (
    <details class="more">
      <summary>Assign, snooze or watch</summary>
      <AssignForm gate={gate} isBusy={isBusy} note={note} />
      <SnoozeForm conversation={conversation} isBusy={isBusy} note={note} />
      <p class="row">
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void note({ watch: !isWatching }, isWatching ? "You watch it no longer." : "You watch it.")}
        >
          {isWatching ? "Watch no longer" : "Watch"}
        </button>
        <span class="quiet">
          {isWatching ? "You are told of all that happens here." : "Then you are told of all that happens here."}
        </span>
      </p>
      {problem !== null && <ProblemNote problem={problem} />}
    </details>
  );
}

interface PartProps {
  readonly isBusy: boolean;
  readonly note: (noted: Note, done: string) => Promise<boolean>;
}

function AssignForm({ gate, isBusy, note }: PartProps & { readonly gate: Gate }) {
  const to = useSignal("");
  const assign = async () => {
    const person = readPrincipal(to.value);
    if (await note({ assign: person }, `${tellPerson(person)} looks after it.`)) to.value = "";
  };
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        void assign();
      }}
    >
      <IdField
        title="Who looks after it"
        about="an id; it gives no right to decide"
        value={to.value}
        known={knownAt(gate)}
        set={(value) => {
          to.value = value;
        }}
      />
      <button type="submit" disabled={isBusy || to.value.trim() === ""}>
        Assign
      </button>
    </form>
  );
}

function SnoozeForm({ conversation, isBusy, note }: PartProps & { readonly conversation: GateConversation }) {
  const choice = useSignal("0");
  const date = useSignal("");
  const own = conversation.snoozed.find(({ by, until }) => isMe(by) && Date.parse(until) > now.value);
  if (own !== undefined)
    return (
      <p class="row">
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void note({ snooze: null }, "It is in your inbox again.")}
        >
          Show it in my inbox again
        </button>
      </p>
    );
  const chosen = snoozeChoices[Number(choice.value)];
  const until = chosen === undefined ? Date.parse(date.value) : chosen.until(now.value);
  const isLater = until > now.value;
  const snooze = () => {
    const instant = new Date(until).toISOString();
    void note({ snooze: instant }, `Your inbox does not show it until ${tellZoned(instant)}.`);
  };
  return (
    <form
      class="inline-form"
      onSubmit={(event) => {
        event.preventDefault();
        snooze();
      }}
    >
      <label class="field">
        <span>
          Not in my inbox <small>(it stays in everybody else's)</small>
        </span>
        <select value={choice.value} onChange={(e) => (choice.value = e.currentTarget.value)}>
          {snoozeChoices.map(({ words }, at) => (
            <option key={words} value={at}>
              {words}
            </option>
          ))}
          <option value="date">until a time of my own</option>
        </select>
      </label>
      {chosen === undefined && (
        <label class="field">
          <span>Until</span>
          <input
            type="datetime-local"
            required
            value={date.value}
            onInput={(e) => (date.value = e.currentTarget.value)}
          />
        </label>
      )}
      <button type="submit" disabled={isBusy || !isLater}>
        Snooze
      </button>
    </form>
  );
}
