/**
 * Many workflows, and a stricter set over them twice: asked directly while they run, with the very question that policy
 * was asked, and asked of the ledger afterwards. Both must find the same decisions.
 */
import { z } from "zod";
import { digest } from "../../src/contract/digest.ts";
import type { PolicyDecision, PolicyQuestion } from "../../src/contract/policy.ts";
import {
  createKernel,
  defineCapability,
  defineOperator,
  definePolicy,
  definePolicySet,
  evaluatePolicies,
  type KernelOptions,
  type RuleSet,
  type WhatIfReport,
} from "../../src/index.ts";
import { testCaller } from "../../src/testing/index.ts";

const intentType = "Order.Place";
const anyObject = z.record(z.string(), z.unknown());
const inFlight = 64;

const cap = {
  name: "cap",
  stages: ["action"],
  when: { amounts: [{ path: "sum", above: 950 }], operators: ["Order.Send"] },
  decision: "TRANSFORM",
  transform: { set: { sum: 950 } },
  reason: "at most 950",
};
const base = definePolicySet({ version: "base", rules: [cap] });

/** Of every stage that is asked something is stricter than it was. */
const stricter = definePolicySet({
  version: "stricter",
  rules: [
    cap,
    {
      name: "large",
      stages: ["action"],
      when: { operators: ["Order.Send"], amounts: [{ path: "sum", above: 800 }] },
      decision: "REQUIRE_HUMAN_APPROVAL",
      reason: "large orders need a person",
    },
    { name: "barred", stages: ["plan"], when: { tags: { any: ["barred"] } }, decision: "DENY", reason: "barred" },
    {
      name: "mask",
      stages: ["outcome"],
      when: { tags: { any: ["private"] } },
      decision: "ALLOW_WITH_REDACTION",
      redactions: ["name"],
      reason: "names stay here",
    },
  ],
});

const write = defineOperator({ name: "Order.Write", input: anyObject, run: ({ input }) => ({ ...input }) });
const send = defineOperator({
  name: "Order.Send",
  input: anyObject,
  effect: "write_draft",
  run: ({ input }) => ({ sent: input["sum"] }),
});

const orders = defineCapability({
  intentType,
  version: "1.0",
  input: anyObject,
  operators: [write, send],
  plan: ({ input }) => {
    const { sum, tag } = input as { readonly sum: number; readonly tag: string };
    return {
      reasoning: "write it down, then send it",
      steps: [
        {
          step_id: "w",
          name: "write",
          operator: "Order.Write",
          params: { sum, name: "Ada" },
          outcome: "Order",
          policy_tags: [tag],
        },
        { step_id: "s", name: "send", operator: "Order.Send", params: { sum: "{{w.output.sum}}" }, depends_on: ["w"] },
      ],
    };
  },
});

const tags = ["plain", "plain", "private", "plain", "barred", "plain", "plain"] as const;

export interface Compared {
  /** Decisions that differ, as the ledger and as direct evaluation tell them. */
  readonly told: readonly string[];
  readonly direct: readonly string[];
  readonly report: WhatIfReport;
  readonly whatIfMs: number;
}

interface Comparing {
  readonly workflows: number;
  readonly ledger: NonNullable<KernelOptions["ledger"]>;
  /** Milliseconds of some clock. */
  readonly now: () => number;
}

export async function compareWhatIf({ workflows, ledger, now }: Comparing): Promise<Compared> {
  const direct: string[] = [];
  const ids = new Map<string, string>();
  const kernel = await createKernel({ ledger, capabilities: [orders], policies: [base, spyFor(direct)] });
  const run = async (i: number): Promise<void> => {
    const inputs = { sum: (i * 37) % 1000, tag: tags[i % tags.length] };
    const accepted = await kernel.submit({ ...testCaller, intent_hint: { intent_type: intentType, inputs } });
    ids.set(accepted.workflow_id, accepted.intent_id);
    await kernel.settled(accepted.workflow_id);
  };
  for (let from = 0; from < workflows; from += inFlight)
    await Promise.all(Array.from({ length: Math.min(inFlight, workflows - from) }, (_, i) => run(from + i)));
  const told: string[] = [];
  const found = kernel.whatIf({ policies: [stricter] });
  const began = now();
  for (;;) {
    const next = await found.next();
    if (next.done === true) {
      const whatIfMs = now() - began;
      await kernel.stop();
      return { told: told.toSorted(), direct: direct.toSorted(), report: next.value, whatIfMs };
    }
    const { workflow_id, stage, subject, would_be } = next.value;
    const name = stage === "plan" ? "plan" : subject;
    told.push(lineOf(ids.get(workflow_id) as string, `${stage} ${name}`, would_be));
  }
}

function lineOf(intentId: string, what: string, decided: PolicyDecision | null): string {
  if (decided === null) return `${intentId} ${what} unknown`;
  return `${intentId} ${what} ${digest([decided.decision, decided.transform, decided.redactions])}`;
}

/** Evaluates both sets on each question as it is asked, and keeps where they differ. */
function spyFor(differing: string[]) {
  const ask = ({ rules }: RuleSet, question: PolicyQuestion): PolicyDecision =>
    evaluatePolicies({ rules, version: "" }, question) as PolicyDecision;
  const seen = new Set<string>();
  return definePolicy({
    name: "spy",
    stages: ["plan", "action", "outcome", "gate"],
    evaluate(question) {
      // What a rule changed is judged again, as part of the same decision.
      const decision = [question.intent.intent_id, question.stage, question.subject.name].join();
      if (seen.has(decision)) return null;
      seen.add(decision);
      const [was, would] = [ask(base, question), ask(stricter, question)];
      const name = question.stage === "plan" ? "plan" : question.subject.name;
      const [before, after] = [was, would].map((decided) =>
        lineOf(question.intent.intent_id, `${question.stage} ${name}`, decided),
      );
      if (before !== after) differing.push(after as string);
      return null;
    },
  });
}
