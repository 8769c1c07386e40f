/**
 * The decisions that another set of rules would have made: findings as they are found, then the counts.
 *
 * 1.  Rules are data: YAML, of which JSON is a part, and texts in the languages whose readers the host has given. A
 *     module of Rego has access to nothing, and a short time.
 */
import { z } from "zod";
import { searches } from "../../../api/reads.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { definePolicySet, PolicyStage, type RuleSet, type WhatIf } from "../../../index.ts";
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
/** The limit on the characters of a bundle, as base64; the limit on bodies may be lower. */
const maxBundleChars = 2 ** 22;
/** The time of the processor that one decision of a caller's bundle may take. */
const evaluationMs = 20;

const stages = z.array(PolicyStage).min(1).readonly().optional().describe("The stages; by default `action` alone.");
const spellings = ["rules", "cedar", "rego"] as const;

const WhatIfBody = z
  .strictObject({
    rules: z.string().max(maxRuleChars).optional().describe("A set of rules as YAML or JSON."),
    cedar: z
      .strictObject({
        policies: z.string().max(maxRuleChars).describe("The policies, as Cedar's text."),
        schema: z.string().max(maxRuleChars).optional().describe("The declarations of their schema."),
        stages,
      })
      .optional()
      .describe("Policies in Cedar, where the server reads it."),
    rego: z
      .strictObject({
        bundle: z.base64().max(maxBundleChars).describe("What `opa build -t wasm` writes, as base64."),
        entrypoint: z.string().optional().describe("The entry point; by default `countersign/decisions`."),
        stages,
      })
      .optional()
      .describe("Policies in Rego, where the server reads it."),
    default_policies: z.boolean().optional().describe("Whether the default rules are asked behind them."),
    since: z.string().optional().describe("Decisions from this instant on."),
    until: z.string().optional().describe("Decisions before this instant."),
    intent_type: z.string().optional(),
    workflow_id: z.string().optional(),
  })
  .refine((body) => spellings.filter((name) => body[name] !== undefined).length === 1, {
    error: "give the policies in place of the kernel's own, once: rules, cedar or rego",
  })
  .meta({ examples: [{ rules: example }] });
type WhatIfBody = z.output<typeof WhatIfBody>;
type Languages = Edge["options"]["policyLanguages"];

export const addWhatIf = (edge: Edge): void =>
  addSearch(edge, searches.whatIf, {
    asked: WhatIfBody,
    most: edge.options.limits.maxWhatIfFindings,
    find: async (asked, caller) => edge.kernel.whatIf(await questionOf(asked, edge.options.policyLanguages), caller),
    source: whatIfRef,
  });

async function questionOf(asked: WhatIfBody, languages: Languages): Promise<WhatIf> {
  const { rules, cedar, rego, default_policies, ...scope } = asked;
  const policies = [await readPolicies(asked, languages)];
  return { ...scope, policies, ...(default_policies !== undefined && { defaultPolicies: default_policies }) };
}

/** Reads the policies in their language. @throws KernelErrorException T5_POLICY_INVALID. */
async function readPolicies({ rules, cedar, rego }: WhatIfBody, languages: Languages): Promise<RuleSet> {
  if (cedar !== undefined)
    return languages.cedar?.(cedar) ?? refuseRules("cedar", "this server reads no Cedar (policyLanguages)");
  if (rego === undefined) return readRules(rules ?? "");
  const bundle = Buffer.from(rego.bundle, "base64");
  return (
    languages.opa?.({ ...rego, bundle, limits: { evaluationMs } }) ??
    refuseRules("rego", "this server reads no Rego (policyLanguages)")
  );
}

async function readRules(text: string): Promise<RuleSet> {
  const data = await readYaml(text).catch((thrown: unknown) => {
    // The parser's errors are about the rules. An error with a code is about this server.
    if (thrown instanceof KernelErrorException) throw thrown;
    return refuseRules("rules", (thrown as Error).message);
  });
  return definePolicySet(data);
}

function refuseRules(field: string, problem: string): never {
  const detail = { problems: [{ rule: null, field, problem }] };
  return raise(kernelError("T5_POLICY_INVALID", `policy set: ${problem}`, whatIfRef, { detail }));
}
