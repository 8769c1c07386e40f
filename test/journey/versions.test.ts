/**
 * Versions in flight: what waits keeps its versions, the doctor finds what cannot go on, and each way out of it works.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type CapabilityDefinition,
  type DoctorFinding,
  type DoctorReport,
  defineCapability,
  defineOperator,
  type Kernel,
  type LedgerStore,
} from "../../src/index.ts";
import { createTestKernel, createVirtualClock, memoryLedger } from "../../src/testing/index.ts";
import { refusalOf } from "../fixtures.ts";

const ann = { tenant_id: 1, principal: { type: "user", id: "ann", role: "user" } };
const Note = z.object({ text: z.string() });

interface Changed {
  readonly version?: string;
  readonly operator?: string;
  readonly description?: string;
  readonly timeoutSec?: number;
  readonly input?: z.ZodType<unknown, { text: string }>;
  readonly wants?: z.ZodType;
  /** Of another version, which it shares. */
  readonly log?: ReturnType<typeof logger>;
}

const logger = (calls: string[]) =>
  defineOperator({
    name: "Mail.Log",
    input: Note,
    effect: "write_draft",
    idempotent: true,
    run: ({ input: { text } }) => void calls.push(`log ${text}`),
  });

/** `log` takes effect at once; `send` waits for a person. What each call got is kept. */
function mail({ version = "1.0", operator = version, wants = Note, input = Note, log, ...told }: Changed = {}) {
  const calls: string[] = [];
  const logging = log ?? logger(calls);
  const send = defineOperator({
    name: "Mail.Send",
    version: operator,
    input,
    effect: "final_write",
    ...told,
    run: (call) => void calls.push(`send@${operator} ${JSON.stringify(call.input)}`),
  });
  const capability = defineCapability({
    intentType: "Mail.Note",
    version,
    input: wants,
    operators: [logging, send],
    plan: ({ intent, step }) => {
      const params = { text: String(intent.inputs["text"]) };
      const logged = step({ step_id: "log", name: "Log", operator: "Mail.Log", params });
      const sent = step({ step_id: "send", name: "Send", operator: "Mail.Send", params, depends_on: [logged] });
      return { reasoning: "", steps: [logged, sent] };
    },
  });
  return { capability, calls, log: logging };
}

const kept = (ledger: LedgerStore): LedgerStore =>
  Object.assign(Object.create(ledger), { close: async () => undefined });

let opened = 0;
/** Another process, later, on the same ledger. */
function open(ledger: LedgerStore, ...capabilities: readonly CapabilityDefinition[]) {
  opened += 1;
  const clock = createVirtualClock(Date.UTC(2026, 0, opened));
  return createTestKernel({ capabilities, ledger: kept(ledger), seed: opened, clock });
}

/** A workflow of this package that waits at its gate in a ledger that later processes open. */
async function waiting(capability: CapabilityDefinition) {
  const ledger = memoryLedger();
  await using t = await open(ledger, capability);
  const intent_hint = { intent_type: "Mail.Note", inputs: { text: "hello" } };
  const { workflow_id: id } = await t.kernel.submit({ ...ann, intent_hint });
  expect((await t.rest(id)).state).toBe("waiting_for_user");
  return { ledger, id };
}

async function ask(kernel: Kernel, asked = {}, caller?: typeof ann) {
  const findings: DoctorFinding[] = [];
  const found = kernel.doctor(asked, caller);
  for (;;) {
    const next = await found.next();
    if (next.done !== true) {
      findings.push(next.value);
      continue;
    }
    // What people would see is tested by itself.
    const { presenting: _, ...report } = next.value;
    return { findings, report };
  }
}

const allWell: Omit<DoctorReport, "presenting"> = { ok: true, workflows: 1, stranded: 0 };
const approve = { ...ann, decision: "approve" } as const;

describe("a workflow that waits", () => {
  it("continues after a compatible change: another text, timeout or code under the same version", async () => {
    const { ledger, id } = await waiting(mail().capability);
    const changed = mail({ description: "now with a description", timeoutSec: 99 });
    await using t = await open(ledger, changed.capability);
    expect(await ask(t.kernel)).toEqual({ findings: [], report: allWell });
    await t.kernel.decideGate(id, approve);
    expect((await t.rest(id)).state).toBe("completed");
    expect(changed.calls).toEqual(['send@1.0 {"text":"hello"}']);
  });

  it("keeps the versions that it began with where two stand side by side, and new work takes the newest", async () => {
    const one = mail();
    const two = mail({ version: "2.0", log: one.log });
    const { ledger, id } = await waiting(one.capability);
    await using t = await open(ledger, one.capability, two.capability);
    expect((await ask(t.kernel)).report).toEqual(allWell);
    await t.kernel.decideGate(id, approve);
    expect((await t.rest(id)).intent.version).toBe("1.0");
    expect([one.calls.at(-1), two.calls]).toEqual(['send@1.0 {"text":"hello"}', []]);
    const young = await t.kernel.of(two.capability).submit({ ...ann, inputs: { text: "new" } });
    const old = await t.kernel.of(one.capability).submit({ ...ann, inputs: { text: "old" } });
    expect((await t.rest(young.workflow_id)).intent.version).toBe("2.0");
    expect((await t.rest(old.workflow_id)).intent.version).toBe("1.0");
  });
});

describe("the doctor", () => {
  it("finds what is not registered, says what is, and names what can be done", async () => {
    const { ledger, id } = await waiting(mail().capability);
    await using t = await open(ledger, mail({ version: "2.0" }).capability);
    const { findings, report } = await ask(t.kernel);
    expect(report).toEqual({ ok: false, workflows: 1, stranded: 1 });
    expect(findings).toEqual([
      expect.objectContaining({ workflow_id: id, intent_type: "Mail.Note", version: "1.0", state: "waiting_for_user" }),
    ]);
    const [{ obstacles, done, remedies } = expect.fail()] = findings;
    expect(obstacles.map(({ what, name, version, registered }) => [what, name, version, registered])).toEqual([
      ["package", "Mail.Note", "1.0", ["2.0"]],
      ["operator", "Mail.Send", "1.0", ["2.0"]],
    ]);
    expect(done).toEqual([{ step_id: "log", operator: "Mail.Log", operator_version: "1.0" }]);
    expect(remedies.map(({ kind, version }) => [kind, version])).toEqual([
      ["pin", "1.0"],
      ["pin", "1.0"],
      ["migrate", "2.0"],
      ["end", null],
    ]);
  });

  it("finds just what a decision is refused with: nothing where it is taken", async () => {
    const { ledger, id } = await waiting(mail().capability);
    const strict = mail({ input: z.object({ text: z.string().max(3) }) });
    const many = [mail({ version: "2.0" }), mail({ operator: "2.0" }), strict, mail({ timeoutSec: 5 })];
    for (const { capability } of many) {
      await using t = await open(ledger, capability);
      const { findings } = await ask(t.kernel, { workflow_id: id });
      const refused = findings.length === 0 ? null : await refusalOf(t.kernel.decideGate(id, approve));
      expect(refused === null ? [] : [refused.code, refused.detail["reason"]]).toEqual(
        findings.length === 0 ? [] : ["T5_GATE_NOT_RUNNABLE", findings[0]?.obstacles[0]?.code],
      );
    }
  });

  it("offers an edit where the payload no longer fits, and a migration only where the inputs fit", async () => {
    const { ledger, id } = await waiting(mail().capability);
    const strict = mail({ input: z.object({ text: z.string().max(3) }) });
    await using t = await open(ledger, strict.capability);
    const kinds = async (kernel: Kernel) => (await ask(kernel)).findings[0]?.remedies.map(({ kind }) => kind);
    expect(await kinds(t.kernel)).toEqual(["edit", "migrate", "end"]);
    await using u = await open(ledger, mail({ version: "2.0", wants: z.object({ body: z.string() }) }).capability);
    expect(await kinds(u.kernel)).toEqual(["pin", "pin", "end"]);
    await using v = await open(ledger);
    expect(await kinds(v.kernel)).toEqual(["pin", "pin", "end"]);
    expect((await refusalOf(u.kernel.retry(id, { ...ann, mode: "migrate" }))).code).toBe("T1_NORMALIZE_INPUTS_INVALID");
    expect((await u.kernel.workflow(id)).state).toBe("waiting_for_user");
  });

  it("tells of a caller's tenant alone, and refuses questions that it does not know", async () => {
    const { ledger, id } = await waiting(mail().capability);
    await using t = await open(ledger);
    const stranger = { ...ann, tenant_id: 2 };
    expect((await ask(t.kernel, {}, stranger)).report.workflows).toBe(0);
    const refusals = [
      [ask(t.kernel, { workflow_id: id }, stranger), "T4_WORKFLOW_NOT_FOUND"],
      [ask(t.kernel, { workflow_id: "wf_none" }), "T4_WORKFLOW_NOT_FOUND"],
      [ask(t.kernel, { workflow: id }), "T0_VALIDATION_SCHEMA_MISMATCH"],
    ] as const;
    for (const [asked, code] of refusals) expect((await refusalOf(asked)).code).toBe(code);
  });

  it("leaves out what has ended", async () => {
    const { ledger, id } = await waiting(mail().capability);
    await using t = await open(ledger);
    await t.kernel.cancel(id, ann);
    expect(await ask(t.kernel)).toEqual({ findings: [], report: { ok: true, workflows: 0, stranded: 0 } });
    expect((await ask(t.kernel, { workflow_id: id })).report.ok).toBe(true);
  });
});

describe("a migration", () => {
  it("ends the old work and begins it again under the new version, without repeating successes", async () => {
    const one = mail();
    const { ledger, id } = await waiting(one.capability);
    const two = mail({ version: "2.0" });
    await using t = await open(ledger, two.capability);
    const { workflow_id: next } = await t.kernel.retry(id, { ...ann, mode: "migrate" });
    expect((await t.rest(next)).intent.version).toBe("2.0");
    expect(await t.kernel.workflow(id)).toMatchObject({ state: "cancelled", intent: { version: "1.0" } });
    expect((await t.kernel.workflow(next)).regenerated_from).toBe(id);
    await t.kernel.decideGate(next, approve);
    expect((await t.rest(next)).state).toBe("completed");
    expect([one.calls, two.calls]).toEqual([["log hello"], ['send@2.0 {"text":"hello"}']]);
    expect((await t.kernel.verify()).ok).toBe(true);
    expect((await t.kernel.replay(next)).identical).toBe(true);
  });

  it("sent again begins nothing more, and goes on where it was broken off", async () => {
    const { ledger, id } = await waiting(mail().capability);
    await using t = await open(ledger, mail({ version: "2.0" }).capability);
    // As after a crash between its two halves.
    await t.kernel.cancel(id, ann);
    const answers = [];
    for (let i = 0; i < 3; i += 1)
      answers.push((await t.kernel.retry(id, { ...ann, mode: "migrate", version: "2.0" })).workflow_id);
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).not.toBe(id);
  });

  it("is refused to what is completed, to versions that are not there, and a version to other modes", async () => {
    const { ledger, id } = await waiting(mail().capability);
    await using t = await open(ledger, mail().capability);
    const retry = (more: object) => refusalOf(t.kernel.retry(id, { ...ann, ...more }));
    expect((await retry({ mode: "migrate", version: "3.0" })).code).toBe("T1_NORMALIZE_UNKNOWN_INTENT");
    expect((await retry({ mode: "migrate", version: "three" })).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await retry({ mode: "replay", version: "1.0" })).code).toBe("T0_VALIDATION_SCHEMA_MISMATCH");
    expect((await t.kernel.workflow(id)).state).toBe("waiting_for_user");
    await t.kernel.decideGate(id, approve);
    await t.rest(id);
    expect((await retry({ mode: "migrate" })).code).toBe("T4_WORKFLOW_CONFLICT");
  });
});
