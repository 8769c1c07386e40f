/**
 * `completion SHELL`: a script by which bash, zsh or fish completes commands, options, the words that options take, and
 * the ids of workflows and gates.
 *
 * Owns: the scripts. They are generated from the program itself, so that no command or option is missing.
 * Never: runs the program while somebody types, except for ids (complete-ids.ts).
 * 1.  No word that was typed, and no id, is ever evaluated by the shell.
 */
import { Argument, type Command, type Option } from "commander";
import { isIdArgument, isIdOption } from "./complete-ids.ts";
import type { Terminal } from "./terminal.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a script that completes commands, options and ids: add it to your shell's start file")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .action((shell: Shell) => terminal.print(writeCompletion(program, shell)));
}

interface Described {
  readonly name: string;
  readonly description: string;
}

interface Flag extends Described {
  /** The value that the flag takes: one of some words, a file, the id of a workflow, another text, or none (null). */
  readonly takes: Takes | null;
}

type Takes = readonly string[] | "file" | "ids" | "text";

interface CompletedCommand extends Described {
  readonly flags: readonly Flag[];
  /** Its arguments in their order. */
  readonly args: readonly { readonly name: string; readonly takes: Takes }[];
}

export function writeCompletion(program: Command, shell: Shell): string {
  const visible = program.createHelp().visibleCommands(program);
  const commands = visible.map(readCommand).toSorted((a, b) => a.name.localeCompare(b.name));
  const writers = { bash: writeBash, zsh: writeZsh, fish: writeFish };
  return writers[shell](program.name(), commands);
}

const readCommand = (command: Command): CompletedCommand => ({
  name: command.name(),
  description: command.description(),
  flags: command.options.flatMap(readFlag),
  args: command.registeredArguments.map((argument) => ({
    name: argument.name(),
    takes: argument.argChoices ?? (isIdArgument(argument) ? "ids" : "text"),
  })),
});

function readFlag(option: Option): readonly Flag[] {
  if (option.long === undefined || option.long === null) return [];
  return [{ name: option.long, description: option.description, takes: readTakes(option) }];
}

const fileValue = /<(?:file|ledger|module|keyfile|dir|path)>|@FILE/;

function readTakes(option: Option): Flag["takes"] {
  const { flags, description, argChoices, required, optional } = option;
  if (argChoices !== undefined) return argChoices;
  if (!required && !optional) return null;
  if (isIdOption(option)) return "ids";
  return fileValue.test(flags) || fileValue.test(description) ? "file" : "text";
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const namesOf = (words: readonly Described[]): string => words.map(({ name }) => name).join(" ");

const choicesOf = ({ args }: CompletedCommand): readonly string[] => {
  const takes = args[0]?.takes;
  return Array.isArray(takes) ? takes : [];
};
const takesIds = ({ args }: CompletedCommand): boolean => args.some(({ takes }) => takes === "ids");

/**
 * Writes the script of bash. The word before the cursor decides first: the value of an option, then arguments, then
 * options. For ids the line is split by xargs, which knows quotes and evaluates nothing; bash itself splits at colons
 * and equals signs.
 */
function writeBash(program: string, commands: readonly CompletedCommand[]): string {
  const cases = commands.map((command) => {
    const { name, flags } = command;
    const words = [...flags.map((flag) => flag.name), ...choicesOf(command)].join(" ");
    const ids = takesIds(command) ? `      [[ "$word" == -* ]] || _${program}_ids "$word"\n` : "";
    return `    ${name})\n${writeBashValues(program, flags)}\n${ids}      words="${words}" ;;`;
  });
  return `# ${program} completion for bash. Use: source <(${program} completion bash)
_${program}_words() { COMPREPLY=($(compgen -W "$1" -- "$2")); }
_${program}_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
_${program}_ids() {
  local id line="\${COMP_LINE:0:COMP_POINT}" typed=()
  while IFS= read -r id; do typed+=("$id"); done < <(xargs -n1 printf '%s\\n' <<<"\${line%"$1"}" 2>/dev/null)
  while IFS= read -r id; do
    [[ "$id" == "$1"* ]] && COMPREPLY+=("$id")
  done < <(${program} complete-ids -- "\${typed[@]:1}" 2>/dev/null)
}
_${program}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words="${namesOf(commands)}"
  COMPREPLY=()
  if [ "$COMP_CWORD" -gt 1 ]; then
    words=""
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    esac
  fi
  [ "\${#COMPREPLY[@]}" -gt 0 ] || _${program}_words "$words" "$word"
}
complete -F _${program} ${program}
`;
}

function writeBashValues(program: string, flags: readonly Flag[]): string {
  const names = (takes: Flag["takes"]): string =>
    flags.flatMap((flag) => (flag.takes === takes ? [flag.name] : [])).join("|");
  const chosen = flags.flatMap(({ name, takes }) =>
    Array.isArray(takes) ? [`        ${name}) _${program}_words "${takes.join(" ")}" "$word"; return ;;`] : [],
  );
  const lines = [
    ...chosen,
    ...(names("ids") === "" ? [] : [`        ${names("ids")}) _${program}_ids "$word"; return ;;`]),
    ...(names("file") === "" ? [] : [`        ${names("file")}) _${program}_files "$word"; return ;;`]),
    ...(names("text") === "" ? [] : [`        ${names("text")}) COMPREPLY=(); return ;;`]),
  ];
  return ['      case "$before" in', ...lines, "      esac"].join("\n");
}

function writeZsh(program: string, commands: readonly CompletedCommand[]): string {
  const described = commands.map(({ name, description }) => `    ${quote(`${name}:${description}`)}`);
  const cases = commands.map(({ name, flags, args }) => {
    const own = flags.map(
      ({ name: flag, description, takes }) => ` ${quote(`*${flag}[${plain(description)}]${zshValue(program, takes)}`)}`,
    );
    const rest = args.map(({ name: word, takes }, i) => ` ${quote(`${i + 1}:${word}${zshAction(program, takes)}`)}`);
    return `    ${name}) _arguments${own.join("")}${rest.join("")} ;;`;
  });
  return `#compdef ${program}
# ${program} completion for zsh. Use: source <(${program} completion zsh), after compinit
_${program}_ids() {
  local -a ids
  ids=(\${(f)"$(${program} complete-ids -- "\${(@Q)words[1,CURRENT-1]}" 2>/dev/null)"})
  compadd -a ids
}
_${program}() {
  local -a commands
  commands=(
${described.join("\n")}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local chosen=\${words[2]}
  shift words
  (( CURRENT-- ))
  case $chosen in
${cases.join("\n")}
  esac
}
compdef _${program} ${program}
`;
}

/** Removes brackets and colons, which are syntax in the specifications of `_arguments`. */
const plain = (text: string): string => text.replace(/[[\]:]/g, " ");

const zshValue = (program: string, takes: Flag["takes"]): string =>
  takes === null ? "" : `:value${zshAction(program, takes)}`;

function zshAction(program: string, takes: Takes): string {
  if (takes === "file") return ":_files";
  if (takes === "ids") return `:_${program}_ids`;
  return takes === "text" ? ":" : `:(${takes.join(" ")})`;
}

function writeFish(program: string, commands: readonly CompletedCommand[]): string {
  const top = commands.map(
    ({ name, description }) => `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d ${quote(description)}`,
  );
  const ids = `(__${program}_ids)`;
  const own = commands.flatMap((command) => {
    const head = `complete -c ${program} -n '__fish_seen_subcommand_from ${command.name}'`;
    const choices = choicesOf(command);
    return [
      ...command.flags.map(
        (flag) => `${head} -l ${flag.name.slice(2)}${fishValue(flag.takes, ids)} -d ${quote(flag.description)}`,
      ),
      ...(choices.length === 0 ? [] : [`${head} -f -a ${quote(choices.join(" "))}`]),
      ...(takesIds(command) ? [`${head} -f -a ${quote(ids)}`] : []),
    ];
  });
  const asking = [
    `function __${program}_ids`,
    "  set -l typed (commandline -opc)",
    `  ${program} complete-ids -- $typed[2..-1] 2>/dev/null`,
    "end",
  ];
  const head = `# ${program} completion for fish. Use: ${program} completion fish | source`;
  return [head, ...asking, ...top, ...own, ""].join("\n");
}

function fishValue(takes: Flag["takes"], ids: string): string {
  if (takes === null) return "";
  if (takes === "ids") return ` -x -a ${quote(ids)}`;
  if (takes === "file") return " -r -F";
  return takes === "text" ? " -x" : ` -x -a ${quote(takes.join(" "))}`;
}
