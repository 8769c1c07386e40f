/** `countersign hook`: what Claude Code is answered before it uses a tool, and who decides. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { makeTempFolder } from "../fixtures.ts";
import { endOf, runHere, startProcess } from "./command-line.ts";

const use = (id: string, more: object = {}) => ({
  session_id: "session-1",
  transcript_path: "/none",
  cwd: "/none",
  hook_event_name: "PreToolUse",
  tool_name: "Bash",
  tool_input: { command: "rm -r build" },
  tool_use_id: id,
  ...more,
});

interface Answer {
  readonly permissionDecision?: string;
  readonly permissionDecisionReason?: string;
}

/** Runs the hook with this on stdin. */
async function hook(folder: string, input: string | object, ...args: readonly string[]) {
  const child = startProcess(folder, "hook", "--db", join(folder, "hook.db"), ...args);
  child.stdin.end(typeof input === "string" ? input : JSON.stringify(input));
  const [out, { code, err }] = await Promise.all([text(child.stdout), endOf(child)]);
  const answer = code === 0 ? (JSON.parse(out) as { hookSpecificOutput: Answer }).hookSpecificOutput : {};
  return { code, err, ...(answer as Answer) };
}

it("denies a use that waits, names the address, and allows it once when it is asked again and approved", async () => {
  using folder = makeTempFolder();
  const { path } = folder;
  const db = ["--db", join(path, "hook.db")];
  const waiting = await hook(path, use("toolu_1"), "--console-url", "https://desk.test");
  expect(waiting).toMatchObject({ code: 0, hookEventName: "PreToolUse", permissionDecision: "deny" });
  const [, workflowId = ""] = /https:\/\/desk\.test\/#\/w\/(wf_\w+)/.exec(waiting.permissionDecisionReason ?? "") ?? [];
  expect((await hook(path, use("toolu_2"))).permissionDecision).toBe("deny");
  const approved = await runHere("approve", workflowId, "--agents", ...db);
  expect([approved.code, approved.err]).toEqual([0, ""]);
  for (const again of [1, 2])
    expect(await hook(path, use("toolu_3")), `asked ${again} times`).toMatchObject({
      permissionDecision: "allow",
      updatedInput: { command: "rm -r build" },
    });
  const next = await hook(path, use("toolu_4"));
  expect(next.permissionDecision).toBe("deny");
  expect(next.permissionDecisionReason).not.toContain(workflowId);
});

it("gives the tool its input to the character, also where that cannot be seen", async () => {
  using folder = makeTempFolder();
  const tool_input = { file_path: "a\u202eb\u200b\u0007é" };
  const read = use("toolu_1", { tool_name: "Read", tool_input });
  expect(await hook(folder.path, read, "--reads", "Read")).toMatchObject({ updatedInput: tool_input });
});

it("asks nobody about a tool that only reads", async () => {
  using folder = makeTempFolder();
  const read = use("toolu_1", { tool_name: "Read", tool_input: { file_path: "a" } });
  expect(await hook(folder.path, read, "--reads", "Read")).toMatchObject({ code: 0, permissionDecision: "allow" });
});

it.each([
  ["its ledger is none", [], "T0_LEDGER_NOT_A_DATABASE"],
  ["its rules are not there", ["--policies", "nowhere.yaml"], "T0_CLI_FILE_INVALID"],
] as const)("denies the use, with a code, where %s", async (_case, args, code) => {
  using folder = makeTempFolder();
  if (args.length === 0) writeFileSync(join(folder.path, "hook.db"), "no ledger, but a text of some length".repeat(40));
  const denied = await hook(folder.path, use("toolu_1"), ...args);
  expect(denied).toMatchObject({ code: 0, permissionDecision: "deny" });
  expect(denied.permissionDecisionReason).toContain(code);
});

it("tells the person at the terminal, and ends well, where a result cannot be recorded", async () => {
  using folder = makeTempFolder();
  writeFileSync(join(folder.path, "hook.db"), "no ledger, but a text of some length".repeat(40));
  const child = startProcess(folder.path, "hook", "--db", join(folder.path, "hook.db"));
  child.stdin.end(JSON.stringify(use("toolu_1", { hook_event_name: "PostToolUse", tool_response: { stdout: "" } })));
  const [out, { code }] = await Promise.all([text(child.stdout), endOf(child)]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toEqual({ systemMessage: expect.stringContaining("T0_LEDGER_NOT_A_DATABASE") });
});

it.each([
  ["no JSON", "{"],
  ["another event", use("toolu_1", { hook_event_name: "Stop" })],
  ["a use without an id", use("toolu_1", { tool_use_id: undefined })],
] as const)("blocks the use, with exit code 2, where stdin holds %s", async (_case, input) => {
  using folder = makeTempFolder();
  const { code, err } = await hook(folder.path, input);
  expect([code, err]).toEqual([2, expect.stringContaining("stdin holds no")]);
});
