/**
 * `completion SHELL`: a script by which bash, zsh or fish completes commands, options and the words that options take.
 *
 * Owns: the scripts. What there is to complete is read from the program itself, so none of it can be forgotten.
 * Never: runs the program while somebody types; the script knows all it needs.
 */
import { Argument, type Command, type Option } from "commander";
import type { Terminal } from "./terminal.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .description("print a script that completes commands and options: add it to your shell's start file")
    .addArgument(new Argument("<shell>", "the shell").choices(shells))
    .action((shell: Shell) => terminal.print(writeCompletion(program, shell)));
}

interface Word {
  readonly name: string;
  readonly description: string;
}

interface Flag extends Word {
  /** What it takes: words to choose from, a file, something else, or nothing. */
  readonly takes: readonly string[] | "file" | "text" | null;
}

interface Known extends Word {
  readonly flags: readonly Flag[];
  /** Words that its first argument may be. */
  readonly choices: readonly string[];
}

export function writeCompletion(program: Command, shell: Shell): string {
  const commands = program.commands.map(readCommand).toSorted((a, b) => a.name.localeCompare(b.name));
  const writers = { bash: writeBash, zsh: writeZsh, fish: writeFish };
  return writers[shell](program.name(), commands);
}

const readCommand = (command: Command): Known => ({
  name: command.name(),
  description: command.description(),
  flags: command.options.flatMap(readFlag),
  choices: command.registeredArguments[0]?.argChoices ?? [],
});

function readFlag(option: Option): readonly Flag[] {
  if (option.long === undefined || option.long === null) return [];
  return [{ name: option.long, description: option.description, takes: readTakes(option) }];
}

const fileValue = /<(?:file|ledger|module|keyfile|dir|path)>|@FILE/;

function readTakes({ flags, description, argChoices, required, optional }: Option): Flag["takes"] {
  if (argChoices !== undefined) return argChoices;
  if (!required && !optional) return null;
  return fileValue.test(flags) || fileValue.test(description) ? "file" : "text";
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const namesOf = (words: readonly Word[]): string => words.map(({ name }) => name).join(" ");

/** The word before the cursor decides first: what an option takes, then options, then arguments. */
function writeBash(program: string, commands: readonly Known[]): string {
  const cases = commands.map(
    ({ name, flags, choices }) =>
      `    ${name})\n${writeBashValues(program, flags)}\n      words="${[...flags.map((flag) => flag.name), ...choices].join(" ")}" ;;`,
  );
  return `# ${program} completion for bash. Use: source <(${program} completion bash)
_${program}_words() { COMPREPLY=($(compgen -W "$1" -- "$2")); }
_${program}_files() {
  local IFS=$'\\n'
  compopt -o filenames 2>/dev/null
  COMPREPLY=($(compgen -f -- "$1"))
}
_${program}() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words="${namesOf(commands)}"
  if [ "$COMP_CWORD" -gt 1 ]; then
    words=""
    case "\${COMP_WORDS[1]}" in
${cases.join("\n")}
    esac
  fi
  _${program}_words "$words" "$word"
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
    ...(names("file") === "" ? [] : [`        ${names("file")}) _${program}_files "$word"; return ;;`]),
    ...(names("text") === "" ? [] : [`        ${names("text")}) COMPREPLY=(); return ;;`]),
  ];
  return ['      case "$before" in', ...lines, "      esac"].join("\n");
}

function writeZsh(program: string, commands: readonly Known[]): string {
  const described = commands.map(({ name, description }) => `    ${quote(`${name}:${description}`)}`);
  const cases = commands.map(({ name, flags, choices }) => {
    const own = flags.map(
      ({ name: flag, description, takes }) => ` ${quote(`*${flag}[${plain(description)}]${zshValue(takes)}`)}`,
    );
    const first = ` ${quote(choices.length === 0 ? "*:argument:" : `1:word:(${choices.join(" ")})`)}`;
    return `    ${name}) _arguments${own.join("")}${first} ;;`;
  });
  return `#compdef ${program}
# ${program} completion for zsh. Use: source <(${program} completion zsh), after compinit
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

/** Brackets and colons mean something in what _arguments is given. */
const plain = (text: string): string => text.replace(/[[\]:]/g, " ");

function zshValue(takes: Flag["takes"]): string {
  if (takes === null) return "";
  if (takes === "file") return ":file:_files";
  return takes === "text" ? ":value:" : `:value:(${takes.join(" ")})`;
}

function writeFish(program: string, commands: readonly Known[]): string {
  const top = commands.map(
    ({ name, description }) => `complete -c ${program} -n __fish_use_subcommand -f -a ${name} -d ${quote(description)}`,
  );
  const own = commands.flatMap(({ name, flags, choices }) => {
    const head = `complete -c ${program} -n '__fish_seen_subcommand_from ${name}'`;
    const first = choices.length === 0 ? [] : [`${head} -f -a ${quote(choices.join(" "))}`];
    return [
      ...flags.map((flag) => `${head} -l ${flag.name.slice(2)}${fishValue(flag.takes)} -d ${quote(flag.description)}`),
      ...first,
    ];
  });
  return [`# ${program} completion for fish. Use: ${program} completion fish | source`, ...top, ...own, ""].join("\n");
}

function fishValue(takes: Flag["takes"]): string {
  if (takes === null) return "";
  if (takes === "file") return " -r -F";
  return takes === "text" ? " -x" : ` -x -a ${quote(takes.join(" "))}`;
}
