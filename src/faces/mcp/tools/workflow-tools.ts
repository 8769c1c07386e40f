/**
 * The tools that every server has: submit, read, run again, end; if people may answer gates, decide; and, to
 * callers who may, send events. Each offers one operation of the catalogue, with a description for models.
 *
 * 1.  Their names hold a dash, which no name made of an intent type does: they meet no capability's tool.
 */
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import { kernelCommands, submit, workflowCommands } from "../../../api/commands.ts";
import { lists } from "../../../api/lists.ts";
import type { Command, KernelCommand, Offered, View, WorkflowCommand } from "../../../api/operation.ts";
import { reads, views } from "../../../api/reads.ts";
import { HaltStanding } from "../../../contract/halt.ts";
import { GateId, ThreadId, WorkflowId } from "../../../contract/ids.ts";
import { SubmitRequest } from "../../../contract/intent.ts";
import { JsonObject, JsonValue, withoutUnset } from "../../../contract/json.ts";
import { ItemFilter, ListedItem } from "../../../contract/listed-item.ts";
import { McpGate, McpWorkflow } from "../../../contract/mcp.ts";
import { WorkflowStateName } from "../../../contract/progress.ts";
import { WorkflowSummary } from "../../../contract/workflow-summary.ts";
import type { Explanation, WorkflowState } from "../../../index.ts";
import { toMcpGate } from "../../../protocol/tell-gate.ts";
import { describeWorkflow, toMcpWorkflow } from "../describe-workflow.ts";
import { type McpContext, requireGranted, requireScope } from "../mcp-context.ts";
import {
  type CallTerms,
  inputSchemaOf,
  type McpTool,
  outputSchemaOf,
  readArguments,
  structured,
  type ToolAnswer,
  termsOf,
} from "./tool.ts";

export const readsOnly: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };

export const hintsOf = ({ isIdempotent = false }: Command): ToolAnnotations => ({
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: isIdempotent,
});

/** The description of a tool for a model. */
export interface ToolDescription {
  readonly title: string;
  readonly description: string;
}

interface Spec<S extends z.ZodType> extends ToolDescription {
  readonly operation: Offered;
  readonly annotations: ToolAnnotations;
  readonly input: S;
  /** The schema of the content, where it is not the operation's answer as it is. */
  readonly output?: z.ZodType;
  readonly run: (context: McpContext, args: z.output<S>, terms: CallTerms) => Promise<ToolAnswer>;
  readonly begin?: (context: McpContext, args: z.output<S>, terms: CallTerms) => Promise<string>;
}

export function makeTool<S extends z.ZodType>({ operation, input, output, run, begin, ...reported }: Spec<S>): McpTool {
  return {
    name: operation.id.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`),
    ...reported,
    inputSchema: inputSchemaOf(input),
    outputSchema: outputSchemaOf(output ?? operation.answer),
    call: (context, args, { ctx, meta }) => run(context, readArguments(input, args), termsOf(ctx, meta)),
    ...(begin !== undefined && { begin: (context, args, terms) => begin(context, readArguments(input, args), terms) }),
  };
}

/** Makes the tool of a command whose request is flat: its members stand beside the workflow's id. */
const commandTool = (command: WorkflowCommand, reported: ToolDescription): McpTool =>
  makeTool({
    operation: command,
    ...reported,
    annotations: hintsOf(command),
    input: command.request.omit({ tenant_id: true, principal: true }).extend({ workflow_id: WorkflowId }).strict(),
    async run(context, { workflow_id, ...asked }, { key }) {
      const named = { ...requireScope(context, command.scope), ...(command.isKeyed === true && key) };
      const request = { ...named, ...withoutUnset(asked) } as JsonObject;
      return structured(await command.run(context.kernel, workflow_id as string, request));
    },
  });

/** Makes the tool of a command that concerns no single workflow. */
export const kernelTool = (command: KernelCommand, reported: ToolDescription): McpTool =>
  makeTool({
    operation: command,
    ...reported,
    annotations: hintsOf(command),
    input: command.request.omit({ tenant_id: true, principal: true }).strict(),
    async run(context, asked) {
      const caller = requireScope(context, command.scope);
      return structured(await command.run(context.kernel, { ...caller, ...withoutUnset(asked) } as JsonObject));
    },
  });

const OfWorkflow = z.strictObject({ workflow_id: WorkflowId });

interface ShownView<Answer> extends ToolDescription {
  readonly output?: z.ZodType;
  /** The result made of the view's answer. */
  readonly show: (answer: Answer) => ToolAnswer;
}

const viewTool = <Answer extends object>(view: View, { show, ...reported }: ShownView<Answer>): McpTool =>
  makeTool({
    operation: view,
    ...reported,
    annotations: readsOnly,
    input: OfWorkflow,
    run: async (context, { workflow_id }) =>
      show(
        (await view.read(context.kernel, workflow_id, { caller: await requireGranted(context, view.scope) })) as Answer,
      ),
  });

const cursor = z.string().max(512).optional();
export const page = {
  after: cursor,
  before: cursor,
  limit: z.int().min(1).max(100).default(20),
  total: z.boolean().optional(),
};
const shownPage = { next: z.string().nullable(), total: z.int().optional() };
const Name = z.string().min(1).max(256);

const Submission = z.strictObject({
  intent_type: z.string().min(1).max(256).optional(),
  inputs: JsonObject.default({}),
  text: z.string().max(65_536).default(""),
  thread_id: ThreadId.optional(),
  constraints: SubmitRequest.shape.constraints,
  start_at: SubmitRequest.shape.start_at,
  delay_ms: SubmitRequest.shape.delay_ms,
  queue: SubmitRequest.shape.queue,
});

/** Gives the workflow's id. @throws KernelErrorException as `submit` does. */
async function beginIntent(context: McpContext, asked: z.output<typeof Submission>, { key, signal }: CallTerms) {
  const { intent_type, inputs, text, thread_id = null, constraints, ...start } = asked;
  const request = {
    ...requireScope(context, "intent:submit"),
    thread_id,
    constraints,
    ...withoutUnset(start),
    input: { mode: text === "" ? ("data" as const) : ("message" as const), text },
    intent_hint: intent_type === undefined ? null : { intent_type, inputs },
    ...key,
  };
  return context.kernel.submit(request, { signal });
}

const submitIntent = makeTool({
  operation: submit,
  title: "Submit an intent",
  description:
    "Starts a workflow, by intent_type with inputs or by text alone, and answers at once with its workflow_id; " +
    "read-workflow tells where it stands. With start_at or delay_ms the work begins then.",
  annotations: hintsOf(submit),
  input: Submission,
  run: async (context, asked, terms) => structured(await beginIntent(context, asked, terms)),
  begin: async (context, asked, terms) => (await beginIntent(context, asked, terms)).workflow_id,
});

const listWorkflows = makeTool({
  operation: lists.workflows,
  title: "List workflows",
  description:
    "Summaries of this tenant's workflows, newest first; next, as after, goes on with older ones. read-workflow " +
    "tells the whole of one.",
  annotations: readsOnly,
  input: lists.workflows.filter
    .omit({ thread_id: true })
    .extend({ states: z.array(WorkflowStateName).min(1).optional(), intent_type: Name.optional(), ...page }),
  output: z.looseObject({ workflows: z.array(WorkflowSummary), ...shownPage }),
  async run(context, { limit, ...filter }) {
    const caller = await requireGranted(context, lists.workflows.scope);
    return structured(await lists.workflows.read(context.kernel, { ...withoutUnset(filter), limit }, caller));
  },
});

const readWorkflow = viewTool<WorkflowState>(views.workflow, {
  title: "Read a workflow",
  description: "Where a workflow stands: state, text, outcomes, open gates, error.",
  output: McpWorkflow,
  show: (state) => structured(toMcpWorkflow(state), [describeWorkflow(state), JSON.stringify(toMcpWorkflow(state))]),
});

const readOutcomes = viewTool(views.outcomes, {
  title: "Read outcomes",
  description: "What a workflow has produced: every version of every outcome, drafts and finals.",
  show: (outcomes) => structured(outcomes),
});

const explainWorkflow = viewTool<Explanation>(views.explain, {
  title: "Explain a workflow",
  description: "Why a workflow did what it did: what allowed each step, who approved it, what it caused.",
  output: z.looseObject({
    workflow_id: z.string(),
    state: z.string(),
    why: z.array(z.string()),
    steps: z.array(z.looseObject({ step_id: z.string(), allowed_by: z.string() })),
    chain: z.array(z.looseObject({})),
  }),
  show: (explanation) => structured(explanation, [explanation.why.join("\n"), JSON.stringify(explanation)]),
});

const listItems = makeTool({
  operation: reads.items,
  title: "List items",
  description:
    "The items of a workflow's lists and the rounds of its steps, in order: output, error or child of each. of names " +
    "one step; next, as after, goes on; a truncated output is read by itself, with limit 1.",
  annotations: readsOnly,
  input: ItemFilter.extend({ workflow_id: WorkflowId, limit: page.limit }),
  output: z.looseObject({ workflow_id: z.string(), items: z.array(ListedItem), next: z.string().nullable() }),
  async run(context, { workflow_id, ...filter }) {
    const caller = await requireGranted(context, reads.items.scope);
    return structured(await context.kernel.items(workflow_id, withoutUnset(filter), caller));
  },
});

const listGates = makeTool({
  operation: lists.gates,
  title: "List gates",
  description:
    "What waits for a person: of one workflow whole (what would run, its digest, what each answer does), over " +
    "many with long parts cut where truncated says so; where checked is false it was not checked against the log " +
    "and has no digest: list the gates of its workflow before anybody decides.",
  annotations: readsOnly,
  input: lists.gates.filter.extend({
    workflow_id: WorkflowId.optional(),
    role: Name.optional(),
    operator: Name.optional(),
    ...page,
  }),
  output: z.looseObject({ gates: z.array(McpGate), ...shownPage }),
  async run(context, { limit, ...filter }) {
    if (filter.mine === true) requireScope(context, "gate:approve");
    const caller = await requireGranted(context, lists.gates.scope);
    const found = await lists.gates.read(context.kernel, { ...withoutUnset(filter), limit }, caller);
    const gates = found.gates.map((gate) => ({ ...toMcpGate(gate), truncated: gate.truncated, checked: gate.checked }));
    return structured({ ...found, gates });
  },
});

/** The tool of connections over which people answer gates. */
export const decideGate = makeTool({
  operation: workflowCommands.decideGate,
  title: "Decide a gate",
  description:
    "A person's answer at a gate. payload_digest is that of the payload they were shown, basis_digest the gate's, " +
    "where it has one; edit changes fields of it before it runs; answer is the answer to a gate of kind ask, by the " +
    "form in its payload; resolution answers a gate of kind in_doubt, with " +
    "done result is what the call gave (null where none is named). Only a person decides: never call this without " +
    "having asked them.",
  annotations: hintsOf(workflowCommands.decideGate),
  input: z.strictObject({
    workflow_id: WorkflowId,
    gate_id: GateId.optional(),
    decision: z.enum(["approve", "reject"]),
    payload_digest: z.string().min(1).max(256),
    basis_digest: z.string().min(1).max(256).optional(),
    edit: JsonObject.optional(),
    comment: z.string().max(4096).optional(),
    resolution: z.enum(["done", "retry"]).optional(),
    result: JsonValue.optional(),
    answer: JsonObject.optional(),
    apply_targets: z.array(z.string()).optional(),
    signature: z.string().max(8192).optional(),
  }),
  async run(context, { workflow_id, gate_id, decision, ...payload }) {
    const named = gate_id === undefined ? {} : { gate_id };
    const caller = requireScope(context, workflowCommands.decideGate.scope);
    const request = { ...caller, ...named, decision, payload: withoutUnset(payload) };
    return structured(await context.kernel.decideGate(workflow_id, request));
  },
});

/** The tool of such connections that decides several gates at once. */
export const decideGates = kernelTool(kernelCommands.decideGates, {
  title: "Decide several gates",
  description:
    "A person's answers at up to 500 gates in one call, each with the payload_digest of what they were shown; each " +
    "is taken or refused by itself. Only a person decides: never call this without having asked them about each.",
});

/** The tool of callers who may send events. */
export const emitEvent = kernelTool(kernelCommands.emit, {
  title: "Send an event",
  description:
    "Hands an event to the step that waits for its name and key, or keeps it for one that will wait; broadcast hands " +
    "it to all that wait. event_id is the source's own id: the same event again is ignored, so it is safe to repeat.",
});

/** The tool of such callers that returns the address at which a wait can be answered. */
export const readTokenUrl = commandTool(workflowCommands.tokenUrl, {
  title: "Read the address of a wait",
  description:
    "The one-time address at which anybody who has it answers the wait. It is a secret: show it to nobody else.",
});

const retryWorkflow = commandTool(workflowCommands.retry, {
  title: "Run a workflow again",
  description:
    "Takes failed steps up again, makes drafts anew (regenerate), or does what has ended again under the same " +
    "keys (replay).",
});

const forkWorkflow = commandTool(workflowCommands.fork, {
  title: "Fork a workflow",
  description:
    "Begins a workflow that takes over what another one has done, up to a step or an event (at), and goes on from " +
    "there with other inputs or outputs if they are given. No call before the fork is made again.",
});

const addInput = commandTool(workflowCommands.addInput, {
  title: "Send an agent a message",
  description: "Adds a message to a workflow that takes them, such as an agent, which reads it at its next turn.",
});

const noteAtGate = commandTool(workflowCommands.noteGate, {
  title: "Note something at a gate",
  description:
    "Leaves a comment or a question at an open gate, or says who looks after it. It decides nothing: people decide.",
});

const cancelWorkflow = commandTool(workflowCommands.cancel, {
  title: "Cancel a workflow",
  description: "Ends a workflow early. What has run stays done, or is undone first (undo).",
});

const rollBackWorkflow = commandTool(workflowCommands.rollback, {
  title: "Roll back a workflow",
  description:
    "Undoes what a workflow that has ended had done, as its plan states, children included. Only a person orders it: " +
    "never call this without having asked them.",
});

const pauseWorkflow = commandTool(workflowCommands.pause, {
  title: "Pause a workflow",
  description: "Stops a workflow for a while: calls under way end, and nothing new begins until it is resumed.",
});

const resumeWorkflow = commandTool(workflowCommands.resume, {
  title: "Resume a workflow",
  description: "Lets a paused workflow go on; what fell due meanwhile happens now.",
});

const setHalt = kernelTool(kernelCommands.halt, {
  title: "Stop work",
  description:
    "Stops work of this tenant until the halt is lifted: all, or that of a capability, an operator or a principal " +
    "(of). Calls under way end; what is held does not fail.",
});

const liftHalt = kernelTool(kernelCommands.lift, {
  title: "Lift a halt",
  description: "Lets what a halt held go on. list-halts tells their ids.",
});

const listHalts = makeTool({
  operation: reads.halts,
  title: "List halts",
  description: "The halts of this tenant that hold, with their reasons and how much each holds.",
  annotations: readsOnly,
  input: z.strictObject({}),
  output: z.looseObject({ halts: z.array(HaltStanding) }),
  async run(context) {
    const caller = await requireGranted(context, reads.halts.scope);
    return structured({ halts: await context.kernel.halts(caller.tenant_id, caller) });
  },
});

export const workflowTools: readonly McpTool[] = [
  submitIntent,
  listWorkflows,
  readWorkflow,
  readOutcomes,
  explainWorkflow,
  listItems,
  listGates,
  decideGate,
  decideGates,
  emitEvent,
  readTokenUrl,
  retryWorkflow,
  forkWorkflow,
  addInput,
  noteAtGate,
  cancelWorkflow,
  rollBackWorkflow,
  pauseWorkflow,
  resumeWorkflow,
  setHalt,
  liftHalt,
  listHalts,
];
