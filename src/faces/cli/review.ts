/**
 * `review` and `resume WF`: the gates that wait, one after another, and a workflow that continues from where it stands.
 *
 * Owns: the order of gates, the message about each decision, and the hint for continuing when a person leaves.
 * 1.  A decision is sent with the gate's id and the digests of the payload that was on the screen.
 * 2.  Without a terminal nobody is asked: the gates are shown with the commands that decide them.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "commander";
import { KernelErrorException } from "../../contract/error.ts";
import { type Gate, isOpenGate } from "../../contract/gate.ts";
import type { JsonObject } from "../../contract/json.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { WorkflowState } from "../../contract/workflow-state.ts";
import type { GateFilter } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { readSigningKey } from "./approver-keys.ts";
import { askGate, type GateAnswer } from "./ask-gate.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, type Session } from "./options.ts";
import { renderGate } from "./render-gate.ts";
import { renderError } from "./report-error.ts";
import {
  commandLine,
  decideLine,
  describeDecided,
  failIfFailed,
  openGatesOf,
  printJson,
  promiseSafety,
  showResult,
} from "./show-result.ts";
import { signDecision } from "./sign-decision.ts";
import { Interrupted, type Terminal } from "./terminal.ts";
import { describeTally } from "./vote.ts";
import { watchRun } from "./watch-run.ts";

interface ReviewOptions extends CommonOptions {
  readonly workflow?: string;
  readonly under?: string;
  readonly mine?: boolean;
  readonly forRole?: string;
  readonly operator?: string;
  readonly sign?: object | string;
  readonly reason?: string;
}

export function addReview(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("review"))
    .description("take the gates that wait one after another: look, approve, edit, reject")
    .option("--workflow <id>", "only those of this workflow")
    .option("--under <id>", "only those of this workflow and of its children at every level")
    .option("--mine", "only those that --principal has a seat at, as --role")
    .option("--for-role <role>", "only those that name this role")
    .option("--operator <name>", "only those before a call of this operator")
    .option("--sign <keyfile>", "sign each decision with this Ed25519 key (JWK or PEM)", readSigningKey)
    .action((options: ReviewOptions) => review({ options, terminal }));
  addCommonOptions(program.command("resume"))
    .description("go on with a workflow: end its pause, run what is unfinished, or ask what it waits for")
    .argument("<workflow>", "its id")
    .option("--reason <text>", "kept with the end of a pause")
    .option("--sign <keyfile>", "sign each decision with this Ed25519 key (JWK or PEM)", readSigningKey)
    .action((workflowId: string, options: ReviewOptions) => resume(workflowId, { options, terminal }));
}

/** The name of a gate: its workflow and its id. */
interface GateName {
  readonly workflow_id: string;
  readonly gate_id: string;
}

function review(session: Session<ReviewOptions>): Promise<void> {
  return withKernel(session, async (context) => {
    const gates = await listWaiting(context, readFilter(session.options));
    if (session.options.json) return printJson(session, { gates: await readGates(context, gates) });
    if (gates.length === 0) return session.terminal.print("no gate waits");
    if (!session.terminal.interactive) return printGates(context, gates, session);
    return session.terminal.print(`\n${describeLeft(await reviewGates(context, gates, session), session)}`);
  });
}

const readFilter = ({ workflow, under, mine, forRole, operator }: ReviewOptions): GateFilter => ({
  ...(workflow !== undefined && { workflow_id: workflow }),
  ...(under !== undefined && { under }),
  ...(mine !== undefined && { mine }),
  ...(forRole !== undefined && { role: forRole }),
  ...(operator !== undefined && { operator }),
});

const page = 200;

/**
 * Lists the names of all waiting gates, those of the oldest workflow first, so that the longest wait is decided first.
 */
async function listWaiting({ kernel, caller }: CommandContext, filter: GateFilter): Promise<readonly GateName[]> {
  const names: GateName[] = [];
  for (let after: string | undefined; ; ) {
    const gates = await kernel.gates({ ...filter, limit: page, ...(after !== undefined && { after }) }, caller);
    names.push(...gates.map(({ workflow_id, gate_id }) => ({ workflow_id, gate_id })));
    const last = names.at(-1);
    if (gates.length < page || last === undefined || filter.workflow_id !== undefined) return names.toReversed();
    after = `${last.workflow_id}/${last.gate_id}`;
  }
}

const readGates = ({ kernel, caller }: CommandContext, names: readonly GateName[]): Promise<readonly Gate[]> =>
  Promise.all(names.map(({ workflow_id, gate_id }) => kernel.gate(workflow_id, gate_id, caller)));

async function printGates(
  context: CommandContext,
  names: readonly GateName[],
  { terminal, options }: Session,
): Promise<void> {
  for (const gate of await readGates(context, names)) {
    const lines = [decideLine(options, "approve", gate), decideLine(options, "reject", gate)];
    terminal.print(`${renderGate(gate, terminal)}\n  ${lines.join("\n  ")}\n`);
  }
}

/**
 * Asks about each gate until all have been seen or the person leaves; a gate that opens after a decision is next.
 * Returns the number of gates that are left undecided.
 */
export async function reviewGates(
  context: CommandContext,
  names: readonly GateName[],
  session: Session<ReviewOptions>,
): Promise<number> {
  let waiting = names;
  let kept: JsonObject | null = null;
  for (let at = 0; at < waiting.length; ) {
    const name = waiting[at] as GateName;
    const gate = await context.kernel.gate(name.workflow_id, name.gate_id, context.caller);
    const place = `${at + 1} of ${waiting.length}`;
    session.terminal.safety.tell = `Nothing was decided at this gate. ${describeLeft(waiting.length, session)}`;
    const chosen: GateAnswer = isOpenGate(gate)
      ? await askGate({ gate, place, terminal: session.terminal, kept })
      : printElsewhere(gate, session);
    kept = null;
    if (chosen.to === "quit") break;
    if (chosen.to === "stop") throw new Interrupted("Ctrl-C", 130);
    if (chosen.to === "back") at = Math.max(0, at - 1);
    if (chosen.to === "next") at += 1;
    if (chosen.to === "decide") {
      const opened = await decideHere(context, gate, chosen, session);
      // The edit of a refused decision is kept, because the same gate is next.
      if (opened === null) kept = chosen.payload?.edit ?? null;
      if (opened === null) continue;
      const others = waiting.toSpliced(at, 1);
      waiting = others.toSpliced(at, 0, ...opened.filter((one) => !others.some((other) => isSame(one, other))));
    }
  }
  return waiting.length;
}

const isSame = (a: GateName, b: GateName): boolean => a.workflow_id === b.workflow_id && a.gate_id === b.gate_id;

function printElsewhere(gate: Gate, { terminal }: Session): GateAnswer {
  terminal.print(describeDecided(gate, `${describeDecision(gate)}, not here`));
  return { to: "next" };
}

const describeDecision = ({ status, decision }: Gate): string =>
  decision?.principal == null
    ? status
    : `${status} by ${showLine(`${decision.principal.type} ${decision.principal.id}`)}`;

/**
 * Sends a decision. Returns the gates of the workflow that are open afterwards, or null if the decision was refused.
 */
async function decideHere(
  context: CommandContext,
  gate: Gate,
  chosen: Decided,
  session: Session<ReviewOptions>,
): Promise<readonly GateName[] | null> {
  const { terminal } = session;
  const { workflow_id } = gate;
  try {
    const { answer, after } = await sendDecision(context, gate, chosen, session);
    const word = chosen.payload?.resolution ?? chosen.decision;
    const isEdited = chosen.payload?.edit !== undefined;
    const decided = isEdited ? await context.kernel.gate(workflow_id, gate.gate_id, context.caller) : gate;
    terminal.print(`\n${describeDecided(decided, `${word}${isEdited ? " as edited" : ""}, ${answer.status}`)}`);
    if (answer.tally !== undefined) terminal.print(`  ${describeTally(answer.status, answer.tally)}`);
    const state = await watchRun({ ...context, workflowId: workflow_id, after }, session);
    terminal.print(`  ${describeState(state)}`);
    return answer.status === "voted" ? [] : openGatesOf(state).map((open) => ({ workflow_id, gate_id: open.gate_id }));
  } catch (error) {
    if (!(error instanceof KernelErrorException)) throw error;
    terminal.print(`\n${describeDecided(gate, "not decided")}\n${renderError(error.error)}`);
    await terminal.ask("Enter shows the gate as it is now. ");
    return null;
  }
}

type Decided = Extract<GateAnswer, { to: "decide" }>;

async function sendDecision(
  { kernel, caller }: CommandContext,
  gate: Gate,
  { decision, payload }: Decided,
  session: Session<ReviewOptions>,
) {
  const { workflow_id, gate_id, payload_digest, basis_digest } = gate;
  const before = await kernel.workflow(workflow_id, caller);
  const word = { decision, caller, payload };
  const signed = await signDecision({ gate, sequence: before.sequence }, word, session.options.sign);
  const shown = { payload_digest, ...(basis_digest !== undefined && { basis_digest }) };
  promiseSafety(session, workflow_id);
  const request = { ...caller, gate_id, decision, payload: { ...payload, ...shown, ...signed } };
  return { answer: await kernel.decideGate(workflow_id, request), after: before.sequence };
}

const describeState = ({ state, error }: WorkflowState): string =>
  [
    `the workflow is ${state.replaceAll("_", " ")}`,
    ...(error === null ? [] : [showLine(`${error.code}: ${error.message}`)]),
  ].join(": ");

function describeLeft(left: number, { options }: Session): string {
  if (left === 0) return "No gate waits any more.";
  return `${left === 1 ? "1 gate waits" : `${left} gates wait`} as before. Go on:\n  ${commandLine(options, "review")}`;
}

function resume(workflowId: string, session: Session<ReviewOptions>): Promise<void> {
  return withKernel(session, async (context) => {
    const { kernel, caller } = context;
    const found = await kernel.workflow(workflowId, caller);
    const { terminal, options } = session;
    const before = found.paused === null ? found : await endPause(context, workflowId, options);
    if (isTerminal(before.state)) {
      showResult(session, before);
      if (!options.json) terminal.print(`It is ${before.state}: there is nothing to go on with.`);
      return;
    }
    const state = await takeUp(context, before, session);
    const names = openGatesOf(state).map(({ gate_id }) => ({ workflow_id: workflowId, gate_id }));
    if (names.length === 0 || options.json || !terminal.interactive) return showResult(session, state);
    terminal.print(`\n${describeLeft(await reviewGates(context, names, session), session)}`);
    failIfFailed(await kernel.workflow(workflowId, caller));
  });
}

async function endPause(
  { kernel, caller }: CommandContext,
  workflowId: string,
  { reason }: ReviewOptions,
): Promise<WorkflowState> {
  await kernel.resume(workflowId, { ...caller, ...(reason !== undefined && { reason }) });
  return kernel.workflow(workflowId, caller);
}

/** The time between two attempts to take up a workflow that another process may hold, in ms. */
const takeMs = 2000;

/**
 * Runs the workflow here, or follows it if another process runs it. If that process died, its lease expires; the
 * attempts continue until the workflow rests.
 */
async function takeUp(context: CommandContext, before: WorkflowState, session: Session): Promise<WorkflowState> {
  const { kernel, elsewhere } = context;
  const { workflow_id: workflowId, sequence } = before;
  const rested = new AbortController();
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => undefined);
  const keepTaking = async (): Promise<void> => {
    for (let tries = 1; !rested.signal.aborted; tries += 1) {
      kernel.execute(workflowId).catch(failed.reject);
      await sleep(takeMs, undefined, { signal: rested.signal }).catch(() => undefined);
      if (rested.signal.aborted || tries > 1 || (await kernel.workflow(workflowId)).sequence > sequence) continue;
      session.terminal.complain(
        "Another process holds it. If that one is gone, it is taken up here within half a minute.",
      );
    }
  };
  keepTaking().catch(failed.reject);
  try {
    return await Promise.race([watchRun({ kernel, workflowId, after: sequence, elsewhere }, session), failed.promise]);
  } finally {
    rested.abort();
  }
}
