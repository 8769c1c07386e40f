/**
 * The conversation at a gate: who looks after it, what people and those who asked for the work have written, and the
 * forms by which the reader takes part. None of it decides anything.
 *
 * 1.  Who may note nothing at the gate sees the conversation, and no form.
 * 2.  What others write appears by itself and is announced; nothing moves the focus.
 */
import { useEffect, useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import type { GateComment, GateConversation } from "../../../src/contract/gate-conversation.ts";
import type { PrincipalRef } from "../../../src/contract/gate-vote.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { announce } from "../announce.ts";
import { isMe } from "../api.ts";
import { now } from "../loaded.tsx";
import { useRunEvents } from "../run-events.ts";
import { count, isOpen, tellPerson } from "../words.ts";
import { Ago, tellZoned } from "./marks.tsx";
import { CommentForm, Keeping, NoteForms } from "./note-forms.tsx";
import { Line, Lines } from "./shown.tsx";

const nothing: GateConversation = { comments: [], assigned_to: null, snoozed: [], watchers: [] };

export function Conversation({ gate, reload }: { readonly gate: Gate; readonly reload: () => Promise<void> }) {
  const conversation = gate.conversation ?? nothing;
  const mayNote = isOpen(gate) && gate.seat?.may_note !== false;
  useAnnounced(conversation.comments);
  if (!mayNote && gate.conversation === undefined) return null;
  return (
    <section class="card conversation" aria-labelledby="conversation">
      <h2 id="conversation">Conversation</h2>
      <Keeping gate={gate} assignedTo={conversation.assigned_to} mayNote={mayNote} reload={reload} />
      <Snoozed conversation={conversation} />
      {conversation.comments.some(({ asks }) => asks === true) ? (
        <AnsweredThread gate={gate} comments={conversation.comments} />
      ) : (
        <Thread gate={gate} entries={conversation.comments} />
      )}
      {mayNote && <CommentForm gate={gate} reload={reload} />}
      {mayNote && <NoteForms gate={gate} conversation={conversation} reload={reload} />}
    </section>
  );
}

/** Announces what others have written since the gate was shown first. */
function useAnnounced(comments: readonly GateComment[]): void {
  const known = useRef(new Set(comments.map(({ comment_id }) => comment_id))).current;
  useEffect(() => {
    const fresh = comments.filter(({ comment_id, by }) => !known.has(comment_id) && !isMe(by));
    for (const { comment_id } of comments) known.add(comment_id);
    const last = fresh.at(-1);
    if (last !== undefined) announce(`${tellPerson(last.by)} wrote: ${showLine(last.text.slice(0, 200))}`);
  }, [comments, known]);
}

const Snoozed = ({ conversation: { snoozed, watchers } }: { readonly conversation: GateConversation }) => {
  const standing = snoozed.filter(({ until }) => Date.parse(until) > now.value);
  const others = watchers.filter((one) => !isMe(one));
  return (
    <>
      {standing.map(({ by, until }) => (
        <p key={tellPerson(by)} class="quiet">
          {isMe(by) ? "You have" : <Line text={`${tellPerson(by)} has`} />} snoozed it until {tellZoned(until)}.
        </p>
      ))}
      {others.length > 0 && (
        <p class="quiet">
          Watched by <Line text={others.map(tellPerson).join(", ")} />.
        </p>
      )}
    </>
  );
};

/** One entry of the thread: a comment at the gate, or a message to the work. */
type Entry = Pick<GateComment, "comment_id" | "at" | "by" | "text" | "mentions" | "asks">;

interface ThreadProps {
  readonly gate: Gate;
  readonly entries: readonly Entry[];
}

const isSame = (a: PrincipalRef, b: PrincipalRef): boolean => a.type === b.type && a.id === b.id;
/** Who edits a payload counts as asking for it, and is not named so here. */
const isRequester = ({ requesters = [], edits = [] }: Gate, by: PrincipalRef): boolean =>
  requesters.some((one) => isSame(one, by)) && !edits.some((edit) => isSame(edit.by, by));

/** Newest last. */
const Thread = ({ gate, entries }: ThreadProps) =>
  entries.length === 0 ? null : (
    <ol class="thread" aria-label={count(entries.length, "comment")}>
      {entries.map(({ comment_id, at, by, text, mentions, asks }) => (
        <li key={comment_id}>
          <p class="quiet">
            <strong>
              <Line text={tellPerson(by)} />
            </strong>
            {isRequester(gate, by) && ", who asked for the work,"} {asks === true ? "asks" : "writes"}
            {asks === true && " those who asked for the work"}
            {mentions.length > 0 && (
              <>
                {asks === true ? " and " : " to "}
                <Line text={mentions.map(tellPerson).join(", ")} />
              </>
            )}
            , <Ago at={at} />
          </p>
          <p class="written">
            <Lines text={text} />
          </p>
        </li>
      ))}
    </ol>
  );

/** The thread with the messages that came to the work after the first question: they may answer it. */
function AnsweredThread({ gate, comments }: { readonly gate: Gate; readonly comments: readonly GateComment[] }) {
  const { events } = useRunEvents(gate.workflow_id);
  const since = comments.find(({ asks }) => asks === true)?.at ?? "";
  const messages = events.value.flatMap(({ event_id, event_type, timestamp, payload }): readonly Entry[] =>
    event_type === "INPUT_ADDED" && timestamp >= since
      ? [
          {
            ...{ comment_id: String(event_id), at: timestamp, by: payload["principal"] as PrincipalRef },
            ...{ text: String(payload["text"]), mentions: [] },
          },
        ]
      : [],
  );
  return <Thread gate={gate} entries={[...comments, ...messages].toSorted((a, b) => a.at.localeCompare(b.at))} />;
}
