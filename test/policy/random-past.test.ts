/** Any past: workflows that people approve, edit, vote on, do again and cancel, under two versions of one set. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/contract/digest.ts";
import type { PlanStepDraft } from "../../src/contract/plan.ts";
import {
  definePolicy,
  definePolicySet,
  KernelErrorException,
  type PolicyQuestion,
  type RuleSet,
} from "../../src/index.ts";
import { createTestKernel, memoryLedger, type TestKernel } from "../../src/testing/index.ts";
import { counted, intent, Note, story } from "../gates/story.ts";
import { runs } from "../properties/property-runs.ts";
import { askPast, decisionsOf } from "./past.ts";

const rules = [
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
    stages: ["action", "outcome"],
    when: { tags: { any: ["pii"] } },
    decision: "REDACT",
    redactions: ["iban"],
    reason: "ibans stay here",
  },
  {
    name: "far too much",
    stages: ["action"],
    when: { operators: ["Pay.*"], amounts: [{ path: "sum", above: 900 }] },
    decision: "DENY",
    reason: "never",
  },
  {
    name: "look at it",
    stages: ["plan"],
    when: { tags: { any: ["looked"] } },
    decision: "REQUIRE_APPROVAL",
    reason: "look",
  },
  { name: "not nine", stages: ["gate"], when: { principals: [9] }, decision: "DENY", reason: "nine may not" },
];
const versioned = (version: string): RuleSet => definePolicySet({ version, rules });

const spy = (seen: string[]) =>
  definePolicy({
    name: "spy",
    stages: ["plan", "action", "outcome", "gate"],
    evaluate(question: PolicyQuestion) {
      seen.push(canonicalJson(question));
      return null;
    },
  });

const people = [1, 2, 3, 9].map((id) => ({ type: "user", id, role: "user" }));

const aGate = fc.constantFrom<PlanStepDraft["gate"]>(
  undefined,
  {},
  { quorum: { approvals: 2 }, approvers: people.map(({ id }) => ({ id })) },
);
const aStep = fc.record({
  kind: fc.constantFrom("pay", "note", "fail", "tell"),
  sum: fc.constantFrom(10, 600, 950),
  tags: fc.subarray(["pii", "looked"]),
  gate: aGate,
  rests: fc.boolean(),
});
const anAct = fc.record({
  what: fc.constantFrom(
    "approve",
    "approve",
    "approve",
    "reject",
    "edit",
    "all",
    "race",
    "lend",
    "withdraw",
    "resume",
    "redo",
    "cancel",
    "reopen",
  ),
  who: fc.constantFrom(...people),
  sum: fc.constantFrom(20, 700, 990),
});
type Step = typeof aStep extends fc.Arbitrary<infer T> ? T : never;
type Act = typeof anAct extends fc.Arbitrary<infer T> ? T : never;

/** A step pays, drafts a note, makes one final or fails at first; it may rest on what the one before it gave. */
function plan(given: readonly Step[]): readonly PlanStepDraft[] {
  return given.map(({ kind, sum, tags, gate, rests }, i) => {
    const before = rests && i > 0 ? `s${i}` : null;
    const isDraft = kind === "note";
    const applies = kind === "tell" && before !== null && given[i - 1]?.kind === "note";
    const operators = { pay: "Pay.Send", note: "Note.Write", fail: "Pay.Fail", tell: "Note.Publish" };
    return {
      step_id: `s${i + 1}`,
      name: `step ${i + 1}`,
      operator: operators[kind],
      params: { sum: before === null ? sum : `{{${before}.output.sum}}`, iban: "DE02", text: "a text" },
      policy_tags: tags,
      ...(before === null ? {} : { depends_on: [before] }),
      ...(gate === undefined ? {} : { gate }),
      ...(isDraft ? { outcome: "Draft.Note" } : {}),
      ...(applies ? { applies: before as string } : {}),
    };
  });
}

interface World {
  readonly t: TestKernel;
  readonly reopen: () => Promise<World>;
}

function open(steps: readonly Step[], seen: string[], ledger = memoryLedger(), version = 1): Promise<World> {
  const failures = { left: 1 };
  const fail = counted("Pay.Fail", { effect: "external_send" }, ({ input }) => {
    failures.left -= 1;
    if (failures.left >= 0) throw new Error("not yet");
    return { ...input };
  });
  const operators = [
    counted("Pay.Send", { effect: "external_send" }),
    counted("Note.Write", { effect: "write_draft" }),
    counted("Note.Publish", { effect: "final_write" }),
    fail,
  ];
  const capability = story(operators, plan(steps), { outcomes: { "Draft.Note": Note } });
  const roles = { user: { scopes: ["*"], data_policy: { allow_external_send: true } } };
  const policies = [versioned(`v${version}`), spy(seen)];
  return createTestKernel({ capabilities: [capability], policies, roles, ledger }).then((t) => ({
    t,
    async reopen() {
      await t.kernel.stop();
      return open(steps, seen, ledger, version + 1);
    },
  }));
}

async function act({ t }: World, id: string, { what, who, sum }: Act): Promise<unknown> {
  const { gates, steps } = await t.kernel.workflow(id);
  const shown = gates.find(({ status }) => status === "open") ?? gates.at(-1);
  const { gate_id = "gate-s1", payload_digest } = shown ?? {};
  const by = { tenant_id: 1, principal: who };
  const expires_at = new Date(t.clock.now() + 3_600_000).toISOString();
  if (what === "approve" || what === "reject")
    return t.kernel.decideGate(id, { ...by, gate_id, decision: what, payload: { payload_digest } });
  const edit = (principal: Act["who"], to: number) =>
    t.kernel.decideGate(id, {
      tenant_id: 1,
      principal,
      gate_id,
      decision: "approve",
      payload: { payload_digest, edit: { sum: to } },
    });
  const approve = (principal: Act["who"]) =>
    t.kernel.decideGate(id, { tenant_id: 1, principal, gate_id, decision: "approve", payload: { payload_digest } });
  if (what === "edit") return edit(who, sum);
  if (what === "race") return Promise.allSettled(people.map((one, i) => (i === 2 ? approve(one) : edit(one, sum + i))));
  if (what === "all") return Promise.allSettled(people.map(approve));
  if (what === "lend") return t.kernel.delegateGate(id, { ...by, gate_id, to: { type: "user", id: 77 }, expires_at });
  if (what === "withdraw") return t.kernel.withdrawVote(id, { ...by, gate_id });
  if (what === "cancel") return t.kernel.cancel(id, by);
  const mode = what === "resume" ? "resume_failed_steps" : "regenerate";
  return t.kernel.retry(id, { ...by, mode, ...(what === "redo" ? { step_ids: [steps[0]?.step_id ?? "s1"] } : {}) });
}

function mustBeRefusal(thrown: unknown): void {
  if (!(thrown instanceof KernelErrorException)) throw thrown;
}

describe("the same set over any past", () => {
  it("[PLC-09] finds no difference, puts no new question, and knows everything that was kept", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(aStep, { minLength: 1, maxLength: 4 }),
        fc.array(anAct, { maxLength: 8 }),
        async (steps, acts) => {
          const live: string[] = [];
          let world = await open(steps, live);
          const { workflow_id: id } = await world.t.run(intent, {});
          for (const one of acts) {
            if (one.what === "reopen") world = await world.reopen();
            else await act(world, id, one).catch(mustBeRefusal);
            await world.t.clock.advance(60_000);
            await world.t.rest(id);
          }
          const again: string[] = [];
          const { findings, report } = await askPast(world.t, { policies: [versioned("same"), spy(again)] });
          expect(findings.filter(({ kind }) => kind === "differs")).toEqual([]);
          for (const { reason } of findings) expect(reason).toContain("policy denied or masked it");
          expect(report.decisions).toBe((await decisionsOf(world.t)).length);
          // What a rule changed is judged again, as part of the same decision.
          expect(again.length + report.unknown).toBeGreaterThanOrEqual(report.decisions);
          for (const question of again) {
            expect(live).toContain(question);
            live.splice(live.indexOf(question), 1);
          }
          await world.t.kernel.stop();
        },
      ),
      { numRuns: runs(60) },
    );
  });
});
