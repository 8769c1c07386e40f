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
import type { WorkflowState } from "../contract/workflow-state.ts";
import { runGit } from "../operators/git-log/run-git.ts";
import { showLine } from "../protocol/visible-text.ts";
import { type Answer, askGate } from "./ask-gate.ts";
import { renderWhy } from "./explain.ts";
import { type Desk, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
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
  readonly out?: string;
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
    .option("--since <ref>", "the last release; without it the latest tag, else the whole history")
    .option("--out <file>", "where the notes go, inside the repository")
    .option("--recover", "first take up the unfinished work of this ledger", false)
    .action((options: DemoOptions) => runDemo({ terminal, options }));
}

async function runDemo(session: Session<DemoOptions>): Promise<void> {
  const { options, terminal } = session;
  const repo = await findRepository(options.repo, terminal);
  const inputs = { repo, ...(options.since && { since: options.since }), ...(options.out && { out: options.out }) };
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

/** The top of the git repository around a folder; the folder itself where there is none, for the kernel to refuse. */
async function findRepository(folder: string, { signal }: Terminal): Promise<string> {
  try {
    const program = { git: "git", repo: folder, signal, maxOutputBytes: 64 * 1024 };
    return resolve((await runGit(program, ["rev-parse", "--show-toplevel"])).trimEnd());
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
