/**
 * The walk of the step lifecycle: the paths through its chart, and what brings each event about, in a plan of two
 * steps: `first` and then `subject`, which is the step that is watched.
 */
import { expect } from "vitest";
import { stepMachine } from "../../machines/index.ts";
import type { AnyStepDraft, LedgerEvent } from "../../src/index.ts";
import type { Driver } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf, nameOf } from "./paths.ts";
import type { Script } from "./scripted.ts";
import { step } from "./scripted.ts";
import type { ParkedKind, Walked } from "./subject.ts";

const way = (...types: readonly string[]): readonly ChartEvent[] => types.map((type) => ({ type }));

/** A gate is opened again only if it was approved before; a call whose process lives ends late only after its time. */
const ways = {
  "running.judging + GATE_REVISED(basis)": way("STEP_STARTED", "GATE_OPENED", "USER_APPROVED"),
  "running.in_doubt + ACTION_SUCCEEDED": way("STEP_STARTED", "ACTION_STARTED", "ACTION_FAILED", "ACTION_IN_DOUBT"),
  // What is in doubt is skipped once its end is known.
  "running.in_doubt + STEP_SKIPPED": [
    ...way("STEP_STARTED", "ACTION_STARTED", "ACTION_FAILED", "ACTION_IN_DOUBT"),
    ...way("ACTION_SUCCEEDED"),
  ],
};
const rare = [
  "running.judging + ACTION_IN_DOUBT",
  // A fork alone takes results over.
  "queued + STEP_TAKEN_OVER",
  // An answered question is through in the same turn; other ways to `finishing` are those of a call.
  "running.awaiting_approval + USER_APPROVED(answer)",
  "running.awaiting_approval + GATE_EXPIRED(allow, answer)",
];
export const model = createModel(stepMachine, { ways, rare });
const hour = 3_600_000;
const timeout = 10_000;

const stateIn = (subject: Walked) => async (): Promise<string> => {
  const found = (await subject.view()).steps.find((s) => s.step_id === "subject");
  return found?.phase == null ? (found?.state ?? "") : `${found.state}.${found.phase}`;
};

/** Whether these two come one after the other. */
const follows = (route: readonly ChartEvent[], first: string, second: RegExp): boolean =>
  route.some(({ type }, i) => type === first && second.test(nameOf(route[i + 1] ?? { type: "" })));

/** A call that may take effect can end late, or never; one that only reads ends with its attempt. */
function operatorFor(route: readonly ChartEvent[]): string {
  if (follows(route, "ACTION_RETRY_SCHEDULED", /recovered/)) return "Model.Put";
  if (follows(route, "ACTION_IN_DOUBT", /ACTION_SUCCEEDED/) || follows(route, "ACTION_FAILED", /ACTION_IN_DOUBT/))
    return "Model.Post";
  const late = ["ACTION_FAILED", "ACTION_RETRY_SCHEDULED"].some((type) =>
    follows(route, type, /ACTION_(SUCCEEDED|FAILED)/),
  );
  return late || route.some(({ type }) => type === "ACTION_IN_DOUBT") ? "Model.Send" : "Model.Read";
}
const parksAgain = (route: readonly ChartEvent[]): boolean =>
  route.filter(({ type }) => type === "STEP_PARKED").length > 1;
const isParked = (route: readonly ChartEvent[]): boolean => route.some(({ type }) => type === "STEP_PARKED");
/** A step that asks is answered by a person, or has an answer for itself. */
const isAsked = (route: readonly ChartEvent[]): boolean => route.some(({ answer = null }) => answer !== null);
const answerOf = { ok: true };

function askStep(route: readonly ChartEvent[]): AnyStepDraft {
  const form = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] } as const;
  const isLate = route.some(({ type }) => type === "GATE_EXPIRED");
  const late = isLate ? { gate: { expiry: { after_ms: hour, action: "allow" } } as const } : {};
  const params = { question: "ok?", form, ...(isLate && { otherwise: answerOf }) };
  return { step_id: "subject", name: "subject", kind: "ask", params, depends_on: ["first"], ...late };
}

const gateIn = (route: readonly ChartEvent[]) => {
  const awaits = route.some(({ type }, i) => type === "GATE_OPENED" && route[i - 1]?.type === "STEP_STARTED");
  const action = route.find(({ type }) => type === "GATE_EXPIRED")?.action;
  if (!awaits) return {};
  return { gate: action === undefined ? {} : { expiry: { after_ms: hour, action } } };
};

/** Whether a call that is approved finds another basis: it waits for its place until `busy` ends. */
export const movesBasis = (path: ChartPath): boolean => eventsOf(path).some(({ cause }) => cause === "basis");

/** Prepares the script for the plan of a path, whose `subject` parks as a step of this kind. */
export function prepare(script: Script, path: ChartPath, parks: ParkedKind = "sleep"): void {
  const route = eventsOf(path);
  const moves = movesBasis(path);
  script.stands = moves ? "one" : null;
  script.holds = heldIn(route);
  script.denies = deniedIn(route);
  const gated = { ...gateIn(route), ...(script.denies === "outcome" && { outcome: "Model.Outcome" }) };
  script.plan([
    step("first", "Model.Read"),
    isAsked(route)
      ? askStep(route)
      : isParked(route)
        ? { ...parkedStep(parksAgain(route) ? "repeat" : parks), depends_on: ["first"] }
        : step("subject", operatorFor(route), { depends_on: ["first"], ...gated }),
    ...(moves ? [step("busy", "Model.Slow", { depends_on: ["first"] })] : []),
  ]);
}

/** A step that parks: for a time, for an event, for its items, or between two rounds. */
function parkedStep(kind: ParkedKind | "repeat"): AnyStepDraft {
  const shared = { step_id: "subject", name: "subject" } as const;
  const call = { operator: "Model.Read" } as const;
  switch (kind) {
    case "repeat":
      return { ...shared, kind, do: call, until: { value: 1, equals: 2 }, max: 2, every_ms: hour };
    case "each":
      return { ...shared, kind, params: { items: ["one"] }, do: call };
    case "wait":
      return { ...shared, kind, params: { event: "model.over", key: "subject" } };
    default:
      return { ...shared, kind, params: { ms: hour } };
  }
}

/** A step is found judging, finishing or settling where something about its call takes time. */
function heldIn(route: readonly ChartEvent[]): Walked["script"]["holds"] {
  if (follows(route, "STEP_STARTED", /STEP_SKIPPED/)) return "before";
  if (follows(route, "ACTION_SUCCEEDED", /STEP_SKIPPED/)) return "after";
  return follows(route, "ACTION_FAILED", /STEP_SKIPPED|ACTION_(SUCCEEDED|FAILED)/) ? "onError" : null;
}

function deniedIn(route: readonly ChartEvent[]): Walked["script"]["denies"] {
  if (follows(route, "ACTION_SUCCEEDED", /STEP_FAILED/)) return "outcome";
  return follows(route, "STEP_STARTED", /STEP_FAILED/) ? "action" : null;
}

/** Ends a waiting call, or the one that is about to be made, and lets follow what needs no time. */
async function answer({ script, t }: Walked, stepId: string, how: Parameters<typeof script.answer>[1]): Promise<void> {
  script.answer(stepId, how);
  await t.clock.settle();
}

export function createDriver(path: ChartPath, subject: Walked): Driver {
  const route = eventsOf(path);
  const view = stateIn(subject);
  return {
    subject,
    view,
    project: (events) =>
      newestRun(events)
        .filter((e) => e.step_id === "subject")
        .flatMap(({ event_type, payload }) => model.wordFor(event_type, payload) ?? []),
    live: () => (subject.t.kernel.lifecycles(subject.id)?.steps["subject"] as string | undefined) ?? null,
    bring: async (event) => {
      const act = event.cause === "basis" ? moveBasis : event.recovered ? lose : acts[event.type];
      await act?.(subject, await view(), route);
    },
  };
}

/** A restarted step is a new actor. */
const newestRun = (events: readonly LedgerEvent[]): readonly LedgerEvent[] =>
  events.slice(events.findLastIndex((e) => e.event_type === "WORKFLOW_RESTARTED") + 1);

/** An approved call waits for its place until `busy` ends; one that is asked about is voted on. */
async function moveBasis(subject: Walked, state: string): Promise<void> {
  subject.script.stands = "another";
  if (state === "running.judging") return answer(subject, "busy", "succeed");
  const voted = subject.decide("approve", "gate-subject");
  await expect(voted).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
}

type Act = (subject: Walked, state: string, route: readonly ChartEvent[]) => Promise<void>;

/** What brings each event about, by the state in which it is wanted. */
const acts: Readonly<Record<string, Act>> = {
  STEP_STARTED: (subject) => answer(subject, "first", "succeed"),
  async STEP_TAKEN_OVER(subject) {
    await answer(subject, "first", "succeed");
    await answer(subject, "subject", "succeed");
    await subject.fork();
  },
  STEP_SUCCEEDED: (subject) => answer(subject, "subject", "succeed"),
  async STEP_FAILED(subject, state) {
    if (state === "running.awaiting_approval") return subject.decide("reject", "gate-subject");
    if (state === "running.backing_off") return subject.crash({ capabilities: [] });
    if (state === "running.calling") await subject.crash(spent);
  },
  async STEP_SKIPPED(subject, state) {
    if (state === "queued") return answer(subject, "first", "fail");
    return subject.cancel();
  },
  async ACTION_STARTED(subject, state) {
    if (state === "running.backing_off") await subject.t.clock.advance(2_000);
  },
  ACTION_SUCCEEDED: (subject) => answer(subject, "subject", "succeed"),
  ACTION_FAILED(subject, state, route) {
    if (state === "running.calling" && operatorFor(route) !== "Model.Read") return subject.t.clock.advance(timeout);
    return answer(subject, "subject", follows(route, "ACTION_FAILED", /ACTION_RETRY/) ? "flake" : "fail");
  },
  async ACTION_RETRY_SCHEDULED() {},
  async STEP_PARKED(subject, state) {
    if (state === "running.parked") await answer(subject, "subject:1", "succeed");
  },
  STEP_RESUMED(subject, _state, route) {
    if (parksAgain(route) || subject.parks === "sleep") return subject.t.clock.advance(hour);
    return subject.parks === "wait" ? subject.emit("model.over", "subject") : answer(subject, "subject:0", "succeed");
  },
  async ACTION_IN_DOUBT(subject, state, route) {
    if (follows(route, "ACTION_FAILED", /ACTION_IN_DOUBT/)) return;
    if (state === "running.calling" || state === "running.backing_off") await lose(subject, state, route);
  },
  ACTION_SETTLED: (subject, _state, route) => settle(subject, route),
  async GATE_OPENED() {},
  GATE_REVISED: (subject) => subject.decide("approve", "gate-subject", { edit: { of: "an editor" } }),
  GATE_EXPIRED: (subject) => subject.t.clock.advance(hour),
  USER_APPROVED: (subject, state, route) =>
    state === "running.in_doubt"
      ? settle(subject, route)
      : subject.decide("approve", undefined, isAsked(route) ? { answer: answerOf } : {}),
  USER_REJECTED: (subject) => subject.decide("reject"),
};

/** What a person says of a lost call; a path that ends without saying so wants it made again. */
async function settle(subject: Walked, route: readonly ChartEvent[]): Promise<void> {
  const { resolution = "retry" } = route.find(({ type }) => type === "ACTION_SETTLED") ?? {};
  if (resolution === "failed") return subject.decide("reject");
  await subject.decide("approve", undefined, { resolution, ...(resolution === "done" && { result: { done: true } }) });
}

/** A kernel that admits no further call of what only reads. */
const spent = { budgets: { capabilities: { "Model.Read": { max_invocations: 1, max_tokens: null } } } };

/**
 * The process ends while it calls. A step that begins finds a call lost where its workflow failed before anybody
 * looked.
 */
async function lose(subject: Walked, _state: string, route: readonly ChartEvent[]): Promise<void> {
  if (!follows(route, "STEP_STARTED", /recovered|ACTION_IN_DOUBT/)) return subject.crash();
  const initialize = (): never => {
    throw new Error("no database");
  };
  await subject.crash({ initialize });
  await subject.crash();
  await subject.retry();
}
