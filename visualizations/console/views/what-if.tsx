/**
 * Other rules, tried on what has happened: which decisions would have been others. Nothing runs and nothing is written.
 */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { PolicyDecision } from "../../../src/contract/policy.ts";
import { announce } from "../announce.ts";
import { kernel, type Problem, readProblem, send } from "../api.ts";
import { readMessages } from "../messages.ts";
import { tellInstant } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";
import { count, spaced } from "../words.ts";

const example = `version: tighter
rules:
  - name: writes.asked
    stages: [action]
    when: { effects: [write_draft, final_write] }
    decision: REQUIRE_HUMAN_APPROVAL
    reason: somebody looks at all that is written
`;

interface Finding {
  readonly kind: "differs" | "unknown";
  readonly workflow_id: string;
  readonly sequence: number;
  readonly timestamp: string;
  readonly stage: string;
  readonly subject: string;
  readonly was: PolicyDecision;
  readonly would_be: PolicyDecision | null;
  readonly reason: string;
}

interface Report {
  readonly kind: "report";
  readonly workflows: number;
  readonly decisions: number;
  readonly differing: number;
  readonly unknown: number;
  readonly changes: Readonly<Record<string, number>>;
}

const mostShown = 200;

interface Question {
  readonly rules: string;
  readonly default_policies: boolean;
  readonly since?: string;
}

/** One question at a time, and what is found as it is found. */
function useWhatIf() {
  const found = useSignal<readonly Finding[]>([]);
  const counted = useSignal(0);
  const report = useSignal<Report | null>(null);
  const problem = useSignal<Problem | null>(null);
  const running = useSignal<AbortController | null>(null);
  useEffect(() => () => running.peek()?.abort(), [running]);
  const listener = (item: Finding | Report) => {
    if (item.kind === "report") {
      report.value = item;
      announce(tellReport(item));
      return;
    }
    counted.value += 1;
    if (found.peek().length < mostShown) found.value = [...found.peek(), item];
  };
  const ask = async (body: Question) => {
    const stop = new AbortController();
    running.value = stop;
    [found.value, counted.value, report.value, problem.value] = [[], 0, null, null];
    const response = await send(`${kernel}/whatif`, { method: "POST", body, signal: stop.signal });
    if (response?.ok) await readMessages<Finding | Report>(response, listener).catch(() => undefined);
    else if (response !== null) problem.value = await readProblem(response);
    running.value = null;
  };
  return { found, counted, report, problem, running, ask };
}

export function WhatIf() {
  const { found, counted, report, problem, running, ask } = useWhatIf();
  return (
    <>
      <Heading title="What if">
        <p class="lede">Try other rules on what has happened. Nothing runs, and nothing is written.</p>
      </Heading>
      <QuestionForm
        isBusy={running.value !== null}
        ask={(question) => void ask(question)}
        stop={() => running.value?.abort()}
      />
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      {report.value !== null ? (
        <Counts report={report.value} />
      ) : (
        counted.value > 0 && <p class="note">{count(counted.value, "decision")} so far…</p>
      )}
      {found.value.length > 0 && <Findings findings={found.value} all={counted.value} />}
    </>
  );
}

interface QuestionFormProps {
  readonly isBusy: boolean;
  readonly ask: (question: Question) => void;
  readonly stop: () => void;
}

function QuestionForm({ isBusy, ask, stop }: QuestionFormProps) {
  const rules = useSignal(example);
  const since = useSignal("");
  const withDefault = useSignal(true);
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault();
        ask({ rules: rules.value, default_policies: withDefault.value, ...(since.value && { since: since.value }) });
      }}
    >
      <label class="field">
        <span>Rules (YAML)</span>
        <textarea
          class="code"
          rows={10}
          spellcheck={false}
          value={rules.value}
          onInput={(e) => (rules.value = e.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Decisions since</span>
        <input type="date" value={since.value} onInput={(e) => (since.value = e.currentTarget.value)} />
      </label>
      <p>
        <label>
          <input
            type="checkbox"
            checked={withDefault.value}
            onChange={(e) => (withDefault.value = e.currentTarget.checked)}
          />{" "}
          with the default rules behind them
        </label>
      </p>
      <p class="row">
        <button type="submit" class="primary" disabled={isBusy}>
          Ask
        </button>
        <button type="button" disabled={!isBusy} onClick={stop}>
          Stop
        </button>
      </p>
    </form>
  );
}

const tellReport = ({ differing, decisions, workflows }: Report): string =>
  `${differing} of ${count(decisions, "decision")} in ${count(workflows, "run")} would have been different.`;

const Counts = ({ report }: { readonly report: Report }) => (
  <section class="card" aria-label="Counts">
    <h2>{tellReport(report)}</h2>
    <ul class="plain">
      {Object.entries(report.changes).map(([change, n]) => (
        <li key={change}>
          <strong>{n}</strong> {change}
        </li>
      ))}
      {report.unknown > 0 && <li>{report.unknown} cannot be reported.</li>}
    </ul>
  </section>
);

interface FindingsProps {
  readonly findings: readonly Finding[];
  readonly all: number;
}

const Findings = ({ findings, all }: FindingsProps) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys
  <section class="scrolls card" tabIndex={0} aria-label="Findings">
    <table>
      <thead>
        <tr>
          <th scope="col">Subject</th>
          <th scope="col">Was</th>
          <th scope="col">Would be</th>
          <th scope="col">Why</th>
          <th scope="col">When</th>
        </tr>
      </thead>
      <tbody>
        {findings.map((one) => (
          <tr key={`${one.workflow_id}${one.sequence}`}>
            <td>
              <a href={`${runHref(one.workflow_id)}?at=${one.sequence}`} data-item>
                <Line text={one.subject} />
              </a>{" "}
              <small>({one.stage})</small>
            </td>
            <td>{tellWord(one.was)}</td>
            <td>{one.would_be === null ? "unknown" : tellWord(one.would_be)}</td>
            <td>
              <Line text={one.would_be?.reason || one.reason} />
            </td>
            <td>{tellInstant(one.timestamp)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    {all > findings.length && <p class="quiet">And {count(all - findings.length, "other")} that differ too.</p>}
  </section>
);

const tellWord = ({ decision }: PolicyDecision): string => spaced(decision.toLowerCase());
