/**
 * `demo`: release notes of a real git repository, from the request to the file, with a person in between.
 *
 * Owns: the story. Never: writes a file itself; the workflow does, once it is approved.
 * INV-1  Without --yes and without a terminal it stops at the gate, says how to approve, and ends well.
 * INV-2  --yes approves what is shown, to the digest; it never answers for a call in doubt.
 */
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { ReleaseNotesInput, releaseNotes } from "../capabilities/index.ts";
import type { Gate } from "../contract/gate.ts";
import type { JsonObject } from "../contract/json.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { type GitProgram, runGit } from "../operators/git-log/run-git.ts";
import { showLine } from "../protocol/visible-text.ts";
import { type Answer, askGate } from "./ask-gate.ts";
import { renderWhy } from "./explain.ts";
import { type Desk, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, collect, readJson, type Session } from "./options.ts";
import { pickBeginning } from "./pick-range.ts";
import { renderGate } from "./render-gate.ts";
import { renderWorkflow } from "./render-workflow.ts";
import { commandLine, decideLine, failIfFailed, openGatesOf, printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { watchRun } from "./watch-run.ts";

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
  readonly desk: Desk;
  readonly session: Session<DemoOptions>;
  readonly file: string;
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
  const inputs = await readInputs(repo, session);
  const file = join(repo, ReleaseNotesInput.safeParse(inputs).data?.out ?? "");
  const tell = async (desk: Desk) => {
    const request = { ...desk.caller, intent_hint: { intent_type: releaseNotes.intentType, inputs } };
    const { workflow_id } = await desk.kernel.submit(request);
    if (!options.json)
      terminal.print(`Release notes of ${showLine(repo)}\nworkflow ${workflow_id}, ledger ${showLine(options.db)}`);
    await tellEnd({ desk, session, file }, await answerGates({ desk, session, file }, workflow_id));
  };
  await withKernel(session, tell, { recover: options.recover, create: true });
}

/** What the options say, by the names of the capability's inputs, and where the notes begin if nothing says it. */
async function readInputs(repo: string, { options, terminal }: Session<DemoOptions>): Promise<JsonObject> {
  const { since, until, tagPrefix, path, title, release, sections, out, dataOut } = options;
  const range = { since, until, tag_prefix: tagPrefix, paths: path };
  // What is wrong with the repository or a ref is the workflow's to tell.
  const picked = await pickBeginning(gitOf(repo, terminal), range).catch(() => undefined);
  if (picked !== undefined && !options.json)
    terminal.print(`no release to begin at: a page of the newest changes, since ${picked.slice(0, 7)} (--since)`);
  const said = { ...range, since: since ?? picked, title, version: release, sections, out, data_out: dataOut };
  return Object.fromEntries(Object.entries({ repo, ...said }).filter(([, value]) => value !== undefined)) as JsonObject;
}

const gitOf = (repo: string, { signal }: Terminal): GitProgram => ({
  git: "git",
  repo,
  signal,
  maxOutputBytes: 8 * 2 ** 20,
});

/** The top of the git repository around a folder; the folder itself where there is none, for the kernel to refuse. */
async function findRepository(folder: string, terminal: Terminal): Promise<string> {
  try {
    return resolve((await runGit(gitOf(folder, terminal), ["rev-parse", "--show-toplevel"])).trimEnd());
  } catch {
    return resolve(folder);
  }
}

/** Runs the workflow from gate to gate for as long as somebody answers. */
async function answerGates({ desk: { kernel, caller }, session }: Story, workflowId: string): Promise<WorkflowState> {
  let state = await watchRun({ kernel, workflowId }, session);
  for (let asked = 0; asked < maxGates; asked += 1) {
    const [gate] = openGatesOf(state);
    if (gate === undefined) break;
    showGate(gate, session);
    const answer = await answerGate(gate, findDraft(gate, state), session);
    if (answer === null) break;
    const { decision, text } = answer;
    const { payload_digest, basis_digest } = gate;
    const shown = { payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
    const payload = { ...shown, ...(text !== undefined && { edit: { markdown: text } }) };
    await kernel.decideGate(workflowId, { ...caller, gate_id: gate.gate_id, decision, payload });
    state = await watchRun({ kernel, workflowId, after: state.sequence }, session);
  }
  return state;
}

function showGate(gate: Gate, { terminal, options }: Session): void {
  if (options.json) return;
  const rest = commandLine(options, "show", gate.workflow_id);
  terminal.print(`\n${renderGate(gate, terminal, { maxLines, rest })}\n`);
}

async function answerGate(
  gate: Gate,
  draft: string | null,
  { terminal, options }: Session<DemoOptions>,
): Promise<Answer | null> {
  if (options.yes) return gate.kind === "approval" ? { decision: "approve" } : null;
  return terminal.interactive ? askGate({ gate, draft, signal: terminal.signal }) : null;
}

/** The notes that a gate is about, as they stand. */
function findDraft({ target }: Gate, { outcomes }: WorkflowState): string | null {
  const drafts = outcomes.filter(
    ({ outcome_id, version }) => outcome_id === target?.outcome_id && version === target.version,
  );
  const content = drafts.at(-1)?.content;
  if (typeof content !== "object" || content === null || !("markdown" in content)) return null;
  return typeof content.markdown === "string" ? content.markdown : null;
}

async function tellEnd({ desk, session, file }: Story, state: WorkflowState): Promise<void> {
  const { options, terminal } = session;
  const { why } = await desk.kernel.explain(state.workflow_id, desk.caller);
  const [gate] = openGatesOf(state);
  const approve = gate === undefined ? null : decideLine(options, "approve", gate);
  const written = state.state === "completed" ? file : null;
  if (options.json) printJson(session, { ...state, file: written, approve, why });
  else if (gate !== undefined) terminal.print(tellWaiting(gate, options));
  else {
    terminal.print(renderWorkflow(state, terminal));
    if (written !== null) terminal.print(`\n${terminal.paint("green", `written: ${showLine(written)}`)}`);
    terminal.print(`\n${terminal.paint("bold", "Why")}\n${renderWhy(why)}`);
  }
  failIfFailed(state);
}

function tellWaiting(gate: Gate, options: CommonOptions): string {
  const [approve, reject] = [decideLine(options, "approve", gate), decideLine(options, "reject", gate)];
  const explain = commandLine(options, "explain", gate.workflow_id);
  return `Waiting for a person; nothing is written yet. Answer from any process:\n  ${approve}\n  ${reject}\nWhy it waits:\n  ${explain}`;
}
