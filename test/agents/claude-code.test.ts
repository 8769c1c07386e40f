/** The real Claude Code with `countersign hook` in its settings, its API on this machine, and its own tool Bash. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { launcher, readHere, runHere } from "../cli/command-line.ts";
import { makeTempFolder } from "../fixtures.ts";
import { claudeEnvironment } from "./drivers/claude-agent.ts";
import { serveClaude, type Use } from "./mock-claude.ts";

/** The program that the package of the SDK for this system holds. */
const sdk = createRequire(import.meta.resolve("@anthropic-ai/claude-agent-sdk"));
const claude = sdk.resolve(`@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`);
const session = "7f1c7d0e-0000-4000-8000-000000000001";

/** Rules by which Bash runs without a person. */
const lettingBash = {
  version: "1",
  rules: [
    {
      name: "bash",
      stages: ["action"],
      lifts: "default.final_write",
      when: { operators: ["Agent.Write"], values: [{ path: "tool", any: ["Bash"] }] },
      decision: "ALLOW",
      reason: "the desk lets it",
    },
  ],
};

let uses = 0;
/** A use of Bash that leaves a mark in the file of effects. */
function mark(letter = "x"): Use {
  uses += 1;
  return [`toolu_${uses}`, "Bash", { command: `printf ${letter} >> effects.txt; printf made-%s ${letter}` }];
}

interface App {
  /** The folder of the app, with the ledger and the effects. */
  readonly path: string;
  /** The command of the hook; `countersign hook` on the app's ledger by default. */
  readonly command?: string;
}

const ledgerIn = (path: string): string[] => ["--db", join(path, "hook.db")];
const hookIn = (path: string, ...more: readonly string[]): string =>
  [process.execPath, launcher, "hook", ...ledgerIn(path), "--console-url", "https://desk.test", ...more].join(" ");

/** Runs one turn of the conversation, in which the model makes these uses, and returns what it read. */
async function runClaude({ path, command = hookIn(path) }: App, ...made: readonly Use[]) {
  await using api = await serveClaude(made.map((use) => [use]));
  const hooks = [{ hooks: [{ type: "command", command, timeout: 120, onFailure: "block" }] }];
  const settings = join(path, "settings.json");
  writeFileSync(
    settings,
    // Claude's own permissions let the tool run.
    JSON.stringify({ permissions: { allow: ["Bash"] }, hooks: { PreToolUse: hooks, PostToolUse: hooks } }),
  );
  const isBegun = existsSync(join(path, "projects"));
  const args = ["-p", "Leave a mark.", "--settings", settings, isBegun ? "--resume" : "--session-id", session];
  const child = spawn(claude, args, {
    cwd: path,
    env: claudeEnvironment(path, api.url),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const effects = existsSync(join(path, "effects.txt")) ? readFileSync(join(path, "effects.txt"), "utf8") : "";
  return { out: `${out}${err}`, read: api.prompts.join("\n").replaceAll("\\", ""), effects };
}

/** Has the use wait, and returns its workflow. */
async function waitAt(path: string): Promise<string> {
  const { read, effects, out } = await runClaude({ path }, mark());
  expect([effects, out]).toEqual(["", "It is done.\n"]);
  const [, workflowId = ""] = /waits for a person's decision at https:\/\/desk\.test\/#\/w\/(wf_\w+)/.exec(read) ?? [];
  return workflowId;
}

it("denies a use that waits, with the address; makes it once when it is approved, and records its result", async () => {
  using folder = makeTempFolder();
  const { path } = folder;
  const workflowId = await waitAt(path);
  expect((await runHere("approve", workflowId, "--agents", ...ledgerIn(path))).code).toBe(0);
  const { read, effects } = await runClaude({ path }, mark(), mark());
  expect(effects).toBe("x");
  expect(read).toContain("made-x");
  expect(read.match(/waits for a person's decision/g)?.length).toBeGreaterThan(1);
  type Listed = { readonly workflows: readonly { readonly workflow_id: string }[] };
  const { workflows } = await readHere<Listed>("list", "--intent", "Agent.Run", ...ledgerIn(path));
  const state = await readHere("show", workflows[0]?.workflow_id ?? "", "--agents", ...ledgerIn(path));
  expect(state).toMatchObject({ state: "completed", outcomes: [{ content: { output: { stdout: "made-x" } } }] });
});

it("tells the model the words of a rejection, and an edit of the input", async () => {
  using folder = makeTempFolder();
  const { path } = folder;
  const options = ["--agents", "--principal", "ann", ...ledgerIn(path)];
  const edit = JSON.stringify({ arguments: { command: "printf y >> effects.txt" } });
  await runHere("approve", await waitAt(path), "--edit", edit, ...options);
  const edited = await runClaude({ path }, mark());
  expect(edited.effects).toBe("y");
  expect(edited.read).toContain("user ann changed the arguments before the call was made");
  const next = await runClaude({ path }, mark());
  const [, second = ""] = /.*https:\/\/desk\.test\/#\/w\/(wf_\w+)/s.exec(next.read) ?? [];
  await runHere("reject", second, "--comment", "ask the customer first", ...options);
  const rejected = await runClaude({ path }, mark());
  expect(rejected.effects).toBe("y");
  expect(rejected.read).toContain("user ann rejected the call: ask the customer first");
});

it.each([
  ["the ledger cannot be opened", (path: string) => hookIn(join(path, "none")), /T\d_[A-Z_]+/],
  ["the program is not there", (path: string) => join(path, "countersign hook"), /hook|not found/i],
  ["the program ends as no hook should", () => "exit 1", /hook/i],
] as const)("lets nothing run where %s", async (_case, command, told) => {
  using folder = makeTempFolder();
  const { path } = folder;
  const { read, effects } = await runClaude({ path, command: command(path) }, mark());
  expect(effects).toBe("");
  expect(read).toMatch(told);
  expect(read).not.toContain("made-x");
});

it("asks nobody where a rule lets the tool run", async () => {
  using folder = makeTempFolder();
  const { path } = folder;
  const { read, effects } = await runClaude({ path, command: hookIn(path, "--reads", "Bash") }, mark());
  expect([effects, read.includes("made-x")]).toEqual(["x", true]);
});

it("asks a person about a use that a rule lets, if Claude died within the equal one before it", async () => {
  using folder = makeTempFolder();
  const { path } = folder;
  writeFileSync(join(path, "rules.json"), JSON.stringify(lettingBash));
  const command = hookIn(path, "--policies", join(path, "rules.json"));
  const dying = (): Use => [mark()[0], "Bash", { command: "printf x >> effects.txt; kill -9 $PPID" }];
  expect((await runClaude({ path, command }, dying())).effects).toBe("x");
  const { read, effects } = await runClaude({ path, command }, mark("y"), mark("y"), dying());
  expect([effects, read.includes("made-y")]).toEqual(["xyy", true]);
  expect(read).toMatch(/waits for a person's decision at https:\/\/desk\.test/);
});
