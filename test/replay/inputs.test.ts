/** What a row tells of the inputs that led to it, and that a replay gives each of them once, in that order. */
import { describe, expect, it } from "vitest";
import { type Recorded, type TurnRow, takeTurn } from "../../src/contract/turn.ts";
import { definePolicy, replayRows } from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { createVirtualClock } from "../../src/testing/virtual-clock.ts";
import { PassScopes, type Place } from "../../src/tiers/t4-execution/decide/run/answers.ts";
import type { Answered, Input } from "../../src/tiers/t4-execution/decide/run/input.ts";
import type { Question } from "../../src/tiers/t4-execution/decide/run/intention.ts";
import type { RunMemory } from "../../src/tiers/t4-execution/decide/run/run.ts";
import { InputJournal } from "../../src/tiers/t4-execution/input-journal.ts";
import { ann, approve } from "../gates/people.ts";
import { counted, held, intent, step, story } from "../gates/story.ts";

const turnOf = (row: TurnRow): Recorded & { readonly now: number } => {
  const { envelope, inputs = [] } = takeTurn(row, { last: row.first_sequence - 1, head: row.prev_hash });
  return { now: envelope.now, inputs };
};
const rowsOf = (t: TestKernel, id: string): Promise<TurnRow[]> => Array.fromAsync(t.kernel.export(id));

describe("a row", () => {
  it("[INV-12] holds the inputs that led to it and the answers that deciding received, no payload twice", async () => {
    const work = counted("Note.Work");
    const steps = ["a", "b", "c"].map((id, i, all) => step(id, work, { depends_on: all.slice(0, i) }));
    const capability = story([work], steps);
    await using t = await createTestKernel({ capabilities: [capability] });
    const { workflow_id } = await t.run(intent);
    const rows = (await rowsOf(t, workflow_id)).map(turnOf);
    expect(rows.flatMap(({ inputs = [] }) => inputs.map((input) => input.in))).toEqual([
      ...["begin", "woken", "ended", "ended", "ended"],
    ]);
    const settings = { policyVersion: "default-1" };
    expect(rows[0]?.inputs).toEqual([{ in: "begin", facts: { $event: 0 }, host: { settings } }]);
    expect(rows[1]?.inputs?.flatMap(({ host }) => host ?? [])).toEqual([
      { "capability Story.Note.Publish@1.0": { value: {} }, "operator Note.Work@1.0": { retry: "NONE" } },
    ]);
    const answers = rows.flatMap(({ inputs = [] }) => inputs.flatMap((input) => input.answers ?? []));
    const keys = answers.map(({ scope, key }) => `${scope} ${key.split(":")[0]}`);
    expect(keys).toEqual([
      ...["plan context", "plan plan", "plan judge", "step:a policy", "step:b policy", "step:c policy", "end noise"],
    ]);
    const judged = answers.find(({ key }) => key === "judge");
    expect(judged?.data).toEqual({ $event: 1, omit: ["stage", "subject", "payload_hash"] });
  });

  it("[INV-12] after another process has taken the workflow up says so, and replays", async () => {
    const ledger = memoryLedger();
    const gate = { reason: "a person looks" };
    const work = counted("Note.Work");
    const capability = story([work], [step("a", work, { gate })]);
    const shared = { ...ledger, close: async () => undefined };
    const first = await createTestKernel({ capabilities: [capability], ledger: shared });
    const { workflow_id } = await first.run(intent);
    await first[Symbol.asyncDispose]();
    await using t = await createTestKernel({
      capabilities: [capability],
      ledger: { ...shared, open: async () => undefined },
      seed: 7,
    });
    await t.approve(workflow_id);
    await t.rest(workflow_id);
    const rows = await rowsOf(t, workflow_id);
    const kinds = rows.flatMap((row) => turnOf(row).inputs?.map((one) => one.in) ?? []);
    expect(kinds.filter((kind) => kind === "opened" || kind === "decided")).toEqual(["opened", "decided"]);
    expect((await replayRows(rows, { capabilities: [capability] })).identical).toBe(true);
  });
});

it("[INV-12] a clock that tells parts of milliseconds is read in whole ones, and what it timed replays", async () => {
  const inner = createVirtualClock();
  // A host's clock may be an object of a class.
  const clock = new (class {
    now(): number {
      return inner.now() + 1 / 3;
    }
    setTimer(...given: Parameters<typeof inner.setTimer>) {
      return inner.setTimer(...given);
    }
  })();
  const ask = counted("Note.Ask");
  const capability = story([ask], [step("a", ask, { gate: {} }), step("b", ask)]);
  let isReplay = false;
  const slow = definePolicy({
    name: "slow",
    stages: ["action"],
    evaluate: () =>
      isReplay ? null : new Promise((resolve) => inner.setTimer(inner.now() + 10.5, () => resolve(null))),
  });
  await using t = await createTestKernel({ capabilities: [capability], policies: [slow], clock });
  const workflow_id = await t.submit(intent);
  await inner.advance(50);
  const approving = t.approve(workflow_id);
  await inner.advance(50);
  await approving;
  await inner.advance(50);
  const rows = await rowsOf(t, workflow_id);
  expect((await t.kernel.workflow(workflow_id)).state).toBe("completed");
  const told = rows.map(turnOf).flatMap(({ now, inputs = [] }) => [now, ...inputs.flatMap(({ at = now }) => at)]);
  expect(told.filter((at) => !Number.isInteger(at))).toEqual([]);
  isReplay = true;
  expect((await replayRows(rows, { capabilities: [capability], policies: [slow] })).identical).toBe(true);
});

describe("the journal of what is decided ahead", () => {
  const open = (): InputJournal => {
    const memory = { calls: new Map(), handles: new Map(), commands: new Map() } as unknown as RunMemory;
    return new InputJournal(memory, { isNew: true, isForeign: () => false });
  };
  const take = (journal: InputJournal, input: Input, from: number, to: number): void => {
    journal.begin(input, 5, { position: from, isDirty: false });
    journal.end({ position: to, isDirty: to > from });
  };
  const woken: Input = { type: "woken" };
  const queued = { type: "STEP_QUEUED", payload: { name: "a", operator: "Note.Work" }, step_id: "a" } as const;

  it("tells no row of an input that nothing came of", () => {
    const journal = open();
    take(journal, woken, 0, 0);
    take(journal, woken, 0, 1);
    take(journal, woken, 1, 1);
    expect(journal.seal(5, [queued as never])).toEqual({ inputs: [{ in: "woken" }] });
  });

  it("keeps an answer with its input, and a usual one if an unusual one to the same question follows", () => {
    const journal = open();
    const question = { ask: "shared_key" } as unknown as Question;
    const place: Place = { scope: "step:a", key: "shared", nr: 1 };
    const claims = (from: number, ...claimed: readonly number[]): void => {
      journal.begin(woken, 5, { position: from, isDirty: false });
      for (const claim of claimed) journal.received(place, question, { data: { claim }, error: null, tags: {} });
      journal.end({ position: from + 1, isDirty: true });
    };
    claims(0, 1);
    claims(1, 1, 7, 1);
    const recorded = (claim: number) => ({ scope: "step:a", key: "shared", data: { claim } });
    expect(journal.seal(5, [queued as never]).inputs).toEqual([
      { in: "woken" },
      { in: "woken", answers: [recorded(1), recorded(7)] },
    ]);
  });

  it("tells what it decides again as that: of what was decided in vain no row hears", () => {
    const journal = open();
    take(journal, woken, 0, 1);
    journal.stop();
    journal.restart(() => false);
    take(journal, woken, 0, 1);
    expect(journal.seal(5, [queued as never]).inputs.map((told) => told.in)).toEqual(["stopped", "again", "woken"]);
  });

  it("names the process that continues another's rows by its own last event, since owners may change", () => {
    const journal = open();
    take(journal, woken, 0, 3);
    journal.seal(5, [queued as never]);
    journal.committed(3);
    journal.restart(() => false);
    journal.restart(() => false);
    take(journal, woken, 7, 8);
    expect(journal.seal(5, [queued as never]).inputs.slice(0, 1)).toEqual([{ in: "again", of: 3 }]);
  });

  it("keeps an input from outside until all that it led to is committed, and no longer", () => {
    const cancelled = { type: "commanded", re: 1, command: { kind: "cancel" } } as unknown as Input;
    for (const [committed, again] of [
      [1, [cancelled]],
      [2, []],
    ] as const) {
      const journal = open();
      take(journal, cancelled, 0, 2);
      journal.committed(committed);
      expect(journal.restart(() => false)).toEqual(again);
    }
  });
});

describe("a question that is put again", () => {
  it("is new to one pass: to the one that hears its answer first", () => {
    const put: Place[] = [];
    const scopes = new PassScopes((place) => {
      put.push(place);
      return null;
    });
    const heard: boolean[] = [];
    const pass = () =>
      scopes.pass("step:s1", () => {
        heard.push(scopes.ask("first", { question: { ask: "saved" } }).isNew);
        scopes.ask("second", { question: { ask: "saved" } });
        scopes.ask("third", { question: { ask: "saved" } });
      });
    for (let asked = 0; asked < 3; asked += 1) {
      expect(pass()).toBe(false);
      scopes.answered({ type: "answered", ...(put[asked] as Place), answer: { error: null, data: 1, tags: {} } });
    }
    expect(pass()).toBe(true);
    expect(heard).toEqual([true, false, false]);
  });

  it("is answered by its own answer: one to the question before is nobody's", () => {
    const put: Place[] = [];
    const scopes = new PassScopes((place) => {
      put.push(place);
      return null;
    });
    const said = (data: number): Answered => ({ error: null, data, tags: {} });
    const heard: unknown[] = [];
    const pass = (): boolean =>
      scopes.pass("step:s1", () => void heard.push(scopes.ask("policy", { question: { ask: "saved" } }).answer.data));
    expect(pass()).toBe(false);
    scopes.clear();
    expect(pass()).toBe(false);
    const [before, now] = put as [Place, Place];
    expect(scopes.answered({ type: "answered", ...before, answer: said(1) })).toBe(false);
    expect(scopes.answered({ type: "answered", ...now, answer: said(2) })).toBe(true);
    expect([pass(), heard]).toEqual([true, [2]]);
  });
});

it("[INV-12] a vote that policy judged while another step failed replays with its own call's basis", async () => {
  const preview = () => ({ preview: "as it is", basis: [{ name: "file", digest: "one" }] });
  const shown = counted("Note.Work", { effect: "write_draft", preview });
  const [judged, called] = [held<null>(), held<Promise<never>>()];
  const other = counted("Note.Look", {}, () => called.promise);
  const capabilities = [story([shown, other], [step("a", shown, { gate: {} }), step("b", other)])];
  const policy = definePolicy({ name: "held", stages: ["gate"], evaluate: () => judged.promise });
  await using t = await createTestKernel({ capabilities, policies: [policy], limits: { maxReplans: 0 } });
  const id = await t.submit(intent);
  await t.clock.settle();
  const vote = approve(t, id, ann);
  await t.clock.settle();
  called.release(Promise.reject(new Error("away")));
  await t.clock.settle();
  judged.release(null);
  expect(await vote).toMatchObject({ status: "resumed" });
  await t.rest(id);
  const types = await t.types(id);
  expect(types.indexOf("STEP_FAILED")).toBeLessThan(types.indexOf("USER_APPROVED"));
  expect([types.includes("STEP_FAILED"), shown.calls.length]).toEqual([true, 1]);
  expect(await t.kernel.replay(id)).toMatchObject({ identical: true });
});
