/**
 * `demo`: release notes of a real git repository, from the request to the file, with a person's approval in between.
 *
 * Owns: the course of the demonstration. Never: writes a file itself; the workflow does so once it is approved.
 * 1.  Without --yes and without a terminal it stops at the gate, prints the command that approves, and succeeds.
 * 2.  --yes approves the payload that was shown, bound to its digest; it never settles a call in doubt.
 * 3.  It ends with what to do next: this run in the console, a folder of one's own, the guide.
 */
import { basename, join, resolve } from "node:path";
import type { Command } from "commander";
import type { Gate } from "../../contract/gate.ts";
import { type JsonObject, withoutUnset } from "../../contract/json.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import { fileWrite, releaseNotes } from "../../packages/capabilities/index.ts";
import { type GitProgram, runGit } from "../../packages/operators/git-log/run-git.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { ledgerAsTyped } from "./choose-ledger.ts";
import { renderLines } from "./explain.ts";
import { invocation } from "./invocation.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, collect, ledgerNamed, readJson, type Session } from "./options.ts";
import { type Beginning, pickBeginning } from "./pick-range.ts";
import { renderGate } from "./render-gate.ts";
import { describeTime } from "./render-text.ts";
import { renderWorkflow } from "./render-workflow.ts";
import { reviewGates } from "./review.ts";
import { commandLine, decideLine, failIfFailed, openGatesOf, printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { watchRun } from "./watch-run.ts";
import { isNo, isYes } from "./yes-no.ts";

interface DemoOptions extends CommonOptions {
  readonly repo: string;
  readonly yes: boolean;
  readonly recover: boolean;
  readonly since?: string;
  readonly until?: string;
  readonly tagPrefix: string;
  readonly path: readonly string[];
  readonly title?: string;
  readonly release?: string;
  readonly sections?: unknown;
  readonly out?: string;
  readonly dataOut?: string;
}

interface Story {
  readonly context: CommandContext;
  readonly session: Session<DemoOptions>;
}

const maxGates = 20;
const maxLines = 60;

export function addDemo(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("demo"))
    .description("draft release notes of a git repository, ask, and write them")
    .option("--repo <dir>", "the repository", ".")
    .option("--yes", "approve what the gates show", false)
    .option("--since <ref>", "the last release; without it the latest tag, else a page of the newest changes")
    .option("--until <ref>", "the newest commit of it; without it HEAD")
    .option("--tag-prefix <text>", "of several packages: what this one's tags begin with, such as core@", "")
    .option("--path <path>", "only commits that touch this file or folder (repeatable)", collect, [])
    .option("--title <text>", "the heading")
    .option("--release <version>", "what these notes are of; without it the tag at hand")
    .option(
      "--sections <json>",
      'in place of the usual sections: [{"title":"New","kinds":["feature"]}, …] or @FILE',
      readJson,
    )
    .option("--out <file>", "where the notes go, inside the repository")
    .option("--data-out <file>", "where the same goes as JSON")
    .option("--recover", "first take up the unfinished work of this ledger", false)
    .action((options: DemoOptions) => runDemo({ terminal, options }));
}

async function runDemo(session: Session<DemoOptions>): Promise<void> {
  const { options, terminal } = session;
  const repo = await findRepository(options.repo, terminal);
  const tell = async (context: CommandContext) => {
    const waiting = options.json ? null : await findWaiting(context, repo);
    const wanted = waiting === null ? "draft" : await offerWaiting(waiting, session);
    if (wanted === "leave") return;
    const workflowId =
      waiting !== null && wanted === "take"
        ? waiting.workflow_id
        : await submit(context, await readInputs(repo, session), session);
    await printEnd({ context, session }, await passGates({ context, session }, workflowId));
  };
  await withKernel(session, tell, { recover: options.recover, create: true });
}

async function submit(
  { kernel, caller }: CommandContext,
  inputs: JsonObject,
  { options, terminal }: Session,
): Promise<string> {
  const text = titleNotes(inputs);
  const request = { ...caller, input: { text }, intent_hint: { intent_type: releaseNotes.intentType, inputs } };
  const { workflow_id } = await kernel.submit(request);
  if (!options.json)
    terminal.print(
      [
        `Release notes of ${showLine(String(inputs["repo"]))}`,
        `workflow ${workflow_id}, ledger ${showLine(ledgerAsTyped(ledgerNamed(options)))}`,
      ].join("\n"),
    );
  return workflow_id;
}

/** Names the work as lists show it. A beginning that is a commit is shortened as git does it. */
function titleNotes({ repo, since }: JsonObject): string {
  const from = typeof since === "string" ? `, since ${since.replace(/^([0-9a-f]{7})[0-9a-f]{33}$/, "$1")}` : "";
  return `Release notes of ${basename(String(repo))}${from}`;
}

const looked = 20;

/** Finds the newest workflow for this repository that waits for a person, or returns null. */
async function findWaiting({ kernel, caller }: CommandContext, repo: string): Promise<WorkflowState | null> {
  const filter = { states: ["waiting_for_user"], intent_type: releaseNotes.intentType, limit: looked } as const;
  for (const { workflow_id } of await kernel.workflows(filter, caller)) {
    const state = await kernel.workflow(workflow_id, caller);
    if (state.intent.inputs["repo"] === repo && openGatesOf(state).length > 0) return state;
  }
  return null;
}

/** Asks the person about notes that wait for a decision: to take them up, to leave them, or to draft others. */
async function offerWaiting(
  state: WorkflowState,
  { terminal, options }: Session<DemoOptions>,
): Promise<"take" | "leave" | "draft"> {
  const since = describeTime(state.accepted_at, terminal.now());
  const reported = `Notes of this repository wait for a person, drafted ${since} (${state.workflow_id}).`;
  const review = commandLine(options, "review", "--workflow", state.workflow_id);
  if (!terminal.interactive || options.yes) {
    terminal.print(`${reported}\n  ${review}`);
    return "draft";
  }
  terminal.print(reported);
  for (;;) {
    const answer = await terminal.ask("Take them up? y, n, or d to draft others: ");
    terminal.signal.throwIfAborted();
    if (answer === null || isNo(answer)) {
      terminal.print(`They wait as before:\n  ${review}`);
      return "leave";
    }
    if (isYes(answer)) return "take";
    if (["d", "draft"].includes(answer.trim().toLowerCase())) return "draft";
  }
}

/** Reads the inputs of the capability from the options, and picks a beginning of the notes if no option names one. */
async function readInputs(repo: string, { options, terminal }: Session<DemoOptions>): Promise<JsonObject> {
  const { since, until, tagPrefix, path, title, release, sections, out, dataOut } = options;
  const range = { since, until, tag_prefix: tagPrefix, paths: path };
  // An error in the repository or in a ref is reported by the workflow.
  const picked = await pickBeginning(gitOf(repo, terminal), range).catch(() => null);
  if (picked !== null && !options.json) for (const line of describePicked(picked, options)) terminal.print(line);
  const chosen = { since: since ?? picked?.since, sections: sections ?? picked?.sections };
  const drafted = { ...range, ...chosen, title, version: release, out, data_out: dataOut };
  return withoutUnset({ repo, ...drafted });
}

const describePicked = ({ since, sections }: Beginning, options: DemoOptions): readonly string[] => [
  ...(since === undefined
    ? []
    : [`no release to begin at: a page of the newest changes, since ${since.slice(0, 7)} (--since)`]),
  ...(sections === undefined || options.sections !== undefined
    ? []
    : [
        "most commit subjects name no kind of change, such as feat: or fix:, " +
          "so the notes are grouped by folder (choose with --sections)",
      ]),
];

const gitOf = (repo: string, { signal }: Terminal): GitProgram => ({
  git: "git",
  repo,
  signal,
  maxOutputBytes: 8 * 2 ** 20,
});

/**
 * Returns the top folder of the git repository that contains `folder`. If there is none it returns `folder`, which the
 * kernel then refuses.
 */
async function findRepository(folder: string, terminal: Terminal): Promise<string> {
  try {
    return resolve((await runGit(gitOf(folder, terminal), ["rev-parse", "--show-toplevel"])).trimEnd());
  } catch {
    return resolve(folder);
  }
}

/** Passes the gates of the workflow until it rests without an open gate, or until the person leaves. */
async function passGates({ context, session }: Story, workflowId: string): Promise<WorkflowState> {
  const { kernel, caller } = context;
  let state = await watchRun({ kernel, workflowId }, session);
  if (session.options.yes) {
    for (let asked = 0; asked < maxGates; asked += 1) {
      const gate = openGatesOf(state).find(({ kind }) => kind === "approval");
      if (gate === undefined) break;
      showGate(gate, session);
      const { gate_id, payload_digest, basis_digest } = gate;
      const payload = { payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
      await kernel.decideGate(workflowId, { ...caller, gate_id, decision: "approve", payload });
      state = await watchRun({ kernel, workflowId, after: state.sequence }, session);
    }
    return state;
  }
  const names = openGatesOf(state).map(({ gate_id }) => ({ workflow_id: workflowId, gate_id }));
  if (session.terminal.interactive) await reviewGates(context, names, session);
  else for (const gate of openGatesOf(state)) showGate(gate, session);
  return kernel.workflow(workflowId, caller);
}

function showGate(gate: Gate, { terminal, options }: Session): void {
  if (options.json) return;
  const rest = commandLine(options, "show", gate.workflow_id);
  terminal.print(`\n${renderGate(gate, terminal, { maxLines, rest })}\n`);
}

async function printEnd({ context, session }: Story, state: WorkflowState): Promise<void> {
  const { options, terminal } = session;
  const { why, summary } = await context.kernel.explain(state.workflow_id, context.caller);
  const [gate] = openGatesOf(state);
  const approve = gate === undefined ? null : decideLine(options, "approve", gate);
  const written = listWritten(state);
  if (options.json) printJson(session, { ...state, file: written[0] ?? null, written, approve, why });
  else if (gate !== undefined) terminal.print(describeWaiting(gate, options));
  else {
    terminal.print(renderWorkflow(state, terminal));
    terminal.print(`\n${terminal.paint("bold", "Why")}\n${renderLines(summary)}`);
    terminal.print(`\n${terminal.paint(written.length === 0 ? "yellow" : "green", describeWritten(written))}`);
  }
  failIfFailed(state);
  if (!options.json) terminal.print(describeNext(state, options));
}

/** Lists what a person may do next, each step with the command for it. */
function describeNext({ workflow_id }: WorkflowState, options: CommonOptions): string {
  const run = `http://127.0.0.1:8787/#/w/${workflow_id}`;
  return [
    "",
    "Next:",
    `  1. See this run in the console: open the link that this prints, then ${run}`,
    `       ${commandLine(options, "serve")}`,
    "  2. Start from a folder of your own, with a workflow to change and the console beside it:",
    `       ${invocation()} dev ../my-workflows`,
    "  3. Read the guide: src/guide/start.md, or http://127.0.0.1:8787/guide while it serves",
  ].join("\n");
}

/** Lists the files that the workflow wrote, as recorded in the results of File.Write. */
const listWritten = ({ steps, intent }: WorkflowState): readonly string[] =>
  steps
    .filter(({ operator, state }) => operator === fileWrite.metadata.name && state === "succeeded")
    .map((step) =>
      join(String(intent.inputs["repo"]), (JSON.parse(step.output_text ?? "{}") as { path?: string }).path ?? ""),
    );

const describeWritten = (written: readonly string[]): string =>
  written.length === 0 ? "nothing was written" : `written: ${written.map(showLine).join(", ")}`;

function describeWaiting(gate: Gate, options: CommonOptions): string {
  const [approve, reject] = [decideLine(options, "approve", gate), decideLine(options, "reject", gate)];
  const explain = commandLine(options, "explain", gate.workflow_id);
  return [
    "Waiting for a person; nothing is written yet. Answer from any process:",
    ...[approve, reject].map((line) => `  ${line}`),
    `Why it waits:\n  ${explain}`,
  ].join("\n");
}
