/**
 * The order of the help: commands grouped by task, and of each command its own options before the shared ones.
 *
 * Owns: the groups. A test requires that each command is in one.
 */
import { type Command, Help, type Option } from "commander";

/** The commands by task, in the order in which the help lists them. */
export const commandGroups: Readonly<Record<string, readonly string[]>> = {
  "Begin:": ["demo", "dev", "create", "run"],
  "Look:": ["list", "show", "gates", "decisions", "items", "queues", "budgets", "schedules", "halts", "grants"],
  "Decide:": [
    "review",
    "approve",
    "reject",
    "decide",
    "withdraw",
    "delegate",
    "away",
    "grant",
    "revoke",
    "comment",
    "assign",
    "snooze",
    "watch",
  ],
  "Steer:": [
    ...["pause", "resume", "cancel", "retry", "fork", "rollback", "message", "emit", "token-url"],
    ...["halt", "lift", "limit"],
  ],
  "Understand:": ["explain", "trace", "events", "compare", "draw", "inspect", "whatif"],
  "Prove and keep:": ["verify", "replay", "export", "backup", "migrate", "doctor", "roles"],
  "Serve:": ["serve", "login", "mcp", "guard", "hook", "completion"],
};

/** The heading of the options that most commands share, and that of a command's own. */
export const sharedOptions = "Ledger, packages and caller:";
export const ownOptions = "Options:";

const order = Object.values(commandGroups).flat();

/** Groups the commands of a program by task, and lists the options that they share last. */
export function arrangeHelp(program: Command): void {
  for (const [heading, names] of Object.entries(commandGroups))
    for (const command of program.commands) if (names.includes(command.name())) command.helpGroup(heading);
  program.commandsGroup("Serve:").helpCommand("help [command]", "show the help of a command");
  sortInPlace(program.commands, (command) => order.indexOf(command.name()));
  for (const command of program.commands) sortInPlace(command.options, isShared);
}

const isShared = ({ helpGroupHeading }: Option): number => Number(helpGroupHeading === sharedOptions);

/** Sorts a list that commander owns; members of equal rank keep their order. */
function sortInPlace<T>(list: readonly T[], rank: (one: T) => number): void {
  (list as T[]).sort((a, b) => rank(a) - rank(b));
}

const plain = new Help();

/** The forms of options and commands in a help. */
export const helpWords = {
  /** Adds "(required)" to a mandatory option, and leaves out defaults that stand for nothing. */
  optionDescription: (option: Option): string =>
    plain.optionDescription(option).replace(/ \(default: (\[\]|false)\)$/, "") +
    (option.mandatory ? " (required)" : ""),
  /** Names a command with its arguments; that it has options need not be said of each. */
  subcommandTerm: (command: Command): string => plain.subcommandTerm(command).replace(" [options]", ""),
};
