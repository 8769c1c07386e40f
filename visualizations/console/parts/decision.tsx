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
import { useEffect, useRef } from "preact/hooks";
import type { Gate, GateResponse } from "../../../src/contract/gate.ts";
import type { JsonObject } from "../../../src/contract/json.ts";
import { formOfGate } from "../../../src/protocol/form-fields.ts";
import { announce } from "../announce.ts";
import { type Answer, isMe, type Problem } from "../api.ts";
import { decide, type GivenDecision, tellAnswer } from "../decide.ts";
import { hold, isHeldAt, mayHold, undoneComment } from "../held.ts";
import { isUnsent, type Message, sendMessage, unsent } from "../unsent.ts";
import { tellPerson } from "../words.ts";
import { AnswerForm } from "./answer-form.tsx";
import { CommentField } from "./comment-field.tsx";
import { ConfirmApproval } from "./confirm-approval.tsx";
import { DelegateForm, LentSeat } from "./delegate-form.tsx";
import { DoubtButtons } from "./doubt-answers.tsx";
import { EditForm } from "./edit-form.tsx";
import { HeldNote } from "./held-bar.tsx";
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
  /** Called once an answer is held, before it is sent. */
  readonly onHeld: (message: Message) => void;
}

/** Sends what a person says, one answer at a time, and keeps what was wrong with the last one. */
export function useSay(onAnswer: (recorded: string | null) => void, onHeld?: (message: Message) => void) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const isThere = useRef(true);
  useEffect(
    () => () => {
      isThere.current = false;
    },
    [],
  );
  const end = (answer: Answer<GateResponse>) => {
    isBusy.value = false;
    // What was not sent is said by a note of its own, which stays.
    problem.value = answer.ok || isUnsent(answer.problem) ? null : answer.problem;
    if (isThere.current) onAnswer(answer.ok ? tellAnswer(answer.value) : null);
  };
  const say = async (message: Message) => {
    if (isBusy.value) return;
    isBusy.value = true;
    const answer = await sendMessage(message);
    if (answer.ok) announce(tellAnswer(answer.value));
    end(answer);
  };
  /** Has a decision sent once the time is over in which it can be undone. */
  const sayLater = (message: Message) => {
    problem.value = null;
    hold(message, end);
    onHeld?.(message);
  };
  return { say, sayLater, isBusy: isBusy.value, problem: problem.value };
}

export function Decision({ gate, isStale, unseen, recorded, onAnswer, onHeld }: DecisionProps) {
  const { say, sayLater, isBusy: isSending, problem } = useSay(onAnswer, onHeld);
  const isHeld = isHeldAt(gate);
  const isBusy = isSending || isHeld;
  const { seat } = gate;
  return (
    <section class="card decision" aria-labelledby="decision">
      <h2 id="decision" tabIndex={-1}>
        Your decision
      </h2>
      {isHeld && <HeldNote words="Your decision is about to be sent; until then it can be undone." />}
      {recorded !== null && problem === null && !isHeld && <p class="note good">{recorded}</p>}
      {problem !== null && <ProblemNote problem={problem} />}
      <UnsentHere gate={gate} isBusy={isBusy} say={say} />
      {seat != null && seat.reason !== null && (
        <p class={seat.may ? "note" : "note wait"}>
          {seat.may ? "" : "You cannot decide here: "}
          <Line text={seat.reason} />
        </p>
      )}
      {seat?.may === true && seat.for !== null && (
        <p class="note">
          You decide for <Line text={tellPerson(seat.for)} />
          {seat.stand_in !== undefined && ", who is away"}. The record names both of you.
        </p>
      )}
      <LentSeat gate={gate} isBusy={isBusy} say={say} />
      {seat?.may !== false && (
        <Answers
          gate={gate}
          isHeld={isStale || isBusy}
          isBusy={isBusy}
          unseen={unseen}
          say={say}
          decideNow={(message) => (mayHold(gate) ? sayLater(message) : void say(message))}
        />
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
  /** Sends a decision, or has it held. */
  readonly decideNow: (message: Message) => void;
}

function Answers({ gate, isHeld, isBusy, unseen, say, decideNow }: AnswersProps) {
  const comment = useSignal(unsentAt(gate)[0]?.message.body.payload?.comment ?? undoneComment(gate));
  const unconfirmed = useSignal<GivenDecision | null>(null);
  const send = (recorded: GivenDecision) => {
    unconfirmed.value = null;
    decideNow(decide(gate, { comment: comment.value, ...recorded }));
  };
  // An approval with lines that were not shown, or at a gate that asks for care, counts once its author confirms it.
  const needsCare = unseen > 0 || gate.confirm !== undefined;
  const answer = (recorded: GivenDecision) => {
    if (recorded.decision === "approve" && needsCare) unconfirmed.value = recorded;
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
      {unconfirmed.value !== null && needsCare && (
        <ConfirmApproval
          recorded={unconfirmed.value}
          confirm={gate.confirm}
          unseen={unseen}
          isHeld={isHeld}
          send={send}
          giveUp={() => (unconfirmed.value = null)}
        />
      )}
      {gate.editable != null && (
        <More title="Change something first" class="edits" isEdit>
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

interface MoreProps {
  readonly title: string;
  readonly class?: string;
  /** The part that the key e leads to. */
  readonly isEdit?: boolean;
  readonly children: ComponentChildren;
}

const More = ({ title, class: own = "", isEdit = false, children }: MoreProps) => (
  <details class={`more ${own}`} data-edit={isEdit || undefined}>
    <summary>{title}</summary>
    {children}
  </details>
);

export interface ButtonsProps {
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
