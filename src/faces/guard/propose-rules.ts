/**
 * Rules proposed from the calls that a ledger holds, as a YAML file for a person to review: which writing tools were
 * called, how often, and with what end.
 *
 * 1.  A proposal names only tools that were called and whose calls ended well. It allows nothing by itself.
 * 2.  A server that names its tool `*` gets no rule for all of its tools.
 */

import { isTerminal } from "../../contract/workflow.ts";
import type { Caller, Kernel } from "../../index.ts";
import { type CallInput, callIntent } from "./call-package.ts";

interface Tally {
  readonly server: string;
  readonly tool: string;
  readonly writes: boolean;
  calls: number;
  failed: number;
}

const pageSize = 100;

/** Returns the text of a rule file. @throws KernelErrorException as `workflows` does. */
export async function proposeRules(kernel: Kernel, caller: Caller): Promise<string> {
  const tallies = await tallyCalls(kernel, caller);
  const [written, read] = [tallies.filter(({ writes }) => writes), tallies.filter(({ writes }) => !writes)];
  const named = written.filter((one) => !standsForOthers(one));
  const proposed = named.filter(({ calls, failed }) => calls > failed);
  return [
    "# Proposed from the calls on record. Keep the rules of tools that need no person, and remove the others.",
    ...read.map((one) => `# reads, and is called at once: ${describe(one)}`),
    ...written.filter(standsForOthers).map((one) => `# has a name that would stand for others: ${describe(one)}`),
    ...named.filter((one) => !proposed.includes(one)).map((one) => `# never ended well: ${describe(one)}`),
    ...(proposed.length === 0 ? ["# No writing tool was called."] : ['version: "proposed-1"', "rules:"]),
    ...proposed.flatMap(ruleOf),
    "",
  ].join("\n");
}

/** Returns whether the name of a tool, or of its server, would match other names in a rule. */
const standsForOthers = ({ server, tool }: Tally): boolean => server.endsWith("*") || tool.endsWith("*");

async function tallyCalls(kernel: Kernel, caller: Caller): Promise<readonly Tally[]> {
  const tallies = new Map<string, Tally>();
  for (let after: string | undefined; ; ) {
    const page = await kernel.workflows(
      { intent_type: callIntent, limit: pageSize, ...(after !== undefined && { after }) },
      caller,
    );
    for (const { workflow_id, state } of page) {
      if (!isTerminal(state)) continue;
      const { intent } = await kernel.workflow(workflow_id, caller);
      const { server, tool, effect } = intent.inputs as unknown as CallInput;
      const key = JSON.stringify([server, tool, effect]);
      const tally = tallies.get(key) ?? { server, tool, writes: effect !== "read", calls: 0, failed: 0 };
      tally.calls += 1;
      tally.failed += Number(state !== "completed");
      tallies.set(key, tally);
    }
    after = page.at(-1)?.workflow_id;
    if (page.length < pageSize) break;
  }
  return [...tallies.values()].sort((a, b) => a.server.localeCompare(b.server) || a.tool.localeCompare(b.tool));
}

const describe = ({ server, tool, calls, failed }: Tally): string =>
  JSON.stringify(`${server}: ${tool}, ${calls} calls, ${failed} without a result`);

/** Returns the lines of one rule. Names are quoted as JSON, which YAML reads. */
const ruleOf = (one: Tally): readonly string[] => [
  `  # ${describe(one)}`,
  `  - name: ${JSON.stringify(`allow.${one.server}.${one.tool}`.slice(0, 256))}`,
  "    stages: [action]",
  "    lifts: default.final_write",
  "    when:",
  "      operators: [Guard.Write]",
  "      values:",
  `        - { path: server, any: [${JSON.stringify(one.server)}] }`,
  `        - { path: tool, any: [${JSON.stringify(one.tool)}] }`,
  "    decision: ALLOW",
  "    reason: called on record and reviewed",
];
