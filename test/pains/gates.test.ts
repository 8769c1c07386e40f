/** What users of other engines suffer from at gates, each as a law: pains 2, 3, 4, 5, 11, 16. */
import { describe, expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import type { GateResponse } from "../../src/contract/gate.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import { createCommandSignal } from "../../src/contract/signal.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import { createTestKernel, type TestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";

const gate = { reason: "a person looks" };
const coded = (code: string) => ({ error: { code } });

/** n steps side by side, each behind a gate of its own, each with its own payload. */
function sideBySide(n: number) {
  const world = createWorld();
  const inputs: Record<string, unknown> = {};
  const act = work(world, "Test.Act", {
    run: ({ input, context }) => {
      inputs[`${context.workflow_id} ${context.step_id}`] = input;
      return { ok: true };
    },
  });
  const steps = Array.from({ length: n }, (_, i) => step(`s${i + 1}`, "Test.Act", { gate, params: { item: i + 1 } }));
  return { world, inputs, capabilities: [job(steps, [act])] };
}

describe("pains at gates", () => {
  it("pain 2: two resumes race and downstream runs twice", async () => {
    const world = createWorld();
    const steps = [step("s1", "Test.Act", { gate }), step("s2", "Test.Act", { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [job(steps, [work(world, "Test.Act")])] });
    const { workflow_id: id } = await t.run("Test.Job");
    const answers = await Promise.all(Array.from({ length: 100 }, () => t.approve(id, "gate-s1")));
    expect(new Set(answers.map((a) => JSON.stringify(a))).size).toBe(1);
    await t.rest(id);
    expect(world.stepsCalled()).toEqual(["s1", "s2"]);
    expect((await t.types(id)).filter((type) => type === "USER_APPROVED")).toHaveLength(1);
    expect(await t.approve(id, "gate-s1")).toEqual(answers[0]);
  });

  it("pain 3: parallel approvals share an id and get mixed up", async () => {
    const { inputs, capabilities } = sideBySide(2);
    await using t = await createTestKernel({ capabilities });
    const [a, b] = [await t.run("Test.Job"), await t.run("Test.Job")].map((s) => s.workflow_id) as [string, string];
    const ids = (await t.kernel.gates()).map((g) => `${g.workflow_id} ${g.gate_id}`);
    expect(new Set(ids).size).toBe(4);
    await expect(t.approve(a)).rejects.toMatchObject(coded("T5_GATE_AMBIGUOUS"));
    await t.approve(a, "gate-s2");
    await t.clock.settle();
    expect(inputs).toEqual({ [`${a} s2`]: { item: 2 } });
    expect(await t.kernel.gates({ workflow_id: b })).toHaveLength(2);
    await t.approve(a);
    expect(await t.rest(a)).toMatchObject({ state: "completed" });
    expect(inputs).toEqual({ [`${a} s1`]: { item: 1 }, [`${a} s2`]: { item: 2 } });
  });

  it("pain 4: rejecting one call drops its approved siblings", async () => {
    const { world, capabilities } = sideBySide(4);
    await using t = await createTestKernel({ capabilities });
    const { workflow_id: id } = await t.run("Test.Job");
    await t.reject(id, "gate-s1");
    await t.approve(id, "gate-s2");
    await t.reject(id, "gate-s3");
    await t.approve(id, "gate-s4");
    const { steps } = await t.rest(id);
    expect(steps.map((s) => s.state)).toEqual(["failed", "succeeded", "failed", "succeeded"]);
    expect([...world.stepsCalled()].sort()).toEqual(["s2", "s4"]);
  });

  it("pain 4: approvals given before a sibling is rejected stand as well", async () => {
    const { world, capabilities } = sideBySide(2);
    await using t = await createTestKernel({ capabilities });
    const { workflow_id: id } = await t.run("Test.Job");
    await Promise.all([t.approve(id, "gate-s1"), t.reject(id, "gate-s2")]);
    const { steps } = await t.rest(id);
    expect(steps.map((s) => s.state)).toEqual(["succeeded", "failed"]);
    expect(world.stepsCalled()).toEqual(["s1"]);
  });

  it("pain 5: a second gate in one run hangs or the first asks again", async () => {
    const world = createWorld();
    const chain = [1, 2, 3, 4, 5].map((n) =>
      step(`s${n}`, "Test.Act", { gate, depends_on: n === 1 ? [] : [`s${n - 1}`] }),
    );
    await using t = await createTestKernel({ capabilities: [job(chain, [work(world, "Test.Act")])] });
    let state = await t.run("Test.Job");
    const asked: string[] = [];
    while (state.state === "waiting_for_user" && asked.length < 10) {
      const open = await t.kernel.gates();
      asked.push(...open.map((g) => g.gate_id));
      await t.approve(state.workflow_id);
      state = await t.rest(state.workflow_id);
    }
    expect(state.state).toBe("completed");
    expect(asked).toEqual(["gate-s1", "gate-s2", "gate-s3", "gate-s4", "gate-s5"]);
    expect(world.stepsCalled()).toEqual(["s1", "s2", "s3", "s4", "s5"]);
  });
});

describe("pain 11: a way in that skips the approval", () => {
  /** A step that streams, behind a gate; nothing of it may be heard before the approval. */
  async function openGated() {
    const world = createWorld();
    const say = work(world, "Test.Say", {
      run: ({ stream }) => {
        stream("hello");
        return { ok: true };
      },
    });
    const fails = work(world, "Test.Fail", { run: () => Promise.reject(new Error("no")) });
    const steps = [step("s1", "Test.Say", { gate }), step("s2", "Test.Fail")];
    const t = await createTestKernel({ capabilities: [job(steps, [say, fails])], limits: { maxReplans: 0 } });
    const { workflow_id: id } = await t.run("Test.Job");
    return { t, id, said: () => world.stepsCalled().filter((s) => s.startsWith("s1")) };
  }

  const waysIn: readonly (readonly [string, (t: TestKernel, id: string) => Promise<unknown>])[] = [
    ["waiting", (t) => t.clock.advance(86_400_000)],
    ["execute", (t, id) => t.kernel.execute(id)],
    ["the assistant stream", (t, id) => Array.fromAsync(t.kernel.assistant(id, { live: false }))],
    ["retry", (t, id) => retry(t, id, "resume_failed_steps")],
    ["regenerate", (t, id) => retry(t, id, "regenerate", ["s1"])],
    ["a signal to T4", (t, id) => command(t, id, "activate")],
    ["a retry signal to T4", (t, id) => command(t, id, "retry")],
  ];

  const who = { tenant_id: 1, principal: { type: "user", id: 1, role: "user" } };
  const retry = (t: TestKernel, id: string, mode: "resume_failed_steps" | "regenerate", step_ids?: string[]) =>
    t.kernel.retry(id, { ...who, mode, ...(step_ids === undefined ? {} : { step_ids }) }).catch(() => undefined);

  async function command(t: TestKernel, id: string, action: "activate" | "retry"): Promise<void> {
    const ref = moduleRef(7, "test", "command");
    const trace = (await t.kernel.workflow(id)).correlation_id;
    const body = { workflow_id: id, mode: "resume_failed_steps", auth: { tenant_id: 1 }, principal: who.principal };
    await t.kernel.ask(4, createCommandSignal(action, ref, ref, trace, body));
  }

  it.each(waysIn)("pain 11: by %s nothing is called or streamed before a person approves", async (_name, goIn) => {
    const { t, id, said } = await openGated();
    await using _ = t;
    await goIn(t, id);
    await t.clock.settle();
    expect(said()).toEqual([]);
    const shown = await Array.fromAsync(t.kernel.assistant(id, { live: false }));
    expect(JSON.stringify(shown)).not.toContain("hello");
  });

  it("pain 11: after the approval it is called and streamed", async () => {
    const { t, id, said } = await openGated();
    await using _ = t;
    await t.approve(id, "gate-s1");
    await t.rest(id);
    expect(said()).toEqual(["s1"]);
    expect(JSON.stringify(await Array.fromAsync(t.kernel.assistant(id, { live: false })))).toContain("hello");
  });
});

describe("pain 16: a decision before or during the suspend is lost", () => {
  const payload = { item: 7 };
  const steps = [
    step("s1", "Test.Act"),
    step("s2", "Test.Act", { depends_on: ["s1"], gate, params: payload }),
    step("s3", "Test.Act", { depends_on: ["s2"] }),
  ];

  /** Calls `hook` right after the n-th commit, before anything that rests on it goes on. */
  function hooked(n: number, hook: () => void): LedgerStore {
    const store = memoryLedger();
    let appends = 0;
    return {
      ...store,
      async append(batch) {
        appends += 1;
        const receipts = await store.append(batch);
        if (appends === n) hook();
        return receipts;
      },
    };
  }

  async function decideAt(n: number) {
    const world = createWorld();
    let answer: Promise<GateResponse | { readonly code: string }> | null = null;
    const decide = async (): Promise<GateResponse | { readonly code: string }> => {
      const [known] = await t.kernel.workflows();
      return t
        .approve(String(known?.workflow_id), "gate-s2", { payload_digest: digest(payload) })
        .catch((thrown: { readonly error: { readonly code: string } }) => thrown.error);
    };
    const t: TestKernel = await createTestKernel({
      ledger: hooked(n, () => {
        answer = decide();
      }),
      capabilities: [job(steps, [work(world, "Test.Act")])],
    });
    const state = await t.run("Test.Job");
    await t.clock.settle();
    return { t, world, state, answer: (await answer) as GateResponse | { readonly code: string } | null };
  }

  it("pain 16: at whatever commit it arrives it lands, or is refused by name; it is never swallowed", async () => {
    const statuses = new Set<string>();
    for (let n = 1; n <= 20; n += 1) {
      const { t, world, state, answer } = await decideAt(n);
      await using _ = t;
      if (answer === null) break;
      const landed = "status" in answer;
      statuses.add(landed ? answer.status : answer.code);
      const final = landed ? await t.rest(state.workflow_id) : await approveAfterAll(t, state.workflow_id);
      expect(final.state, `decided at commit ${n}: ${JSON.stringify(answer)}`).toBe("completed");
      expect(world.stepsCalled()).toEqual(["s1", "s2", "s3"]);
      expect((await t.types(state.workflow_id)).filter((type) => type === "USER_APPROVED")).toHaveLength(1);
    }
    // Refused only while no plan declares the gate; then it is kept, opens with the decision, or is decided.
    expect([...statuses]).toContain("resumed");
    expect([...statuses].every((s) => ["kept", "resumed", "T5_GATE_NOT_FOUND"].includes(s))).toBe(true);
  });

  async function approveAfterAll(t: TestKernel, id: string) {
    await t.rest(id);
    await t.approve(id, "gate-s2");
    return t.rest(id);
  }
});
