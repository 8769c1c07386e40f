/**
 * A workflow and its gates as MCP clients see them: records for programs, sentences for models and people.
 */
import type { McpWorkflow } from "../../contract/mcp.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { WorkflowState } from "../../index.ts";
import { toMcpError } from "../../protocol/tell-error.ts";
import { openGates, renderGate, toMcpGate } from "../../protocol/tell-gate.ts";
import { tellOutcomes } from "../../protocol/tell-outcomes.ts";
import { showLine } from "../../protocol/visible-text.ts";

export function toMcpWorkflow(state: WorkflowState): McpWorkflow {
  const { workflow_id, error, warnings } = state;
  return {
    workflow_id,
    state: state.state,
    text: state.response.text,
    percent: state.progress.percent,
    outcomes: tellOutcomes(state),
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
  return (
    "A person decides: show them the gate. They decide it where they are signed in, by gate_id and payload_digest; " +
    "only where decide-gate is offered may their decision be passed on by it."
  );
}

/** Describes the state of a workflow. */
export function describeWorkflow(state: WorkflowState): string {
  const gates = openGates(state);
  const warnings = state.warnings.map(({ code, message }) => `\nwarning: ${code}: ${showLine(message)}`);
  const head = `workflow ${state.workflow_id}: ${state.state}${warnings.join("")}`;
  return gates.length === 0
    ? head
    : [head, ...gates.map((gate) => `[${gate.gate_id}] ${renderGate(gate)}`)].join("\n\n");
}
