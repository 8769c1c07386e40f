/**
 * What is known of a call is not forgotten between two inputs: no call is made twice, no end is lost, no question stays
 * open.
 */
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { definePolicy, defineTool, operatorError, type ToolClient } from "../../src/index.ts";
import { sqliteLedger } from "../../src/ledger/sqlite/index.ts";
import { createTestKernel, createVirtualClock, testCaller } from "../../src/testing/index.ts";
import { freshPaths } from "../fixtures.ts";
import {
  asShown,
  type Counted,
  count,
  counted,
  gatedSteps,
  gateOf,
  held,
  intent,
  Note,
  payloads,
  publishing,
  refusalOf,
  step,
  story,
} from "../gates/story.ts";

const nextTurn = promisify(setImmediate);

/** Opens process after process on one ledger; their rule may take its time. `at`: milliseconds after the start. */
const openerOf =
  (path: string, capability: ReturnType<typeof story>, rule: ReturnType<typeof definePolicy>) =>
  (seed: number, at: number) =>
    createTestKernel({
      capabilities: [capability],
      policies: [rule],
      limits: { policyTimeoutMs: 10 * minute },
      ledger: sqliteLedger({ path }),
      clock: createVirtualClock(start + at),
      seed,
    });

const freshPath = freshPaths();
const start = Date.UTC(2026, 0, 1);
const minute = 60_000;
const write = { effect: "write_draft", retry: "STANDARD" } as const;
const one = (work: Counted) => story([work], [step("s1", work)]);
const never = (): Promise<never> => new Promise(() => undefined);

describe("an operator that succeeds within the turn after its abort", () => {
  const waits = {
    "at once": async () => undefined,
    "a few promises later": async () => {
      for (let i = 0; i < 20; i += 1) await null;
    },
    "a turn of the loop later": () => nextTurn(),
    "some turns of the loop later": async () => {
      for (let i = 0; i < 5; i += 1) await nextTurn();
    },
  };

  it.each(Object.entries(waits))(
    "%s: [TMO-04] its success is the result, and it is called once",
    async (_when, wait) => {
      const work = counted("Note.Work", { ...write, timeoutSec: 1 }, async ({ signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        await wait();
        return { saved: true };
      });
      await using t = await createTestKernel({ capabilities: [one(work)] });
      const { workflow_id, state, gates } = await t.run(intent);
      expect([state, gates.length, work.calls.length]).toEqual(["completed", 0, 1]);
      expect(await t.kernel.actions(workflow_id)).toMatchObject([
        { status: "succeeded", result_payload: { saved: true } },
      ]);
    },
  );
});

describe("a call that may not be repeated and throws plainly", () => {
  it.each([0, 2])(
    "[RTY-02] is in doubt, not retried, not replanned under another key (%i replans)",
    async (maxReplans) => {
      const work = counted("Note.Work", write, () => {
        throw new Error("connection reset");
      });
      await using t = await createTestKernel({ capabilities: [one(work)], limits: { maxReplans } });
      const { workflow_id, state, gates } = await t.run(intent);
      await t.clock.advance(minute);
      expect(state).toBe("waiting_for_user");
      expect(gates).toMatchObject([{ gate_id: "gate-s1_doubt1", kind: "in_doubt", status: "open" }]);
      expect(work.calls).toHaveLength(1);
      expect(count(await t.types(workflow_id), "PLAN_CREATED")).toBe(1);
      await t.reject(workflow_id, "gate-s1_doubt1");
    },
  );

  it("[RTY-02] is retried where its error says itself that nothing happened", async () => {
    for (const category of ["transient", "dependency"] as const) {
      const work: Counted = counted("Note.Work", write, () => {
        if (work.calls.length === 1) throw operatorError({ code: "BUSY", message: "busy", category, retryable: true });
        return { n: work.calls.length };
      });
      await using t = await createTestKernel({ capabilities: [one(work)] });
      expect(await t.run(intent)).toMatchObject({ state: "completed", gates: [] });
      expect(work.calls.map((call) => call.attempt)).toEqual([1, 2]);
      expect(new Set(work.calls.map((call) => call.idempotencyKey)).size).toBe(1);
    }
  });
});

describe("an answer that cannot be read", () => {
  const unreadable = [
    null,
    "words",
    { content: "words" },
    { content: [{ type: "text" }] },
    { content: [{ type: "?" }] },
  ];

  it.each(unreadable)(
    "[RPC-14] of a tool (%j) leaves its call in doubt: it is not called again unasked",
    async (answer) => {
      let asked = 0;
      const client: ToolClient = {
        request: async () => {
          asked += 1;
          return answer;
        },
      };
      const tool = defineTool({ name: "Note.Tool", tool: "note", client, effect: "write_draft" });
      const capability = story([{ operator: tool } as Counted], [step("s1", { operator: tool } as Counted)]);
      await using t = await createTestKernel({ capabilities: [capability] });
      const { state, gates } = await t.run(intent);
      await t.clock.advance(minute);
      expect([state, gates.map(({ kind }) => kind), asked]).toEqual(["waiting_for_user", ["in_doubt"], 1]);
    },
  );

  it("[RTY-05] of an operator leaves its call in doubt, which says why: nothing is planned anew", async () => {
    const work = counted("Note.Work", write, () => ({ n: Number.NaN }));
    await using t = await createTestKernel({ capabilities: [one(work)] });
    const { state, workflow_id, plan } = await t.run(intent);
    expect([state, work.calls.length, plan?.round]).toEqual(["waiting_for_user", 1, 0]);
    const [doubted] = await payloads(t, workflow_id, "ACTION_IN_DOUBT");
    expect(doubted?.reason).toMatch(/^the call has ended and its result was refused: .*a number must be finite/);
  });
});

describe("a stored null", () => {
  it("[IDM-03] is a result: after a crash behind the call the step goes on with it, and calls nobody", async () => {
    const path = freshPath();
    const work = counted("Note.Work", write, () => null);
    let hangs = true;
    const rule = definePolicy({
      name: "slow",
      stages: ["outcome"],
      evaluate: () => (hangs ? never() : null),
    });
    const capability = story([work], [step("s1", work, { outcome: "Draft.Note" })], {
      outcomes: { "Draft.Note": Note.nullable() },
    });
    const open = openerOf(path, capability, rule);
    const first = await open(1, 0);
    const id = await first.submit(intent);
    await first.clock.settle();
    expect(await first.kernel.actions(id)).toMatchObject([{ status: "succeeded", result_payload: null }]);
    await first.kernel.stop({ drainMs: 0 });
    hangs = false;
    await using t = await open(2, minute);
    expect(await t.rest(id)).toMatchObject({ state: "completed", gates: [] });
    expect(work.calls).toHaveLength(1);
  });
});

describe("a completed workflow", () => {
  it.each([0, 2])(
    "has no open gate: regenerated while one waits, a fresh draft that fails (%i replans)",
    async (maxReplans) => {
      const draft: Counted = counted("Note.Draft", { effect: "none" }, () => {
        if (draft.calls.length === 2) throw operatorError({ code: "NO", message: "no", category: "validation" });
        return { text: `draft ${draft.calls.length}` };
      });
      const { publish } = publishing();
      const rows = [
        step("draft", draft, { outcome: "Draft.Note" }),
        step("publish", publish, { applies: "draft", params: { text: "{{draft.output.text}}", to: "board" } }),
      ];
      const capability = story([draft, publish], rows, { outcomes: { "Draft.Note": Note } });
      await using t = await createTestKernel({ capabilities: [capability], limits: { maxReplans } });
      const { workflow_id } = await t.run(intent);
      await t.kernel.retry(workflow_id, { ...testCaller, mode: "regenerate" });
      let end = await t.rest(workflow_id);
      for (const gate of end.gates.filter(({ status }) => status === "open")) {
        expect(end.state).toBe("waiting_for_user");
        await t.approve(workflow_id, gate.gate_id, await asShown(t, workflow_id, gate.gate_id));
        end = await t.rest(workflow_id);
      }
      expect(end.state).toBe(maxReplans === 0 ? "failed" : "completed");
      expect(end.gates.filter(({ status }) => status === "open")).toEqual([]);
      expect(end.steps.filter(({ state }) => state === "running")).toEqual([]);
      expect(await t.kernel.gates()).toEqual([]);
      expect(publish.calls).toHaveLength(maxReplans === 0 ? 0 : 1);
    },
  );
});

describe("an expired gate", () => {
  it.each(["deny", "allow"] as const)("meets its expiry (%s) before a decision that comes later", async (action) => {
    const path = freshPath();
    const { send, capability } = gatedSteps(1, { gate: { expiry: { after_ms: minute, action } } });
    const open = (seed: number, at: number) =>
      createTestKernel({
        capabilities: [capability],
        ledger: sqliteLedger({ path }),
        clock: createVirtualClock(start + at),
        recover: seed === 1,
        seed,
      });
    const first = await open(1, 0);
    const { workflow_id: id } = await first.run(intent);
    await first.kernel.stop({ drainMs: 0 });
    await using t = await open(2, 2 * minute);
    expect((await gateOf(t, id, "gate-s1")).status).toBe("open");
    const said = action === "deny" ? t.approve(id, "gate-s1") : t.reject(id, "gate-s1");
    expect((await refusalOf(said)).code).toBe("T5_GATE_CONFLICT");
    await t.rest(id);
    expect((await gateOf(t, id, "gate-s1")).status).toBe(action === "deny" ? "expired" : "approved");
    expect(count(await t.types(id), "GATE_EXPIRED")).toBe(1);
    expect((await t.types(id)).filter((type) => type.startsWith("USER_"))).toEqual([]);
    expect(send.calls).toHaveLength(action === "deny" ? 0 : 1);
  });
});

describe("a reference that leads nowhere", () => {
  it("is told once, also when its step is taken up again after a crash", async () => {
    const path = freshPath();
    let hangs = true;
    const rule = definePolicy({
      name: "slow",
      stages: ["action"],
      evaluate: ({ subject }) => (hangs && subject.name === "s2" ? never() : null),
    });
    const work = counted("Note.Work", { effect: "none" }, ({ context }) =>
      hangs && context.step_id === "s3" ? never() : { text: "a" },
    );
    const rows = [
      step("s1", work),
      step("s2", work, { depends_on: ["s1"], params: { text: "{{nowhere}}" } }),
      step("s3", work, { depends_on: ["s1"], params: { text: "{{nobody}}" } }),
    ];
    const open = openerOf(path, story([work], rows), rule);
    const first = await open(1, 0);
    const id = await first.submit(intent);
    await first.clock.settle();
    expect(count(await first.types(id), "TEMPLATE_UNRESOLVED")).toBe(2);
    await first.kernel.stop({ drainMs: 0 });
    hangs = false;
    await using t = await open(2, minute);
    expect((await t.rest(id)).state).toBe("completed");
    const told = (await payloads(t, id, "TEMPLATE_UNRESOLVED")).map(({ references }) => references);
    expect(told.toSorted()).toEqual([["{{nobody}}"], ["{{nowhere}}"]]);
  });
});

describe("the end of a call", () => {
  it("[EXE-10] is committed before a slow policy of the next step answers", async () => {
    const answer = held<null>();
    const rule = definePolicy({
      name: "slow",
      stages: ["action"],
      evaluate: ({ subject }) => (subject.name === "s2" ? answer.promise : null),
    });
    const work = counted("Note.Work", write);
    const rows = [step("s1", work), step("s2", work, { depends_on: ["s1"] })];
    await using t = await createTestKernel({ capabilities: [story([work], rows)], policies: [rule] });
    const id = await t.submit(intent);
    await t.clock.settle();
    expect(count(await t.types(id), "ACTION_SUCCEEDED")).toBe(1);
    expect((await t.kernel.workflow(id)).steps[0]).toMatchObject({ step_id: "s1", state: "succeeded" });
    expect(work.calls).toHaveLength(1);
    answer.release(null);
    expect((await t.rest(id)).state).toBe("completed");
    expect(work.calls).toHaveLength(2);
  });
});

describe("a call that was lost with its process and may not be repeated", () => {
  it("is asked about at once: no hook of the host runs for it, whose failure would pass for the call's", async () => {
    const path = freshPath();
    const runs: number[] = [];
    const hook = {
      name: "hook",
      before(): void {
        if (runs.push(runs.length) > 1) throw new Error("not today");
      },
    };
    const work = counted("Note.Work", write, never);
    const open = (seed: number, at: number) =>
      createTestKernel({
        capabilities: [one(work)],
        middleware: [hook],
        ledger: sqliteLedger({ path }),
        clock: createVirtualClock(start + at),
        seed,
      });
    const first = await open(1, 0);
    const id = await first.submit(intent);
    await first.clock.settle();
    await first.kernel.stop({ drainMs: 0 });
    await using t = await open(2, minute);
    const { state, gates } = await t.rest(id);
    expect([state, gates.map(({ kind }) => kind), runs.length]).toEqual(["waiting_for_user", ["in_doubt"], 1]);
  });
});

describe("a success that comes while the gate of its call asks", () => {
  it.each([
    ["done", { decision: "approve", payload: { resolution: "done", result: { sent: "by hand" } } }, "completed"],
    ["retry", { decision: "approve", payload: { resolution: "retry" } }, "completed"],
    ["a rejection", { decision: "reject", payload: {} }, "failed"],
  ] as const)("is the result, and the gate waits for its answer: %s", async (_answer, said, state) => {
    const late = held<object>();
    const send = counted("Note.Send", { effect: "write_draft", timeoutSec: 1 }, () => late.promise);
    await using t = await createTestKernel({ capabilities: [story([send], [step("send", send)])] });
    const { workflow_id } = await t.run(intent);
    late.release({ sent: "late" });
    expect((await t.rest(workflow_id)).state).toBe("waiting_for_user");
    await t.kernel.decideGate(workflow_id, { ...testCaller, gate_id: "gate-send_doubt1", ...said });
    const end = await t.rest(workflow_id);
    expect([end.state, send.calls.length]).toEqual([state, 1]);
    if (state === "completed") expect(end.steps[0]?.output_text).toBe('{"sent":"late"}');
    expect(await t.kernel.replay(workflow_id)).toMatchObject({ identical: true });
  });
});
