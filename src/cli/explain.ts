/**
 * `explain WF` and `trace WF`: why each action was allowed, and what each step did, from the ledger alone.
 */
import type { Command } from "commander";
import type { RequestTrace, StepTrace } from "../contract/trace.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { cleanText, cutLine } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Paint, Terminal } from "./terminal.ts";

export function addExplanations(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("explain"))
    .description("say why a workflow did what it did: rules, people, budget")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => explain(workflowId, options, terminal));
  addCommonOptions(program.command("trace"))
    .description("show what each step did, attempt by attempt")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => trace(workflowId, options, terminal));
}

async function explain(workflowId: string, options: CommonOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const explained = await withKernel(session, ({ kernel, caller }) => kernel.explain(workflowId, caller));
  if (options.json) return printJson(session, explained);
  terminal.print(terminal.paint("bold", `${explained.workflow_id} is ${explained.state}`));
  terminal.print(renderWhy(explained.why));
}

export const renderWhy = (why: readonly string[]): string => why.map((line) => `  ${cleanText(line)}`).join("\n");

async function trace(workflowId: string, options: CommonOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const traced = await withKernel(session, ({ kernel, caller }) => kernel.trace(workflowId, caller));
  if (options.json) printJson(session, traced);
  else terminal.print(renderTrace(traced, terminal));
}

export function renderTrace(traced: RequestTrace, look: { readonly paint: Paint; readonly columns: number }): string {
  const lasted = traced.duration === null ? "" : ` after ${traced.duration} ms`;
  const head = look.paint("bold", `${traced.request_id} ${traced.status}${lasted}`);
  const reasoning =
    traced.plan === null ? [] : [`plan: ${cutLine(traced.plan.reasoning, Math.max(40, look.columns - 6))}`];
  return [head, ...reasoning, ...(traced.steps.length > 0 ? [renderTable(traced.steps, traceColumns, look)] : [])].join(
    "\n",
  );
}

const traceColumns: readonly Column<StepTrace>[] = [
  { title: "STEP", value: (step) => step.step_id },
  { title: "OPERATOR", value: (step) => step.skill_name, shrinks: true },
  { title: "STATUS", value: (step) => step.status },
  { title: "ATTEMPTS", value: tellAttempts, shrinks: true },
  { title: "POLICY", value: (step) => String(step.policy_events.length) },
  { title: "PEOPLE", value: (step) => String(step.approval_events.length) },
  { title: "OUTPUT", value: (step) => step.output_data ?? "-", shrinks: true },
];

function tellAttempts({ attempts }: StepTrace): string {
  const told = attempts.map(({ outcome, duration_ms }) =>
    duration_ms === null ? outcome : `${outcome} ${duration_ms} ms`,
  );
  return told.join(", ") || "-";
}
