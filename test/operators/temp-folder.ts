/**
 * Real git commands in a folder of a test.
 *
 * Owns: a fixed identity and time, so that the same commits have the same hashes on every machine. Never: reads the
 * identity or the signing settings of whoever runs the test.
 */
import { execFileSync } from "node:child_process";

export { makeTempFolder, type TempFolder } from "../fixtures.ts";

const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
const plain = ["-c", "commit.gpgsign=false", "-c", "tag.gpgsign=false", "-c", "init.defaultBranch=main"];
const inherited = /^GIT_/;

/** Runs git in `folder` with a fixed identity and time, whatever the machine's configuration says. */
export function git(folder: string, ...args: readonly string[]): string {
  const kept = Object.entries(process.env).filter(([name]) => !inherited.test(name));
  const date = "2026-01-02T03:04:05+00:00";
  const env = { ...Object.fromEntries(kept), GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
  return execFileSync("git", [...identity, ...plain, "-C", folder, ...args], { env, encoding: "utf8", stdio: "pipe" });
}

/** One empty commit; its hash. */
export function commit(folder: string, ...message: readonly string[]): string {
  git(folder, "commit", "--allow-empty", "--cleanup=verbatim", ...message.flatMap((text) => ["-m", text]));
  return git(folder, "rev-parse", "HEAD").trim();
}
