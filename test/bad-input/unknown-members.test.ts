/**
 * Unknown members of requests: each argument of each kernel method, and each body and query of each HTTP route, is
 * given one member that nobody knows, at every object of it in turn. None may be dropped. What is free by design is
 * marked here.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { TestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import {
  answerOf,
  expectAlive,
  methodOf,
  methodsOf,
  openKernel,
  refusal,
  schedulesWith,
  unknownWorkflow,
  who,
} from "./fixture.ts";

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

const freeObjects = new WeakSet<object>();
/** An object that may hold any member. */
function free<T extends object>(value: T): T {
  freeObjects.add(value);
  return value;
}

const payload = () => ({
  target: { type: "T", outcome_id: "o" },
  edit: free({ amount: 1 }),
  result: free({}),
  comment: "yes",
});
const request = {
  submit: () => ({
    ...who,
    scope: { scope_type: "s", scope_id: 1 },
    input: { text: "do it", attachments: { document_ids: [1] } },
    intent_hint: { intent_type: "Test.Neighbour", inputs: free({}) },
    constraints: free({}),
    context_refs: free({}),
  }),
  decide: () => ({ ...who, decision: "approve", gate_id: "gate-s1", payload: payload() }),
  change: { origin: "r", key: "k", value: free({}), version: 1, capability: "c" },
};
const live = { live: false };
const read = () => [id, who];
const page = { limit: 1, total: true };
/**
 * The arguments of each method with every object that they may hold; of a host's own objects the room `define` judges.
 */
const methods: Readonly<Record<string, () => readonly unknown[]>> = {
  submit: () => [request.submit()],
  decideGate: () => [id, request.decide()],
  decideGates: () => [
    {
      ...who,
      decisions: [
        { workflow_id: id, decision: "approve", gate_id: "gate-s1", payload: { ...payload(), payload_digest: "d" } },
      ],
    },
  ],
  withdrawVote: () => [id, { ...who, gate_id: "gate-s1" }],
  delegateGate: () => [
    id,
    { ...who, gate_id: "gate-s1", to: { type: "user", id: "bo" }, expires_at: "2099-01-01T00:00:00Z" },
  ],
  noteGate: () => [
    id,
    {
      ...who,
      gate_id: "gate-s1",
      comment: { text: "so?", mentions: [{ type: "user", id: "bo" }], asks: true },
      assign: { type: "user", id: "bo" },
      snooze: "2099-01-01T00:00:00Z",
      watch: true,
    },
  ],
  retry: () => [id, { ...who, mode: "resume_failed_steps" }],
  fork: () => [unknownWorkflow, { ...who, at: "s1", inputs: free({}), outputs: free({}), reason: "no" }],
  cancel: () => [unknownWorkflow, { ...who, reason: "no" }],
  rollback: () => [unknownWorkflow, { ...who, reason: "no" }],
  pause: () => [unknownWorkflow, { ...who, reason: "no" }],
  resume: () => [unknownWorkflow, { ...who, reason: "no" }],
  addInput: () => [unknownWorkflow, { ...who, text: "look" }],
  tokenUrl: () => [unknownWorkflow, { ...who, step_id: "s1" }],
  answerWait: () => [{ token: "t", payload: free({}) }],
  holds: () => [],
  emit: () => [{ ...who, name: "order.paid", key: "o-1", payload: free({}), event_id: "e-1", broadcast: false }],
  halt: () => [{ ...who, of: { operator: "Test.Act" }, reason: "stop" }],
  limitQueue: () => [{ ...who, name: "none", limits: { concurrency: 1 }, reason: "slow" }],
  lift: () => [{ ...who, halt_id: "hlt_1" }],
  halts: () => [1, who],
  grant: () => [
    {
      ...who,
      workflow_id: "wf_01KDVDNA0047C4FEZDQK8YZG0N",
      gate_id: "gate-s1",
      when: [{ value: "n", above: 1 }],
      uses: 1,
    },
  ],
  standIn: () => [{ ...who, to: { type: "user", id: "bo" }, until: "2026-01-02T00:00:00Z", reason: "away" }],
  endStandIn: () => [{ ...who, stand_in_id: "stn_1" }],
  standIns: () => [{ mine: true, limit: 1 }, who],
  revokeGrant: () => [{ ...who, grant_id: "grt_1" }],
  decisions: () => [{}, who],
  grants: () => [{}, who],
  queues: () => [{ tenant_id: 1, limit: 1 }, who],
  budgets: () => [{ tenant_id: 1, limit: 1 }, who],
  workflow: () => [id, who, { at: 1 }],
  workflows: () => [{ ...page, text: "a" }, who],
  gates: () => [{ ...page, mine: true }, who],
  gate: () => [id, "gate-s1", who],
  outcomes: read,
  items: () => [id, { of: "s1", limit: 5 }, who],
  actions: read,
  events: () => [id, live, who],
  progress: () => [id, live, who],
  assistant: () => [id, live, who],
  channel: () => ["events", id, live, who],
  feed: () => [live, who],
  authorize: () => [who, "outcome:read"],
  settled: () => [id, free({})],
  execute: () => [id],
  ...schedulesWith(() => free({})),
  trace: read,
  explain: () => [id, who, { at: 1 }],
  whatIf: () => [{ policies: [] }, who],
  doctor: () => [{ intent_type: "a" }, who],
  audit: read,
  evidence: () => [id, who, { reports: [free({})] }],
  attachReport: () => [id, free({}), who],
  verify: () => [id, { keys: () => [] }, who],
  replay: read,
  export: read,
  of: () => [free({ ...waits })],
  registerCapability: () => [free({ ...waits })],
  registerOperator: () => [free({ ...act })],
  capabilities: () => [],
  findOperator: () => ["Test.Act", "1.0"],
  machines: () => [],
  getCapability: () => ["Test.Job", "1.0"],
  deliveries: () => [],
  redeliver: () => ["mail"],
  ask: () => [5, free({})],
  ready: () => [],
  lag: () => [],
  vitals: () => [],
  lifecycles: () => [id],
  stop: () => [{ drainMs: 0 }],
  "documents.record": () => [{ tenant_id: 1, document_id: "d", processed_content: { hash: "h", bytes: 1 } }],
  "memory.write": () => [
    { tenant_id: 1, key: "k", type: "t", value: free({}), source: "s", confidence: 1, capability: "c" },
  ],
  "memory.sync": () => [{ tenant_id: 1, changes: [request.change] }, who],
  "memory.changes": () => [{ tenant_id: 1, limit: 1 }, who],
  "tokens.events": read,
  "tokens.toJsonl": read,
  "tokens.capabilities": read,
  "tokens.governor": read,
  "tokens.charges": () => [1, who],
};
const { intent_hint: _, ...rest } = request.submit();
const ofPackage: typeof methods = {
  submit: () => [{ ...rest, inputs: free({}) }],
  workflow: read,
  settled: () => [id, free({})],
  execute: () => [id],
  outcomes: read,
  gates: read,
  decideGate: () => [id, request.decide()],
};

const unknown = "no_such_member";

/** The same value once for each object of it that is not free, with an unknown member there; and where that is. */
function spoil(value: unknown, path = ""): readonly (readonly [path: string, spoilt: unknown])[] {
  if (typeof value !== "object" || value === null || freeObjects.has(value)) return [];
  const within = Object.entries(value).flatMap(([key, member]) =>
    spoil(member, `${path}${key}.`).map(([at, spoilt]) => {
      const copy: unknown = Array.isArray(value)
        ? value.map((one, i) => (String(i) === key ? spoilt : one))
        : { ...value, [key]: spoilt };
      return [at, copy] as const;
    }),
  );
  return Array.isArray(value) ? within : [[`${path}${unknown}`, { ...value, [unknown]: 1 }], ...within];
}

async function expectNoneDropped(object: object, name: string, given: readonly unknown[]): Promise<void> {
  const method = methodOf(object, name);
  for (const [at, argument] of given.entries())
    for (const [path, spoilt] of spoil(argument)) {
      const call = async () => answerOf(method, given.toSpliced(at, 1, spoilt));
      const { code, detail } = await refusal(call());
      const [problem] = detail["problems"] as readonly { readonly path: string; readonly problem: string }[];
      const found = [code, problem?.path.endsWith(path), problem?.problem.startsWith("there is no such key")];
      expect(found, `argument ${at + 1} at ${path}`).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH", true, true]);
    }
  const surplus = async () => answerOf(method, [...given, { idempotency_key: "k" }]);
  const { code, message } = await refusal(surplus());
  expect([code, message]).toEqual(["T0_VALIDATION_SCHEMA_MISMATCH", expect.stringContaining("there is no such key")]);
}

describe("a member that nobody knows", () => {
  it("is tried at every method of the kernel and of its client for one package", () => {
    expect(Object.keys(methods).sort()).toEqual([...methodsOf(t.kernel)].sort());
    expect(Object.keys(ofPackage).sort()).toEqual([...methodsOf(t.kernel.of(waits))].sort());
  });

  it.each(Object.keys(methods))("is refused by %s at every object of its arguments, with its path", async (name) => {
    await expectNoneDropped(t.kernel, name, methods[name]?.() ?? []);
    expect(world.calls).toEqual([]);
    await expectAlive(t);
  });

  it.each(Object.keys(ofPackage))("is refused by %s of one package, too", async (name) => {
    await expectNoneDropped(t.kernel.of(waits), name, ofPackage[name]?.() ?? []);
    expect(world.calls).toEqual([]);
  });

  it("is told with the one that may have been meant, wherever it stands", async () => {
    const { kernel } = t;
    const hint = { intent_type: "Test.Neighbour" };
    const told = async (call: Promise<unknown>) => (await refusal(call)).message;
    expect(await told(kernel.submit({ ...who, intent_hint: hint, idempotencyKey: "k" } as never))).toContain(
      'idempotencyKey: there is no such key; did you mean "idempotency_key"?',
    );
    expect(await told(kernel.submit({ ...who, intent_hint: { ...hint, input: {} } } as never))).toContain(
      'intent_hint.input: there is no such key; did you mean "inputs"?',
    );
    const edits = { edits: { amount: 1 }, payload_digest: "0".repeat(64) };
    expect(await told(kernel.decideGate(id, { ...who, decision: "approve", payload: edits } as never))).toContain(
      'payload.edits: there is no such key; did you mean "edit"?',
    );
    for (const key of ["delayMs", "cron", "startAt"])
      expect(await told(kernel.submit({ ...who, intent_hint: hint, [key]: 1 } as never))).toContain(`${key}: there is`);
    const typed = { ...who, inputs: {}, intent_hint: { intent_type: "Test.Neighbour" } };
    expect(await told(kernel.of(waits).submit(typed as never))).toContain("intent_hint: there is no such key");
  });

  it("is refused in a caller, whose credential's scopes the kernel would not heed", async () => {
    const caller = { ...who, scopes: [] };
    const { message } = await refusal(t.kernel.workflow(id, caller as never));
    expect(message).toContain("caller.scopes: there is no such key");
  });
});
