/**
 * `complete-ids -- WORDS`: prints the ids that may follow these words of a command line, one a line. Completion scripts
 * call it; the help does not list it.
 *
 * 1.  Every id is a plain word to a shell; one that is not, as a forged ledger may hold, is left out.
 * 2.  If the ledger cannot be read, no id and no error is printed.
 * 3.  No module that the words name is loaded: a ledger is read, and no code of the host runs while somebody types.
 */
import type { Argument, Command, Option } from "commander";
import { withKernel } from "./open-kernel.ts";
import type { CommonOptions } from "./options.ts";
import type { Terminal } from "./terminal.ts";

/** Returns whether an argument of a command is the id of a workflow or of a gate. */
export const isIdArgument = (argument: Argument): boolean => ["workflow", "gate"].includes(argument.name());

/** Returns whether an option takes the id of a workflow. */
export const isIdOption = ({ long }: Pick<Option, "long">): boolean => long === "--workflow";

export function addCompleteIds(program: Command, terminal: Terminal): void {
  program
    .command("complete-ids", { hidden: true })
    .description("print the ids that may follow these words")
    .argument("[words...]", "the words of a command line, up to the one that is completed")
    .action(async (words: readonly string[]) => {
      const ids = await findIds(program, words, terminal).catch(() => []);
      for (const id of listPlainWords(ids)) terminal.print(id);
    });
}

/** Returns those of these ids that are plain words to every shell and no option, each once. */
export const listPlainWords = (ids: readonly string[]): readonly string[] =>
  [...new Set(ids)].filter((id) => /^\w[\w.-]*$/.test(id));

/** @throws for words that the command does not take, and what a ledger throws that cannot be read. */
async function findIds(program: Command, words: readonly string[], terminal: Terminal): Promise<readonly string[]> {
  const [name, ...typed] = words;
  const command = program.commands.find((one) => one.name() === name);
  if (command === undefined) return [];
  const isOfOption = command.options.some((option) => isIdOption(option) && option.long === typed.at(-1));
  const { operands } = command.parseOptions(isOfOption ? typed.slice(0, -1) : typed);
  const argument = command.registeredArguments[operands.length];
  if (!isOfOption && (argument === undefined || !isIdArgument(argument))) return [];
  const { db, tenant, principal, role, host } = command.opts<CommonOptions>();
  if (host !== undefined) return [];
  const who = { tenant, principal, role, json: false, capabilities: [], policies: [] };
  const options: CommonOptions = { ...who, ...(db !== undefined && { db }) };
  const [workflow] = operands;
  const takesGate = command.registeredArguments.some((one) => one.name() === "gate");
  return withKernel({ options, terminal }, async ({ kernel, caller }) => {
    if (!takesGate) return (await kernel.workflows({ limit: mostIds }, caller)).map((one) => one.workflow_id);
    const gates = await kernel.gates(
      { limit: mostIds, ...(workflow !== undefined && { workflow_id: workflow }) },
      caller,
    );
    return gates.map((gate) => (workflow === undefined ? gate.workflow_id : gate.gate_id));
  });
}

/** The newest are offered. */
const mostIds = 100;
