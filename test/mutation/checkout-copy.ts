/**
 * A copy of the checkout in a folder of its own, where sources may be changed and tests run without touching the
 * checkout.
 *
 * Owns: the folder, and the processes started in it. Never: writes into the checkout, waits without a limit.
 * C1  The copy holds what git tracks or would track; packages are linked. It is a repository of one commit, as some
 *     tests read one.
 * C2  A run that says nothing for as long as no sound one would is ended with all the processes that it started. A
 *     change may make a loop that no limit of a test can end.
 */
import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { root } from "../tidy/source-files.ts";
import type { FileEnd, RunPlan } from "./run-tests.ts";

export interface RunOutcome {
  readonly ended: "passed" | "failed" | "timeout";
  /** The files that ended, in order; none where the run was ended. */
  readonly files: readonly FileEnd[];
}

export interface CheckoutCopy extends Disposable {
  readonly folder: string;
  readonly read: (path: string) => string;
  readonly write: (path: string, text: string) => void;
  /** `bail`: how many failures end it; 0 runs to the end. */
  readonly runTests: (files: readonly string[], bail: number) => Promise<RunOutcome>;
  readonly compiles: () => Promise<boolean>;
}

const compiler: readonly string[] = ["node_modules/typescript/bin/tsc", "-p", "tsconfig.json", "--incremental"];

const git = (cwd: string, ...args: readonly string[]): string =>
  execFileSync("git", args, { cwd, encoding: "utf8", maxBuffer: 64_000_000 });

function copyFiles(folder: string): void {
  const listed = git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate");
  const deleted = new Set(git(root, "ls-files", "-z", "--deleted").split("\0"));
  for (const path of listed.split("\0").filter((path) => path !== "" && !deleted.has(path))) {
    mkdirSync(join(folder, dirname(path)), { recursive: true });
    cpSync(join(root, path), join(folder, path));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  git(folder, "init", "-q");
  git(folder, "add", "-A");
  git(folder, "-c", "user.name=copy", "-c", "user.email=copy@localhost", "commit", "-qm", "A copy of the checkout.");
}

/** Longer than a test may take, which is told of when it ends, and than the compiler takes on a busy machine. */
const silenceMs = 120_000;

/** How the program ended; it and all it started are ended when it has been silent for too long. */
function runProgram(cwd: string, args: readonly string[]): Promise<RunOutcome["ended"]> {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
    env: { FC_SEED: "1", FC_RUNS: "25", ...process.env },
  });
  const endGroup = (): void => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGKILL");
  };
  // Before the folder goes.
  process.prependOnceListener("exit", endGroup);
  return new Promise((resolve) => {
    let timedOut = false;
    const timer = setTimeout(() => {
      timedOut = true;
      endGroup();
    }, silenceMs);
    child.stdout.on("data", () => timer.refresh());
    child.once("exit", (code) => {
      clearTimeout(timer);
      process.removeListener("exit", endGroup);
      resolve(timedOut ? "timeout" : code === 0 ? "passed" : "failed");
    });
  });
}

const readEnds = (path: string): readonly FileEnd[] =>
  existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as readonly FileEnd[]) : [];

export function copyCheckout(): CheckoutCopy {
  const scratch = mkdtempSync(join(tmpdir(), "countersign-mutation-"));
  // The database of the tests runs as a user of its own.
  chmodSync(scratch, 0o755);
  const folder = join(scratch, "copy");
  const at = (name: string): string => join(scratch, name);
  const [plan, report, types] = [at("plan.json"), at("report.json"), at("types.json")];
  const remove = (): void => rmSync(scratch, { recursive: true, force: true });
  process.once("exit", remove);
  mkdirSync(folder);
  copyFiles(folder);
  return {
    folder,
    read: (path) => readFileSync(join(folder, path), "utf8"),
    write: (path, text) => writeFileSync(join(folder, path), text),
    async runTests(files, bail) {
      rmSync(report, { force: true });
      writeFileSync(plan, JSON.stringify({ files, bail, report } satisfies RunPlan));
      const ended = await runProgram(folder, ["test/mutation/run-tests.ts", plan]);
      return { ended, files: readEnds(report) };
    },
    compiles: async () => (await runProgram(folder, [...compiler, "--tsBuildInfoFile", types])) === "passed",
    [Symbol.dispose]: remove,
  };
}
