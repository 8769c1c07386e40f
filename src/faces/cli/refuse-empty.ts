/**
 * Refuses empty ids before a command runs, whichever command it is.
 *
 * 1.  An argument is a name or an id unless it is free text or the words of another program; an option takes ids if its
 *     placeholder says so. An empty one would mean another thing, or nothing.
 */
import type { Command } from "commander";
import { kernelError } from "../../contract/error-codes.ts";
import { raise } from "../../contract/kernel-error.ts";
import { moduleRef } from "../../contract/module-ref.ts";

/** Arguments that may be empty: a person's own words. */
const free: ReadonlySet<string> = new Set(["text"]);

/** Adds the check to all commands of a program. @throws KernelErrorException T0_CLI_ID_EMPTY, before a command runs. */
export function refuseEmptyIds(program: Command): void {
  program.hook("preAction", (_, command) => {
    const [empty] = [...emptyArguments(command), ...emptyOptions(command)];
    if (empty === undefined) return;
    raise(kernelError("T0_CLI_ID_EMPTY", `${empty} is empty`, moduleRef(0, "cli", "empty_id")));
  });
}

const emptyArguments = ({ registeredArguments, args }: Command): readonly string[] =>
  registeredArguments
    .filter((argument, at) => args[at] === "" && !argument.variadic && !free.has(argument.name()))
    .map((argument) => `<${argument.name()}>`);

const emptyOptions = (command: Command): readonly string[] =>
  command.options
    .filter(({ flags }) => /[<[]ids?[>\]]$/.test(flags))
    .filter((option) => isEmpty(command.getOptionValue(option.attributeName()), option.flags))
    .map(({ long }) => long ?? "");

/** Returns whether a value is empty; a list of an option that was not given is none. */
const isEmpty = (value: unknown, flags: string): boolean =>
  Array.isArray(value) ? value.includes("") || (flags.includes("<ids>") && value.length === 0) : value === "";
