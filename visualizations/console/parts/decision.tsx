/**
 * A person's answer at a gate: what each would do, then the buttons.
 *
 * 1.  Nothing here takes the focus by itself, and no key but Enter or Space on a button decides.
 * 2.  While what is shown is not what stands now, nothing is approved.
 * 3.  Who has no seat is told why, and sees no button that would be refused. A gate that wants signatures is decided
 *     where keys are: the command is told.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Gate } from "../../../src/contract/gate.ts";
import type { Json, JsonObject } from "../../../src/contract/json.ts";
import { doubtWords } from "../../../src/protocol/doubt-words.ts";
import { hasAnswered } from "../../../src/protocol/failure-lines.ts";
import { formOfGate } from "../../../src/protocol/form-fields.ts";
import { showLine } from "../../../src/protocol/visible-text.ts";
import { announce } from "../announce.ts";
import { isMe, type Problem } from "../api.ts";
import { decide, delegate, type GivenDecision, tellAnswer } from "../decide.ts";
import { now } from "../loaded.tsx";
import { isUnsent, type Message, sendMessage, unsent } from "../unsent.ts";
import { count, tellPerson } from "../words.ts";
import { AnswerForm } from "./answer-form.tsx";
import { CommentField } from "./comment-field.tsx";
import { EditForm } from "./edit-form.tsx";
import { OwnVote } from "./own-vote.tsx";
import { ProblemNote } from "./problem.tsx";
import { Line } from "./shown.tsx";
import { SignedOnly } from "./signed-only.tsx";
import { UnsentNote } from "./unsent-notes.tsx";

interface DecisionProps {
  readonly gate: Gate;
  /** What stands now is not what is shown. */
  readonly isStale: boolean;
  /** Lines of what would run that are folded away. */
  readonly unseen: number;
  /** What came of the last answer. */
  readonly recorded: string | null;
  /** Told after each answer, however it came out. */
  readonly onAnswer: (recorded: string | null) => void;
}

/** Sends what a person says, one answer at a time, and keeps what was wrong with the last one. */
export function useSay(onAnswer: (recorded: string | null) => void) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const say = async (message: Message) => {
    if (isBusy.value) return;
    isBusy.value = true;
    const answer = await sendMessage(message);
    isBusy.value = false;
    // What was not sent is said by a note of its own, which stays.
    problem.value = answer.ok || isUnsent(answer.problem) ? null : answer.problem;
    const reported = answer.ok ? tellAnswer(answer.value) : null;
    if (reported !== null) announce(reported);
    onAnswer(reported);
  };
  return { say, isBusy: isBusy.value, problem: problem.value };
}

export function Decision({ gate, isStale, unseen, recorded, onAnswer }: DecisionProps) {
  const { say, isBusy, problem } = useSay(onAnswer);
  const { seat } = gate;
  return (
    <section class="card decision" aria-labelledby="decision">
      <h2 id="decision" tabIndex={-1}>
        Your decision
      </h2>
      {recorded !== null && problem === null && <p class="note good">{recorded}</p>}
      {problem !== null && <ProblemNote problem={problem} />}
      <UnsentHere gate={gate} isBusy={isBusy} say={say} />
      {seat != null && seat.reason !== null && (
        <p class={seat.may ? "note" : "note wait"}>
          {seat.may ? "" : "You cannot decide here: "}
          <Line text={seat.reason} />
        </p>
      )}
      {seat?.for != null && <p class="note">You decide in the place of {tellPerson(seat.for)}.</p>}
      {seat?.may !== false && (
        <Answers gate={gate} isHeld={isStale || isBusy} isBusy={isBusy} unseen={unseen} say={say} />
      )}
    </section>
  );
}

interface UnsentHereProps {
  readonly gate: Gate;
  readonly isBusy: boolean;
  readonly say: (message: Message) => Promise<void>;
}

export const UnsentHere = ({ gate, isBusy, say }: UnsentHereProps) => (
  <>
    {unsentAt(gate).map((one) => (
      <UnsentNote key={one.message.key} one={one} isBusy={isBusy} sendAgain={() => void say(one.message)} />
    ))}
  </>
);

export const unsentAt = ({ workflow_id, gate_id }: Gate) =>
  unsent.value.filter(({ message }) => message.workflow_id === workflow_id && message.gate_id === gate_id);

interface AnswersProps {
  readonly gate: Gate;
  readonly unseen: number;
  /** Nothing may be approved now. */
  readonly isHeld: boolean;
  readonly isBusy: boolean;
  readonly say: (message: Message) => Promise<void>;
}

function Answers({ gate, isHeld, isBusy, unseen, say }: AnswersProps) {
  const comment = useSignal(unsentAt(gate)[0]?.message.body.payload?.comment ?? "");
  const unconfirmed = useSignal<GivenDecision | null>(null);
  const send = (recorded: GivenDecision) => {
    unconfirmed.value = null;
    void say(decide(gate, { comment: comment.value, ...recorded }));
  };
  // An approval with lines that were not shown counts once its author has confirmed just that.
  const answer = (recorded: GivenDecision) => {
    if (recorded.decision === "approve" && unseen > 0) unconfirmed.value = recorded;
    else send(recorded);
  };
  const mine = gate.votes.find(({ principal }) => isMe(principal));
  const hasVoted = gate.seat?.voted !== undefined || mine !== undefined;
  if (gate.signed) return <SignedOnly gate={gate} />;
  return (
    <>
      {mine !== undefined && <OwnVote gate={gate} vote={mine} isBusy={isBusy} say={say} />}
      <CommentField comment={comment}>
        Comment <small>(kept in the record)</small>
      </CommentField>
      <Buttons gate={gate} isHeld={isHeld} hasVoted={hasVoted} answer={answer} />
      {unconfirmed.value !== null && unseen > 0 && (
        <Unseen
          recorded={unconfirmed.value}
          unseen={unseen}
          isHeld={isHeld}
          send={send}
          giveUp={() => (unconfirmed.value = null)}
        />
      )}
      <p class="quiet bound">
        Your answer is bound to exactly what is shown here, by its digest <code>{gate.payload_digest}</code>
      </p>
      {gate.editable != null && (
        <More title="Change something first">
          <p class="quiet">
            <Line text={gate.consequences.edit} />
          </p>
          <EditForm editable={gate.editable} isBusy={isHeld} send={(edit) => answer({ decision: "approve", edit })} />
        </More>
      )}
      {gate.delegation && (
        <More title="Let somebody else decide for me">
          <DelegateForm gate={gate} isBusy={isBusy} say={say} />
        </More>
      )}
    </>
  );
}

/** What a gate takes for an answer: a form, the end of a call, or yes and no. */
function Buttons({ gate, isHeld, hasVoted, answer }: ButtonsProps & { readonly hasVoted: boolean }) {
  const form = formOfGate(gate);
  if (gate.kind === "in_doubt") return <DoubtButtons gate={gate} isHeld={isHeld} answer={answer} />;
  if (form === null) return <ApprovalButtons gate={gate} isHeld={isHeld || hasVoted} answer={answer} />;
  const { approve, reject } = gate.consequences;
  const send = (given: JsonObject) => answer({ decision: "approve", answer: given });
  return (
    <>
      <AnswerForm form={form} isBusy={isHeld || hasVoted} follows={approve} send={send} />
      <div class="answers">
        <AnswerButton id="if-rejected" kind="reject" follows={reject} isHeld={isHeld || hasVoted} answer={answer} />
      </div>
    </>
  );
}

interface UnseenProps {
  readonly recorded: GivenDecision;
  readonly unseen: number;
  readonly isHeld: boolean;
  readonly send: (recorded: GivenDecision) => void;
  readonly giveUp: () => void;
}

/** The second question before an approval of what was not shown whole. */
const Unseen = ({ recorded, unseen, isHeld, send, giveUp }: UnseenProps) => (
  <div class="note wait" role="alert">
    <p>
      <strong>
        {count(unseen, "line")} of this {unseen === 1 ? "was" : "were"} not shown to you yet.
      </strong>{" "}
      Nothing is decided so far. “Show the rest” shows what is folded.
    </p>
    <p class="row">
      <button type="button" disabled={isHeld} onClick={() => send(recorded)}>
        {recorded.answer !== undefined ? "Answer" : recorded.resolution === undefined ? "Approve" : "Say so"} with{" "}
        {count(unseen, "line")} not shown
      </button>
      <button type="button" class="text" onClick={giveUp}>
        Not yet
      </button>
    </p>
  </div>
);

const More = ({ title, children }: { readonly title: string; readonly children: ComponentChildren }) => (
  <details class="more">
    <summary>{title}</summary>
    {children}
  </details>
);

interface ButtonsProps {
  readonly gate: Gate;
  readonly isHeld: boolean;
  readonly answer: (recorded: GivenDecision) => void;
}

const ApprovalButtons = ({ gate: { consequences }, isHeld, answer }: ButtonsProps) => (
  <div class="answers">
    <AnswerButton id="if-approved" kind="approve" follows={consequences.approve} isHeld={isHeld} answer={answer} />
    <AnswerButton id="if-rejected" kind="reject" follows={consequences.reject} isHeld={isHeld} answer={answer} />
  </div>
);

interface AnswerProps {
  readonly id: string;
  readonly kind: "approve" | "reject";
  /** What follows from the answer. */
  readonly follows: string;
  readonly isHeld: boolean;
  readonly answer: (recorded: GivenDecision) => void;
}

const AnswerButton = ({ id, kind, follows, isHeld, answer }: AnswerProps) => (
  <div>
    <button
      type="button"
      class={kind}
      aria-describedby={id}
      disabled={isHeld}
      onClick={() => answer({ decision: kind })}
    >
      {kind === "approve" ? "Approve" : "Reject"}
    </button>
    <p id={id}>
      <Line text={follows} />
    </p>
  </div>
);

/** Nobody knows whether a call took effect; a person has looked. */
function DoubtButtons({ gate: { consequences, operator, doubt }, isHeld, answer }: ButtonsProps) {
  const text = useSignal("");
  const given = readResult(text.value);
  const done = () => given !== null && answer({ decision: "approve", resolution: "done", ...given });
  return (
    <div class="answers">
      <p>
        {hasAnswered(doubt?.error ?? null)
          ? "The call answered, and its answer cannot be used. Look where it takes effect, and then say how to go on:"
          : "Did it happen? Look where it would have taken effect, and then say what you found:"}
      </p>
      <div>
        <button type="button" aria-describedby="if-done" disabled={isHeld || given === null} onClick={done}>
          {doubtWords.done}
        </button>
        <p id="if-done">
          The step counts as done{" "}
          {given?.result === undefined ? (
            "without a result"
          ) : (
            <>
              with the result <code>{showLine(JSON.stringify(given.result))}</code>
            </>
          )}
          , and the work goes on. Nothing is called again.
        </p>
      </div>
      <div>
        <button
          type="button"
          aria-describedby="if-retried"
          disabled={isHeld}
          onClick={() => answer({ decision: "approve", resolution: "retry" })}
        >
          {doubtWords.retry}
        </button>
        <p id="if-retried">
          <code>{operator}</code> is called once more with exactly what is shown. If the first call did happen after
          all, this may happen twice, unless the other side knows the key of the call, which is the same.
        </p>
      </div>
      <div>
        <button
          type="button"
          class="reject"
          aria-describedby="if-failed"
          disabled={isHeld}
          onClick={() => answer({ decision: "reject" })}
        >
          {doubtWords.failed}
        </button>
        <p id="if-failed">
          <Line text={consequences.reject} />
        </p>
      </div>
      <label class="field">
        <span>
          What it gave <small>(optional, for “{doubtWords.done}”: as JSON, if later steps need it)</small>
        </span>
        <textarea class="code" rows={2} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      </label>
      {given === null && <p class="problem">This is no JSON.</p>}
    </div>
  );
}

/** Null for what is no JSON. */
function readResult(text: string): { readonly result?: Json } | null {
  try {
    return text.trim() === "" ? {} : { result: JSON.parse(text) as Json };
  } catch {
    return null;
  }
}

function DelegateForm({ gate, isBusy, say }: Omit<AnswersProps, "isHeld" | "unseen">) {
  const to = useSignal("");
  const hours = useSignal(24);
  const send = () => {
    const id = /^\d{1,15}$/.test(to.value) ? Number(to.value) : to.value;
    const expires_at = new Date(now.value + hours.value * 3_600_000).toISOString();
    void say(delegate(gate, { to: { type: "user", id }, expires_at }));
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <label class="field">
        <span>Who (their user id)</span>
        <input
          required
          value={to.value}
          onInput={(e) => {
            to.value = e.currentTarget.value.trim();
          }}
        />
      </label>
      <label class="field">
        <span>For how many hours</span>
        <input
          type="number"
          min={1}
          max={720}
          required
          value={hours.value}
          onInput={(e) => {
            hours.value = Number(e.currentTarget.value);
          }}
        />
      </label>
      <button type="submit" disabled={isBusy || to.value === ""}>
        Lend my seat
      </button>
    </form>
  );
}
