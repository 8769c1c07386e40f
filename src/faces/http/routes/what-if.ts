/**
 * The decisions that another set of rules would have made: findings as they are found, then the counts.
 *
 * 1.  Rules are data (YAML, of which JSON is a part) and never code.
 */
import { z } from "zod";
import { searches } from "../../../api/reads.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { definePolicySet, type RuleSet, type WhatIf } from "../../../index.ts";
import { readYaml } from "../../../protocol/read-yaml.ts";
import type { Edge } from "../edge.ts";
import { addSearch } from "./add-search.ts";

const whatIfRef = moduleRef(5, "policy", "what_if");

const example = `version: tighter
rules:
  - name: writes.asked
    stages: [action]
    when: { effects: [final_write] }
    decision: REQUIRE_HUMAN_APPROVAL
    reason: somebody looks at what becomes final
`;

/**
 * The limit on the characters of a set of rules: hundreds of rules. They are read at once, while nothing else is
 * answered.
 */
const maxRuleChars = 65_536;

const WhatIfBody = z
  .strictObject({
    rules: z.string().max(maxRuleChars).describe("A set of rules as YAML or JSON, in place of the kernel's own."),
    default_policies: z.boolean().optional().describe("Whether the default rules are asked behind them."),
    since: z.string().optional().describe("Decisions from this instant on."),
    until: z.string().optional().describe("Decisions before this instant."),
    intent_type: z.string().optional(),
    workflow_id: z.string().optional(),
  })
  .meta({ examples: [{ rules: example }] });

export const addWhatIf = (edge: Edge): void =>
  addSearch(edge, searches.whatIf, {
    asked: WhatIfBody,
    most: edge.options.limits.maxWhatIfFindings,
    find: async (asked, caller) => edge.kernel.whatIf(await questionOf(asked), caller),
    source: whatIfRef,
  });

async function questionOf({ rules, default_policies, ...scope }: z.output<typeof WhatIfBody>): Promise<WhatIf> {
  const policies = [await readRules(rules)];
  return { ...scope, policies, ...(default_policies !== undefined && { defaultPolicies: default_policies }) };
}

async function readRules(text: string): Promise<RuleSet> {
  const data = await readYaml(text).catch((thrown: unknown) => {
    // The parser's errors are about the rules. An error with a code is about this server.
    if (thrown instanceof KernelErrorException) throw thrown;
    return refuseRules((thrown as Error).message);
  });
  return definePolicySet(data);
}

function refuseRules(problem: string): never {
  const detail = { problems: [{ rule: null, field: "rules", problem }] };
  return raise(kernelError("T5_POLICY_INVALID", `policy set: ${problem}`, whatIfRef, { detail }));
}
