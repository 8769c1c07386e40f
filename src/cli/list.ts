/**
 * `list`, `show WF` and `gates`: what there is, one workflow with its open gates, and what waits for a person.
 * Only reads: nothing runs.
 */
import { type Command, Option } from "commander";
import type { Gate } from "../contract/gate.ts";
import { type WorkflowStateName, workflowStates } from "../contract/progress.ts";
import type { WorkflowState } from "../contract/workflow-state.ts";
import { showLine } from "../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readCount } from "./options.ts";
import { renderGate, renderHidden } from "./render-gate.ts";
import { type Column, renderTable } from "./render-table.ts";
import { indent, tellTime } from "./render-text.ts";
import { renderWorkflow, styleOfState } from "./render-workflow.ts";
import { openGatesOf, printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface ListOptions extends CommonOptions {
  readonly state?: WorkflowStateName;
  readonly after?: string;
  readonly limit: number;
}

export function addLists(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("list"))
    .description("list the workflows, oldest first")
    .addOption(new Option("--state <state>", "only those in this state").choices(workflowStates))
    .option("--after <workflow>", "only those accepted after this one")
    .option("--limit <n>", "at most so many", readCount, 50)
    .action((options: ListOptions) => listWorkflows(options, terminal));
  addCommonOptions(program.command("show"))
    .description("show a workflow: its steps, its open gates, its outcomes")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => showWorkflow(workflowId, options, terminal));
  addCommonOptions(program.command("gates"))
    .description("list the gates that wait for a person")
    .option("--limit <n>", "at most so many", readCount, 50)
    .action((options: ListOptions) => listGates(options, terminal));
}

async function listWorkflows(options: ListOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const { state, after, limit } = options;
  const filter = { limit, ...(state && { states: [state] }), ...(after && { after }) };
  const workflows = await withKernel(session, ({ kernel, caller }) => kernel.workflows(filter, caller));
  if (options.json) return printJson(session, { workflows });
  const columns = workflowColumns(terminal);
  terminal.print(workflows.length === 0 ? "no workflows" : renderTable(workflows, columns, terminal));
}

const workflowColumns = ({ now }: Terminal): readonly Column<WorkflowState>[] => [
  { title: "WORKFLOW", value: (row) => row.workflow_id },
  { title: "STATE", value: (row) => row.state, style: (row) => styleOfState(row.state) },
  { title: "INTENT", value: (row) => row.intent.type, shrinks: true },
  { title: "DONE", value: (row) => `${row.progress.percent} %` },
  { title: "ACCEPTED", value: (row) => tellTime(row.accepted_at, now()) },
];

async function showWorkflow(workflowId: string, options: CommonOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const state = await withKernel(session, ({ kernel, caller }) => kernel.workflow(workflowId, caller));
  if (options.json) return printJson(session, state);
  terminal.print(renderWorkflow(state, terminal));
  for (const gate of openGatesOf(state)) terminal.print(`\n${renderGate(gate, terminal)}`);
}

async function listGates(options: ListOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const gates = await withKernel(session, ({ kernel, caller }) => kernel.gates({ limit: options.limit }, caller));
  if (options.json) return printJson(session, { gates });
  terminal.print(gates.length === 0 ? "no gate is open" : renderTable(gates, gateColumns(terminal), terminal));
  for (const gate of gates) {
    const hidden = renderHidden(gate);
    if (hidden === "") continue;
    const head = showLine(`${gate.gate_id} of ${gate.workflow_id}, ${gate.operator}: not in the preview`);
    terminal.print(`\n${head}\n${indent(hidden)}`);
  }
}

const gateColumns = ({ now }: Terminal): readonly Column<Gate>[] => [
  { title: "WORKFLOW", value: (gate) => gate.workflow_id },
  { title: "GATE", value: (gate) => gate.gate_id },
  { title: "TITLE", value: (gate) => gate.title, shrinks: true },
  { title: "RISK", value: (gate) => gate.risk_level },
  { title: "OPENED", value: (gate) => tellTime(gate.opened_at, now()) },
  { title: "DUE", value: (gate) => (gate.due_at === null ? "-" : tellTime(gate.due_at, now())) },
];
