/** `compare WF WF`: shows two runs beside one another, step by step. Nothing is run here. */
import type { Command } from "commander";
import { type ComparedRow, type ComparedRun, compareRuns } from "../../protocol/compare-runs.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { cutLine } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface CompareOptions extends CommonOptions {
  readonly all: boolean;
}

export function addCompare(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("compare"))
    .description("show two runs beside one another: inputs, outputs, decisions, cost and time of each step")
    .argument("<workflow>", "the id of one run")
    .argument("<other>", "the id of the other run")
    .option("--all", "also what is the same in both", false)
    .action((one: string, other: string, options: CompareOptions) => compare([one, other], { options, terminal }));
}

function compare([one, other]: readonly [string, string], session: Session<CompareOptions>): Promise<void> {
  const { options, terminal } = session;
  return withKernel(
    session,
    async (context) => {
      const runs = [await readRun(one, context), await readRun(other, context)] as const;
      const rows = compareRuns(...runs);
      if (options.json) return printJson(session, { runs: [one, other], rows });
      return terminal.print([`A  ${one}`, `B  ${other}`, ...rows.flatMap((row) => linesOf(row, session))].join("\n"));
    },
    { recover: false },
  );
}

const readRun = async (workflowId: string, { kernel, caller }: CommandContext): Promise<ComparedRun> => ({
  state: await kernel.workflow(workflowId, caller),
  events: await Array.fromAsync(kernel.events(workflowId, { live: false }, caller)),
});

const factsShown = ["state", "input", "output", "decisions", "attempts", "cost", "time"] as const;
const longest = 500;

function linesOf({ step_id, name, sides: [a, b], differs }: ComparedRow, session: Session<CompareOptions>) {
  const { options, terminal } = session;
  const title = step_id === null ? showLine(name) : `${step_id}: ${showLine(name)}`;
  const sameWords = differs.length === 0 ? "  the same" : "";
  const head = `\n${terminal.paint("bold", title)}${sameWords}`;
  if (a === null || b === null) return [head, `  only in ${a === null ? "B" : "A"}`];
  return [
    head,
    ...factsShown.flatMap((fact) => {
      const [left, right] = [a[fact] ?? "-", b[fact] ?? "-"].map((text) => cutLine(showLine(text), longest));
      if (differs.includes(fact)) return [`  ${fact}`, `    A  ${left}`, `    B  ${right}`];
      if (fact === "time" && left !== "-") return [`  time  A ${left}, B ${right}`];
      return options.all && left !== "-" ? [`  ${fact}  ${left}`] : [];
    }),
  ];
}
