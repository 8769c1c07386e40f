/**
 * `hook`: the command for Claude Code's hooks: judges the use of a tool under policies, budgets and gates (PreToolUse),
 * and records its result (PostToolUse, PostToolUseFailure).
 *
 * 1.  It reads one JSON document from stdin and writes the answer to stdout. What the kernel does not permit is denied,
 *     with the words for the model; a use that waits for a person names the address at which that person decides.
 * 2.  A kernel that cannot be opened, or gives no answer, denies with its code. Input that cannot be read ends with
 *     exit code 2, which blocks the use.
 * 3.  A result that cannot be recorded is told to the person at the terminal; the use has been made.
 */
import type { Command } from "commander";
import { z } from "zod";
import { messageOf } from "../../contract/kernel-error.ts";
import type { AgentThread, ReportedAnswer } from "../agents/agent-call.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import {
  addCommonOptions,
  type CommonOptions,
  collect,
  readLimit,
  readName,
  type Session,
  urlReader,
} from "./options.ts";
import { toJsonText } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import type { Terminal } from "./terminal.ts";

interface HookOptions extends CommonOptions {
  readonly agent: string;
  readonly reads: readonly string[];
  readonly wait: number;
  readonly consoleUrl: string;
}

/** The input of the hook. Claude Code adds members with its versions, so that others are let be. */
const shared = {
  session_id: z.string().min(1).max(256),
  tool_name: z.string().min(1).max(256),
  tool_input: z.unknown(),
  tool_use_id: z.string().min(1).max(256),
};
const HookInput = z.discriminatedUnion("hook_event_name", [
  z.looseObject({ hook_event_name: z.literal("PreToolUse"), ...shared }),
  z.looseObject({ hook_event_name: z.literal("PostToolUse"), ...shared, tool_response: z.unknown() }),
  z.looseObject({ hook_event_name: z.literal("PostToolUseFailure"), ...shared, error: z.string() }),
]);
type HookInput = z.infer<typeof HookInput>;

/** The characters of an input that are read at most. */
const maxInput = 16_000_000;

export function addHook(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("hook"))
    .description("judge the use of a tool, and record its result, for the hooks of Claude Code, read from stdin")
    .option("--agent <name>", "the agent's name in policies, gates and the ledger", readName, "claude-code")
    .option("--reads <tool>", "a tool that only reads, and asks nobody (repeatable)", collect, [])
    .option("--wait <seconds>", "how long the use waits for a person before it is denied", readLimit, 0)
    .option("--console-url <url>", "where people decide", urlReader("https://gates.example"), "http://127.0.0.1:8787")
    .action((options: HookOptions) => answerHook({ options, terminal }));
}

async function answerHook(session: Session<HookOptions>): Promise<void> {
  const { options, terminal } = session;
  const given = await readInput();
  const { session_id, tool_name: tool, tool_input, tool_use_id: use_id } = given;
  const { orRefused } = await import("../agents/agent-thread.ts");
  const { createAgents } = await import("../agents/create-agents.ts");
  const { describeHook, describeReport } = await import("../agents/claude-agent/hook-answer.ts");
  const agents = createAgents({ consoleUrl: options.consoleUrl, waitMs: options.wait * 1000 });
  const opening = { create: true, packages: agents.capabilities };
  const { signal } = terminal;
  // Claude Code goes on after any other exit code than 2, so that what fails here is an answer as well.
  const inThread = <T>(work: (thread: AgentThread) => Promise<T>) =>
    orRefused(signal, () =>
      withKernel(
        session,
        ({ kernel, caller }: CommandContext) =>
          work(agents.open(kernel, { agent: options.agent, caller, reads: options.reads }).thread(session_id)),
        opening,
      ),
    );
  const answer =
    given.hook_event_name === "PreToolUse"
      ? describeHook(await inThread((thread) => thread.takeNext({ use_id, tool, arguments: tool_input }, signal)))
      : describeReport(await inThread((thread) => thread.report(use_id, resultOf(given))));
  terminal.print(toJsonText(answer));
}

const resultOf = (given: Exclude<HookInput, { readonly hook_event_name: "PreToolUse" }>): ReportedAnswer =>
  given.hook_event_name === "PostToolUse" ? { output: given.tool_response } : { error: given.error };

/** Reads the input. @throws UsageError for what is no input of the hook. */
async function readInput(): Promise<HookInput> {
  const read = HookInput.safeParse(parse(await readAll()));
  if (read.success) return read.data;
  throw new UsageError(`stdin holds no input of a hook that this command knows: ${z.prettifyError(read.error)}`);
}

async function readAll(): Promise<string> {
  process.stdin.setEncoding("utf8");
  let text = "";
  for await (const piece of process.stdin) {
    text += String(piece);
    if (text.length > maxInput) throw new UsageError(`stdin holds more than ${maxInput} characters`);
  }
  return text;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw new UsageError(`stdin holds no JSON: ${messageOf(thrown)}`);
  }
}
