/**
 * The structured content that the tools of the MCP face answer with; `src/faces/mcp/` makes the output schemas of its
 * tools from it. Objects are open, so that a client accepts a field that a later release adds.
 */
import { z } from "zod";
import { GateEdit } from "./gate-edit.ts";
import { gateKinds } from "./gate-status.ts";
import { ErrorCategory } from "./kernel-error.ts";
import { PresentedFact } from "./present.ts";
import { WorkflowStateName } from "./progress.ts";

/**
 * The member of a tools/call's `_meta` that holds an idempotency key: the same key is one workflow, however often it is
 * sent.
 */
export const idempotencyMeta = "countersign/idempotency-key";
/**
 * The member of a tools/call's `_meta` whose value "end" makes the call wait for the final result, for a client that
 * cannot show gates.
 */
export const untilMeta = "countersign/until";

/** The outcome type of a workflow whose result is the result of a tool: MCP clients receive it as it is. */
export const toolResultOutcome = "Mcp.ToolResult";

/** A KernelError for the client: without its place in the code, with the next step. */
export const McpError = z.looseObject({
  code: z.string(),
  category: ErrorCategory,
  message: z.string(),
  next: z.string(),
  retry_eligible: z.boolean(),
  detail: z.record(z.string(), z.unknown()),
});
export type McpError = z.infer<typeof McpError>;

/** A gate for a person who may decide it. `payload` is exactly what runs after an approval, as its digest confirms. */
export const McpGate = z.looseObject({
  gate_id: z.string(),
  workflow_id: z.string(),
  step_id: z.string(),
  kind: z.enum(gateKinds),
  status: z.string(),
  title: z.string(),
  /** The step's name, where edits made `title` another. */
  planned_title: z.string().optional(),
  /** The edits of the gate's payload, with author, instant and changes; oldest first. */
  edits: z.array(GateEdit).optional(),
  /** One line that says what the call is, as its operator presents it. */
  summary: z.string().optional(),
  /** The facts that people decide by, with labels. */
  facts: z.array(PresentedFact).readonly().optional(),
  operator: z.string(),
  effect: z.string(),
  risk_level: z.string(),
  reasons: z.array(z.string()),
  preview: z.string(),
  diff: z.string().nullable(),
  payload: z.unknown(),
  payload_digest: z.string(),
  basis: z.array(z.looseObject({ name: z.string(), digest: z.string() })).optional(),
  basis_digest: z.string().optional(),
  editable: z.looseObject({ target: z.string(), value: z.unknown(), schema: z.unknown() }).nullable(),
  consequences: z.looseObject({ approve: z.string(), reject: z.string(), edit: z.string() }),
  due_at: z.string().nullable(),
  /** Whether something is cut, in lists over many workflows. */
  truncated: z.boolean().optional(),
});
export type McpGate = z.infer<typeof McpGate>;

/** An outcome of a workflow. */
export const McpOutcome = z.looseObject({
  outcome_id: z.string(),
  outcome_type: z.string(),
  status: z.enum(["draft", "final"]),
  version: z.int(),
  content: z.unknown(),
});
export type McpOutcome = z.infer<typeof McpOutcome>;

/** The state of a workflow: its result once it has ended, its open gates while it waits for a person. */
export const McpWorkflow = z.looseObject({
  workflow_id: z.string(),
  state: WorkflowStateName,
  text: z.string(),
  percent: z.int(),
  outcomes: z.array(McpOutcome),
  gates: z.array(McpGate),
  /** The next step; empty if nothing is left to do. */
  next: z.string(),
  error: McpError.optional(),
  /** The warnings; absent if there are none. */
  warnings: z.array(McpError).optional(),
});
export type McpWorkflow = z.infer<typeof McpWorkflow>;
