/**
 * A past to ask again about: workflows that were let through, transformed, masked, denied at every stage, decided by
 * people, edited, decided early and planned anew, under one base set.
 */
import type { CapabilityDefinition } from "../../src/contract/capability.ts";
import { digest } from "../../src/contract/digest.ts";
import type { EventPayloads, LedgerEvent } from "../../src/contract/event.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import type { TurnEvent } from "../../src/contract/turn.ts";
import { definePolicySet, type WhatIf, type WhatIfFinding, type WhatIfReport } from "../../src/index.ts";
import type { LedgerStore } from "../../src/ports/ledger-store.ts";
import { createTestKernel, memoryLedger, type TestKernel, testCaller } from "../../src/testing/index.ts";
import { counted, decide, eventsOf, held, intent, refusalOf, story } from "../gates/story.ts";
import { reseal } from "../ledgers/reseal.ts";

export const baseSet = definePolicySet({
  version: "base-1",
  rules: [
    {
      name: "cap",
      stages: ["action"],
      when: { operators: ["Pay.*"], amounts: [{ path: "sum", above: 500 }] },
      decision: "TRANSFORM",
      transform: { set: { sum: 500 } },
      reason: "at most 500",
    },
    {
      name: "mask",
      stages: ["action"],
      when: { operators: ["Pay.*"], tags: { any: ["pii"] } },
      decision: "ALLOW_WITH_REDACTION",
      redactions: ["iban"],
      reason: "ibans stay here",
    },
    { name: "no evil", stages: ["action"], when: { tags: { any: ["evil"] } }, decision: "DENY", reason: "evil" },
    { name: "no plan", stages: ["plan"], when: { tags: { any: ["unplanned"] } }, decision: "DENY", reason: "never" },
    {
      name: "no shouting",
      stages: ["outcome"],
      when: { tags: { any: ["loud"] } },
      decision: "TRANSFORM",
      transform: { set: { text: "calm" } },
      reason: "calm",
    },
    { name: "not nine", stages: ["gate"], when: { principals: [9] }, decision: "DENY", reason: "nine may not" },
  ],
});

export interface Past {
  readonly capability: CapabilityDefinition;
  readonly t: TestKernel;
  /** Workflow ids by what happened in them. */
  readonly of: Readonly<Record<string, string>>;
}

const pay = (
  id: string,
  params: Readonly<Record<string, unknown>>,
  more: Partial<PlanStepDraft> = {},
): PlanStepDraft => ({
  step_id: id,
  name: `pay ${id}`,
  operator: "Pay.Send",
  params,
  ...more,
});

/** Plans by what they are for; `write` drafts a note, `apply` makes it final, at a gate of the default rules. */
const plans: Readonly<Record<string, readonly PlanStepDraft[]>> = {
  plain: [pay("s1", { sum: 20 })],
  capped: [pay("s1", { sum: 900 })],
  masked: [pay("s1", { sum: 30, iban: "DE02" }, { policy_tags: ["pii"] })],
  denied: [pay("s1", { sum: 10 }, { policy_tags: ["evil"] })],
  unplanned: [pay("s1", { sum: 10 }, { policy_tags: ["unplanned"] })],
  loud: [
    {
      step_id: "w",
      name: "w",
      operator: "Note.Write",
      params: { text: "HEY" },
      outcome: "Note",
      policy_tags: ["loud"],
    },
  ],
  chained: [
    pay("s1", { sum: 40 }),
    pay("s2", { sum: "{{s1.output.sum}}", note: "was {{s1.output.sum}}" }, { depends_on: ["s1"] }),
  ],
  gated: [pay("s1", { sum: 60 }, { gate: { reason: "look" } })],
  edited: [pay("s1", { sum: 70 }, { gate: { reason: "look" } })],
  refused: [pay("s1", { sum: 80 }, { gate: { reason: "look" } })],
  applied: [
    { step_id: "w", name: "w", operator: "Note.Write", params: { text: "a note" }, outcome: "Note" },
    { step_id: "p", name: "p", operator: "Note.Publish", params: { text: "{{w.output.text}}" }, applies: "w" },
  ],
  early: [
    { step_id: "slow", name: "slow", operator: "Note.Slow", params: {} },
    pay("s1", { sum: "{{slow.output.sum}}" }, { depends_on: ["slow"], gate: { reason: "look" } }),
  ],
};

export async function makePast(ledger?: LedgerStore): Promise<Past> {
  const end = held<object>();
  const [send, write, publish, slow] = [
    counted("Pay.Send", { effect: "external_send", riskLevel: "medium" }),
    counted("Note.Write", { effect: "write_draft" }),
    counted("Note.Publish", { effect: "final_write" }),
    counted("Note.Slow", {}, () => end.promise),
  ];
  const capability = story([send, write, publish, slow], [], {
    plan: ({ input }) => ({ reasoning: "by name", steps: [...(plans[(input as { plan: string }).plan] ?? [])] }),
  });
  const t = await createTestKernel({
    capabilities: [capability],
    policies: [baseSet],
    defaultPolicies: true,
    roles: { user: { scopes: ["*"], data_policy: { allow_external_send: true } }, robot: { scopes: ["*"] } },
    ...(ledger === undefined ? {} : { ledger }),
  });
  const of: Record<string, string> = {};
  const start = async (name: string): Promise<string> => {
    of[name] = (await t.run(intent, { plan: name })).workflow_id;
    // Two minutes between them, so that each has a time of its own.
    await t.clock.advance(120_000);
    return of[name];
  };
  const letThrough = async (name: string, payload: object = {}): Promise<void> => {
    const id = await start(name);
    await decide(t, id, { decision: "approve", payload });
    await t.rest(id);
  };
  await start("denied");
  await start("unplanned");
  await start("loud");
  for (const name of ["plain", "capped", "masked", "gated"]) await letThrough(name);
  await letThrough("edited", { edit: { sum: 700 } });
  await letThrough("applied", { edit: { text: "a better note" } });
  await rejectSecond(t, await start("chained"));
  await refuseOnce(t, await start("refused"));
  of["early"] = await decideEarly(t, () => end.release({ sum: 90 }));
  return { t, of, capability };
}

async function rejectSecond(t: TestKernel, id: string): Promise<void> {
  await decide(t, id, { gate_id: "gate-s1", decision: "approve" });
  await t.rest(id);
  await decide(t, id, { gate_id: "gate-s2", decision: "reject" });
  await t.rest(id);
}

async function refuseOnce(t: TestKernel, id: string): Promise<void> {
  const nine = { ...testCaller, principal: { type: "user", id: 9, role: "user" }, decision: "approve" } as const;
  await refusalOf(t.kernel.decideGate(id, nine));
  await decide(t, id, { decision: "approve" });
  await t.rest(id);
}

async function decideEarly(t: TestKernel, finish: () => void): Promise<string> {
  const id = await t.submit(intent, { plan: "early" });
  await t.clock.settle();
  const payload = { payload_digest: digest({ sum: 90 }), apply_targets: [] };
  await decide(t, id, { gate_id: "gate-s1", decision: "approve", payload });
  finish();
  await t.rest(id);
  return id;
}

export interface Found {
  readonly findings: readonly WhatIfFinding[];
  readonly report: WhatIfReport;
}

export async function askPast(t: TestKernel, asked: WhatIf, caller?: typeof testCaller): Promise<Found> {
  const findings: WhatIfFinding[] = [];
  const found = t.kernel.whatIf(asked, caller);
  for (;;) {
    const next = await found.next();
    if (next.done === true) return { findings, report: next.value };
    findings.push(next.value);
  }
}

/** All decisions on record, with the workflow each belongs to. */
export async function decisionsOf(
  t: TestKernel,
): Promise<readonly (LedgerEvent & { readonly decided: EventPayloads["POLICY_DECIDED"] })[]> {
  const workflows = await t.kernel.workflows({ limit: 1000 });
  const events = await Promise.all(workflows.map(({ workflow_id }) => eventsOf(t, workflow_id)));
  return events
    .flat()
    .filter((event) => event.event_type === "POLICY_DECIDED")
    .map((event) => ({ ...event, decided: event.payload as unknown as EventPayloads["POLICY_DECIDED"] }));
}

const laterFields: ReadonlySet<string> = new Set(["effect", "by", "asked_at"]);

/**
 * The same past as an older kernel would have written it: plans without effects, decisions with nothing beside them.
 */
export async function olderLedger(ledger: LedgerStore): Promise<LedgerStore> {
  const older = memoryLedger();
  await older.open();
  for (const { owner: _owner, epoch: _epoch, ...create } of await ledger.heads({})) {
    const [tenant_id, now] = [create.tenant_id, create.updated_at];
    const rows = reseal(await ledger.read(create.workflow_id), { event: withoutLater });
    for (const [i, row] of rows.entries())
      await older.append([{ tenant_id, row, now, ...(i === 0 ? { indexes: { create } } : {}) }]);
  }
  return older;
}

function withoutLater(event: TurnEvent): TurnEvent {
  const lacks = (key: string, value: unknown): boolean =>
    (event.type === "POLICY_DECIDED" && key === "payload" && value !== event.payload) ||
    (event.type !== "GATE_OPENED" && laterFields.has(key));
  return JSON.parse(
    JSON.stringify(event, (key, value: unknown) => (lacks(key, value) ? undefined : value)),
  ) as TurnEvent;
}
