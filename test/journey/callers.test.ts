/**
 * Who asks (seed 003 section 2.2): a caller has a tenant; who gives none at all is the embedding host itself, and
 * nobody else is ever taken for it.
 */
import { describe, expect, it } from "vitest";
import type { Caller, Kernel } from "../../src/index.ts";
import { createTestKernel } from "../../src/testing/index.ts";
import { counted, eventsOf, intentType, oneStep, refusalOf } from "./parts.ts";

const first = async (items: AsyncIterable<unknown>): Promise<unknown> => {
  for await (const item of items) return item;
  return undefined;
};

/** Everything that a caller may read. */
const reads: Readonly<Record<string, (kernel: Kernel, id: string, caller?: Caller) => Promise<unknown>>> = {
  workflow: (k, id, caller) => k.workflow(id, caller),
  workflows: (k, _, caller) => k.workflows({}, caller),
  "workflows behind a cursor": (k, id, caller) => k.workflows({ after: id }, caller),
  gates: (k, _, caller) => k.gates({}, caller),
  gate: (k, id, caller) => k.gate(id, "gate-s1", caller),
  outcomes: (k, id, caller) => k.outcomes(id, caller),
  actions: (k, id, caller) => k.actions(id, caller),
  events: (k, id, caller) => first(k.events(id, { live: false }, caller)),
  "events as they come": (k, id, caller) => first(k.events(id, {}, caller)),
  progress: (k, id, caller) => first(k.progress(id, { live: false }, caller)),
  assistant: (k, id, caller) => first(k.assistant(id, { live: false }, caller)),
  channel: (k, id, caller) => first(k.channel("events", id, { live: false }, caller)),
  feed: (k, _, caller) => first(k.feed({}, caller)),
  trace: (k, id, caller) => k.trace(id, caller),
  explain: (k, id, caller) => k.explain(id, caller),
  whatIf: (k, _, caller) => first(k.whatIf({ policies: [] }, caller)),
  doctor: (k, _, caller) => first(k.doctor({}, caller)),
  audit: (k, id, caller) => k.audit(id, caller),
  evidence: (k, id, caller) => first(k.evidence(id, caller)),
  verify: (k, id, caller) => k.verify(id, {}, caller),
  "verify of the whole ledger": (k, _, caller) => k.verify(undefined, {}, caller),
  replay: (k, id, caller) => k.replay(id, caller),
  export: (k, id, caller) => first(k.export(id, caller)),
  attachReport: (k, id, caller) => k.attachReport(id, {}, caller),
  "tokens.events": (k, id, caller) => k.tokens.events(id, caller),
  "tokens.governor": (k, id, caller) => k.tokens.governor(id, caller),
  "memory.changes": (k, _, caller) => k.memory.changes({ tenant_id: 1 }, caller),
  authorize: (k, _, caller) => k.authorize(caller as Caller, "outcome:read"),
};

const principal = { type: "user", id: 1, role: "user" };
const tenantless: readonly (readonly [string, unknown])[] = [
  ["null", null],
  ["a principal alone", { principal }],
  ["a tenant that is not known yet", { tenant_id: undefined, principal }],
  ["a tenant that is null", { tenant_id: null, principal }],
  ["a tenant that is a list", { tenant_id: [1], principal }],
];

describe("who asks without a tenant", () => {
  it.each(Object.entries(reads))("[ATH-06] [ATH-02] is refused %s, and is not taken for the host", async (_, read) => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    const { workflow_id } = await t.run(intentType);
    const before = (await eventsOf(t, workflow_id)).length;
    for (const [what, caller] of tenantless) {
      const { code, message } = await refusalOf(read(t.kernel, workflow_id, caller as Caller));
      expect([what, code]).toEqual([what, "T0_VALIDATION_SCHEMA_MISMATCH"]);
      expect(message).toContain("tenant_id");
    }
    expect(await eventsOf(t, workflow_id)).toHaveLength(before);
  });

  it("the whole ledger is verified for the host alone", async () => {
    await using t = await createTestKernel({ capabilities: [oneStep(counted("Notes.Write"))] });
    await t.run(intentType);
    expect((await refusalOf(t.kernel.verify(undefined, {}, { tenant_id: 1, principal }))).code).toBe(
      "T5_IDENTITY_VIOLATION",
    );
    expect((await t.kernel.verify()).ok).toBe(true);
  });
});
