/**
 * Schedules: work that begins by itself at stated times. Each can be paused and resumed, and its work begun now.
 *
 * 1.  An order to begin the work carries a key of its own: an attempt that the server takes twice begins one run.
 */
import { useSignal } from "@preact/signals";
import type { SchedulePage, ScheduleTriggered, ScheduleView } from "../../../src/contract/schedule.ts";
import { announce } from "../announce.ts";
import { ask, kernel, type Problem } from "../api.ts";
import { makeKey } from "../decide.ts";
import { Ago, Fact, Facts, State, tellInstant } from "../parts/marks.tsx";
import { Heading } from "../parts/page.tsx";
import { Paged } from "../parts/paged.tsx";
import { ProblemNote } from "../parts/problem.tsx";
import { Line } from "../parts/shown.tsx";
import { runHref } from "../route.ts";
import { count, tellEvery, tellPerson } from "../words.ts";

export const Schedules = () => (
  <>
    <Heading title="Schedules" />
    <Paged<SchedulePage> list="schedules">
      {({ schedules }, reload) =>
        schedules.length === 0 ? (
          <p class="empty">No work is scheduled.</p>
        ) : (
          schedules.map((schedule) => <Schedule key={schedule.name} schedule={schedule} reload={reload} />)
        )
      }
    </Paged>
  </>
);

interface ScheduleProps {
  readonly schedule: ScheduleView;
  readonly reload: () => Promise<void>;
}

function Schedule({ schedule, reload }: ScheduleProps) {
  const { name, state, intent_type, principal, next, last, waiting, refusal, refused_in_row, fires_here } = schedule;
  return (
    <section class="card" aria-label={name}>
      <h2>
        <Line text={name} /> <State state={state} />
      </h2>
      <Facts>
        <Fact name="Work">
          <code>{intent_type}</code> on behalf of {tellPerson(principal)}
        </Fact>
        <Fact name="When">{tellTimes(schedule)}</Fact>
        <Fact name="Next">{next === null ? "never" : state === "paused" ? "paused" : <Instant at={next} />}</Fact>
        <Fact name="Last">
          {last === null ? (
            "not yet"
          ) : (
            <>
              <a href={runHref(last.workflow_id)}>
                <code class="id">{last.workflow_id}</code>
              </a>{" "}
              <Instant at={last.at} />
              {last.cancelled && ", cancelled to make way for a later one"}
            </>
          )}
        </Fact>
        {waiting > 0 && <Fact name="Waiting">{count(waiting, "run")} to begin</Fact>}
      </Facts>
      {!fires_here && <p class="note wait">The server that you look at does not have this work; another begins it.</p>}
      {refusal !== null && refused_in_row > 0 && (
        <p class="note bad">
          Refused {count(refused_in_row, "time")} in a row, the last time: <Line text={refusal.message} />{" "}
          <code>{refusal.code}</code>
        </p>
      )}
      <ScheduleOrders schedule={schedule} reload={reload} />
    </section>
  );
}

const Instant = ({ at }: { readonly at: string }) => (
  <>
    {tellInstant(at)} (<Ago at={at} />)
  </>
);

const tellTimes = ({ cron, time_zone, every_ms }: ScheduleView): string =>
  cron === null ? `every ${tellEvery(every_ms ?? 0)}` : `${cron} (${time_zone})`;

function ScheduleOrders({ schedule: { name, state }, reload }: ScheduleProps) {
  const problem = useSignal<Problem | null>(null);
  const begun = useSignal<ScheduleTriggered | null>(null);
  const isBusy = useSignal(false);
  const give = async <T,>(word: string, done: (answer: T) => void): Promise<void> => {
    isBusy.value = true;
    const body = { name };
    const answer = await ask<T>(`${kernel}/schedules/${word}`, { method: "POST", body, key: makeKey() });
    isBusy.value = false;
    problem.value = answer.ok ? null : answer.problem;
    if (answer.ok) done(answer.value);
    await reload();
  };
  const isPaused = state === "paused";
  return (
    <>
      <p class="row">
        <button
          type="button"
          disabled={isBusy.value}
          onClick={() =>
            void give(isPaused ? "resume" : "pause", () =>
              announce(isPaused ? `${name} goes on` : `${name} is paused: nothing begins until it is resumed`),
            )
          }
        >
          {isPaused ? "Resume" : "Pause"}
        </button>
        <button
          type="button"
          disabled={isBusy.value}
          onClick={() =>
            void give<ScheduleTriggered>("trigger", (triggered) => {
              begun.value = triggered;
              announce(triggeredWords[triggered.status]);
            })
          }
        >
          Begin now
        </button>
      </p>
      {problem.value !== null && <ProblemNote problem={problem.value} />}
      {begun.value !== null && <Triggered triggered={begun.value} />}
    </>
  );
}

const triggeredWords = {
  fired: "The work has begun",
  waiting: "The work waits for its turn: an earlier run has not ended",
  refused: "The work was refused",
} as const;

const Triggered = ({ triggered: { status, workflow_id, refusal } }: { readonly triggered: ScheduleTriggered }) => (
  <p class={`note ${status === "refused" ? "bad" : "good"}`}>
    {triggeredWords[status]}
    {workflow_id !== null && (
      <>
        : <a href={runHref(workflow_id)}>{workflow_id}</a>
      </>
    )}
    {refusal !== null && (
      <>
        : <Line text={refusal.message} />
      </>
    )}
  </p>
);
