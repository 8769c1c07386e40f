/**
 * A gate as clients of agent protocols see it: a record for programs, text for models and people.
 */
import { type Gate, isOpenGate } from "../contract/gate.ts";
import type { McpGate } from "../contract/mcp.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { describeGate, factText, type GateFact, type GateSection } from "./describe-gate.ts";
import { quoteText, showLine, showText } from "./visible-text.ts";

/** Returns the gates of a workflow that wait for people. */
export const openGates = ({ gates }: WorkflowState): readonly Gate[] => gates.filter(isOpenGate);

export function toMcpGate(gate: Gate): McpGate {
  const { gate_id, workflow_id, step_id, kind, status, title, operator, effect, risk_level } = gate;
  const { preview, diff, payload, payload_digest, consequences, due_at, editable = null } = gate;
  const reasons = gate.reasons.map(({ source, reason }) => `${source}: ${reason}`);
  const { edits = [], planned_title } = gate;
  const edited = { ...(edits.length > 0 && { edits }), ...(planned_title !== undefined && { planned_title }) };
  const presented = {
    ...(gate.summary !== undefined && { summary: gate.summary }),
    ...(gate.facts !== undefined && { facts: gate.facts }),
  };
  const shown = {
    ...edited,
    ...presented,
    preview,
    diff,
    payload,
    payload_digest,
    ...basisOf(gate),
    editable,
    consequences,
    due_at,
  };
  return { gate_id, workflow_id, step_id, kind, status, title, operator, effect, risk_level, reasons, ...shown };
}

const basisOf = ({ basis, basis_digest }: Gate) =>
  basis === undefined || basis_digest === undefined ? {} : { basis, basis_digest };

/** Returns all that a person sees of a gate before they answer: texts from outside are set apart from our own. */
export function renderGate(gate: Gate): string {
  const asks = gate.kind === "in_doubt" ? "was called" : "wants to run";
  const call = `${gate.operator} ${asks} (effect ${gate.effect}, risk ${gate.risk_level}).`;
  const head = `${showLine(gate.title)}: ${gate.kind === "ask" ? "people are asked for an answer." : call}`;
  const sections = describeGate(gate);
  const edits = sections.flatMap(({ id, text }) => (id === "edits" && text !== null ? [showText(text)] : []));
  return [...edits, head, ...sections.flatMap((section) => renderSection(gate, section))].join("\n");
}

function renderSection(gate: Gate, { id, title, facts, text }: GateSection): readonly string[] {
  if (id === "edits") return [];
  if (id === "payload") return [`Payload: ${showLine(JSON.stringify(gate.payload))}`];
  if (id === "effects") return renderAnswers(gate, facts);
  if (text !== null) return [`${title}:\n${quoteText(text)}`];
  return facts.map((fact) => renderFact(`${fact.name.charAt(0).toUpperCase()}${fact.name.slice(1)}`, fact));
}

const renderFact = (name: string, fact: GateFact): string => `${showLine(name)}: ${showLine(factText(fact))}`;

const answerNames = {
  approval: ["Approve", "Reject"],
  in_doubt: ["done, retry (to approve)", "failed (to reject)"],
  ask: ["Answer (accept the form)", "Decline (to reject)"],
} as const;

/** Renders the possible answers. The form has no edits. A call in doubt has three answers, and a decision two. */
function renderAnswers({ kind }: Gate, facts: readonly GateFact[]): readonly string[] {
  const [approve, reject] = answerNames[kind];
  const names: Readonly<Record<string, string | undefined>> = { approve, reject };
  return facts.flatMap((fact) => {
    const name = names[fact.name];
    return name === undefined ? [] : [renderFact(name, fact)];
  });
}
