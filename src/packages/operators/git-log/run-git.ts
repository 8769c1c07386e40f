/**
 * Running git: one process, no shell, bounded output, ended when the signal fires.
 *
 * Owns: the environment git gets and the translation of its failures into coded operator errors. Never: touches the
 * network or waits for a password; builds arguments from unchecked text (git-log.ts checks refs).
 * 1.  The repository is the one named by the caller: GIT_DIR and its relatives are not inherited from a hook.
 * 2.  An abort throws the signal's own reason.
 * 3.  Nothing runs that a repository names, in its configuration, its attributes or its hooks: a repository is data
 *     that somebody else wrote. What the machine's own configuration says of trust (safe.directory) holds.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { OperatorError, operatorError } from "../../../define/define-operator.ts";

const execute = promisify(execFile);

export interface GitProgram {
  readonly git: string;
  readonly repo: string;
  readonly signal: AbortSignal;
  readonly maxOutputBytes: number;
}

/**
 * Returns git's output; `hear` receives it piece by piece before. @throws OperatorError GIT_NOT_FOUND,
 * GIT_NOT_A_REPOSITORY, GIT_FORBIDDEN, GIT_OUTPUT_TOO_LARGE, GIT_FAILED.
 */
export async function runGit(
  program: GitProgram,
  args: readonly string[],
  listener?: (piece: string) => void,
): Promise<string> {
  const { git, repo, signal, maxOutputBytes } = program;
  signal.throwIfAborted();
  try {
    const options = { signal, maxBuffer: maxOutputBytes, env: gitEnvironment(), windowsHide: true };
    const running = execute(git, ["--no-pager", "--literal-pathspecs", ...ownSettings, "-C", repo, ...args], options);
    if (listener !== undefined) running.child.stdout?.on("data", listener);
    return (await running).stdout;
  } catch (failure) {
    signal.throwIfAborted();
    throw toGitError(program, failure as ExecFailure);
  }
}

/** Returns the trimmed answer, or null if git refused: for questions whose answer may be "there is none". */
export async function askGit(program: GitProgram, args: readonly string[]): Promise<string | null> {
  try {
    return (await runGit(program, args)).trim();
  } catch (failure) {
    if (failure instanceof OperatorError && failure.executorError.code === "GIT_FAILED") return null;
    throw failure;
  }
}

/** Settings that name a program or a file, each with nothing in it; those of the repository stand behind them. */
const ownSettings: readonly string[] = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.pager=cat",
  "core.askPass=",
  "core.sshCommand=false",
  "core.gitProxy=false",
  "core.alternateRefsCommand=false",
  "credential.helper=",
  "diff.external=",
  "diff.submodule=short",
  "log.showSignature=false",
  "mailmap.file=",
  "protocol.allow=never",
  "fetch.bundleURI=",
  "gc.auto=0",
  "maintenance.auto=false",
].flatMap((setting) => ["-c", setting]);

/** The environment variables of git that locate it and its configuration; none that a hook around us received. */
const keptVariables = /^GIT_(EXEC_PATH|CONFIG_.*|CEILING_DIRECTORIES|DISCOVERY_ACROSS_FILESYSTEM)$/;

/**
 * Returns the environment. No protocol is allowed, so that a missing object is missing: a partial clone would fetch it
 * through whatever its remote names. toGitError reads messages in English.
 */
function gitEnvironment(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_") || keptVariables.test(name));
  return {
    ...Object.fromEntries(kept),
    LC_ALL: "C",
    GIT_ALLOW_PROTOCOL: "none",
    GIT_NO_LAZY_FETCH: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_OPTIONAL_LOCKS: "0",
  };
}

interface ExecFailure extends Error {
  readonly code?: string | number;
  readonly stderr?: string;
}

function toGitError({ git, repo, maxOutputBytes }: GitProgram, failure: ExecFailure): OperatorError {
  const stderr = (failure.stderr ?? "").trim().slice(0, 500);
  const details = { repo, stderr };
  if (failure.code === "ENOENT" || failure.code === "EACCES") {
    return operatorError({ code: "GIT_NOT_FOUND", message: `the program ${git} cannot be run`, details });
  }
  if (failure.code === "ERR_CHILD_PROCESS_STDIO_MAXBUFFER") {
    const message = `git printed more than ${maxOutputBytes} bytes; ask for fewer commits`;
    return operatorError({ code: "GIT_OUTPUT_TOO_LARGE", category: "validation", message, details });
  }
  if (/not a git repository|cannot change to/.test(stderr)) {
    const message = `${repo} is not a git repository`;
    return operatorError({ code: "GIT_NOT_A_REPOSITORY", category: "validation", message, details });
  }
  if (stderr.includes("dubious ownership")) {
    const message = `git refuses ${repo}: it belongs to another user`;
    return operatorError({ code: "GIT_FORBIDDEN", category: "authorization", message, details });
  }
  return operatorError({ code: "GIT_FAILED", message: `git failed: ${stderr || failure.message}`, details });
}
