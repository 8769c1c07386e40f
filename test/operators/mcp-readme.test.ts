// The example of the page about MCP operators, run by the command line as it says, against the real server.
// Law: the command ends by itself: nothing that the module opened is left.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { runProcess } from "../cli/command-line.ts";
import { makeTempFolder } from "./temp-folder.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const urlOf = (path: string): string => pathToFileURL(join(root, path)).href;
const packageName = "@modelcontextprotocol/server-filesystem";

/** What a reader's program would resolve, and the server's own file in place of what npx would fetch. */
function asRunHere(code: string): string {
  const resolved: Readonly<Record<string, string>> = {
    countersign: urlOf("src/index.ts"),
    "countersign/mcp": urlOf("src/packages/operators/mcp/mcp-operators.ts"),
  };
  const entry = createRequire(import.meta.url).resolve(`${packageName}/dist/index.js`);
  return code
    .replace(/from "([^"]+)"/g, (_, name: string) => `from "${resolved[name] ?? import.meta.resolve(name)}"`)
    .replace('"npx"', JSON.stringify(process.execPath))
    .replace(JSON.stringify(packageName), `${JSON.stringify(entry)}`);
}

it("the example's letter waits for a person and is then written, by a command each", async () => {
  const page = readFileSync(join(root, "src/packages/operators/mcp/README.md"), "utf8");
  const [, code = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
  using folder = makeTempFolder();
  mkdirSync(join(folder.path, "letters"));
  writeFileSync(join(folder.path, "letters.mts"), asRunHere(code));
  const common = ["--capabilities", "./letters.mts", "--db", "x.db", "--json"] as const;
  const input = /--input '(.*?)'/.exec(code)?.[1] ?? "";
  const ran = await runProcess(folder.path, "run", "Office.Letter", "--input", input, "--wait", ...common);
  const { workflow_id, state } = JSON.parse(ran.out) as { readonly workflow_id: string; readonly state: string };
  expect([ran.code, ran.err, state]).toEqual([0, expect.anything(), "waiting_for_user"]);
  const approved = await runProcess(folder.path, "approve", workflow_id, ...common);
  expect(approved.code).toBe(0);
  expect(readFileSync(join(folder.path, "letters", "bo.txt"), "utf8")).toBe("Dear Bo");
});
