/** What a state does not accept leaves it as it is: nothing is appended, whoever asks, and however late it comes. */
import { describe, expect, it } from "vitest";
import { createCommandSignal, KernelErrorException, type WorkflowState } from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";
import { step } from "./scripted.ts";
import { Subject } from "./subject.ts";

const ref = { tier: 4, module: "ooda_loop", function: "act" } as const;
const hour = 3_600_000;
type State = WorkflowState["state"];

const plan = (subject: Subject): void =>
  subject.script.plan([step("work", "Model.Write"), step("asked", "Model.Read", { depends_on: ["work"], gate: {} })]);

async function work(subject: Subject, how: "succeed" | "fail"): Promise<void> {
  subject.script.answer("work", how);
  await subject.t.clock.settle();
}

const running = async (subject: Subject): Promise<void> => {
  plan(subject);
  await subject.submit();
};
const waiting = async (subject: Subject): Promise<void> => {
  await running(subject);
  await work(subject, "succeed");
};

/** The way into each state. */
const ways: Readonly<Record<State, (subject: Subject) => Promise<void>>> = {
  accepted: (subject) => subject.submit(),
  async planned(subject) {
    await subject.submit();
    await sleep(subject);
    plan(subject);
    await subject.t.clock.settle();
  },
  running,
  waiting_for_user: waiting,
  async waiting(subject) {
    subject.script.plan([
      step("work", "Model.Write"),
      { step_id: "rest", name: "rest", kind: "sleep", params: { ms: hour }, depends_on: ["work"] },
    ]);
    await subject.submit();
    await work(subject, "succeed");
  },
  async completed(subject) {
    await waiting(subject);
    subject.script.queue("asked", "succeed");
    await subject.decide("approve");
  },
  async failed(subject) {
    await running(subject);
    await work(subject, "fail");
  },
  async cancelling(subject) {
    await running(subject);
    await subject.cancel();
  },
  async compensating(subject) {
    subject.script.plan([
      step("work", "Model.Write", { undo: { operator: "Model.Write", params: {} } }),
      step("more", "Model.Write", { depends_on: ["work"] }),
    ]);
    await subject.submit();
    await work(subject, "succeed");
    subject.script.answer("more", "fail");
    await subject.t.clock.settle();
  },
  async cancelled(subject) {
    await running(subject);
    await subject.cancel();
    await work(subject, "succeed");
  },
};

const sleep = async ({ t, id }: Subject): Promise<void> => {
  await t.kernel.ask(4, createCommandSignal("sleep", ref, ref, id, { workflow_id: id }));
};

type Wish = (subject: Subject) => Promise<unknown>;
const decide =
  (decision: "approve" | "reject", payload?: object): Wish =>
  ({ t, id }) =>
    t[decision](id, "gate-asked", payload);
const retry =
  (mode: "resume_failed_steps" | "regenerate"): Wish =>
  ({ t, id }) =>
    t.kernel.retry(id, { ...testCaller, mode, step_ids: ["work"] });

const wishes = {
  approve: decide("approve"),
  reject: decide("reject"),
  edit: decide("approve", { edit: { of: "an editor" } }),
  cancel: ({ t, id }: Subject) => t.kernel.cancel(id, testCaller),
  rollback: ({ t, id }: Subject) => t.kernel.rollback(id, testCaller),
  pause: ({ t, id }: Subject) => t.kernel.pause(id, testCaller),
  unpause: ({ t, id }: Subject) => t.kernel.resume(id, testCaller),
  resume: retry("resume_failed_steps"),
  regenerate: retry("regenerate"),
} as const satisfies Readonly<Record<string, Wish>>;

/** What each state lets a person do. Regenerating what has ended begins another workflow and leaves this one alone. */
const legal: Readonly<Record<State, readonly (keyof typeof wishes)[]>> = {
  accepted: ["cancel", "pause"],
  planned: ["cancel", "pause"],
  running: ["cancel", "pause"],
  waiting_for_user: ["approve", "reject", "edit", "cancel", "pause", "regenerate"],
  waiting: ["cancel", "pause", "regenerate"],
  completed: [],
  failed: ["resume", "regenerate"],
  cancelling: [],
  compensating: ["pause"],
  cancelled: [],
};
const answeredAgain: readonly string[] = [
  ...["accepted", "planned", "running", "waiting_for_user", "waiting", "compensating"].map(
    (state) => `${state} unpause`,
  ),
  "compensating rollback",
  "completed approve",
  "completed regenerate",
  "cancelling cancel",
  "cancelled cancel",
  "cancelled regenerate",
];

const cases = Object.keys(ways).flatMap((state) =>
  Object.keys(wishes).map((wish) => [state as State, wish as keyof typeof wishes] as const),
);

async function outcomeOf(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return "granted";
  } catch (thrown) {
    if (thrown instanceof KernelErrorException) return thrown.error.code;
    throw thrown;
  }
}

describe("what a person may ask of a workflow", () => {
  it.each(cases)("[EXE-01] %s and %s: it moves as declared, or stays and appends nothing", async (state, wish) => {
    await using subject = await Subject.open({ limits: { maxReplans: 0 } });
    await ways[state](subject);
    const before = await subject.view();
    expect(before.state).toBe(state);
    const answer = await outcomeOf(wishes[wish](subject));
    await subject.t.clock.settle();
    const after = await subject.view();
    if (legal[state].includes(wish)) {
      expect(answer).toBe("granted");
      expect(after.sequence).toBeGreaterThan(before.sequence);
      return;
    }
    if (answeredAgain.includes(`${state} ${wish}`)) expect(answer).toBe("granted");
    else expect(answer).toMatch(/^(T4_WORKFLOW_CONFLICT|T5_GATE_(CONFLICT|NOT_FOUND))$/);
    expect(after).toEqual(before);
  });
});

describe("what comes late", () => {
  it.each(["succeed", "fail", "throw"] as const)(
    "[EXE-02] a call that ends (%s) after its workflow was cancelled changes no final step",
    async (how) => {
      await using subject = await Subject.open();
      await ways.cancelled(subject);
      const before = [await subject.view(), await subject.events()];
      subject.script.answer("work", how);
      await subject.t.clock.advance(hour);
      expect([await subject.view(), await subject.events()]).toEqual(before);
    },
  );

  it.each(["approve", "reject"] as const)(
    "[EXE-02] a decision (%s) about a step that was skipped is refused",
    async (decision) => {
      await using subject = await Subject.open();
      await waiting(subject);
      await subject.cancel();
      const before = await subject.view();
      await expect(subject.t[decision](subject.id, "gate-asked")).rejects.toMatchObject({
        error: { code: "T5_GATE_CONFLICT" },
      });
      expect(await subject.view()).toEqual(before);
    },
  );

  it("[INV-15] a success that comes while its call is in doubt answers the retry: the call is made once", async () => {
    await using subject = await Subject.open();
    subject.script.plan([step("post", "Model.Post")]);
    await subject.submit();
    await subject.t.clock.advance(10_000);
    expect((await subject.view()).steps[0]).toMatchObject({ state: "running", phase: "in_doubt" });
    subject.script.answer("post", "succeed");
    await subject.t.clock.settle();
    expect((await subject.view()).steps[0]).toMatchObject({ state: "running", phase: "in_doubt" });
    await subject.decide("approve", undefined, { resolution: "retry" });
    expect(await subject.t.kernel.actions(subject.id)).toMatchObject([
      { status: "succeeded", result_payload: { done: true } },
    ]);
    expect(await subject.view()).toMatchObject({ state: "completed", steps: [{ state: "succeeded" }] });
    expect(subject.script.calls).toHaveLength(1);
  });

  it("a failure after its call's time leaves it in doubt: a person is asked, it is not repeated (B-01)", async () => {
    await using subject = await Subject.open();
    subject.script.plan([step("send", "Model.Send")]);
    await subject.submit();
    await subject.t.clock.advance(10_000);
    expect((await subject.view()).steps[0]).toMatchObject({ phase: "backing_off" });
    subject.script.answer("send", "flake");
    subject.script.queue("send", "succeed");
    await subject.t.clock.advance(hour);
    expect(await subject.view()).toMatchObject({ state: "waiting_for_user", steps: [{ phase: "in_doubt" }] });
    expect(subject.script.calls.map((c) => c.attempt)).toEqual([1]);
  });
});

describe("a restart", () => {
  it("[EXE-02] begins run 2 of failed and never-run steps as new actors; succeeded steps keep their run", async () => {
    const born: string[] = [];
    await using subject = await Subject.open({
      limits: { maxReplans: 0 },
      inspect: (event) => {
        if (event.type === "@xstate.actor" && "id" in event.actorRef) born.push(String(event.actorRef.id));
      },
    });
    subject.script.plan([
      step("done", "Model.Read"),
      step("broken", "Model.Read", { depends_on: ["done"] }),
      step("never", "Model.Read", { depends_on: ["broken"] }),
    ]);
    for (const [id, how] of [
      ["done", "succeed"],
      ["broken", "fail"],
      ["broken", "succeed"],
      ["never", "succeed"],
    ] as const)
      subject.script.queue(id, how);
    await subject.submit();
    const { steps } = await subject.view();
    expect(steps.map((s) => [s.step_id, s.state, s.run])).toEqual([
      ["done", "succeeded", 1],
      ["broken", "failed", 1],
      ["never", "skipped", 1],
    ]);
    born.length = 0;
    await subject.retry();
    expect((await subject.view()).steps.map((s) => [s.step_id, s.state, s.run])).toEqual([
      ["done", "succeeded", 1],
      ["broken", "succeeded", 2],
      ["never", "succeeded", 2],
    ]);
    expect(born).toEqual(expect.arrayContaining(["broken", "never"]));
    expect(subject.script.calls.map((c) => c.step_id)).toEqual(["done", "broken", "broken", "never"]);
  });
});

describe("a gate that falls due while another branch is running", () => {
  it.each([
    ["deny", "expired"],
    ["allow", "approved"],
    ["suspend", "suspended"],
  ] as const)("expires (%s) at its time, not when the branch has ended", async (action, status) => {
    await using subject = await Subject.open();
    subject.script.plan([
      step("work", "Model.Slow"),
      step("asked", "Model.Read", { gate: { expiry: { after_ms: hour, action } } }),
    ]);
    await subject.submit();
    expect(await subject.view()).toMatchObject({ state: "running", gates: [{ status: "open" }] });
    await subject.t.clock.advance(hour);
    expect(subject.script.isCalling("work")).toBe(true);
    expect((await subject.view()).gates).toMatchObject([{ status }]);
  });
});

describe("a workflow that waits for the truth about a lost call", () => {
  it("is planned again, while rounds are left, when a person says that the call has failed", async () => {
    await using subject = await Subject.open();
    subject.script.plan([step("send", "Model.Send")]);
    await subject.submit();
    await subject.crash();
    expect(await subject.view()).toMatchObject({ state: "waiting_for_user", steps: [{ phase: "in_doubt" }] });
    subject.script.plan([step("other", "Model.Read")]);
    subject.script.queue("other", "succeed");
    await subject.decide("reject");
    expect(await subject.view()).toMatchObject({ state: "completed", error: null });
    expect((await subject.t.types(subject.id)).filter((type) => type === "PLAN_CREATED")).toHaveLength(2);
  });
});
