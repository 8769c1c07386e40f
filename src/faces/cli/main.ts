/**
 * The command line: builds the program, runs one command, and returns its exit code.
 *
 * Owns: the list of commands. Each is a thin mapping over the in-process API and is described in its own file.
 * 1.  It never ends the process itself: the exit code is returned, so that pending output is still written. The code is
 *     0 only once all output is written.
 */
import { Command } from "commander";
import { nameForbidden } from "../../protocol/visible-text.ts";
import { arrangeHelp, helpWords } from "./arrange-help.ts";
import { addAway } from "./away.ts";
import { addBudgets } from "./budgets.ts";
import { addCompare } from "./compare.ts";
import { addCompleteIds } from "./complete-ids.ts";
import { addCompletion } from "./completion.ts";
import { addCreate } from "./create.ts";
import { addDecisions, addRestarts } from "./decide.ts";
import { addDecisionsAtOnce } from "./decide-several.ts";
import { addHistory } from "./decisions.ts";
import { addDemo } from "./demo.ts";
import { addDev } from "./dev.ts";
import { addDoctor } from "./doctor.ts";
import { addDraw } from "./draw.ts";
import { addEmit, addTokenUrl } from "./emit.ts";
import { addStreams } from "./events.ts";
import { addExplanations } from "./explain.ts";
import { addGrants } from "./grants.ts";
import { addGuard } from "./guard.ts";
import { addHalts } from "./halt.ts";
import { addHook } from "./hook.ts";
import { addInspect } from "./inspect.ts";
import { addItems } from "./items.ts";
import { addLists } from "./list.ts";
import { addLogin } from "./login.ts";
import { addMcp } from "./mcp.ts";
import { addBackup, addMigrate } from "./migrate.ts";
import { addQueues } from "./queues.ts";
import { readVersion } from "./read-version.ts";
import { refuseEmptyIds } from "./refuse-empty.ts";
import { addReplay } from "./replay.ts";
import { reportError } from "./report-error.ts";
import { addReview } from "./review.ts";
import { addRoles } from "./roles.ts";
import { addRun } from "./run.ts";
import { addSchedules } from "./schedules.ts";
import { addServe } from "./serve.ts";
import { guardTerminal, openTerminal, type Terminal } from "./terminal.ts";
import { addVerify } from "./verify.ts";
import { addVotes } from "./vote.ts";
import { addWhatIf } from "./whatif.ts";

/**
 * Runs one command. `args` are the words after the program's name. If no terminal is given, the process's own is used.
 */
export async function main(args: readonly string[], given?: Terminal): Promise<number> {
  const json = args.includes("--json");
  const terminal = guardTerminal(given ?? openTerminal(json));
  const code = await codeOf(() => buildProgram(terminal, json).parseAsync([...args], { from: "user" }), terminal, json);
  return code === 0 ? codeOf(terminal.settle, terminal, json) : code;
}

async function codeOf(work: () => Promise<unknown>, terminal: Terminal, json: boolean): Promise<number> {
  try {
    await work();
    return 0;
  } catch (thrown) {
    return reportError(thrown, terminal, json);
  }
}

/**
 * Builds the program. Commander's usage errors are printed for people; with --json they become problem details
 * (report-error.ts).
 */
export function buildProgram(terminal: Terminal, json: boolean): Command {
  const complain = (text: string): void => terminal.complain(nameForbidden(text.trimEnd()));
  const program = new Command("countersign")
    .description("Run, decide, explain and verify accountable workflows.")
    .version(readVersion())
    .exitOverride()
    .configureHelp(helpWords)
    .configureOutput({
      writeOut: terminal.write,
      writeErr: json ? () => undefined : complain,
      getOutHelpWidth: () => terminal.columns,
    })
    .showHelpAfterError("(--help says what there is)");
  const decisions = [addReview, addDecisions, addDecisionsAtOnce, addVotes, addRestarts, addHalts, addGrants, addAway];
  const readings = [
    addHistory,
    addExplanations,
    addItems,
    addStreams,
    addVerify,
    addReplay,
    addCompare,
    addInspect,
    addDraw,
    addWhatIf,
    addDoctor,
    addMigrate,
    addBackup,
    addRoles,
  ];
  const begins = [
    addDemo,
    addDev,
    addCreate,
    addRun,
    addLists,
    addSchedules,
    addQueues,
    addBudgets,
    addEmit,
    addTokenUrl,
  ];
  for (const add of [
    ...begins,
    ...decisions,
    ...readings,
    addServe,
    addLogin,
    addMcp,
    addGuard,
    addHook,
    addCompletion,
    addCompleteIds,
  ]) {
    add(program, terminal);
  }
  refuseEmptyIds(program);
  arrangeHelp(program);
  return program;
}
