/**
 * Why a run is as it is: what was decided and by whom, then what led to each step's effect, and whether the record of
 * it holds.
 *
 * 1.  The summary is the explanation's own, as the command line prints it. All that it leaves out stands behind folds.
 */
import { useSignal } from "@preact/signals";
import type { AuditEntry } from "../../../src/contract/audit.ts";
import type { Explanation, StepExplanation } from "../../../src/contract/explanation.ts";
import type { Replay } from "../../../src/contract/replay.ts";
import type { WorkflowState } from "../../../src/contract/workflow-state.ts";
import { nameMoment } from "../../../src/protocol/name-moment.ts";
import { announce } from "../announce.ts";
import { type Answer, ask, workflowPath } from "../api.ts";
import { Show, useLoaded } from "../loaded.tsx";
import { State } from "../parts/marks.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { RunHead } from "../parts/run-head.tsx";
import { Line } from "../parts/shown.tsx";
import { count } from "../words.ts";

interface ExplainProps {
  readonly workflow: string;
  readonly at: number | null;
}

export function Explain({ workflow, at }: ExplainProps) {
  const query = at === null ? "" : `?at=${at}`;
  const run = useLoaded<WorkflowState>(workflowPath(workflow, query));
  const explained = useLoaded<Explanation>(workflowPath(workflow, `/explain${query}`));
  const audit = useLoaded<{ readonly entries: readonly AuditEntry[] }>(workflowPath(workflow, "/audit"));
  return (
    <Show loaded={run}>
      {(state) => (
        <>
          <RunHead run={state} tab="why" />
          {at !== null && <p class="note">As it was at event {at}.</p>}
          <Show loaded={explained}>{(explanation) => <Causes explanation={explanation} run={state} />}</Show>
          <Proof workflow={workflow} />
          <Show loaded={audit}>{({ entries }) => <Audit entries={entries} />}</Show>
        </>
      )}
    </Show>
  );
}

interface Verified {
  readonly ok: boolean;
  readonly checked: number;
  readonly broken: readonly { readonly sequence: number; readonly reason: string }[];
}

interface Finding {
  readonly isGood: boolean;
  readonly words: string;
}

function tellVerified({ ok, checked, broken: [first] }: Verified): Finding {
  if (ok)
    return {
      isGood: true,
      words: `The record is sound: ${count(checked, "row")} checked, each bound to the one before by its hash.`,
    };
  return { isGood: false, words: `The record is damaged at event ${first?.sequence} (${first?.reason}).` };
}

function tellReplay({ identical, events, difference }: Replay): Finding {
  if (identical)
    return {
      isGood: true,
      words: `Decided again from the record alone, all ${count(events, "event")} came out the same, byte for byte.`,
    };
  return {
    isGood: false,
    words: `Decided again, it came out otherwise at event ${difference?.sequence}: ${difference?.reason}`,
  };
}

function Proof({ workflow }: { readonly workflow: string }) {
  const found = useSignal<Answer<Finding> | null>(null);
  const isBusy = useSignal(false);
  const run = async <T,>(asked: Promise<Answer<T>>, tell: (value: T) => Finding) => {
    isBusy.value = true;
    const answer = await asked;
    isBusy.value = false;
    found.value = answer.ok ? { ok: true, value: tell(answer.value) } : answer;
    if (answer.ok) announce(tell(answer.value).words);
  };
  const answer = found.value;
  return (
    <section class="card" aria-labelledby="proof">
      <h2 id="proof">Can this be trusted?</h2>
      <p class="row">
        <button
          type="button"
          disabled={isBusy.value}
          onClick={() => void run(ask<Verified>(workflowPath(workflow, "/verify")), tellVerified)}
        >
          Verify the record
        </button>
        <button
          type="button"
          disabled={isBusy.value}
          onClick={() => void run(ask<Replay>(workflowPath(workflow, "/replay"), { method: "POST" }), tellReplay)}
        >
          Replay it
        </button>
        <a class="button" href={workflowPath(workflow, "/evidence")} download={`${workflow}.jsonl`}>
          Export the evidence
        </a>
      </p>
      {answer?.ok === false && <ProblemNote problem={answer.problem} />}
      {answer?.ok === true && (
        <p class={`note ${answer.value.isGood ? "good" : "bad"}`}>
          <Line text={answer.value.words} />
        </p>
      )}
    </section>
  );
}

interface CausesProps {
  readonly explanation: Explanation;
  readonly run: WorkflowState;
}

/** What a running step waits for: its state alone does not tell. */
const phaseIn = ({ steps }: WorkflowState, stepId: string): string | null => {
  const step = steps.find(({ step_id }) => step_id === stepId);
  return step?.state === "running" ? step.phase : null;
};

const Causes = ({ explanation: { summary, why, steps }, run }: CausesProps) => (
  <>
    <section class="card" aria-labelledby="summary">
      <h2 id="summary">What was decided, and by whom</h2>
      <ul class="summary-lines">
        {summary.map((line, at) => (
          <li key={at}>
            <Line text={line} />
          </li>
        ))}
      </ul>
    </section>
    <section class="card" aria-labelledby="causes">
      <h2 id="causes">Step by step</h2>
      <ol class="causes">
        {steps.map((step) => (
          <li key={step.step_id}>
            <Cause step={step} phase={phaseIn(run, step.step_id)} />
          </li>
        ))}
      </ol>
    </section>
    <details class="card more">
      <summary>Every cause, in the order of the ledger</summary>
      <ol>
        {why.map((line, i) => (
          <li key={i}>
            <Line text={line} />
          </li>
        ))}
      </ol>
    </details>
  </>
);

const Cause = ({ step, phase }: { readonly step: StepExplanation; readonly phase: string | null }) => (
  <>
    <p>
      <strong>
        <Line text={step.name} />
      </strong>{" "}
      <State state={step.state} phase={phase} /> <span class="quiet">{tellCalls(step)}</span>
      {step.approved_by !== null && (
        <>
          {" "}
          Decided by <Line text={step.approved_by} />.
        </>
      )}
    </p>
    <details>
      <summary>
        The rules and each cause<span class="unseen"> of {step.name}</span>
      </summary>
      <ul>
        <li>
          Rules: <Line text={step.allowed_by} />
        </li>
        <li>
          Operation: <code>{step.operator}</code>
          {step.attempts > 0 && (
            <>
              , <Line text={step.effect} />
            </>
          )}
        </li>
        {step.because.map((line, at) => (
          <li key={at}>
            <Line text={line.replace(`${step.step_id}: `, "")} />
          </li>
        ))}
      </ul>
    </details>
  </>
);

const tellCalls = ({ attempts }: StepExplanation): string =>
  attempts === 0 ? "No call was made." : attempts === 1 ? "It was called once." : `It was called ${attempts} times.`;

const outcomes: Readonly<Record<AuditEntry["outcome"]["type"], string>> = {
  AutoApproved: "let through by the rules",
  Blocked: "blocked",
  QueuedForReview: "put to a person",
  HumanApproved: "approved by a person",
  HumanRejected: "rejected by a person",
};

/** Says how a decision came out; services and agents decide as well as rules. */
function tellOutcome({ outcome: { type }, decided_by }: Pick<AuditEntry, "outcome" | "decided_by">): string {
  if (decided_by !== undefined && type === "AutoApproved") return "approved";
  if (decided_by !== undefined && type === "Blocked") return "rejected";
  return outcomes[type];
}

const Audit = ({ entries }: { readonly entries: readonly AuditEntry[] }) => (
  <details class="card more">
    <summary>Audit: how {count(entries.length, "decision")} came out</summary>
    <ol class="plain">
      {entries.map(({ interaction_id, outcome, policies, decided_by, decided_by_type = "", stage, moment }) => (
        <li key={`${interaction_id}${outcome.type}`}>
          {tellOutcome({ outcome, decided_by })}
          {stage !== undefined && `, at stage ${stage}`}
          {moment !== undefined && `, ${nameMoment(moment)}`}
          {decided_by !== undefined && `: ${decided_by_type} ${decided_by}`}
          {policies.length > 0 && (
            <>
              {" "}
              (<Line text={policies.join(", ")} />)
            </>
          )}
          <br />
          <small>
            <code>{interaction_id}</code>
          </small>
        </li>
      ))}
    </ol>
  </details>
);
