/** What is known of the chosen step: what it was given, what was decided about it, its attempts, what came of it. */
import type { EventPayloads, LedgerEvent } from "../../../src/contract/event.ts";
import type { PlanStep } from "../../../src/contract/plan.ts";
import type { StepView, WorkflowState } from "../../../src/contract/workflow-state.ts";
import { linesOfGate } from "../../../src/observers/drawing/gate-lines.ts";
import { aboutStep } from "../../../src/observers/drawing/step-lines.ts";
import { nameAsked } from "../../../src/protocol/name-moment.ts";
import { skipWords } from "../../../src/protocol/skip-words.ts";
import { gateHref, runHref } from "../route.ts";
import { isUndo, spaced, tellDecided, tellDuration, tellKind } from "../words.ts";
import { Items } from "./items.tsx";
import { Fact, Facts, State, tellInstant } from "./marks.tsx";
import { Block, Line } from "./shown.tsx";

interface StepDetailProps {
  readonly run: WorkflowState;
  readonly step: StepView;
  readonly events: readonly LedgerEvent[];
  /** Whether the run is shown as it once was: its items are known only as they are. */
  readonly isPast: boolean;
}

export function StepDetail({ run, step, events, isPast }: StepDetailProps) {
  const own = events.filter(({ step_id }) => step_id === step.step_id);
  const planned = run.plan?.steps.find(({ step_id }) => step_id === step.step_id);
  const params = planned?.params ?? {};
  const given = own.findLast(({ event_type }) => event_type === "ACTION_STARTED")?.payload["input"];
  return (
    <section class="card" aria-labelledby="chosen-step">
      <h2 id="chosen-step">
        Step <Line text={step.name} />
      </h2>
      <Facts>
        <Fact name="State">
          <State state={step.state} phase={step.state === "running" ? step.phase : null} />
        </Fact>
        <Fact name="Operation">
          <code>{step.operator}</code>
        </Fact>
        <Fact name="Kind">{tellKind(step.kind)}</Fact>
        <Called events={own} attempts={step.attempts} isOver={step.state !== "running"} />
        {step.depends_on.length > 0 && <Fact name="After">{step.depends_on.join(", ")}</Fact>}
        {isUndo(step) && <Fact name="Purpose">It undoes earlier work: {step.step_id}</Fact>}
        {step.waits_for?.due_at != null && <Fact name="Waits until">{step.waits_for.due_at}</Fact>}
        {step.child !== null && (
          <Fact name="Child">
            <a href={runHref(step.child)}>
              <code class="id">{step.child}</code>
            </a>
          </Fact>
        )}
        {step.skip_reason !== null && <Fact name="Skipped because">{skipWords[step.skip_reason]}</Fact>}
      </Facts>
      {step.error !== null && (
        <div class="note bad">
          <p>
            <Line text={step.error.message} />
          </p>
          <p class="quiet">
            <code>{step.error.code}</code>
          </p>
        </div>
      )}
      {!isPast && <Items key={step.step_id} workflow={run.workflow_id} step={step} />}
      <Decisions run={run} step={step} events={own} />
      {planned !== undefined && <Planned step={planned} />}
      <details class="more">
        <summary>What it is given</summary>
        <Block text={JSON.stringify(given ?? params, null, 2)} />
      </details>
      {step.output_text !== "" && (
        <>
          <h3>What came of it</h3>
          <Block text={step.output_text} />
        </>
      )}
      <Attempts events={own} />
    </section>
  );
}

/** Its condition, its loop and what undoes it, as the plan says. */
function Planned({ step }: { readonly step: PlanStep }) {
  const lines = aboutStep(step, null);
  if (lines.length === 0) return null;
  return (
    <ul class="plain quiet">
      {lines.map((line) => (
        <li key={line}>
          <Line text={line} />
        </li>
      ))}
    </ul>
  );
}

interface CalledProps {
  readonly events: readonly LedgerEvent[];
  readonly attempts: number;
  readonly isOver: boolean;
}

/** The attempts, the last failure, the next attempt and the cost of a step. */
function Called({ events, attempts, isOver }: CalledProps) {
  const failed = events.findLast(({ event_type }) => event_type === "ACTION_FAILED");
  const { message } = (failed?.payload["error"] ?? {}) as { readonly message?: string };
  const planned = events.findLast(({ event_type }) => event_type === "ACTION_RETRY_SCHEDULED");
  const next = isOver || events.at(-1) !== planned ? "" : textIn(planned?.payload ?? {}, "due_at");
  const cost = events.reduce((sum, { payload }) => sum + costIn(payload), 0);
  return (
    <>
      <Fact name="Attempts">{attempts}</Fact>
      {message !== undefined && (
        <Fact name="Last failure">
          <Line text={message} />
        </Fact>
      )}
      {next !== "" && <Fact name="Next attempt">{tellInstant(next)}</Fact>}
      {cost > 0 && <Fact name="Cost">{cost}</Fact>}
    </>
  );
}

function costIn({ usage }: LedgerEvent["payload"]): number {
  const { cost } = (usage ?? {}) as { readonly cost?: unknown };
  return typeof cost === "number" ? cost : 0;
}

const textIn = (payload: LedgerEvent["payload"], name: string): string => {
  const value = payload[name];
  return typeof value === "string" ? value : "";
};

const tellAsked = (payload: LedgerEvent["payload"]): string => {
  const asked = nameAsked(payload as EventPayloads["POLICY_DECIDED"]);
  return asked && `, ${asked}`;
};

/** What the rules were asked about, by stage. */
const judgedWords: Readonly<Record<string, string>> = {
  action: "Rules on the call",
  outcome: "Rules on what came of it",
  gate: "Rules on the decision",
};

/** Of policy, and of people. */
function Decisions({ run, step, events }: Omit<StepDetailProps, "isPast">) {
  const judged = events.filter(({ event_type }) => event_type === "POLICY_DECIDED");
  const gates = run.gates.filter(({ step_id }) => step_id === step.step_id);
  if (judged.length + gates.length === 0) return null;
  return (
    <>
      <h3>What was decided</h3>
      <ul class="plain">
        {judged.map(({ sequence, payload }) => (
          <li key={sequence}>
            {judgedWords[textIn(payload, "stage")] ?? "Rules"}
            {tellAsked(payload)}: {spaced(textIn(payload, "decision").toLowerCase())}, because{" "}
            <Line text={textIn(payload, "reason")} />
          </li>
        ))}
        {gates.map((gate) => (
          <li key={gate.gate_id}>
            <a href={gateHref(run.workflow_id, gate.gate_id)}>
              <Line text={gate.title} />
            </a>
            : {tellDecided(gate)}
            <ul class="plain quiet">
              {linesOfGate(gate).map((line, at) => (
                <li key={at}>{line}</li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  );
}

const isCall = ({ event_type }: LedgerEvent): boolean => event_type.startsWith("ACTION_");

function Attempts({ events }: Pick<StepDetailProps, "events">) {
  const calls = events.filter(isCall);
  if (calls.length === 0) return null;
  return (
    <>
      <h3>Calls</h3>
      <ol class="plain">
        {calls.map(({ sequence, event_type, timestamp }, i) => {
          const since = calls[i - 1];
          const ms = since === undefined ? 0 : Date.parse(timestamp) - Date.parse(since.timestamp);
          return (
            <li key={sequence}>
              <small>{sequence}</small> {spaced(event_type.slice("ACTION_".length).toLowerCase())}
              {ms > 0 && <small> after {tellDuration(ms)}</small>}
            </li>
          );
        })}
      </ol>
    </>
  );
}
