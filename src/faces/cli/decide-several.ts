/**
 * `decide`: decisions at up to 500 gates, read from a JSON list. Each workflow then runs here to its next rest, unless
 * another process runs it already.
 *
 * 1.  Each decision is taken or refused by itself, and has a line of its own; the command fails if one was refused.
 */
import type { Command } from "commander";
import type { DecisionResult, GateDecisions } from "../../contract/gate-decisions.ts";
import { KernelErrorException } from "../../contract/kernel-error.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readJson, type Session } from "./options.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";
import { lookForRests } from "./watch-run.ts";

const anExample = '[{"workflow_id":"wf_…","decision":"approve","payload":{"payload_digest":"…"}}]';

export function addDecisionsAtOnce(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("decide"))
    .description("decide several gates, each bound to the digest that it showed")
    .argument("<decisions>", `a JSON list such as ${anExample}, or @FILE`, readJson)
    .action((decisions: unknown, options: CommonOptions) => decideSeveral(decisions, { options, terminal }));
}

async function decideSeveral(given: unknown, session: Session): Promise<void> {
  if (!Array.isArray(given)) throw new UsageError("the decisions must be a JSON list, with an object for each gate");
  const { terminal, options } = session;
  await withKernel(session, async ({ kernel, caller, elsewhere }) => {
    // The kernel checks each decision against its schema.
    const decisions = given as GateDecisions["decisions"];
    const answer = await kernel.decideGates({ ...caller, decisions });
    const taken = new Set(answer.results.flatMap((one) => (one.ok ? [one.workflow_id] : [])));
    await lookForRests({ kernel, elsewhere }, taken, terminal.signal);
    if (options.json) terminal.print(toJsonText(answer));
    else for (const result of answer.results) terminal.print(describeResult(result));
    const refused = answer.results.find((one) => !one.ok);
    if (refused?.ok === false) throw new KernelErrorException(refused.error);
  });
}

const describeResult = (result: DecisionResult): string =>
  `${result.workflow_id}  ${result.ok ? result.answer.status : showLine(`refused: ${result.error.code}`)}`;
