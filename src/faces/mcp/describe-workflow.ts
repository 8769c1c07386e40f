/**
 * A workflow and its gates as MCP clients see them: records for programs, sentences for models and people.
 */
import { isOpenGate } from "../../contract/gate.ts";
import type { McpGate, McpWorkflow } from "../../contract/mcp.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Gate, WorkflowState } from "../../index.ts";
import { describeEdits } from "../../protocol/describe-edits.ts";
import { namedTargets } from "../../protocol/named-targets.ts";
import { quoteText, showLine } from "../../protocol/visible-text.ts";
import { toMcpError } from "./mcp-error.ts";

export const openGates = ({ gates }: WorkflowState): readonly Gate[] => gates.filter(isOpenGate);

export function toMcpGate(gate: Gate): McpGate {
  const { gate_id, workflow_id, step_id, kind, status, title, operator, effect, risk_level } = gate;
  const { preview, diff, payload, payload_digest, consequences, due_at, editable = null } = gate;
  const reasons = gate.reasons.map(({ source, reason }) => `${source}: ${reason}`);
  const { edits = [], planned_title } = gate;
  const edited = { ...(edits.length > 0 && { edits }), ...(planned_title !== undefined && { planned_title }) };
  const shown = { ...edited, preview, diff, payload, payload_digest, ...basisOf(gate), editable, consequences, due_at };
  return { gate_id, workflow_id, step_id, kind, status, title, operator, effect, risk_level, reasons, ...shown };
}

const basisOf = ({ basis, basis_digest }: Gate) =>
  basis === undefined || basis_digest === undefined ? {} : { basis, basis_digest };

export function toMcpWorkflow(state: WorkflowState): McpWorkflow {
  const { workflow_id, error, warnings } = state;
  return {
    workflow_id,
    state: state.state,
    text: state.response.text,
    percent: state.progress.percent,
    outcomes: state.outcomes.map(({ outcome_id, outcome_type, status, version, content }) => ({
      outcome_id,
      outcome_type,
      status,
      version,
      content,
    })),
    gates: openGates(state).map(toMcpGate),
    next: nextOf(state),
    ...(error !== null && { error: toMcpError(error) }),
    ...(warnings.length > 0 && { warnings: warnings.map(toMcpError) }),
  };
}

function nextOf(state: WorkflowState): string {
  if (isTerminal(state.state)) return "";
  const [gate] = openGates(state);
  if (gate === undefined) return `It goes on by itself; read-workflow tells where it stands.`;
  return "A person decides: show them the gate. They decide it where they are signed in, by gate_id and payload_digest; only where decide-gate is offered may their decision be passed on by it.";
}

/** All that a person sees of a gate before they answer: what came from outside as it can be seen, and apart from our words. */
export function describeGate(gate: Gate): string {
  const { title, operator, effect, risk_level, reasons, preview, diff, payload, payload_digest } = gate;
  const asks = gate.kind === "in_doubt" ? "was called" : "wants to run";
  const lines = [
    ...describeEdits(gate),
    `${showLine(title)}: ${operator} ${asks} (effect ${effect}, risk ${risk_level}).`,
    ...(gate.planned_title === undefined ? [] : [`The plan named it: ${showLine(gate.planned_title)}`]),
    ...reasons.map(({ source, reason }) => `Asked for by ${source}: ${showLine(reason)}`),
    ...(preview === "" ? [] : [`Preview:\n${quoteText(preview)}`]),
    ...(diff === null ? [] : [`Changes:\n${quoteText(diff)}`]),
    `Payload: ${showLine(JSON.stringify(payload))}`,
    `Digest: ${payload_digest}`,
    ...(gate.basis ?? []).map(({ name, digest }) => `Rests on: ${showLine(name)} (${showLine(digest)})`),
    ...(gate.target === null ? [] : [`Makes final: ${showLine(gate.target.type)} version ${gate.target.version}`]),
    ...(gate.quorum === null
      ? []
      : [`Takes: ${gate.quorum.approvals} to approve, ${gate.quorum.rejections} to reject`]),
    ...Object.values(namedTargets(gate.votes)).map(
      (targets) => `Applied to, as others approved: ${showLine(JSON.stringify(targets))}`,
    ),
    ...answersOf(gate),
    ...(gate.due_at === null ? [] : [`Until ${gate.due_at}, then: ${gate.expiry_action ?? "nothing"}`]),
  ];
  return lines.join("\n");
}

/** Of a call in doubt the form has three answers, and a decision two. */
function answersOf({ kind, consequences: { approve, reject } }: Gate): readonly string[] {
  const [yes, no] = kind === "in_doubt" ? ["done, retry (to approve)", "failed (to reject)"] : ["Approve", "Reject"];
  return [`${yes}: ${showLine(approve)}`, `${no}: ${showLine(reject)}`];
}

/** Where a workflow stands, in words. */
export function describeWorkflow(state: WorkflowState): string {
  const gates = openGates(state);
  const warnings = state.warnings.map(({ code, message }) => `\nwarning: ${code}: ${showLine(message)}`);
  const head = `workflow ${state.workflow_id}: ${state.state}${warnings.join("")}`;
  return gates.length === 0
    ? head
    : [head, ...gates.map((gate) => `[${gate.gate_id}] ${describeGate(gate)}`)].join("\n\n");
}
