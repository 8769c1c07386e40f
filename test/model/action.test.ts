/**
 * The record of an idempotency key, each declared transition taken by the key of one step's call in a real kernel on a
 * real file. Where nobody awake holds it, the fold of the ledger says where it is; callers read its status.
 */
import { describe, expect, it } from "vitest";
import { actionMachine, foldEvents } from "../../machines/index.ts";
import type { LedgerEvent } from "../../src/index.ts";
import { createCoverage, type Driver, titleOf, walkPath } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf, nameOf } from "./paths.ts";
import { step } from "./scripted.ts";
import { Subject } from "./subject.ts";

const model = createModel(actionMachine);
const coverage = createCoverage();
const timeout = 10_000;
const backoff = 2_000;

/** What callers read of it in each state. */
const statusIn: Readonly<Record<string, string>> = {
  running: "running",
  failed_retryable: "failed",
  failed_final: "failed",
  in_doubt: "in_doubt",
  succeeded: "succeeded",
};

/**
 * No walk comes by here: what is to be repeated is started again in the turn that allows it, or after a wait in which
 * the key is running still if its call may end late. The chart has it for ledgers in which that was not so. These walks
 * make no second plan, which makes a call again that failed for good (test/effects/replanned-keys.test.ts).
 */
const notTaken = ["failed_retryable + ACTION_SUCCEEDED", "failed_final + ACTION_STARTED"];
const untaken = ["ACTION_STARTED ACTION_FAILED ACTION_SUCCEEDED", "ACTION_STARTED ACTION_FAILED(final) ACTION_STARTED"];
const isTaken = (path: ChartPath): boolean => !untaken.includes(namesOf(eventsOf(path)));

const namesOf = (route: readonly ChartEvent[]): string => route.map(nameOf).join(" ");

/** A call that only reads ends with its attempt; one that sends may end later, or never. */
function operatorFor(route: readonly ChartEvent[]): string {
  const names = namesOf(route);
  // Nobody repeats it by itself: once its time is over it is in doubt, and goes on beside that.
  if (/IN_DOUBT.*ACTION_SUCCEEDED/.test(names)) return "Model.Post";
  return /IN_DOUBT|pending/.test(names) ? "Model.Send" : "Model.Read";
}

async function open(path: ChartPath): Promise<Subject> {
  const subject = await Subject.open({ limits: { maxReplans: 0 } });
  const operator = operatorFor(eventsOf(path));
  subject.script.plan([step("first", "Model.Read"), step("subject", operator, { depends_on: ["first"] })]);
  await subject.submit();
  return subject;
}

async function answer({ script, t }: Subject, stepId: string, how: Parameters<typeof script.answer>[1]): Promise<void> {
  script.answer(stepId, how);
  await t.clock.settle();
}

const settle = (decision: "approve" | "reject", resolution?: "done" | "retry") => (subject: Subject) =>
  subject.decide(decision, undefined, resolution === undefined ? {} : { resolution });

/** What brings each event about, by the state in which it is wanted. */
const acts: Readonly<Record<string, (subject: Subject, state: string, operator: string) => Promise<void>>> = {
  async ACTION_STARTED(subject, state) {
    if (state === "unseen") return answer(subject, "first", "succeed");
    return state === "running" ? subject.crash() : subject.t.clock.advance(backoff);
  },
  ACTION_SUCCEEDED: (subject) => answer(subject, "subject", "succeed"),
  ACTION_FAILED: (subject) => answer(subject, "subject", "flake"),
  "ACTION_FAILED(final)": (subject) => answer(subject, "subject", "fail"),
  "ACTION_FAILED(pending)": (subject) => subject.t.clock.advance(timeout),
  ACTION_IN_DOUBT: (subject, _state, operator) =>
    operator === "Model.Post" ? subject.t.clock.advance(timeout) : subject.crash(),
  "ACTION_SETTLED(done)": settle("approve", "done"),
  "ACTION_SETTLED(retry)": settle("approve", "retry"),
  "ACTION_SETTLED(failed)": settle("reject"),
  WORKFLOW_RESTARTED: (subject) => subject.retry(),
};

/** Of the events, those of the subject's key: its own, and the restart of its workflow. */
function project(events: readonly LedgerEvent[]): readonly ChartEvent[] {
  const own = events.filter((e) => e.step_id === "subject" || e.event_type === "WORKFLOW_RESTARTED");
  const said = own.flatMap(({ event_type, payload }) => model.wordFor(event_type, payload) ?? []);
  // What follows a success is its answer, given again from the record.
  const done = said.findIndex((event) => /ACTION_SUCCEEDED|done/.test(nameOf(event)));
  return done < 0 ? said : said.slice(0, done + 1);
}

async function viewOf(subject: Subject): Promise<string> {
  const events = await subject.events();
  const entry = [...(foldEvents(events)?.actions.values() ?? [])].find(({ record }) => record.step_id === "subject");
  const told = (await subject.t.kernel.actions(subject.id)).filter((one) => one.step_id === "subject");
  const starts = project(events).filter(({ type }) => type === "ACTION_STARTED");
  // A call that is made again is told as it was until it has ended.
  if (starts.length < 2) expect(told.map(({ status }) => status)).toEqual(entry ? [statusIn[entry.seen]] : []);
  return entry?.seen ?? "unseen";
}

const createDriver = (path: ChartPath, subject: Subject): Driver => ({
  subject,
  project,
  view: () => viewOf(subject),
  live: () => null,
  bring: async (event) => acts[nameOf(event)]?.(subject, await viewOf(subject), operatorFor(eventsOf(path))),
});

describe("[CARD-10] each path through the record of a key, on the real kernel", () => {
  it.each(model.paths.filter(isTaken).map((path) => [titleOf(path), path] as const))("%s", async (_title, path) => {
    await using subject = await open(path);
    await walkPath(model, path, createDriver(path, subject), coverage);
  });
});

describe("what these walks have covered", () => {
  it("[CARD-10] every transition that the record of a key declares was taken by the kernel, but for two", () => {
    expect(model.pairs.filter((pair) => !coverage.pairs.has(pair))).toEqual(notTaken);
  });

  it("[CARD-10] every state was rested in and read back", () => {
    expect(model.states.filter((state) => !coverage.states.has(state))).toEqual([]);
  });
});
