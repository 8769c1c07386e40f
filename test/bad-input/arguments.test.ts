/**
 * Every method of the kernel, with what no caller should pass at each place of its arguments: it is answered, or
 * refused with a coded error, and nothing is left behind. A method that is not in the table fails the test.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { KernelErrorException, raise } from "../../src/contract/error.ts";
import { kernelError } from "../../src/contract/error-codes.ts";
import { moduleRef } from "../../src/contract/module-ref.ts";
import type { Kernel } from "../../src/kernel/kernel-interface.ts";
import { memoryLedger } from "../../src/testing/memory-ledger.ts";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import {
  answerOf,
  expectAlive,
  expectCoded,
  expectRefused,
  type Method,
  methodOf,
  methodsOf,
  neighbour,
  openKernel,
  refusal,
  schedulesWith,
  unknownWorkflow,
  who,
} from "./fixture.ts";
import { hostileValues } from "./hostile.ts";

const world = createWorld();
const act = work(world, "Test.Act");
const waits = job([step("s1", "Test.Act", { gate: {} })], [act]);

let t: TestKernel;
let id: string;
beforeAll(async () => {
  t = await openKernel({ capabilities: [waits] });
  id = (await t.run("Test.Job")).workflow_id;
});
afterAll(() => t[Symbol.asyncDispose]());

const now = { live: false };
const read = (): readonly unknown[] => [id, who];
const methods: Readonly<Record<string, () => readonly unknown[]>> = {
  submit: () => [{ ...who, intent_hint: { intent_type: "Test.Neighbour", inputs: {} } }],
  decideGate: () => [id, { ...who, decision: "approve", gate_id: "gate-s9" }],
  decideGates: () => [
    { ...who, decisions: [{ workflow_id: id, decision: "approve", payload: { payload_digest: "d" } }] },
  ],
  withdrawVote: () => [id, { ...who, gate_id: "gate-s1" }],
  delegateGate: () => [id, { ...who, gate_id: "gate-s1", to: who.principal, expires_at: "2099-01-01T00:00:00Z" }],
  noteGate: () => [id, { ...who, gate_id: "gate-s1", watch: true }],
  retry: () => [id, { ...who, mode: "resume_failed_steps" }],
  fork: () => [unknownWorkflow, { ...who, at: "s1" }],
  cancel: () => [unknownWorkflow, who],
  rollback: () => [unknownWorkflow, who],
  pause: () => [unknownWorkflow, who],
  resume: () => [unknownWorkflow, who],
  addInput: () => [unknownWorkflow, { ...who, text: "look" }],
  tokenUrl: () => [unknownWorkflow, { ...who, step_id: "s1" }],
  answerWait: () => [{ token: "t", payload: {} }],
  holds: () => [],
  emit: () => [{ ...who, name: "order.paid", key: "o-1", payload: {} }],
  halt: () => [{ ...who, reason: "stop" }],
  limitQueue: () => [{ ...who, name: "none", limits: { concurrency: 1 }, reason: "slow" }],
  lift: () => [{ ...who, halt_id: "hlt_1" }],
  halts: () => [1, who],
  grant: () => [{ ...who, workflow_id: "wf_1", gate_id: "gate-s1", uses: 1 }],
  standIn: () => [{ ...who, to: { id: "bo" }, until: "2026-01-02T00:00:00Z", reason: "away" }],
  endStandIn: () => [{ ...who, stand_in_id: "stn_1" }],
  standIns: () => [{}, who],
  revokeGrant: () => [{ ...who, grant_id: "grt_1" }],
  decisions: () => [{}, who],
  grants: () => [{}, who],
  queues: () => [{}, who],
  budgets: () => [{}, who],
  workflow: () => [id, who, { at: 1 }],
  workflows: () => [{}, who],
  gates: () => [{}, who],
  gate: () => [id, "gate-s1", who],
  outcomes: read,
  items: () => [id, {}, who],
  actions: read,
  events: () => [id, now, who],
  progress: () => [id, now, who],
  assistant: () => [id, now, who],
  channel: () => ["events", id, now, who],
  feed: () => [now, who],
  authorize: () => [who, "outcome:read"],
  settled: () => [id, {}],
  execute: () => [id],
  ...schedulesWith(() => ({})),
  trace: read,
  explain: () => [id, who, { at: 1 }],
  whatIf: () => [{ policies: [] }, who],
  doctor: () => [{}, who],
  audit: read,
  evidence: () => [id, who, { reports: [] }],
  attachReport: () => [id, {}, who],
  verify: () => [id, {}, who],
  replay: read,
  export: read,
  of: () => [waits],
  registerCapability: () => [waits],
  registerOperator: () => [act],
  capabilities: () => [],
  findOperator: () => ["Test.Act", "1.0"],
  machines: () => [],
  getCapability: () => ["Test.Job", "1.0"],
  deliveries: () => [],
  redeliver: () => ["mail"],
  ask: () => [5, {}],
  ready: () => [],
  lag: () => [],
  vitals: () => [],
  lifecycles: () => [id],
  "documents.record": () => [{ tenant_id: 1, document_id: "d" }],
  "memory.write": () => [{ tenant_id: 1, key: "k", value: 1 }],
  "memory.sync": () => [{ tenant_id: 1, replica: "r", changes: [] }, who],
  "memory.changes": () => [{ tenant_id: 1 }, who],
  "tokens.events": read,
  "tokens.toJsonl": read,
  "tokens.capabilities": read,
  "tokens.governor": read,
  "tokens.charges": () => [1, who],
};
const ofPackage: typeof methods = {
  submit: () => [{ ...who, inputs: {} }],
  workflow: read,
  settled: () => [id, {}],
  execute: () => [id],
  outcomes: read,
  gates: read,
  decideGate: () => [id, { ...who, decision: "approve", gate_id: "gate-s9" }],
};

async function tryAll(method: Method, good: readonly unknown[]): Promise<void> {
  for (const at of good.keys())
    for (const [name, make] of hostileValues) {
      const given = good.map((value, i) => (i === at ? make() : value));
      const thrown = await answerOf(method, given).then(
        () => null,
        (error: unknown) => error,
      );
      if (thrown === null) continue;
      expect(thrown, `argument ${at}: ${name}`).toBeInstanceOf(KernelErrorException);
      expectCoded((thrown as KernelErrorException).error);
    }
}

async function expectUntouched(listeners: number): Promise<void> {
  expect(t.kernel.vitals().listeners).toBe(listeners);
  expect(({} as { readonly polluted?: unknown }).polluted).toBeUndefined();
  expect(world.calls).toEqual([]);
  await expectAlive(t);
}

describe("what no caller should pass", () => {
  it("is tried at every method", () => {
    const all = methodsOf(t.kernel).filter((name) => name !== "stop");
    expect(Object.keys(methods).sort()).toEqual([...all].sort());
    expect(Object.keys(ofPackage).sort()).toEqual([...methodsOf(t.kernel.of(waits))].sort());
  });

  it.each(Object.keys(methods))("to %s is answered or refused with a code", async (name) => {
    const { listeners } = t.kernel.vitals();
    await tryAll(methodOf(t.kernel, name), methods[name]?.() ?? []);
    await expectUntouched(listeners);
  });

  it.each(Object.keys(ofPackage))("to %s of one package is answered or refused with a code", async (name) => {
    const { listeners } = t.kernel.vitals();
    await tryAll(methodOf(t.kernel.of(waits), name), ofPackage[name]?.() ?? []);
    await expectUntouched(listeners);
  });

  it("to stop leaves the kernel serving", async () => {
    for (const options of [null, 1, { drainMs: -1 }, { drainMs: Number.NaN }, { drain: 1 }])
      await expectRefused(t.kernel.stop(options as never));
    await expectAlive(t);
  });
});

describe("an option that no method has", () => {
  const key = "such key";
  const calls: readonly (readonly [string, (kernel: Kernel) => Promise<unknown>])[] = [
    ["events", (k) => k.events(id, { ...now, afer: 3 } as never).next()],
    ["feed", (k) => k.feed({ ...now, intent: "x" } as never).next()],
    ["workflow", (k) => k.workflow(id, who, { att: 3 } as never)],
    ["verify, which would look at no keys", (k) => k.verify(id, { key: () => [] } as never)],
    ["evidence", (k) => k.evidence(id, who, { report: [] } as never).next()],
    ["what if", (k) => k.whatIf({ policies: [], name: true } as never).next()],
  ];
  it.each(calls)("is refused by %s", async (_name, call) => {
    const { code, message } = await refusal(call(t.kernel));
    expect([code, message.includes(key)]).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH", true]);
  });
});

/** The methods that a caller may be named to, and what they are asked with beside an id. */
const told = Object.keys(methods).filter((name) => methods[name] === read && name !== "tokens.capabilities");

describe("a workflow of another tenant", () => {
  const stranger = { ...who, tenant_id: 2 };
  it.each(told)("is to %s as one that is not there, word for word", async (name) => {
    const refused = (of: string) => refusal(answerOf(methodOf(t.kernel, name), [of, stranger]));
    const theirs = JSON.stringify(await refused(id));
    expect(theirs.replaceAll(id, unknownWorkflow)).toBe(JSON.stringify(await refused(unknownWorkflow)));
  });
});

describe("a kernel that has stopped", () => {
  it("says so to whoever reads, and to a second stop nothing", async () => {
    const stopped = await openKernel({ capabilities: [waits] });
    const { workflow_id } = await stopped.run("Test.Job");
    await Promise.all([stopped.kernel.stop({ drainMs: 0 }), stopped.kernel.stop()]);
    await stopped.kernel.stop();
    for (const name of told)
      await expectRefused(answerOf(methodOf(stopped.kernel, name), [workflow_id, who]), "T0_KERNEL_STOPPED");
    for (const name of ["workflows", "gates", "feed", "doctor", "deliveries"])
      await expectRefused(answerOf(methodOf(stopped.kernel, name), []), "T0_KERNEL_STOPPED");
  });

  it("says so to whoever was reading as it closed its ledger", async () => {
    const closing = Promise.withResolvers<void>();
    const away = kernelError("T0_LEDGER_UNAVAILABLE", "is not open", moduleRef(0, "ledger", "read"));
    const late = async (): Promise<never> => {
      await closing.promise;
      return raise(away);
    };
    const ledger = memoryLedger();
    const stopped = await openKernel({ ledger, capabilities: [waits] });
    const { workflow_id } = await stopped.run("Test.Job");
    const close = ledger.close.bind(ledger);
    Object.assign(ledger, { read: late, listHeads: late, close: () => close().then(closing.resolve) });
    const { kernel } = stopped;
    const asked = [kernel.workflows(), kernel.audit(workflow_id), kernel.events(workflow_id).next()];
    const told = Promise.all(asked.map((one: Promise<unknown>) => refusal(one)));
    await kernel.stop({ drainMs: 0 });
    expect((await told).map(({ code }) => code)).toEqual(Array(3).fill("T0_KERNEL_STOPPED"));
  });

  it("has in its ledger what it accepted while it was stopped, and nothing else", async () => {
    const ledger = memoryLedger();
    const first = await openKernel({ ledger });
    const submit = () => first.kernel.submit({ ...who, intent_hint: { intent_type: "Test.Neighbour", inputs: {} } });
    const before = Array.from({ length: 5 }, submit);
    const stopping = first.kernel.stop({ drainMs: 0 });
    const settled = await Promise.allSettled([...before, ...Array.from({ length: 5 }, submit)]);
    await stopping;
    for (const one of settled) if (one.status === "rejected") expect(one.reason.error.code).toBe("T0_KERNEL_STOPPED");
    await using second = await openKernel({ ledger, seed: 2 });
    const there = (await second.kernel.workflows({ limit: 100 })).map(({ workflow_id }) => workflow_id);
    const accepted = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value.workflow_id] : []));
    expect([...there].sort()).toEqual(accepted.sort());
    await second.clock.settle();
    for (const id of there) expect((await second.kernel.workflow(id)).state).toBe("completed");
    await expectAlive(second);
  });
});

describe("a reader", () => {
  const fails = async (): Promise<never> => {
    throw new Error("a host's mistake");
  };
  const streams = {
    events: () => t.kernel.events(id, { onCaughtUp: fails }),
    feed: () => t.kernel.feed({ onCaughtUp: fails }),
  };
  it.each(Object.entries(streams))(
    "of %s whose onCaughtUp fails later hears it itself: nobody else does",
    async (_n, open) => {
      const { listeners } = t.kernel.vitals();
      await expect(Array.fromAsync<unknown>(open())).rejects.toThrow("a host's mistake");
      await expectUntouched(listeners);
    },
  );

  type Open = (by: { readonly onCaughtUp: () => void }) => AsyncGenerator<unknown, void, void>;
  const live: Readonly<Record<string, Open>> = {
    events: (by) => t.kernel.events(id, by),
    progress: (by) => t.kernel.progress(id, by),
    assistant: (by) => t.kernel.assistant(id, by),
    channel: (by) => t.kernel.channel("events", id, by),
    feed: (by) => t.kernel.feed(by),
  };
  it.each(Object.entries(live))("of %s who leaves while it waits for more has left", async (_name, open) => {
    const { listeners } = t.kernel.vitals();
    const { promise: caughtUp, resolve: onCaughtUp } = Promise.withResolvers<void>();
    const stream = open({ onCaughtUp });
    const heard = Array.fromAsync(stream);
    await caughtUp;
    await stream.return();
    expect(await heard).not.toEqual([]);
    expect(t.kernel.vitals().listeners).toBe(listeners);
  });

  it.each(["events", "progress", "assistant"] as const)(
    "of %s whose signal is given already hears nothing",
    async (name) => {
      const stream = t.kernel[name](id, { signal: AbortSignal.abort() });
      expect(await Array.fromAsync<unknown>(stream)).toEqual([]);
    },
  );
});

describe("what is not there", () => {
  it("is not found sound by the embedding host", async () => {
    await expectRefused(t.kernel.verify(unknownWorkflow), "T4_WORKFLOW_NOT_FOUND");
  });
});

describe("a package that is refused", () => {
  it("is not there: another operator of its name and version stands in its way", async () => {
    const late = { ...neighbour, intentType: "Test.Late", operators: [work(world, "Test.Act", { effect: "read" })] };
    expect(() => t.kernel.registerCapability(late)).toThrow(KernelErrorException);
    expect(() => t.kernel.getCapability("Test.Late")).toThrow("T1_NORMALIZE_UNKNOWN_INTENT");
  });

  it.each(["operators", "plan", "input", "version"])("has no %s", (missing) => {
    const { [missing as "plan"]: _, ...half } = { ...neighbour, intentType: "Test.Half" };
    expect(() => t.kernel.registerCapability(half as never)).toThrow("T0_VALIDATION_SCHEMA_MISMATCH");
  });
});
