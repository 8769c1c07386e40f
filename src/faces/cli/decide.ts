/**
 * `approve`, `reject`, `retry`, `fork`, `pause`, `message`, `cancel` and `rollback`: a person's command on one
 * workflow, which then runs here to its next rest unless another process already runs it.
 *
 * 1.  No other unfinished work of the ledger is taken up.
 * 2.  `--digest` binds a decision to the payload that was looked at; a payload that has changed since is refused. A
 *     signature (`--sign`) binds it too.
 */
import { type Command, Option } from "commander";
import { type Gate, type GateRequest, isOpenGate } from "../../contract/gate.ts";
import type { Json, JsonObject } from "../../contract/json.ts";
import type { RetryRequest } from "../../contract/retry.ts";
import { formOfGate } from "../../protocol/form-fields.ts";
import { readSigningKey } from "./approver-keys.ts";
import { askForm } from "./ask-form.ts";
import { describeBelow, listGatesBelow } from "./gates-below.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readJson, readJsonObject, readList, type Session } from "./options.ts";
import { renderGate } from "./render-gate.ts";
import { UsageError } from "./report-error.ts";
import { describeDecided, promiseSafety, showResult } from "./show-result.ts";
import { signDecision } from "./sign-decision.ts";
import type { Terminal } from "./terminal.ts";
import { showAnswer } from "./vote.ts";
import { watchRun } from "./watch-run.ts";

interface DecideOptions extends CommonOptions {
  readonly edit?: JsonObject;
  readonly comment?: string;
  readonly targets?: readonly string[];
  readonly digest?: string;
  readonly basis?: string;
  readonly resolution?: "done" | "retry";
  readonly result?: Json;
  readonly answer?: JsonObject;
  readonly sign?: object | string;
}

interface RetryOptions extends CommonOptions {
  readonly mode: NonNullable<RetryRequest["mode"]>;
  readonly steps?: readonly string[];
  readonly to?: string;
}

interface ForkOptions extends CommonOptions {
  readonly at: string;
  readonly inputs?: JsonObject;
  readonly outputs?: JsonObject;
  readonly reason?: string;
}

interface OrderOptions extends CommonOptions {
  readonly reason?: string;
  readonly undo?: boolean;
}

export function addDecisions(program: Command, terminal: Terminal): void {
  addDecision(program, "approve")
    .option("--targets <names>", "where an outcome is applied, separated by commas; votes name the same", readList)
    .option("--edit <json>", "change the payload first: a JSON object of what changes, or @FILE", readJsonObject)
    .addOption(new Option("--resolution <word>", "what became of a call in doubt").choices(["done", "retry"]))
    .option("--result <json>", "with --resolution done: the result of the call", readJson)
    .option("--answer <json>", "the answer to a question, or @FILE; a person at a terminal is asked", readJsonObject)
    .action((workflowId: string, gateId: string | undefined, options: DecideOptions) =>
      decide({ workflowId, gateId, decision: "approve" }, { options, terminal }),
    );
  addDecision(program, "reject").action((workflowId: string, gateId: string | undefined, options: DecideOptions) =>
    decide({ workflowId, gateId, decision: "reject" }, { options, terminal }),
  );
}

const follows = {
  approve: "the workflow then goes on",
  reject: "the workflow then ends as cancelled; a call in doubt has failed",
} as const;

const addDecision = (program: Command, name: "approve" | "reject"): Command =>
  addCommonOptions(program.command(name))
    .description(`${name} a gate; once enough people have, ${follows[name]}`)
    .argument("<workflow>", "its id")
    .argument("[gate]", "its id; not needed where one gate is open")
    .option("--comment <text>", "kept with the decision")
    .option("--digest <digest>", "only if the gate still shows the payload with this digest")
    .option("--basis <digest>", "only if what the gate shows still rests on what has this digest")
    .option("--sign <keyfile>", "sign the decision with this Ed25519 key (JWK or PEM)", readSigningKey);

interface Decision {
  readonly workflowId: string;
  readonly gateId: string | undefined;
  readonly decision: "approve" | "reject";
}

async function decide({ decision, ...chosen }: Decision, session: Session<DecideOptions>): Promise<void> {
  const named = readPayload(session.options);
  await withKernel(session, async ({ kernel, caller, elsewhere }) => {
    const { workflowId, gateId } = await findMeant({ kernel, caller }, chosen);
    const before = await kernel.workflow(workflowId, caller);
    const which = gateId === undefined ? {} : { gate_id: gateId };
    const gate = before.gates.find((one) => isOpenGate(one) && (gateId === undefined || one.gate_id === gateId));
    if (session.options.sign !== undefined) requireSeen(gate, session.options);
    const payload = decision === "approve" ? await withAnswer(gate, named, session) : named;
    if (payload === null) return;
    const word = { decision, caller, payload };
    const signed = await signDecision({ gate, sequence: before.sequence }, word, session.options.sign);
    promiseSafety(session, workflowId);
    const answer = await kernel.decideGate(workflowId, {
      ...caller,
      ...which,
      decision,
      payload: { ...payload, ...signed },
    });
    showAnswer(session, answer);
    if (gate !== undefined && !session.options.json) {
      // An edit changes the payload and the title of the gate, so the gate is read again.
      const decided = payload?.edit === undefined ? gate : await kernel.gate(workflowId, gate.gate_id, caller);
      session.terminal.print(describeDecided(decided, `${decision}, ${answer.status}`));
    }
    // A decision that arrives ahead of its gate is kept. The workflow is not at rest and need not be run here.
    const kept = answer.status === "kept";
    const watched = { kernel, workflowId, after: before.sequence, elsewhere };
    showResult(session, kept ? before : await watchRun(watched, session), { answer });
  });
}

/**
 * Finds the gate that a command without a gate id means: the one below the workflow if none of its own is open and one
 * is open there.
 */
async function findMeant(
  reading: Pick<CommandContext, "kernel" | "caller">,
  chosen: Omit<Decision, "decision">,
): Promise<Omit<Decision, "decision">> {
  if (chosen.gateId !== undefined) return chosen;
  const state = await reading.kernel.workflow(chosen.workflowId, reading.caller);
  if (state.gates.some(isOpenGate)) return chosen;
  const [only, ...others] = await listGatesBelow(reading, state);
  if (only === undefined) return chosen;
  if (others.length === 0) return { workflowId: only.workflow_id, gateId: only.gate_id };
  throw new UsageError(["several gates wait below; name one", ...[only, ...others].map(describeBelow)].join("\n"));
}

/** Asks a person at the terminal for the answer to a question, if none was given; null where they leave. */
async function withAnswer(
  gate: Gate | undefined,
  payload: GateRequest["payload"],
  { terminal, options }: Session<DecideOptions>,
): Promise<GateRequest["payload"] | null> {
  const form = gate === undefined ? null : formOfGate(gate);
  if (gate === undefined || form === null || payload?.answer !== undefined) return payload;
  if (!terminal.interactive || options.json)
    throw new UsageError(`${gate.gate_id} asks a question; give its answer with --answer JSON`);
  terminal.print(renderGate(gate, terminal));
  const answer = await askForm(form, terminal);
  return answer === null ? null : { ...payload, answer, payload_digest: gate.payload_digest };
}

/**
 * Requires `--digest` for the signature of a gate that was revised, since the signature must cover the payload that the
 * person has seen. @throws UsageError.
 */
function requireSeen(gate: Gate | undefined, { digest }: DecideOptions): void {
  const isRevised = (gate?.revised_from ?? []).length > 0;
  if (isRevised && digest === undefined)
    throw new UsageError(`${gate?.gate_id} was revised; look again, and name the --digest that it shows now`);
}

const readPayload = ({
  edit,
  comment,
  targets,
  digest,
  basis,
  resolution,
  result,
  answer,
}: DecideOptions): GateRequest["payload"] => ({
  ...(edit !== undefined && { edit }),
  ...(comment !== undefined && { comment }),
  ...(targets !== undefined && { apply_targets: [...targets] }),
  ...(digest !== undefined && { payload_digest: digest }),
  ...(basis !== undefined && { basis_digest: basis }),
  ...(resolution !== undefined && { resolution }),
  ...(result !== undefined && { result }),
  ...(answer !== undefined && { answer }),
});

export function addRestarts(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("retry"))
    .description(
      "run the failed steps of a workflow again, regenerate steps and all that depends on them, " +
        "do it all again under the same keys, or so under another version of its package (migrate)",
    )
    .argument("<workflow>", "its id")
    .addOption(
      new Option("--mode <mode>", "what to run again")
        .choices(["resume_failed_steps", "regenerate", "replay", "migrate"])
        .default("resume_failed_steps"),
    )
    .option("--steps <ids>", "the steps to regenerate, separated by commas", readList)
    .option("--to <version>", "the version of the package to migrate to; the newest where none is named")
    .action((workflowId: string, options: RetryOptions) => retry(workflowId, { options, terminal }));
  addCommonOptions(program.command("fork"))
    .description("begin a workflow that takes over what another one has done, up to a step or an event")
    .argument("<workflow>", "its id")
    .requiredOption("--at <point>", "the step that is done anew, or the sequence of the last event that counts")
    .option("--inputs <json>", "other inputs: a JSON object, or @FILE", readJsonObject)
    .option("--outputs <json>", "other outputs of steps that are taken over, by their ids, or @FILE", readJsonObject)
    .option("--reason <text>", "kept with the fork")
    .action((workflowId: string, options: ForkOptions) => fork(workflowId, { options, terminal }));
  addCommonOptions(program.command("cancel"))
    .description("end a workflow early")
    .argument("<workflow>", "its id")
    .option("--reason <text>", "kept with the cancellation")
    .option("--undo", "undo what its steps have done, as their plan states, before it ends")
    .action((workflowId: string, options: OrderOptions) => order("cancel", workflowId, { options, terminal }));
  addCommonOptions(program.command("rollback"))
    .description("undo what a workflow that has ended had done, as its plan states, children included")
    .argument("<workflow>", "its id")
    .option("--reason <text>", "kept with the rollback")
    .action((workflowId: string, options: OrderOptions) => order("rollback", workflowId, { options, terminal }));
  addCommonOptions(program.command("pause"))
    .description("stop a workflow for a while: calls under way end, and nothing new begins until it is resumed")
    .argument("<workflow>", "its id")
    .option("--reason <text>", "kept with the pause")
    .action((workflowId: string, options: OrderOptions) => order("pause", workflowId, { options, terminal }));
  addCommonOptions(program.command("message"))
    .description("send a message to a workflow that takes them, such as an agent, which reads it at its next turn")
    .argument("<workflow>", "its id")
    .argument("<text>", "the message")
    .action((workflowId: string, text: string, options: CommonOptions) =>
      moveOn({ options, terminal }, ({ kernel, caller }) => kernel.addInput(workflowId, { ...caller, text })),
    );
}

function retry(workflowId: string, session: Session<RetryOptions>): Promise<void> {
  const { mode, steps, to } = session.options;
  const named = { ...(steps !== undefined && { step_ids: [...steps] }), ...(to !== undefined && { version: to }) };
  return moveOn(session, ({ kernel, caller }) => kernel.retry(workflowId, { ...caller, mode, ...named }));
}

function fork(workflowId: string, session: Session<ForkOptions>): Promise<void> {
  const { at, inputs, outputs, reason } = session.options;
  const point = /^\d+$/.test(at) ? Number(at) : at;
  const changed = { ...(inputs !== undefined && { inputs }), ...(outputs !== undefined && { outputs }) };
  const given = { at: point, ...changed, ...(reason !== undefined && { reason }) };
  return moveOn(session, ({ kernel, caller }) => kernel.fork(workflowId, { ...caller, ...given }));
}

function order(
  name: "cancel" | "rollback" | "pause",
  workflowId: string,
  session: Session<OrderOptions>,
): Promise<void> {
  const { reason, undo } = session.options;
  const given = { ...(reason !== undefined && { reason }), ...(undo !== undefined && { undo }) };
  return moveOn(session, ({ kernel, caller }) => kernel[name](workflowId, { ...caller, ...given }));
}

/**
 * Sends the command, then follows the workflow that the answer names to its next rest. A regeneration names a new
 * workflow.
 */
async function moveOn(
  session: Session,
  give: (context: CommandContext) => Promise<{ readonly workflow_id: string }>,
): Promise<void> {
  await withKernel(session, async (context) => {
    const answer = await give(context);
    const watched = { ...context, workflowId: answer.workflow_id };
    showResult(session, await watchRun(watched, session), { answer });
  });
}
