/**
 * `list`, `show WF` and `gates`: the workflows, one workflow with its open gates, and the gates that wait for a person.
 * These commands only read and run nothing.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { z } from "zod";
import type { Gate } from "../../contract/gate.ts";
import { WorkflowId } from "../../contract/ids.ts";
import { withoutUnset } from "../../contract/json.ts";
import { ageSorts, assignments, type GateFilter, gateSorts, type WorkflowFilter } from "../../contract/list-filter.ts";
import type { ListedGate } from "../../contract/listed-gate.ts";
import { type WorkflowStateName, workflowStates } from "../../contract/progress.ts";
import { RiskLevel } from "../../contract/risk-level.ts";
import type { WorkflowSummary } from "../../contract/workflow-summary.ts";
import { GateCursor } from "../../protocol/query-values.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { describeBelow, listGatesBelow } from "./gates-below.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readId, readLimit, readTime } from "./options.ts";
import { renderGate, renderHidden } from "./render-gate.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime, indent, wrapLine, wrapLines } from "./render-text.ts";
import { renderWorkflow, styleOfState } from "./render-workflow.ts";
import { openGatesOf, printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface PageOptions extends CommonOptions {
  readonly after?: string;
  readonly before?: string;
  readonly limit: number;
  readonly total?: boolean;
}

interface ListOptions extends PageOptions {
  readonly state?: readonly WorkflowStateName[];
  readonly key?: string;
  readonly intent?: string;
  readonly schedule?: string;
  readonly by?: string | number;
  readonly text?: string;
  readonly since?: string;
  readonly until?: string;
  readonly sort?: WorkflowFilter["sort"];
}

interface GateOptions extends PageOptions {
  readonly voted?: boolean;
  readonly assigned?: GateFilter["assigned"];
  readonly snoozed?: boolean;
  readonly intent?: string;
  readonly by?: string | number;
  readonly risk?: GateFilter["risk"];
  readonly text?: string;
  readonly since?: string;
  readonly until?: string;
  readonly sort?: GateFilter["sort"];
  readonly workflow?: string;
  readonly under?: string;
  readonly mine?: boolean;
  readonly forRole?: string;
  readonly operator?: string;
  readonly dueBefore?: string;
}

export function addLists(program: Command, terminal: Terminal): void {
  const states = new Option("--state <states...>", "only those in one of these states").choices(workflowStates);
  addPage(program.command("list"), workflowCursor)
    .description("list the workflows, newest first")
    .addOption(states)
    .option("--key <key>", "only the one that --principal began under this idempotency key")
    .option("--intent <type>", "only those of this intent type")
    .option("--schedule <name>", "only those that this schedule began")
    .option("--by <principal>", "only those that this principal asked for", readId)
    .option("--text <text>", "only those with this in title, intent type or id")
    .option(
      "--since <time>",
      "only those of this time or later: an instant, a day, or 30m, 12h, 7d ago",
      readTime(terminal),
    )
    .option("--until <time>", "only those from before this time", readTime(terminal))
    .addOption(new Option("--sort <order>", "newest first, or oldest first").choices(ageSorts))
    .action((options: ListOptions) => listWorkflows(options, terminal));
  addCommonOptions(program.command("show"))
    .description("show a workflow: its steps, its open gates, its outcomes")
    .argument("<workflow>", "its id")
    .action((workflowId: string, options: CommonOptions) => showWorkflow(workflowId, options, terminal));
  addPage(program.command("gates"), gateCursor)
    .description("list the gates that wait for a person, of the newest workflow first")
    .option("--workflow <id>", "only those of this workflow, whole")
    .option("--under <id>", "only those of this workflow and of its children at every level")
    .option("--mine", "only those that --principal has a seat at, as --role")
    .option("--voted", "only those at which --principal has voted")
    .option("--no-voted", "only those at which --principal has not voted")
    .addOption(
      new Option("--assigned <whom>", "only those that --principal, or nobody, looks after").choices(assignments),
    )
    .option("--snoozed", "only those that --principal has snoozed until later")
    .option("--no-snoozed", "only those that --principal has not snoozed")
    .option("--for-role <role>", "only those that name this role")
    .option("--intent <type>", "only those of workflows of this intent type")
    .option("--by <principal>", "only those of work that this principal asked for", readId)
    .addOption(new Option("--risk <level>", "only those of this risk").choices(RiskLevel.options))
    .option("--text <text>", "only those with this in a title, operator, intent type or id")
    .option("--since <time>", "only those opened at this time or later", readTime(terminal))
    .option("--until <time>", "only those opened before this time", readTime(terminal))
    .addOption(new Option("--sort <order>", "newest or oldest first, or what falls due first").choices(gateSorts))
    .option("--operator <name>", "only those before a call of this operator")
    .option("--due-before <time>", "only those due before this instant or day", readTime(terminal))
    .action((options: GateOptions) => listGates(options, terminal));
}

/** The position after which a list continues. */
interface Cursor {
  readonly name: string;
  readonly schema: z.ZodType<string>;
}

const workflowCursor: Cursor = { name: "workflow", schema: WorkflowId };
const gateCursor: Cursor = { name: "workflow/gate", schema: GateCursor };

const readCursor =
  ({ name, schema }: Cursor) =>
  (value: string): string => {
    if (schema.safeParse(value).success) return value;
    throw new InvalidArgumentError(`It must be the ${name} that a page ended with, by id.`);
  };

const addPage = (command: Command, cursor: Cursor): Command =>
  addCommonOptions(command)
    .option(`--after <${cursor.name}>`, "only what comes after this one, which is older", readCursor(cursor))
    .option(`--before <${cursor.name}>`, "only what comes before this one", readCursor(cursor))
    .option("--limit <n>", "at most so many", readLimit, 50)
    .option("--total", "count all that there are");

const pageOf = ({ after, before, limit, total }: PageOptions) => ({
  limit,
  ...(after !== undefined && { after }),
  ...(before !== undefined && { before }),
  ...(total !== undefined && { total }),
});

async function listWorkflows(options: ListOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const { state, key, intent, schedule, by, text, since, until } = options;
  const filter = {
    ...pageOf(options),
    ...(state !== undefined && { states: state }),
    ...(key !== undefined && { idempotency_key: key }),
    ...(intent !== undefined && { intent_type: intent }),
    ...(schedule !== undefined && { schedule }),
    ...(by !== undefined && { principal: by }),
    ...(text !== undefined && { text }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(options.sort !== undefined && { sort: options.sort }),
  };
  const workflows = await withKernel(session, ({ kernel, caller }) => kernel.workflows(filter, caller));
  const { total } = workflows;
  if (options.json) return printJson(session, { workflows, ...(total !== undefined && { total }) });
  const columns = workflowColumns(terminal);
  terminal.print(workflows.length === 0 ? "no workflows" : renderTable(workflows, columns, terminal));
  if (total !== undefined) terminal.print(`${workflows.length} of ${total}`);
}

const describeState = ({ state, paused, queued, held_by, compensated }: WorkflowSummary): string =>
  [
    state,
    ...(paused ? ["paused"] : []),
    ...(queued ? ["queued"] : []),
    ...(held_by.length > 0 ? ["held"] : []),
    ...(compensated === null ? [] : [`undone: ${compensated}`]),
  ].join(", ");

const workflowColumns = ({ now }: Terminal): readonly Column<WorkflowSummary>[] => [
  { title: "WORKFLOW", value: (row) => row.workflow_id },
  {
    title: "STATE",
    value: describeState,
    style: (row) => (row.paused || row.queued || row.held_by.length > 0 ? "yellow" : styleOfState(row.state)),
  },
  { title: "INTENT", value: (row) => row.intent_type, shrinks: true, least: 40, spare: 2 },
  { title: "TITLE", value: (row) => row.title, shrinks: true, least: 24 },
  { title: "DONE", value: (row) => `${row.progress.percent} %`, labelled: true, spare: 1 },
  { title: "ACCEPTED", value: (row) => describeTime(row.created_at, now()), labelled: true, spare: 3 },
];

async function showWorkflow(workflowId: string, options: CommonOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  await withKernel(session, async ({ kernel, caller }) => {
    const state = await kernel.workflow(workflowId, caller);
    if (options.json) return printJson(session, state);
    terminal.print(renderWorkflow(state, terminal));
    for (const gate of openGatesOf(state)) terminal.print(`\n${renderGate(gate, terminal)}`);
    for (const gate of await listGatesBelow({ kernel, caller }, state)) terminal.print(showLine(describeBelow(gate)));
  });
}

async function listGates(options: GateOptions, terminal: Terminal): Promise<void> {
  const session = { terminal, options };
  const { workflow, under, mine, voted, forRole, operator, dueBefore, intent, by, risk, text, since, until } = options;
  const filter = withoutUnset({
    ...{
      ...pageOf(options),
      workflow_id: workflow,
      under,
      mine,
      voted,
      assigned: options.assigned,
      snoozed: options.snoozed,
      role: forRole,
      operator,
      due_before: dueBefore,
    },
    ...{ intent_type: intent, principal: by, risk, text, since, until, sort: options.sort },
  });
  const gates = await withKernel(session, ({ kernel, caller }) => kernel.gates(filter, caller));
  const { total } = gates;
  if (options.json) return printJson(session, { gates, ...(total !== undefined && { total }) });
  terminal.print(gates.length === 0 ? "no gate is open" : renderTable(gates, gateColumns(terminal), terminal));
  // A list has no previews, so there is nothing that one of them could hide; of one workflow the gates are shown whole.
  for (const gate of gates) if (workflow !== undefined || !gate.checked) printHidden(gate, terminal);
  const hint = "`review`, with the same options, shows them whole, one after another, and takes decisions";
  if (gates.length > 0) terminal.print(`\n${wrapLines(hint, terminal.columns)}`);
  if (total !== undefined) terminal.print(`${gates.length} of ${total}`);
}

/** Prints what the table does not say of a gate: that it was not checked, or the fields that its preview leaves out. */
function printHidden(gate: ListedGate, terminal: Terminal): void {
  if (!gate.checked) {
    const message = "what is shown here was not checked against its log: decide on what `show` prints";
    return terminal.print(
      `\n${wrapLines(showLine(`${gate.gate_id} of ${gate.workflow_id}: ${message}`), terminal.columns)}`,
    );
  }
  const hidden = renderHidden(gate);
  if (hidden === "") return;
  const head = showLine(`${gate.gate_id} of ${gate.workflow_id}, ${gate.operator}: fields of the payload`);
  // A continued line is indented to a column at which no field begins, so that no value can look like another field.
  const fields = hidden.split("\n").flatMap((line) => wrapLine(line, terminal.columns - 2, "    "));
  terminal.print(`\n${wrapLines(head, terminal.columns)}\n${indent(fields.join("\n"))}`);
}

const gateColumns = ({ now }: Terminal): readonly Column<Gate>[] => [
  { title: "WORKFLOW", value: (gate) => gate.workflow_id },
  { title: "GATE", value: (gate) => gate.gate_id },
  { title: "TITLE", value: (gate) => gate.title, shrinks: true, least: 16 },
  { title: "RISK", value: (gate) => gate.risk_level, labelled: true },
  { title: "OPENED", value: (gate) => describeTime(gate.opened_at, now()), labelled: true, spare: 1 },
  { title: "DUE", value: (gate) => (gate.due_at === null ? "-" : describeTime(gate.due_at, now())), labelled: true },
];
