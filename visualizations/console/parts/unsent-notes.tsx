/**
 * Says which answers were not sent, what they said, and offers to send them again. A note stays until its answer was
 * sent or dismissed, also while the connection is back.
 */
import { useSignal } from "@preact/signals";
import { announce } from "../announce.ts";
import { tellAnswer } from "../decide.ts";
import { gateHref } from "../route.ts";
import { dismiss, sendMessage, type Unsent, unsent } from "../unsent.ts";
import { count } from "../words.ts";
import { Line } from "./shown.tsx";

interface UnsentNoteProps {
  readonly one: Unsent;
  readonly isBusy: boolean;
  readonly sendAgain: () => void;
}

export const UnsentNote = ({ one: { message, problem }, isBusy, sendAgain }: UnsentNoteProps) => {
  const { words, body } = message;
  const comment = body.payload?.comment;
  return (
    <div class="note bad unsent" role="alert">
      <p>
        <strong>Your answer was not sent:</strong> “{words}”
        {comment !== undefined && (
          <>
            , with the comment “<Line text={comment} />”
          </>
        )}
        . <Line text={problem.detail} />
      </p>
      <p>Nothing is sent again by itself. If your answer did arrive after all, sending it again counts once.</p>
      <p class="row">
        <button type="button" disabled={isBusy} onClick={sendAgain}>
          Send it again
        </button>
        <button type="button" class="text" disabled={isBusy} onClick={() => dismiss([message.key])}>
          Dismiss it
        </button>
      </p>
    </div>
  );
};

interface Outcome {
  readonly text: string;
  readonly isGood: boolean;
}

/** The answers to gates whose address is chosen: all but the gate that the page shows, or a gate that is not read. */
export function UnsentAnswers({ isChosen }: { readonly isChosen: (gate: string) => boolean }) {
  const isBusy = useSignal(false);
  const outcomes = useSignal<readonly Outcome[]>([]);
  const others = unsent.value.filter(({ message }) => isChosen(gateHref(message.workflow_id, message.gate_id)));
  const sendAll = async () => {
    isBusy.value = true;
    const reported: Outcome[] = [];
    for (const { message } of others) {
      const answer = await sendMessage(message);
      const text = answer.ok ? tellAnswer(answer.value) : answer.problem.detail;
      // What was not sent stands in the list again.
      if (answer.ok || !unsent.peek().some((one) => one.message.key === message.key))
        reported.push({ text: `${message.title}: ${text}`, isGood: answer.ok });
    }
    isBusy.value = false;
    outcomes.value = reported;
    if (reported.length > 0) announce(reported.map(({ text }) => text).join(" "));
  };
  return (
    <>
      {outcomes.value.map(({ text, isGood }) => (
        <div key={text} class={isGood ? "note good" : "note bad"}>
          <p>
            <Line text={text} />
          </p>
        </div>
      ))}
      {others.length > 0 && (
        <div class="note bad unsent" role="alert">
          <p>
            <strong>
              {count(others.length, "answer")} of yours {others.length === 1 ? "was" : "were"} not sent.
            </strong>{" "}
            Nothing is sent again by itself.
          </p>
          <ul class="plain">
            {others.map(({ message: { key, workflow_id, gate_id, title, words } }) => (
              <li key={key}>
                “{words}” at{" "}
                <a href={gateHref(workflow_id, gate_id)}>
                  <Line text={title} />
                </a>{" "}
                <button type="button" class="text" disabled={isBusy.value} onClick={() => dismiss([key])}>
                  Dismiss it
                </button>
              </li>
            ))}
          </ul>
          <p>
            <button type="button" disabled={isBusy.value} onClick={() => void sendAll()}>
              {others.length === 1 ? "Send it again" : `Send all ${others.length} again`}
            </button>
          </p>
        </div>
      )}
    </>
  );
}
