/** The README's lines for a shell, beside `countersign serve`, as they stand there. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, it } from "vitest";
import { makeRepository, startProcess } from "../cli/command-line.ts";
import { readBlocks } from "../guide/read-blocks.ts";
import { makeTempFolder, type TempFolder } from "../operators/temp-folder.ts";

const readme = readFileSync(fileURLToPath(new URL("../../README.md", import.meta.url)), "utf8");
const shellLines = readBlocks(readme).find(({ mark }) => mark === "runs beside serve")?.code ?? "";
const command = /`npx countersign (serve [^`]*)`/.exec(readme)?.[1] ?? "";
const address = "http://127.0.0.1:8787";

/** A machine may lack them; the library does not need them. */
const hasTools = ["curl", "bash", "grep"].every((tool) => spawnSync(tool, ["--version"]).status === 0);

let folder: TempFolder;
afterEach(() => folder[Symbol.dispose]());

async function runShell(script: string, cwd: string): Promise<{ readonly code: unknown; readonly out: string }> {
  const shell = spawn("bash", ["-e", "-o", "pipefail", "-c", script], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const [out, [code]] = await Promise.all([text(shell.stdout), once(shell, "exit")]);
  return { code, out };
}

describe("the README over HTTP", () => {
  it.skipIf(!hasTools)("submits, shows the gate, approves, follows the stream to its end and explains", async () => {
    expect(shellLines).toContain(address);
    folder = makeTempFolder();
    makeRepository(folder.path);
    const server = startProcess(folder.path, ...command.split(" "), "--port", "0");
    try {
      const [said] = (await once(createInterface(server.stdout), "line")) as [string];
      const url = said.replace("listening on ", "");
      const { code, out } = await runShell(shellLines.replaceAll(address, url), folder.path);
      expect(code).toBe(0);
      expect(out).toContain('"payload_digest"');
      expect(out).toContain('"status":"resumed"');
      expect(out).toContain("WORKFLOW_COMPLETED");
      expect(out).toContain("File.Write");
      expect(existsSync(join(folder.path, "RELEASE_NOTES.md"))).toBe(true);
    } finally {
      const ended = once(server, "exit");
      server.kill("SIGTERM");
      await ended;
    }
  });
});
