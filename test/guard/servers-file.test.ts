/** `--servers`: a file that cannot be read, or says what the guard does not know, starts nothing. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runHere } from "../cli/command-line.ts";
import { makeTempFolder } from "../operators/temp-folder.ts";

const one = (server: string, name = "files"): string => `{"mcpServers":{"${name}":${server}}}`;

const bad: readonly (readonly [string, string, string])[] = [
  ["no JSON", '{"mcpServers":', "at position"],
  ["a name twice", '{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', "a"],
  ["an unknown key of the file", '{"servers":{}}', "servers"],
  ["an unknown key of a server", one('{"command":"x","cmd":"y"}'), "cmd"],
  ["no command and no address", one("{}"), "command"],
  ["a command and an address", one('{"command":"x","url":"http://127.0.0.1/"}'), "command"],
  ["an address that is none", one('{"url":"ftp://files"}'), "url"],
  ["arguments that are no texts", one('{"command":"x","args":[1]}'), "args"],
  ["a name that reads as a prefix", one('{"command":"x"}', "a__b"), "a__b"],
  ["no server", '{"mcpServers":{}}', "It names no server."],
];

it.each(bad)("refuses %s", async (_what, text, told) => {
  using folder = makeTempFolder();
  const file = join(folder.path, "mcp.json");
  writeFileSync(file, text);
  const { code, out, err } = await runHere("guard", "--servers", file, "--db", join(folder.path, "g.db"));
  expect([code, out]).toEqual([2, ""]);
  expect(err).toContain("T0_CLI_FILE_INVALID");
  expect(err).toContain("--servers");
  expect(err).toContain(told);
});

it("refuses a file that is not there, and more than one way to name servers", async () => {
  using folder = makeTempFolder();
  const missing = await runHere("guard", "--servers", join(folder.path, "none.json"));
  expect([missing.code, missing.err]).toEqual([2, expect.stringContaining("The file cannot be read")]);
  const file = join(folder.path, "mcp.json");
  writeFileSync(file, one('{"command":"x"}'));
  const both = await runHere("guard", "--servers", file, "--upstream", "http://127.0.0.1:1/mcp");
  expect([both.code, both.err]).toEqual([2, expect.stringContaining("name the server")]);
});
