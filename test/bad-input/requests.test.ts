/** Requests that nobody should have sent: each is refused with a coded error, and nothing of it stays behind. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { publicScopes } from "../../src/contract/auth-context.ts";
import type { SubmitRequest } from "../../src/contract/intent.ts";
import { createTestKernel } from "../../src/testing/test-kernel.ts";
import { createWorld, job, step, work } from "../recovery/shared-file.ts";
import { expectAlive, expectOnly, expectRefused, neighbour, openKernel, unknownWorkflow, who } from "./fixture.ts";

const schema = "T0_VALIDATION_SCHEMA_MISMATCH";
const tooLarge = "T0_VALIDATION_PAYLOAD_TOO_LARGE";

const withInputs = (inputs: unknown) => ({ ...who, intent_hint: { intent_type: "Test.Neighbour", inputs } });
const parsed = (text: string): unknown => JSON.parse(text);
const nested = (depth: number): unknown => parsed(`${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`);
const lists = (depth: number): unknown => parsed(`${"[".repeat(depth)}${"]".repeat(depth)}`);
const cyclic: Record<string, unknown> = {};
cyclic["self"] = cyclic;

const requests: readonly (readonly [string, unknown, string])[] = [
  ["nothing", undefined, schema],
  ["null", null, schema],
  ["a number", 42, schema],
  ["a text", "Test.Neighbour", schema],
  ["a list", [who], schema],
  ["an empty object", {}, schema],
  ["no tenant", { principal: who.principal }, schema],
  ["no principal", { tenant_id: 1 }, schema],
  ["a principal without a role", { tenant_id: 1, principal: { type: "user", id: 1 } }, schema],
  ["an empty tenant", { ...who, tenant_id: "" }, schema],
  ["a tenant that is no id", { ...who, tenant_id: 1.5 }, schema],
  ["an unknown source", { ...who, source: "telepathy" }, schema],
  ["inputs that are a list", withInputs([1]), schema],
  ["inputs that are null", withInputs(null), schema],
  ["an intent type that is a number", { ...who, intent_hint: { intent_type: 7, inputs: {} } }, schema],
  ["an empty intent type", { ...who, intent_hint: { intent_type: "", inputs: {} } }, schema],
  ["no intent and no text", who, "T1_NORMALIZE_UNKNOWN_INTENT"],
  ["an unknown intent", { ...who, intent_hint: { intent_type: "Test.Nobody" } }, "T1_NORMALIZE_UNKNOWN_INTENT"],
  ["an unknown version", { ...who, intent_hint: { intent_type: "Test.Neighbour@9.9" } }, "T1_NORMALIZE_UNKNOWN_INTENT"],
  [
    "an intent called as a prototype member",
    { ...who, intent_hint: { intent_type: "constructor" } },
    "T1_NORMALIZE_UNKNOWN_INTENT",
  ],
  ["a text that fits no intent", { ...who, input: { text: "mumble" } }, "T1_CLASSIFY_LOW_CONFIDENCE"],
  ["an over-long text", { ...who, input: { text: "x".repeat(100_001) } }, tooLarge],
  ["a huge input", withInputs({ text: "x".repeat(1_000_001) }), tooLarge],
  ["a wide input", withInputs(Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`key${i}`, i]))), tooLarge],
  ["deep objects", withInputs(nested(2_000)), schema],
  ["very deep lists", withInputs({ a: lists(100_000) }), schema],
  ["a cycle", withInputs(cyclic), schema],
  ["a __proto__ key", withInputs(parsed('{"__proto__":{"isAdmin":true}}')), schema],
  ["a __proto__ key deep inside", withInputs(parsed('{"a":[{"b":{"__proto__":1}}]}')), schema],
  ["half a surrogate pair", withInputs({ text: "\ud800" }), schema],
  ["half a surrogate pair in a tenant", { ...who, tenant_id: "a\udc00" }, schema],
  ["half a surrogate pair in a key", withInputs({ "\ud83d": 1 }), schema],
  ["an integer beyond what is safe", withInputs({ n: 2 ** 53 }), schema],
  ["a negative one", withInputs({ n: -(2 ** 53) - 2 }), schema],
  ["a tenant beyond what is safe", { ...who, tenant_id: 2 ** 60 }, schema],
  ["a number without end", withInputs({ n: Number.POSITIVE_INFINITY }), schema],
  ["no number", withInputs({ n: Number.NaN }), schema],
  ["a bigint", withInputs({ n: 1n }), schema],
  ["a function", withInputs({ f: () => 1 }), schema],
  ["a symbol", withInputs({ s: Symbol("s") }), schema],
  ["a getter that throws", withInputs(Object.defineProperty({}, "x", { get: throwing, enumerable: true })), schema],
  ["a toJSON that throws", withInputs({ when: { toJSON: throwing } }), schema],
  ["a toJSON without end", withInputs({ when: endlessJson() }), schema],
  ["a proxy that throws", withInputs(new Proxy({}, { ownKeys: throwing })), schema],
  ["an unknown role", { ...withInputs({}), principal: { type: "user", id: 1, role: "nobody" } }, "T5_AUTHN_FAILED"],
  [
    "a role called as a prototype member",
    { ...withInputs({}), principal: { type: "user", id: 1, role: "toString" } },
    "T5_AUTHN_FAILED",
  ],
  [
    "a role without the scope",
    { ...withInputs({}), principal: { type: "user", id: 1, role: "support" } },
    "T5_AUTHZ_FORBIDDEN",
  ],
];

function throwing(): never {
  throw new RangeError("not today");
}

function endlessJson(): object {
  const endless = { toJSON: (): object => ({ toJSON: endless.toJSON }) };
  return endless;
}

describe("a request", () => {
  it.each(requests)(
    "with %s is refused with a code, and the kernel serves the next one",
    async (_what, request, code) => {
      await using t = await openKernel();
      await expectRefused(t.kernel.submit(request as SubmitRequest), code);
      await expectOnly(t, []);
      await expectAlive(t);
    },
  );

  it("whose inputs break the capability's schema is refused, and the message names the field", async () => {
    const strict = { ...neighbour, intentType: "Test.Strict", input: z.strictObject({ n: z.number().max(3) }) };
    await using t = await createTestKernel({ capabilities: [strict, neighbour] });
    for (const inputs of [{ n: 4 }, { n: "1" }, {}, { n: 1, more: true }]) {
      const request = { ...who, intent_hint: { intent_type: "Test.Strict", inputs } };
      await expectRefused(t.kernel.submit(request), "T1_NORMALIZE_INPUTS_INVALID");
    }
    await expectOnly(t, []);
    await expectAlive(t);
  });

  it.each<readonly [string, z.ZodType, string]>([
    ["throws", z.object({}).transform(throwing), "T1_NORMALIZE_INPUTS_INVALID"],
    ["gives a BigInt", z.object({}).transform(() => ({ n: 1n })), "T1_NORMALIZE_INPUTS_NOT_JSON"],
    ["gives a Date", z.object({}).transform(() => ({ at: new Date(0) })), "T1_NORMALIZE_INPUTS_NOT_JSON"],
    ["answers later", z.object({}).refine(async () => true), "T1_NORMALIZE_INPUTS_INVALID"],
  ])(
    "with a schema of the capability that %s is refused, however often: no tier goes down by it",
    async (_how, input, code) => {
      await using t = await createTestKernel({
        capabilities: [{ ...neighbour, intentType: "Test.Broken", input }, neighbour],
        limits: { maxTierRestarts: 1 },
      });
      for (let i = 0; i < 3; i += 1) await expectRefused(t.submit("Test.Broken"), code);
      await expectOnly(t, []);
      await expectAlive(t);
    },
  );

  it("with odd but lawful content is served unchanged: emoji, null bytes, names of prototype members", async () => {
    const open = { ...neighbour, intentType: "Test.Open", input: z.record(z.string(), z.unknown()) };
    await using t = await createTestKernel({ capabilities: [open, neighbour] });
    const inputs = {
      "": "",
      constructor: "c",
      toString: 1,
      "😀": "\u0000\u2028'; DROP TABLE events; --",
      n: 2 ** 53 - 1,
      z: -0,
    };
    const state = await t.run("Test.Open", inputs);
    expect(state.state).toBe("completed");
    expect(state.intent.inputs).toEqual({ ...inputs, z: 0 });
    expect(({} as Record<string, unknown>)["isAdmin"]).toBeUndefined();
  });

  it("that the caller changes afterwards is not changed in the kernel", async () => {
    const open = { ...neighbour, intentType: "Test.Open", input: z.record(z.string(), z.unknown()) };
    await using t = await createTestKernel({ capabilities: [open] });
    const inputs: { list: number[] } = { list: [1] };
    const accepted = t.submit("Test.Open", inputs);
    inputs.list.push(2);
    const state = await t.rest(await accepted);
    expect(state.intent.inputs).toEqual({ list: [1] });
  });
});

/** A workflow of tenant 1 that waits at gate-s1. */
async function openWaiting() {
  const world = createWorld();
  const act = { ...work(world, "Test.Act"), input: z.strictObject({}) };
  const capabilities = [job([step("s1", "Test.Act", { gate: {} })], [act])];
  const roles = { user: { scopes: publicScopes }, guest: { scopes: ["outcome:read"] } };
  const t = await openKernel({ capabilities, roles });
  const { workflow_id: id } = await t.run("Test.Job");
  return { t, id, world };
}

type Opened = Awaited<ReturnType<typeof openWaiting>>;
const foreign = { ...who, tenant_id: 2 };
const approve = { ...who, decision: "approve" } as const;
const guest = { type: "user", id: 9, role: "guest" };

const commands: readonly (readonly [string, string, (o: Opened) => Promise<unknown>])[] = [
  [
    "a decision on an unknown workflow",
    "T4_WORKFLOW_NOT_FOUND",
    ({ t }) => t.kernel.decideGate(unknownWorkflow, approve),
  ],
  ["a decision on what is no id", "T4_WORKFLOW_NOT_FOUND", ({ t }) => t.kernel.decideGate("../../etc", approve)],
  ["a decision on null", schema, ({ t }) => t.kernel.decideGate(null as never, approve)],
  ["an unknown gate", "T5_GATE_NOT_FOUND", ({ t, id }) => t.approve(id, "gate-s9")],
  ["what is no gate id", schema, ({ t, id }) => t.approve(id, "s1; --")],
  ["another tenant", "T4_WORKFLOW_NOT_FOUND", ({ t, id }) => t.kernel.decideGate(id, { ...approve, ...foreign })],
  [
    "a person without the scope",
    "T5_AUTHZ_FORBIDDEN",
    ({ t, id }) => t.kernel.decideGate(id, { ...approve, principal: guest }),
  ],
  [
    "another word than approve or reject",
    schema,
    ({ t, id }) => t.kernel.decideGate(id, { ...approve, decision: "maybe" as never }),
  ],
  ["no decision", schema, ({ t, id }) => t.kernel.decideGate(id, who as never)],
  ["a decision that is null", schema, ({ t, id }) => t.kernel.decideGate(id, null as never)],
  [
    "an edit that the operator refuses",
    "T4_PARAMS_INVALID",
    ({ t, id }) => t.approve(id, "gate-s1", { edit: { n: "no" } }),
  ],
  ["another payload's digest", "T5_GATE_CONFLICT", ({ t, id }) => t.approve(id, "gate-s1", { payload_digest: "0" })],
  ["a huge comment", schema, ({ t, id }) => t.approve(id, "gate-s1", { comment: "x".repeat(5_000) })],
  [
    "a retry while it waits",
    "T4_WORKFLOW_CONFLICT",
    ({ t, id }) => t.kernel.retry(id, { ...who, mode: "resume_failed_steps" }),
  ],
  [
    "a retry of an unknown workflow",
    "T4_WORKFLOW_NOT_FOUND",
    ({ t }) => t.kernel.retry(unknownWorkflow, { ...who, mode: "resume_failed_steps" }),
  ],
  ["an unknown mode of retry", schema, ({ t, id }) => t.kernel.retry(id, { ...who, mode: "twice" as never })],
  [
    "a regeneration of an unknown step",
    "T4_WORKFLOW_CONFLICT",
    ({ t, id }) => t.kernel.retry(id, { ...who, mode: "regenerate", step_ids: ["s9"] }),
  ],
  [
    "a regeneration by another tenant",
    "T4_WORKFLOW_NOT_FOUND",
    ({ t, id }) => t.kernel.retry(id, { ...foreign, mode: "regenerate" }),
  ],
  ["a cancellation by another tenant", "T4_WORKFLOW_NOT_FOUND", ({ t, id }) => t.kernel.cancel(id, foreign)],
  ["a cancellation of an unknown workflow", "T4_WORKFLOW_NOT_FOUND", ({ t }) => t.kernel.cancel(unknownWorkflow, who)],
  ["a cancellation by nobody", schema, ({ t, id }) => t.kernel.cancel(id, {} as never)],
];

describe("a command", () => {
  it.each(commands)(
    "with %s is refused as %s; the workflow waits on and can be approved",
    async (_what, code, send) => {
      const opened = await openWaiting();
      const { t, id, world } = opened;
      await using _ = t;
      const before = await t.types(id);
      await expectRefused(send(opened), code);
      expect((await t.types(id)).filter((type) => type !== "POLICY_DECIDED")).toEqual(
        before.filter((type) => type !== "POLICY_DECIDED"),
      );
      await expectAlive(t);
      await t.approve(id);
      expect((await t.rest(id)).state).toBe("completed");
      expect(world.stepsCalled()).toEqual(["s1"]);
    },
  );
});

describe("a read", () => {
  const stranger = { tenant_id: 2, principal: who.principal };
  const reads: readonly (readonly [string, (o: Opened, id: string, caller?: typeof stranger) => Promise<unknown>])[] = [
    ["workflow", ({ t }, id, caller) => t.kernel.workflow(id, caller)],
    ["outcomes", ({ t }, id, caller) => t.kernel.outcomes(id, caller)],
    ["actions", ({ t }, id, caller) => t.kernel.actions(id, caller)],
    ["trace", ({ t }, id, caller) => t.kernel.trace(id, caller)],
    ["explain", ({ t }, id, caller) => t.kernel.explain(id, caller)],
    ["events", ({ t }, id, caller) => Array.fromAsync(t.kernel.events(id, { live: false }, caller))],
    ["progress", ({ t }, id, caller) => Array.fromAsync(t.kernel.progress(id, { live: false }, caller))],
    ["assistant", ({ t }, id, caller) => Array.fromAsync(t.kernel.assistant(id, { live: false }, caller))],
    ["export", ({ t }, id, caller) => Array.fromAsync(t.kernel.export(id, caller))],
  ];

  it.each(reads)(
    "of %s: an unknown workflow, another tenant's, and a text that is no id are all not found",
    async (_what, read) => {
      const opened = await openWaiting();
      await using t = opened.t;
      await expectRefused(read(opened, unknownWorkflow), "T4_WORKFLOW_NOT_FOUND");
      await expectRefused(read(opened, opened.id, stranger), "T4_WORKFLOW_NOT_FOUND");
      for (const id of ["", "wf_", "' OR 1=1 --"]) await expectRefused(read(opened, id), "T4_WORKFLOW_NOT_FOUND");
      await expect(read(opened, opened.id, who)).resolves.toBeDefined();
      await expectAlive(t);
    },
  );

  it("of lists shows another tenant nothing", async () => {
    const { t } = await openWaiting();
    await using _ = t;
    expect(await t.kernel.workflows({}, stranger)).toEqual([]);
    expect(await t.kernel.gates({}, stranger)).toEqual([]);
  });

  it.each([
    { limit: -1 },
    { limit: 0.5 },
    { limit: Number.NaN },
    { limit: "all" },
    { states: ["asleep"] },
    { after: 7 },
  ])("of lists with the filter %o is refused as malformed", async (filter) => {
    const { t } = await openWaiting();
    await using _ = t;
    await expectRefused(t.kernel.workflows(filter as never), schema);
    await expectAlive(t);
  });
});
