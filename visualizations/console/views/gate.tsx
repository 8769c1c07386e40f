/**
 * One gate: what is asked, why, what follows from each answer, and the answer.
 *
 * 1.  What is on the screen stays until its reader asks for newer; then what differs is shown.
 * 2.  A gate that is decided, here or elsewhere, says by whom and when, and has no buttons.
 */

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Gate } from "../../../src/contract/gate.ts";
import { tellSettled } from "../../../src/protocol/doubt-words.ts";
import { hasAnswered } from "../../../src/protocol/failure-lines.ts";
import { tellStanding } from "../../../src/protocol/gate-standing.ts";
import { namedTargets } from "../../../src/protocol/named-targets.ts";
import { announce } from "../announce.ts";
import { isMe, workflowPath } from "../api.ts";
import { gateAfter, gateKey } from "../listing.ts";
import { followFeed } from "../live.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { Conversation } from "../parts/conversation.tsx";
import { Decision, UnsentHere, unsentAt, useSay } from "../parts/decision.tsx";
import { Diff, diffLines } from "../parts/diff.tsx";
import { FoldedLines, sumOf, useFoldedCounts } from "../parts/folded.ts";
import { GateContent, payloadText } from "../parts/gate-content.tsx";
import { GateOutcome } from "../parts/gate-outcome.tsx";
import { Ago, DueExactly, Risk, tellMoment } from "../parts/marks.tsx";
import { Heading, useFocus } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Block, Line } from "../parts/shown.tsx";
import { ToDecision } from "../parts/to-decision.tsx";
import { UnsentAnswers } from "../parts/unsent-notes.tsx";
import { gateHref, runHref } from "../route.ts";
import { dismiss, hasArrived, type Message, unsent } from "../unsent.ts";
import { isOpen, spaced, tellAsker, tellDecided, tellEffect, tellPerson } from "../words.ts";

interface GateViewProps {
  readonly workflow: string;
  readonly gate: string;
  /** Called with the gate and what came of it, each time that an answer of the reader was taken. */
  readonly onAnswer?: (gate: Gate, reported: string) => void;
  /** Called with the gate once an answer of the reader is held that nothing was typed for. */
  readonly onHeld?: (gate: Gate) => void;
}

export function GateView({ workflow, gate, onAnswer, onHeld }: GateViewProps) {
  const loaded = useLoaded<Gate>(workflowPath(workflow, `/gates/${encodeURIComponent(gate)}`));
  useEffect(
    () =>
      followFeed((item) => {
        if (item.workflow_id === workflow && item.gates.some(({ gate_id }) => gate_id === gate)) void loaded.reload();
      }),
    [workflow, gate, loaded.reload],
  );
  return (
    <>
      {loaded.answer.value?.ok !== true && <UnsentAnswers isChosen={(href) => href === gateHref(workflow, gate)} />}
      <Show loaded={loaded}>
        {(latest) => <ShownGate latest={latest} reload={loaded.reload} onAnswer={onAnswer} onHeld={onHeld} />}
      </Show>
    </>
  );
}

/** All that a reader goes by, under the names that they are told of it. */
const shownOf = (gate: Gate) => ({
  payload: gate.payload_digest,
  preview: gate.preview,
  "what changes": gate.diff,
  "what it rests on": gate.basis_digest,
  "what it makes final": gate.target,
  "where it would be applied": namedTargets(gate.votes),
  "the reasons": gate.reasons,
  "the rules": gate.policy_version,
});
const different = (a: Gate, b: Gate): readonly string[] => {
  const [one, other] = [shownOf(a), shownOf(b)];
  return (Object.keys(one) as (keyof typeof one)[]).filter(
    (name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]),
  );
};
/** What does not change what is decided on: it is shown as it is now. */
const nowOf = ({ votes, seat, consequences, conversation, away }: Gate) => ({
  ...{ votes, seat, consequences },
  ...(conversation !== undefined && { conversation }),
  ...(away !== undefined && { away }),
});
const isSame = (a: Gate, b: Gate): boolean => different(a, b).length === 0;

/** The words for an answer that the record holds, and whose reply was lost. */
const arrived = "Your answer did arrive, and counts.";

interface ShownGateProps extends Pick<GateViewProps, "onAnswer" | "onHeld"> {
  readonly latest: Gate;
  readonly reload: () => Promise<void>;
}

function ShownGate({ latest, reload, onAnswer: tell, onHeld: tellHeld }: ShownGateProps) {
  const shown = useSignal(latest);
  const before = useSignal<Gate | null>(null);
  const recorded = useSignal<string | null>(null);
  const folded = useFoldedCounts();
  const wasOpen = useRef(isOpen(latest)).current;
  const isStale = isOpen(latest) && !isSame(shown.value, latest);
  // All but what is decided on may be newer than when one came: votes, seats, the end.
  const gate = isStale ? { ...shown.value, ...nowOf(latest) } : latest;
  useEffect(() => {
    if (!isStale) shown.value = latest;
    else announce("What this gate shows has changed. Look at it again before you decide.");
  }, [latest, isStale, shown]);
  // The loss of the reply and the record of the answer come in either order.
  useEffect(() => {
    for (const { message } of unsentAt(latest).filter((one) => hasArrived(one.message, latest))) {
      dismiss([message.key]);
      recorded.value = arrived;
    }
  }, [latest, unsent.value, recorded]);
  const showLatest = () => {
    before.value = shown.value;
    shown.value = latest;
  };
  const onAnswer = (reported: string | null) => {
    // Of an answer whose reply was lost, the record may have come before.
    if (reported !== null || recorded.peek() !== arrived) recorded.value = reported;
    if (reported !== null) tell?.(latest, reported);
    void reload();
  };
  // What was typed stays on the screen, so that it is there again once it is undone.
  const onHeld = ({ body: { payload = {} } }: Message) => {
    const isTyped = ["edit", "answer", "result"].some((name) => name in payload);
    if (isTyped || tellHeld === undefined) document.getElementById("decision")?.focus();
    else tellHeld(latest);
  };
  return (
    <article data-gate={gateKey(gate)}>
      <Heading title={gate.title} />
      <Lede gate={gate} />
      {isStale && <StaleNote show={showLatest} />}
      {isOpen(latest) && latest.seat?.may !== false && <ToDecision />}
      <div class="desk">
        <div class="content">
          {before.value !== null && <Moved before={before.value} now={gate} />}
          <FoldedLines.Provider value={folded}>
            <GateContent gate={gate}>
              <Conversation gate={gate} reload={reload} />
            </GateContent>
          </FoldedLines.Provider>
        </div>
        {isOpen(latest) ? (
          <Decision
            gate={gate}
            isStale={isStale}
            unseen={sumOf(folded)}
            recorded={recorded.value}
            onAnswer={onAnswer}
            onHeld={onHeld}
          />
        ) : (
          <Decided gate={latest} recorded={recorded.value} wasOpen={wasOpen} onAnswer={onAnswer} />
        )}
      </div>
    </article>
  );
}

const StaleNote = ({ show }: { readonly show: () => void }) => (
  <div class="note wait" role="alert">
    <p>What this gate shows has changed since you opened it. Nothing can be approved until you have seen it.</p>
    <button type="button" onClick={show}>
      Show what it shows now
    </button>
  </div>
);

const Lede = ({ gate }: { readonly gate: Gate }) => (
  <>
    <p class="standing">
      <Line text={tellStanding(gate, tellMoment)} />
    </p>
    <p class="lede">
      {tellAsker(gate)} asked for work that <Wanted gate={gate} />
    </p>
    <p class="chips">
      <Risk level={gate.risk_level} />
      <span>cost {gate.estimated_cost}</span>
      {isOpen(gate) && gate.due_at !== null && (
        <span>
          <DueExactly at={gate.due_at} />
        </span>
      )}
      <span>
        asked <Ago at={gate.opened_at} />
      </span>
      <a href={runHref(gate.workflow_id)}>the whole run</a>
    </p>
  </>
);

/** What the work wants of people: an answer, the end of a call, or a yes to one. */
function Wanted({ gate }: { readonly gate: Gate }) {
  const { kind, operator, effect, doubt } = gate;
  if (kind === "ask") return <>{isOpen(gate) ? "needs" : "needed"} an answer from a person.</>;
  if (kind === "in_doubt")
    return (
      <>
        called <code>{operator}</code>, which {tellEffect(effect)}.{" "}
        {hasAnswered(doubt?.error ?? null)
          ? "It answered, and its answer cannot be used."
          : isOpen(gate)
            ? "Nobody knows whether it happened."
            : "Nobody knew whether it had happened."}
      </>
    );
  return (
    <>
      {isOpen(gate) ? "would now run" : "was to run"} <code>{operator}</code>: it <strong>{tellEffect(effect)}</strong>.
    </>
  );
}

const Moved = ({ before, now }: { readonly before: Gate; readonly now: Gate }) => (
  <section class="card">
    <h2>What is different from what you saw first</h2>
    <p>Different: {different(before, now).join(", ")}.</p>
    <Diff diff={diffLines(payloadText(before.payload), payloadText(now.payload))} />
    {before.preview !== now.preview && (
      <>
        <h3>In the preview</h3>
        <Diff diff={diffLines(before.preview, now.preview)} />
      </>
    )}
  </section>
);

interface DecidedProps {
  readonly gate: Gate;
  /** What came of one's own answer, just now. */
  readonly recorded: string | null;
  /** It was to be decided when its reader came. */
  readonly wasOpen: boolean;
  readonly onAnswer: (recorded: string | null) => void;
}

function Decided({ gate, recorded, wasOpen, onAnswer }: DecidedProps) {
  const { say, isBusy, problem } = useSay(onAnswer);
  const heading = useFocus<HTMLHeadingElement>(recorded);
  const { decision } = gate;
  const who = decision?.principal ?? null;
  const isInDoubt = gate.kind === "in_doubt";
  const next = gateAfter(gateKey(gate));
  const isElsewhere = wasOpen && who !== null && !isMe(who);
  useEffect(() => {
    if (isElsewhere) announce(`Decided elsewhere: ${tellDecided(gate)}`);
  }, [isElsewhere, gate]);
  return (
    <section class="card decision decided" aria-labelledby="decided">
      <h2 id="decided" tabIndex={-1} ref={heading}>
        {recorded ?? `${isElsewhere ? "Decided elsewhere:" : "This gate is"} ${spaced(gate.status)}`}
      </h2>
      {problem !== null && <ProblemNote problem={problem} />}
      <UnsentHere gate={gate} isBusy={isBusy} say={say} />
      <p>
        {tellDecided(gate)}
        {decision !== null && (
          <>
            , <Ago at={decision.at} />
          </>
        )}
        {decision?.grant !== undefined && <>, ahead by {decision.grant.grant_id}</>}
        {decision !== null && decision.carried_by.length > 0 && (
          <>, with the votes of {decision.carried_by.map(({ principal }) => tellPerson(principal)).join(", ")}</>
        )}
        {decision?.edited === true && ", with changes"}
        {isInDoubt && decision !== null && `: “${tellSettled(decision)}”`}
      </p>
      {decision?.answer !== undefined && <Block text={payloadText(decision.answer as Gate["payload"])} />}
      {decision?.comment != null && (
        <blockquote>
          <Line text={decision.comment} />
        </blockquote>
      )}
      <GateOutcome gate={gate} />
      <p>
        <a href={runHref(gate.workflow_id)}>See the run</a> · <a href="#/">Back to the inbox</a>
        {next !== null && (
          <>
            {" "}
            · Next: <a href={gateHref(next.workflow_id, next.gate_id)}>{<Line text={next.title} />}</a>
          </>
        )}
      </p>
    </section>
  );
}
