/**
 * `explain WF` and `trace WF`: the reasons for which each action was allowed, and the course of each step, from the
 * ledger alone.
 *
 * 1.  `explain` prints the summary: who decided what, in at most ten lines. `--all` adds each cause and each action.
 */
import type { Command } from "commander";
import { describeCarriers } from "../../contract/gate.ts";
import type { RequestTrace, StepTrace } from "../../contract/trace.ts";
import type { CausalChain } from "../../index.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { cutLine } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Paint, Terminal } from "./terminal.ts";

export function addExplanations(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("explain"))
    .description("say why a workflow did what it did: rules, people, budget")
    .argument("<workflow>", "its id")
    .option("--all", "every cause and every action, with rules, budget, keys and attempts", false)
    .action((workflowId: string, options: ExplainOptions) => explain(workflowId, options, terminal));
  addCommonOptions(program.command("trace"))
    .description("show what each step did, attempt by attempt")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => trace(workflowId, options, terminal));
}

interface ExplainOptions extends CommonOptions {
  readonly all: boolean;
}

async function explain(workflowId: string, options: ExplainOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const explained = await withKernel(session, ({ kernel, caller }) => kernel.explain(workflowId, caller));
  if (options.json) return printJson(session, explained);
  terminal.print(terminal.paint("bold", `${explained.workflow_id} is ${explained.state}`));
  terminal.print(renderLines(explained.summary));
  if (!options.all) return terminal.print("(--all shows every cause and every action)");
  terminal.print(`\n${terminal.paint("bold", "Each cause, in its order")}\n${renderLines(explained.why)}`);
  for (const link of explained.chain) terminal.print(`\n${renderChain(link, terminal)}`);
}

export const renderLines = (lines: readonly string[]): string => lines.map((line) => `  ${showLine(line)}`).join("\n");

/**
 * Renders the causal chain of an action, a line each: the request, the plan, the policy rule, the budget, the approval,
 * the attempts and the result.
 */
export function renderChain(chain: CausalChain, { paint }: Pick<Terminal, "paint">): string {
  const { step_id, intent, plan, rule, budget, effect, refusal } = chain;
  const what = effect === null ? "refused" : `${effect.operator} (${effect.action_id})`;
  const charge = describeCharge(budget.settled ?? budget.reserved);
  const lines = [
    intent && `asked     ${intent.actor.type} ${intent.actor.id} asked for ${intent.type}`,
    plan && `planned   ${plan.plan_id} (${plan.cause}): ${plan.reasoning}`,
    rule &&
      `rule      ${rule.decision} because ${rule.reason}${describePolicies(rule.policies)}${describeLifts(rule.lifts)}`,
    `budget    ${budget.spent_before} spent before, ${budget.estimated_cost} expected${charge}`,
    describeApproval(chain),
    chain.attempts.length > 0 && `attempts  ${chain.attempts.map(describeAttempt).join(", ")}`,
    effect?.outcome && `made      ${effect.outcome.outcome_id} version ${effect.outcome.version}`,
    refusal && `refused   ${refusal.code}: ${refusal.message}`,
  ].filter((line) => typeof line === "string");
  return [paint("bold", showLine(`${step_id ?? "plan"}: ${what}`)), ...lines.map((line) => `  ${showLine(line)}`)].join(
    "\n",
  );
}

/** Describes the amounts that an action charges to ceilings over several workflows, without those that are 0. */
function describeCharge(charge: CausalChain["budget"]["settled"]): string {
  if (charge === null) return "";
  const used = Object.entries(charge.amounts).filter(([, amount]) => amount > 0);
  return `, charged ${used.map(([field, amount]) => `${amount} ${field}`).join(", ") || "nothing"}`;
}

const describePolicies = (policies: readonly string[]): string =>
  policies.length > 0 ? ` [${policies.join(", ")}]` : "";
const describeLifts = (lifts: NonNullable<CausalChain["rule"]>["lifts"] = []): string =>
  lifts.map(({ rule, by }) => `; ${by} lifted ${rule}`).join("");
const describeAttempt = ({ attempt, outcome, error_code }: CausalChain["attempts"][number]): string =>
  `${attempt} ${outcome}${error_code === null ? "" : ` (${error_code})`}`;

const sameness = { true: "which is what ran", false: "which is NOT what ran", null: "nothing ran" } as const;

function describeApproval({ approval }: CausalChain): string | null {
  if (approval === null) return null;
  const { principal, carried_by, decision, at, payload_digest, edited, same_as_executed } = approval;
  const who =
    principal === null
      ? "the gate's expiry"
      : `${principal.type} ${principal.id} (${principal.role})${describeCarriers(carried_by)}`;
  const did = decision === "approve" ? "approved" : "rejected";
  const seen = `payload ${payload_digest.slice(0, 12)}${edited ? " after an edit" : ""}`;
  return `approval  ${who} ${did} ${seen} at ${at}, ${sameness[`${same_as_executed}`]}`;
}

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
  { title: "ATTEMPTS", value: describeAttempts, shrinks: true, labelled: true },
  { title: "POLICY", value: (step) => String(step.policy_events.length), labelled: true },
  { title: "PEOPLE", value: (step) => String(step.approval_events.length), labelled: true },
  { title: "OUTPUT", value: (step) => step.output_data ?? "-", shrinks: true, labelled: true },
];

function describeAttempts({ attempts }: StepTrace): string {
  const reported = attempts.map(({ outcome, duration_ms }) =>
    duration_ms === null ? outcome : `${outcome} ${duration_ms} ms`,
  );
  return reported.join(", ") || "-";
}
