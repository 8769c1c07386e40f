/**
 * The tools that every server has: submit, read, run again, end; and where people may answer gates: decide. Each is one call
 * of the in-process API.
 *
 * N1  Their names hold a dash, which no name made of an intent type does: they meet no capability's tool.
 */
import type { ToolAnnotations } from "@modelcontextprotocol/server";
import { z } from "zod";
import { GateResponse } from "../../../contract/gate.ts";
import { GateId, PrincipalId, ThreadId, WorkflowId } from "../../../contract/ids.ts";
import { SubmitRequest, SubmitResponse } from "../../../contract/intent.ts";
import { JsonObject, JsonValue, withoutUnset } from "../../../contract/json.ts";
import { McpGate, McpWorkflow } from "../../../contract/mcp.ts";
import { OutcomesResponse } from "../../../contract/outcome.ts";
import { gateCursor } from "../../../contract/page.ts";
import { WorkflowStateName } from "../../../contract/progress.ts";
import { CancelRequest, CancelResponse, RetryRequest, RetryResponse } from "../../../contract/retry.ts";
import { WorkflowSummary } from "../../../contract/workflow-summary.ts";
import type { CallMeta } from "../call-meta.ts";
import { describeWorkflow, toMcpGate, toMcpWorkflow } from "../describe-workflow.ts";
import { type McpContext, requireCommand, requireGranted } from "../mcp-context.ts";
import { inputSchemaOf, type McpTool, outputSchemaOf, readArguments, structured, type ToolAnswer } from "./tool.ts";

const reads: ToolAnnotations = { readOnlyHint: true, openWorldHint: false };
const decides: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true };
const runs: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false };

interface Spec<S extends z.ZodType> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: S;
  readonly output: z.ZodType;
  readonly annotations: ToolAnnotations;
  readonly run: (context: McpContext, args: z.output<S>, meta: CallMeta) => Promise<ToolAnswer>;
  readonly begin?: (context: McpContext, args: z.output<S>, meta: CallMeta) => Promise<string>;
}

function makeTool<S extends z.ZodType>({ input, output, run, begin, ...told }: Spec<S>): McpTool {
  return {
    ...told,
    inputSchema: inputSchemaOf(input),
    outputSchema: outputSchemaOf(output),
    call: (context, args, { meta }) => run(context, readArguments(input, args), meta),
    ...(begin !== undefined && { begin: (context, args, meta) => begin(context, readArguments(input, args), meta) }),
  };
}

const OfWorkflow = z.strictObject({ workflow_id: WorkflowId });
const cursor = z.string().max(512);
const page = {
  after: cursor.optional(),
  before: cursor.optional(),
  limit: z.int().min(1).max(100).default(20),
  total: z.boolean().optional(),
};
const shownPage = { next: z.string().nullable(), total: z.int().optional() };
const time = z.union([z.iso.datetime({ offset: true }), z.iso.date()]);
const Name = z.string().min(1).max(256);

const Submission = z.strictObject({
  intent_type: z.string().min(1).max(256).optional(),
  inputs: JsonObject.default({}),
  text: z.string().max(65_536).default(""),
  thread_id: ThreadId.optional(),
  constraints: SubmitRequest.shape.constraints,
});

/** Gives the workflow's id. @throws KernelErrorException as `submit` does. */
async function beginIntent(context: McpContext, asked: z.output<typeof Submission>, { key }: CallMeta) {
  const { intent_type, inputs, text, thread_id = null, constraints } = asked;
  return context.kernel.submit({
    ...requireCommand(context, "submit"),
    thread_id,
    constraints,
    input: { mode: text === "" ? "data" : "message", text },
    intent_hint: intent_type === undefined ? null : { intent_type, inputs },
    ...key,
  });
}

const submitIntent = makeTool({
  name: "submit-intent",
  title: "Submit an intent",
  description:
    "Starts a workflow, by intent_type with inputs or by text alone, and answers at once with its workflow_id; read-workflow tells where it stands.",
  input: Submission,
  output: SubmitResponse,
  annotations: runs,
  run: async (context, asked, meta) => structured(await beginIntent(context, asked, meta)),
  begin: async (context, asked, meta) => (await beginIntent(context, asked, meta)).workflow_id,
});

const listWorkflows = makeTool({
  name: "list-workflows",
  title: "List workflows",
  description:
    "Summaries of this tenant's workflows, newest first; next, as after, goes on with older ones. read-workflow tells the whole of one.",
  input: z.strictObject({
    states: z.array(WorkflowStateName).min(1).optional(),
    intent_type: Name.optional(),
    principal: PrincipalId.optional().describe("The id of who asked for the work."),
    text: z.string().max(200).optional().describe("In title, intent type or id."),
    since: time.optional(),
    until: time.optional(),
    ...page,
  }),
  output: z.looseObject({ workflows: z.array(WorkflowSummary), ...shownPage }),
  annotations: reads,
  async run(context, { limit, ...filter }) {
    const workflows = await context.kernel.workflows(
      { ...withoutUnset(filter), limit },
      await requireGranted(context, "read"),
    );
    const last = workflows.length < limit ? undefined : workflows.at(-1);
    return structured({ workflows, next: last?.workflow_id ?? null, ...totalOf(workflows) });
  },
});

const totalOf = ({ total }: { readonly total?: number }) => (total === undefined ? {} : { total });

const readWorkflow = makeTool({
  name: "read-workflow",
  title: "Read a workflow",
  description: "Where a workflow stands: state, text, outcomes, open gates, error.",
  input: OfWorkflow,
  output: McpWorkflow,
  annotations: reads,
  async run(context, { workflow_id }) {
    const state = await context.kernel.workflow(workflow_id, await requireGranted(context, "read"));
    return structured(toMcpWorkflow(state), [describeWorkflow(state), JSON.stringify(toMcpWorkflow(state))]);
  },
});

const readOutcomes = makeTool({
  name: "read-outcomes",
  title: "Read outcomes",
  description: "What a workflow has produced: every version of every outcome, drafts and finals.",
  input: OfWorkflow,
  output: OutcomesResponse,
  annotations: reads,
  run: async (context, { workflow_id }) =>
    structured(await context.kernel.outcomes(workflow_id, requireCommand(context, "read"))),
});

const explainWorkflow = makeTool({
  name: "explain-workflow",
  title: "Explain a workflow",
  description: "Why a workflow did what it did: what allowed each step, who approved it, what it caused.",
  input: OfWorkflow,
  output: z.looseObject({
    workflow_id: z.string(),
    state: z.string(),
    why: z.array(z.string()),
    steps: z.array(z.looseObject({ step_id: z.string(), allowed_by: z.string() })),
    chain: z.array(z.looseObject({})),
  }),
  annotations: reads,
  async run(context, { workflow_id }) {
    const explanation = await context.kernel.explain(workflow_id, await requireGranted(context, "read"));
    return structured(explanation, [explanation.why.join("\n"), JSON.stringify(explanation)]);
  },
});

const listGates = makeTool({
  name: "list-gates",
  title: "List gates",
  description:
    "What waits for a person: of one workflow whole (what would run, its digest, what each answer does), over many with long parts cut where truncated says so; where checked is false it was not checked against the log and has no digest: list the gates of its workflow before anybody decides.",
  input: z.strictObject({
    workflow_id: WorkflowId.optional(),
    mine: z.boolean().optional().describe("Those that the caller may decide."),
    role: Name.optional(),
    operator: Name.optional(),
    due_before: time.optional(),
    ...page,
  }),
  output: z.looseObject({ gates: z.array(McpGate), ...shownPage }),
  annotations: reads,
  async run(context, { limit, ...filter }) {
    if (filter.mine === true) requireCommand(context, "gate");
    const found = await context.kernel.gates({ ...withoutUnset(filter), limit }, await requireGranted(context, "read"));
    const last = found.length < limit ? undefined : found.at(-1);
    const gates = found.map((gate) => ({ ...toMcpGate(gate), truncated: gate.truncated, checked: gate.checked }));
    return structured({ gates, next: last === undefined ? null : gateCursor(last), ...totalOf(found) });
  },
});

/** For connections over which people answer gates. */
export const decideGate = makeTool({
  name: "decide-gate",
  title: "Decide a gate",
  description:
    "A person's answer at a gate. payload_digest is that of the payload they were shown, basis_digest the gate's, where it has one; edit changes fields of it before it runs; resolution answers a gate of kind in_doubt, with done result is what the call gave (null where none is named). Only a person decides: never call this without having asked them.",
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
    apply_targets: z.array(z.string()).optional(),
    signature: z.string().max(8192).optional(),
  }),
  output: GateResponse,
  annotations: decides,
  async run(context, { workflow_id, gate_id, decision, ...payload }) {
    const named = gate_id === undefined ? {} : { gate_id };
    const request = { ...requireCommand(context, "gate"), ...named, decision, payload: withoutUnset(payload) };
    return structured(await context.kernel.decideGate(workflow_id, request));
  },
});

const retryWorkflow = makeTool({
  name: "retry-workflow",
  title: "Run a workflow again",
  description:
    "Takes failed steps up again, makes drafts anew (regenerate), or does what has ended again under the same keys (replay).",
  input: RetryRequest.omit({ tenant_id: true, principal: true }).extend({ workflow_id: WorkflowId }).strict(),
  output: RetryResponse,
  annotations: runs,
  async run(context, { workflow_id, ...asked }, { key }) {
    const request = { ...requireCommand(context, "retry"), ...key, ...withoutUnset(asked) };
    return structured(await context.kernel.retry(workflow_id, request));
  },
});

const cancelWorkflow = makeTool({
  name: "cancel-workflow",
  title: "Cancel a workflow",
  description: "Ends a workflow early. What has run stays done.",
  input: CancelRequest.omit({ tenant_id: true, principal: true }).extend({ workflow_id: WorkflowId }).strict(),
  output: CancelResponse,
  annotations: decides,
  run: async (context, { workflow_id, reason }) =>
    structured(await context.kernel.cancel(workflow_id, { ...requireCommand(context, "cancel"), reason })),
});

export const workflowTools: readonly McpTool[] = [
  submitIntent,
  listWorkflows,
  readWorkflow,
  readOutcomes,
  explainWorkflow,
  listGates,
  decideGate,
  retryWorkflow,
  cancelWorkflow,
];
