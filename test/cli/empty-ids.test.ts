/** Empty ids: no command takes one for another meaning, or fails in a way that it should not. */
import type { Argument, Command } from "commander";
import { expect, it } from "vitest";
import { buildProgram } from "../../src/faces/cli/main.ts";
import { openTerminal } from "../../src/faces/cli/terminal.ts";
import { runHere } from "./command-line.ts";

/** Values that the readers of these arguments take. */
const taken: Readonly<Record<string, string>> = { decisions: "[]", payload: "{}" };

const wordFor = (argument: Argument): string => argument.argChoices?.[0] ?? taken[argument.name()] ?? "x";

/** The words of a command, with one of its arguments empty. */
function wordsWith(command: Command, empty: number): readonly string[] {
  const { registeredArguments, options } = command;
  const given = registeredArguments.slice(
    0,
    Math.max(empty + 1, registeredArguments.filter((one) => one.required).length),
  );
  const needed = options
    .filter(({ mandatory }) => mandatory)
    .flatMap(({ long, flags }) => [long ?? "", flags.includes("<instant>") ? "2030-01-01" : "x"]);
  return [command.name(), ...given.map((one, at) => (at === empty ? "" : wordFor(one))), ...needed];
}

const commands = buildProgram(openTerminal(false), false).commands.filter((one) => one.name() !== "complete-ids");

const byArgument = commands.flatMap((command) =>
  command.registeredArguments
    .map((argument, at) => [`${command.name()} <${argument.name()}>`, argument, wordsWith(command, at)] as const)
    .filter(([, { variadic, parseArg, argChoices, name: _ }]) => !variadic && !parseArg && !argChoices)
    .filter(([, argument]) => argument.name() !== "text")
    .map(([what, , words]) => [what, words] as const),
);

const byOption = commands.flatMap((command) =>
  command.options
    .filter(({ flags }) => /<ids?>$/.test(flags))
    .map(({ long }) => [`${command.name()} ${long}`, [...wordsWith(command, -1), long ?? "", ""]] as const),
);

it("looks at every command", () => {
  expect(byArgument.length).toBeGreaterThan(40);
  expect(byOption.length).toBeGreaterThan(80);
});

it.each([...byArgument, ...byOption])("%s", async (_what, words) => {
  const told = await runHere(...words);
  expect([told.code, told.out]).toEqual([2, ""]);
  expect(told.err).toContain("T0_CLI_ID_EMPTY");
});

it("is told with --json as problem details", async () => {
  const told = await runHere("show", "", "--json");
  expect([told.code, told.out]).toEqual([2, ""]);
  expect(JSON.parse(told.err)).toMatchObject({ status: 400, extensions: { code: "T0_CLI_ID_EMPTY" } });
});

it("ends `show` with an empty id with the next step, for a person", async () => {
  const { code, err } = await runHere("show", "");
  expect([code, err]).toEqual([2, expect.stringContaining("<workflow> is empty")]);
  expect(err).toContain("next");
});
