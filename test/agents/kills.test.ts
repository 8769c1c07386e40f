/**
 * Agents whose processes are killed by SIGKILL: one pauses, one decides, one goes on. Wherever a process dies, a tool
 * is never called twice, and a person is asked where nobody knows. Effects are lines of a file.
 */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { digest } from "../../src/contract/digest.ts";
import { readHere, runHere, runProcess } from "../cli/command-line.ts";
import { makeTempFolder } from "../fixtures.ts";
import type { Ran } from "./drivers/driver.ts";

const program = join(import.meta.dirname, "run-agent.ts");
const drivers = [
  { file: "ai-sdk", tool: "refund", isRunByKernel: true },
  { file: "langgraph", tool: "refund", isRunByKernel: true },
  { file: "mastra", tool: "refund", isRunByKernel: true },
  { file: "openai-agents", tool: "refund", isRunByKernel: true },
  { file: "claude-agent", tool: "mcp__shop__refund", isRunByKernel: false },
] as const;

type End = Omit<Ran, "stored"> & { readonly thread: string };
interface App {
  readonly file: string;
  readonly path: string;
}

/** Runs a process of the app until it prints its ends or dies; one that waits is killed then. */
async function runApp({ file, path }: App, death: string, ...threads: readonly string[]): Promise<End[] | "SIGKILL"> {
  const child = spawn(process.execPath, [program, file, path, death, ...threads], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise<string | null>((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
  for await (const line of createInterface({ input: child.stdout })) {
    if (!line.startsWith("[{")) continue;
    if (death === "wait") child.kill("SIGKILL");
    expect(await ended).toBe(death === "wait" ? "SIGKILL" : null);
    return JSON.parse(line) as End[];
  }
  expect(await ended).toBe("SIGKILL");
  return "SIGKILL";
}

function effectsIn(path: string): readonly Readonly<Record<string, unknown>>[] {
  const file = join(path, "effects.jsonl");
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

interface Waiting {
  readonly workflow_id: string;
  readonly gate_id: string;
  readonly kind: string;
  readonly payload_digest: string;
}
const gatesIn = async (db: readonly string[]): Promise<readonly Waiting[]> =>
  (await readHere<{ readonly gates: readonly Waiting[] }>("gates", "--agents", ...db)).gates;
/** Returns what the app and the model read of a conversation. */
const textOf = (ends: End[] | "SIGKILL", thread: string): string =>
  JSON.stringify(ends === "SIGKILL" ? [] : ends.filter((end) => end.thread === thread)).replaceAll("\\", "");

describe.each(drivers)("an agent of $file whose process is killed", ({ file, tool, isRunByKernel }) => {
  it("goes on in another process as people decided in a third, and calls the tool once", async () => {
    using folder = makeTempFolder();
    const app = { file, path: folder.path };
    const db = ["--db", join(folder.path, "agents.db"), "--principal", "ann"];
    const paused = (await runApp(app, "wait", "approved", "edited", "rejected")) as End[];
    const ids = paused.map(({ waiting }) => /wf_\w+/.exec(waiting ?? "")?.[0] ?? "");
    const [approved = "", edited = "", rejected = ""] = ids;
    const gates = await gatesIn(db);
    const edit = JSON.stringify({ arguments: { order: "A7", cents: 100 } });
    expect((await runProcess(folder.path, "approve", approved, "--agents", ...db)).code).toBe(0);
    expect((await runHere("approve", edited, "--edit", edit, "--agents", ...db)).code).toBe(0);
    expect((await runHere("reject", rejected, "--comment", "ask first", "--agents", ...db)).code).toBe(0);
    const ends = await runApp(app, "none", "approved", "edited", "rejected");
    const [first, second, ...others] = effectsIn(folder.path);
    expect(others).toEqual([]);
    const { thread, ...args } = first as { thread: string };
    const received = digest({ agent: "support", tool, arguments: args });
    expect([thread, received]).toEqual([
      "approved",
      gates.find((gate) => gate.workflow_id === approved)?.payload_digest,
    ]);
    expect(second).toEqual({ thread: "edited", order: "A7", cents: 100 });
    expect(textOf(ends, "edited")).toContain("user ann changed the arguments");
    expect(textOf(ends, "rejected")).toContain("user ann rejected the call: ask first");
    if (isRunByKernel) await runApp(app, "none", "approved", "edited", "rejected");
    expect(effectsIn(folder.path)).toHaveLength(2);
  });

  it("calls the tool once if it died after the permit, before the tool", async () => {
    using folder = makeTempFolder();
    const app = { file, path: folder.path };
    writeFileSync(join(folder.path, "lets.json"), "{}");
    expect(await runApp(app, "before", "t")).toBe("SIGKILL");
    expect(effectsIn(folder.path)).toEqual([]);
    await runApp(app, "none", "t");
    expect(effectsIn(folder.path)).toEqual([{ thread: "t", order: "A7", cents: 900 }]);
  });

  it("asks a person if it died during the tool, before its effect or after it", async () => {
    using folder = makeTempFolder();
    const app = { file, path: folder.path };
    const db = ["--db", join(folder.path, "agents.db")];
    await runApp(app, "wait", "within", "after");
    for (const { workflow_id } of await gatesIn(db)) await runHere("approve", workflow_id, "--agents", ...db);
    for (const death of ["within", "after"]) expect(await runApp(app, death, death)).toBe("SIGKILL");
    const ends = await runApp(app, "none", "within", "after");
    expect(effectsIn(folder.path).map(({ thread }) => thread)).toEqual(["after"]);
    for (const thread of ["within", "after"]) expect(textOf(ends, thread)).toContain("T0_AGENT_WAITING");
    const asked = isRunByKernel ? "in_doubt" : "approval";
    expect((await gatesIn(db)).map(({ kind }) => kind)).toEqual([asked, asked]);
  });

  it.runIf(isRunByKernel)("gives the recorded output if it died once that was in the ledger", async () => {
    using folder = makeTempFolder();
    const app = { file, path: folder.path };
    writeFileSync(join(folder.path, "lets.json"), "{}");
    expect(await runApp(app, "recorded", "t")).toBe("SIGKILL");
    const ends = await runApp(app, "none", "t");
    expect(effectsIn(folder.path)).toHaveLength(1);
    expect(textOf(ends, "t")).toContain('"refunded":900');
  });
});
