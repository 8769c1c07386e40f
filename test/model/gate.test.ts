/**
 * The gate lifecycle, each declared transition taken by a real kernel on a real file: `first` runs, then `asked` waits
 * for a person at gate-asked. Where the workflow fails around the gate, `costly` spends the budget that `late` would
 * need.
 */
import { describe, expect, it } from "vitest";
import { gateMachine } from "../../machines/index.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import { definePolicy, digest, type LedgerEvent } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { createCoverage, type Driver, titleOf, walkPath } from "./driver.ts";
import { type ChartEvent, type ChartPath, createModel, eventsOf } from "./paths.ts";
import { step } from "./scripted.ts";
import { Subject } from "./subject.ts";

const model = createModel(gateMachine);
const coverage = createCoverage();
const hour = 3_600_000;
const gateId = "gate-asked";

type Expiry = { readonly after_ms: number; readonly action: "deny" | "allow" | "suspend" | "escalate" };

/** What the gate does at its time, by what the path wants of it. */
function expiryFor(route: readonly ChartEvent[]): Expiry | undefined {
  const wanted = route.find(({ type }) => /EXPIRED|ESCALATED|SUSPENDED/.test(type));
  if (wanted === undefined) return undefined;
  const actions: Readonly<Record<string, Expiry["action"]>> = { GATE_ESCALATED: "escalate", GATE_SUSPENDED: "suspend" };
  return { after_ms: hour, action: actions[wanted.type] ?? wanted.action ?? "deny" };
}

function planFor(route: readonly ChartEvent[]): readonly PlanStepDraft[] {
  const expiry = expiryFor(route);
  const votes = route.some(({ type }) => /VOTE/.test(type)) ? { quorum: { approvals: 2 } } : {};
  const one = { quorum: { approvals: 1 } };
  const stages = route.some(({ type }) => type === "GATE_STAGE_FILLED") ? { stages: [one, one] } : {};
  const remind = route.some(({ type }) => type === "GATE_REMINDED") ? { remind: { every: 2 * hour } } : {};
  const gate = { ...votes, ...stages, ...remind, ...(expiry === undefined ? {} : { expiry }) };
  const first = [step("first", "Model.Read"), step("asked", "Model.Read", { depends_on: ["first"], gate })];
  const busy = route.some(({ cause }) => cause === "basis")
    ? [step("busy", "Model.Slow", { depends_on: ["first"] })]
    : [];
  return [...first, ...busy];
}

async function open(path: ChartPath): Promise<Subject> {
  const route = eventsOf(path);
  const moves = route.some(({ cause }) => cause === "basis");
  const limits = { maxReplans: 0, ...(moves && { maxConcurrentSteps: 1 }) };
  const subject = await Subject.open({ limits, budgets: { maxCost: 5 } });
  subject.script.stands = moves ? "one" : null;
  subject.script.plan(planFor(route));
  await subject.submit();
  return subject;
}

/**
 * The gate as a caller finds it. One that never opened has no record: while its workflow goes on a decision ahead of it
 * is kept, and once the workflow has ended such a decision is refused, which is what voided means.
 */
async function viewOf(subject: Subject): Promise<string> {
  const { gates, state, plan } = await subject.view();
  const found = gates.find((g) => g.gate_id === gateId);
  if (found !== undefined) return found.status;
  expect(plan?.gates).toContain(gateId);
  if (state !== "failed" && state !== "cancelled") return "declared";
  const ahead = {
    ...testCaller,
    gate_id: gateId,
    decision: "approve",
    payload: { payload_digest: "of what?" },
  } as const;
  await expect(subject.t.kernel.decideGate(subject.id, ahead)).rejects.toMatchObject({
    error: { code: "T5_GATE_CONFLICT" },
  });
  return "voided";
}

const answer = async ({ script, t }: Subject, stepId: string, how: "succeed" | "fail"): Promise<void> => {
  script.answer(stepId, how);
  await t.clock.settle();
};
const waitAnHour = (subject: Subject): Promise<void> => subject.t.clock.advance(hour);

const denyAll = definePolicy({
  name: "deny all",
  stages: ["action"],
  evaluate: () => ({ decision: "DENY", reason: "the policy is another" }),
});

/** An approved call waits for its place until `busy` ends; one that is asked about is voted on. */
async function moveBasis(subject: Subject, state: string): Promise<void> {
  subject.script.stands = "another";
  if (state === "approved") return answer(subject, "busy", "succeed");
  await expect(subject.decide("approve", gateId)).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
}

const note = async ({ kernel }: Subject["t"], id: string, noted: object): Promise<void> => {
  await kernel.noteGate(id, { ...testCaller, gate_id: gateId, ...noted });
};

type Act = (subject: Subject, state: string) => Promise<void>;

/** What brings each event about, by the state in which it is wanted. */
const acts: Readonly<Record<string, Act>> = {
  GATE_DECISION_KEPT: (subject) => subject.decide("approve", gateId, { payload_digest: digest({ of: "asked" }) }),
  GATE_OPENED: (subject) => answer(subject, "first", "succeed"),
  GATE_REVISED: (subject) => subject.decide("approve", gateId, { edit: { of: "an editor" } }),
  GATE_ESCALATED: waitAnHour,
  GATE_SUSPENDED: waitAnHour,
  GATE_EXPIRED: waitAnHour,
  GATE_REMINDED: (subject) => subject.t.clock.advance(2 * hour),
  GATE_STAGE_FILLED: (subject) => subject.decide("approve", gateId),
  GATE_VOTED: (subject) => subject.decide("approve", gateId),
  async GATE_VOTE_WITHDRAWN(subject) {
    await subject.decide("approve", gateId);
    await subject.t.kernel.withdrawVote(subject.id, { ...testCaller, gate_id: gateId });
  },
  async GATE_DELEGATED({ t, id }) {
    const lent = { to: { type: "user", id: 2 }, expires_at: new Date(t.clock.now() + 24 * hour).toISOString() };
    await t.kernel.delegateGate(id, { ...testCaller, gate_id: gateId, ...lent });
  },
  GATE_COMMENTED: ({ t, id }) => note(t, id, { comment: { text: "is this right?" } }),
  GATE_ASSIGNED: ({ t, id }) => note(t, id, { assign: { id: 2 } }),
  GATE_SNOOZED: ({ t, id }) => note(t, id, { snooze: new Date(t.clock.now() + hour).toISOString() }),
  GATE_WATCHED: ({ t, id }) => note(t, id, { watch: true }),
  /** Another process, with a policy that denies what the gate shows, finds that out with the next decision. */
  async STEP_FAILED(subject) {
    await subject.crash({ policyVersion: "2", policies: [denyAll] });
    await expect(subject.decide("approve", gateId)).rejects.toMatchObject({ error: { code: "T5_GATE_CONFLICT" } });
  },
  USER_APPROVED: (subject) => subject.decide("approve", gateId),
  USER_REJECTED: (subject) => subject.decide("reject", gateId),
  STEP_SKIPPED: (subject) => subject.cancel(),
  WORKFLOW_CANCELLED: (subject) => subject.cancel(),
  WORKFLOW_FAILED: (subject) => answer(subject, "first", "fail"),
};

const isEnd = (type: string): boolean => /^(WORKFLOW_(CANCELLED|FAILED)|STEP_(FAILED|SKIPPED))$/.test(type);
const isDecision = (type: string): boolean =>
  /^(USER_APPROVED|USER_REJECTED|GATE_EXPIRED|STEP_(FAILED|SKIPPED))$/.test(type);

function isOfGate({ payload }: LedgerEvent): boolean {
  const { gate_id, gate } = payload as { gate_id?: string; gate?: { gate_id: string } };
  return (gate_id ?? gate?.gate_id) === gateId;
}

/**
 * What was said to the gate. The end of a workflow, and of its step, is said to a gate that is still undecided, and its
 * skip to one that is open.
 */
function project(all: readonly LedgerEvent[]): readonly ChartEvent[] {
  const opened = all.findIndex((e) => e.event_type === "GATE_OPENED" && isOfGate(e));
  const isSkipped = (e: LedgerEvent, i: number): boolean => e.step_id === "asked" && opened >= 0 && i > opened;
  const events = all
    .filter((e, i) => e.event_type !== "STEP_SKIPPED" || isSkipped(e, i))
    .filter((e) => e.event_type !== "STEP_FAILED" || e.step_id === "asked");
  const said = events.filter((e) => isEnd(e.event_type) || (/^(GATE|USER)_/.test(e.event_type) && isOfGate(e)));
  const decided = said.findIndex((e) => isDecision(e.event_type));
  return said
    .filter((e, i) => decided < 0 || i <= decided || !isEnd(e.event_type))
    .map(({ event_type, payload }) => model.wordFor(event_type, payload) ?? { type: event_type });
}

const createDriver = (subject: Subject): Driver => ({
  subject,
  project,
  view: () => viewOf(subject),
  live: () => (subject.t.kernel.lifecycles(subject.id)?.gates[gateId] as string | undefined) ?? null,
  bring: async (event) => {
    const act = event.cause === "basis" ? moveBasis : acts[event.type];
    await act?.(subject, await viewOf(subject));
  },
});

describe("[CARD-10] each path through the gate lifecycle, on the real kernel", () => {
  it.each(model.paths.map((path) => [titleOf(path), path] as const))("%s", async (_title, path) => {
    await using subject = await open(path);
    await walkPath(model, path, createDriver(subject), coverage);
  });
});

describe("what these walks have covered", () => {
  it("[CARD-10] every transition that the gate lifecycle declares was taken by the kernel", () => {
    expect(model.pairs.filter((pair) => !coverage.pairs.has(pair))).toEqual([]);
  });

  it("[CARD-10] every state was rested in and read back", () => {
    expect(model.states.filter((state) => !coverage.states.has(state))).toEqual([]);
  });
});
