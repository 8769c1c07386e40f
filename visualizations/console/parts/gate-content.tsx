/** What a gate shows: why a person is asked, what would run, what changes, who decides. All of it is text. */
import type { ComponentChildren } from "preact";
import type { Gate, GateReason } from "../../../src/contract/gate.ts";
import type { GateDoubt } from "../../../src/contract/gate-doubt.ts";

import type { GateVote } from "../../../src/contract/gate-vote.ts";
import type { Json } from "../../../src/contract/json.ts";
import { describeChange, describeComment } from "../../../src/protocol/describe-edits.ts";
import { describeGate, factText, type GateSection, type GateSectionId } from "../../../src/protocol/describe-gate.ts";
import { tellSettled } from "../../../src/protocol/doubt-words.ts";
import { tellExpiry } from "../../../src/protocol/expiry-words.ts";
import { failureLines, hasAnswered } from "../../../src/protocol/failure-lines.ts";
import { listedPayload } from "../../../src/protocol/form-fields.ts";
import { listHiddenFields, saysPayload } from "../../../src/protocol/hidden-fields.ts";
import { tellSpan } from "../../../src/protocol/tell-span.ts";
import { isOpen, tellPerson } from "../words.ts";
import { CallFacts, ExactPayload, OtherFields } from "./call-facts.tsx";
import { Diff } from "./diff.tsx";
import { GateContext } from "./gate-context.tsx";
import { Ago, DueExactly, EditedBy, Fact, Facts, tellInstant } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

export const payloadText = (payload: Json): string => JSON.stringify(payload, null, 2);

/** The sections that a card of the page shows in a form of its own, or that stand beside the form of the decision. */
const ownCards: readonly GateSectionId[] = [
  ...(["edits", "standing", "facts", "why", "doubt", "cost", "who", "votes", "due", "decision"] as const),
  "conversation",
  ...(["preview", "changes", "payload", "effects"] as const),
];

interface GateContentProps {
  readonly gate: Gate;
  /** What people say beside it: it stands above what is not needed for each decision. */
  readonly children?: ComponentChildren;
}

export function GateContent({ gate, children }: GateContentProps) {
  const { diff } = gate;
  const sections = describeGate(gate);
  return (
    <>
      <Edits gate={gate} />
      {gate.doubt === undefined ? null : <InDoubt gate={gate} doubt={gate.doubt} />}
      {gate.kind === "ask" ? <AskedContent gate={gate} /> : <CallContent gate={gate} />}
      {diff !== null && (
        <section class="card">
          <h2>What changes</h2>
          <Diff diff={diff} />
        </section>
      )}
      {gate.doubt === undefined && <Reasons gate={gate} />}
      {children}
      <GateContext gate={gate} />
      {sections.map((section) => section.id === "who" && <Seats key="who" gate={gate} section={section} />)}
      <ExactPayload gate={gate} title={exactlyOf(gate)} text={payloadText(gate.payload)} />
      <Particulars gate={gate} sections={sections.filter(({ id }) => !ownCards.includes(id))} />
    </>
  );
}

/** A call: the facts, then the preview where it says more than the payload. */
function CallContent({ gate }: { readonly gate: Gate }) {
  const { preview, payload } = gate;
  const isPayload = saysPayload(preview, payload);
  const note = isPayload ? preview.slice(payloadText(payload).length).trim() : preview;
  const would = isOpen(gate) ? "What it would do" : "What was decided on";
  return (
    <>
      <CallFacts gate={gate} title={gate.kind === "in_doubt" ? "What was sent" : would} />
      {note !== "" && (
        <section class="card">
          <h2>{isPayload ? "A note on it" : "Preview"}</h2>
          <Block text={note} />
        </section>
      )}
    </>
  );
}

/** A question, and what is shown with it. */
function AskedContent({ gate }: { readonly gate: Gate }) {
  const hidden = listHiddenFields(listedPayload(gate), gate.preview);
  return (
    <section class="card">
      <h2>The question</h2>
      <Block text={gate.preview} />
      {hidden.length > 0 && (
        <>
          <h3>What is shown with it</h3>
          <OtherFields fields={hidden} isOnly={true} />
        </>
      )}
    </section>
  );
}

function exactlyOf({ kind, status }: Gate): string {
  if (kind === "in_doubt") return "Exactly this was sent";
  return isOpen({ status }) ? "Exactly this will run" : "Exactly this was decided on";
}

interface InDoubtProps {
  readonly gate: Gate;
  readonly doubt: GateDoubt;
}

/** What was called, when, what came back, and what nobody knows. */
const InDoubt = ({ gate: { operator }, doubt: { called_at, error } }: InDoubtProps) => (
  <section class="card">
    <h2>What is known of the call</h2>
    <Facts>
      <Fact name="Called">
        <code>{operator}</code>, with what is shown below
      </Fact>
      <Fact name="When">
        {called_at === null ? (
          "No record says when."
        ) : (
          <>
            <Ago at={called_at} />, {tellInstant(called_at)}
          </>
        )}
      </Fact>
      <Fact name={hasAnswered(error) ? "What is wrong with its answer" : "What came back"}>
        {error === null ? (
          "Nothing: the process that made the call ended before an answer came."
        ) : (
          <>
            <ul class="plain">
              {failureLines(error).map((line) => (
                <li key={line}>
                  <Line text={line} />
                </li>
              ))}
            </ul>
            <small>
              <code>{error.code}</code>
            </small>
          </>
        )}
      </Fact>
      <Fact name="Not known">
        {hasAnswered(error)
          ? "What it gave. It answered, so it has taken effect."
          : "Whether it took effect. It may have happened, wholly or in part, or not at all."}
      </Fact>
    </Facts>
  </section>
);

const asked = { policy: "a rule", plan: "the plan", operator: "the operation itself", recovery: "recovery" } as const;

/** What a colleague changed comes before all that they changed. */
const Edits = ({ gate: { edits = [], title, planned_title = title } }: { readonly gate: Gate }) =>
  edits.length === 0 ? null : (
    <section class="card note wait" aria-labelledby="edited">
      <h2 id="edited">{edits.length === 1 ? "This was edited" : `This was edited ${edits.length} times`}</h2>
      {edits.map((edit) => (
        <div key={edit.at + tellPerson(edit.by)}>
          <p>
            <EditedBy edit={edit} />
          </p>
          <ul class="plain">
            {edit.changes.map((change) => (
              <li key={change.path}>
                <Line text={describeChange(change)} />
              </li>
            ))}
          </ul>
          {describeComment(edit).map((line) => (
            <p key={line}>{line}</p>
          ))}
        </div>
      ))}
      {planned_title !== title && (
        <p class="quiet">
          The plan named it “<Line text={planned_title} />” before that.
        </p>
      )}
    </section>
  );

/** Sorts the plan's own words before those of rules. */
const byPlan = (a: GateReason, b: GateReason): number => Number(b.source === "plan") - Number(a.source === "plan");

const Reasons = ({ gate: { reasons } }: { readonly gate: Gate }) => (
  <section class="card">
    <h2>Why a person is asked</h2>
    <ul class="plain">
      {reasons.toSorted(byPlan).map(({ source, rule, reason }) => (
        <li key={`${source} ${rule}`}>
          <Line text={reason} />{" "}
          <small>
            ({asked[source]}: <Line text={rule} />)
          </small>
        </li>
      ))}
    </ul>
  </section>
);

/** A section of the description, with its facts as they are said everywhere. */
const Described = ({ section }: { readonly section: GateSection }) => (
  <Facts>
    {section.facts.map((fact) => (
      <Fact key={fact.name + fact.text} name={`${fact.name.charAt(0).toUpperCase()}${fact.name.slice(1)}`}>
        <Line text={factText(fact)} />
      </Fact>
    ))}
  </Facts>
);

const Seats = ({ gate, section }: { readonly gate: Gate; readonly section: GateSection }) => (
  <section class="card">
    <h2>{section.title}</h2>
    <Described section={section} />
    {gate.votes.length > 0 && <Votes votes={gate.votes} kind={gate.kind} />}
    {isOpen(gate) && <Ladder gate={gate} />}
  </section>
);

const tellVoted = (vote: GateVote, kind: Gate["kind"]): string =>
  kind === "in_doubt"
    ? `“${tellSettled(vote)}”`
    : `to ${vote.decision}${vote.answer === undefined ? "" : `, with the answer ${JSON.stringify(vote.answer)}`}`;

const Votes = ({ votes, kind }: Pick<Gate, "votes" | "kind">) => (
  <ul class="plain">
    {votes.map((vote) => (
      <li key={tellPerson(vote.principal)}>
        {tellPerson(vote.principal)}
        {vote.on_behalf_of !== null && ` in the place of ${tellPerson(vote.on_behalf_of)}`}{" "}
        {vote.advisory ? "advises" : "voted"} {tellVoted(vote, kind)}
        {vote.apply_targets !== undefined && (
          <>
            , applied to <Line text={JSON.stringify(vote.apply_targets)} />
          </>
        )}
        {vote.result !== undefined && (
          <>
            , with the result <Line text={JSON.stringify(vote.result)} />
          </>
        )}
        {vote.signature !== null && ", signed"}, <Ago at={vote.at} />
        {vote.comment !== null && (
          <>
            : “<Line text={vote.comment} />”
          </>
        )}
      </li>
    ))}
  </ul>
);

function Ladder({ gate: { kind, due_at, expiry_action, escalate_to, ladder, expires_at } }: { readonly gate: Gate }) {
  if (due_at === null || expiry_action === null) return <p class="quiet">It waits as long as it takes.</p>;
  return (
    <ol class="plain">
      <li>
        <DueExactly at={due_at} />: if nobody decides, {tellExpiry(expiry_action, escalate_to, kind)}
      </li>
      {ladder.slice(1).map(({ after_ms, action, role }, at, later) => (
        <li key={`${after_ms}${action}${role}`}>
          {expires_at !== undefined && at === later.length - 1 ? (
            <DueExactly at={expires_at} />
          ) : (
            `${tellSpan(after_ms)} after that`
          )}
          , {tellExpiry(action, role, kind)}
        </li>
      ))}
    </ol>
  );
}

/** What has no card of its own: the sections of the description that are left, and where the gate stands. */
const Particulars = ({ gate, sections }: { readonly gate: Gate; readonly sections: readonly GateSection[] }) => (
  <details class="card more">
    <summary>Particulars</summary>
    {sections.map((section) => (
      <Described key={section.id} section={section} />
    ))}
    <Facts>
      <Fact name="Rules in force">
        <Line text={gate.policy_version} />
      </Fact>
      <Fact name="Gate">
        <code>{gate.gate_id}</code>
      </Fact>
      <Fact name="Opened">{tellInstant(gate.opened_at)}</Fact>
    </Facts>
  </details>
);
