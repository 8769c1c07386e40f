/** `decisions`: the history of what people have decided at gates, as a table or as CSV. Nothing is run here. */
import { type Command, Option } from "commander";
import { type Decision, type DecisionFilter, decisionActs, decisionCursor } from "../../contract/decision.ts";
import { withoutUnset } from "../../contract/json.ts";
import { ageSorts, lastOfPage } from "../../contract/list-filter.ts";
import { writeDecisions } from "../../protocol/decision-table.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readId, readLimit, readTime, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface DecisionOptions extends CommonOptions {
  readonly mine?: boolean;
  readonly person?: string | number;
  readonly act?: DecisionFilter["act"];
  readonly intent?: string;
  readonly operator?: string;
  readonly workflow?: string;
  readonly text?: string;
  readonly since?: string;
  readonly until?: string;
  readonly sort?: DecisionFilter["sort"];
  readonly after?: string;
  readonly limit: number;
  readonly total?: boolean;
  readonly csv?: boolean;
}

export function addHistory(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("decisions"))
    .description("list what people have decided at gates, newest first; --csv writes it for a spreadsheet")
    .option("--mine", "only what the caller decided")
    .option("--person <id>", "only what this person decided", readId)
    .addOption(new Option("--act <act>", "only this").choices(decisionActs))
    .option("--intent <type>", "only of this intent type")
    .option("--operator <name>", "only of gates of this operator")
    .option("--workflow <id>", "only of this workflow")
    .option("--text <text>", "only with this in a title, the operator, the intent type or the id")
    .option("--since <time>", "decided then or later: an instant, a day, or an age such as 7d", readTime(terminal))
    .option("--until <time>", "decided before then", readTime(terminal))
    .addOption(new Option("--sort <order>", "the order, newest first by default").choices(ageSorts))
    .option("--after <cursor>", "only what comes after this: next of the page before, as --json shows it")
    .option("--limit <n>", "at most so many", readLimit, 50)
    .option("--total", "count all that match")
    .option("--csv", "as CSV")
    .action((options: DecisionOptions) => list({ options, terminal }));
}

function list(session: Session<DecisionOptions>): Promise<void> {
  const { mine, person, act, intent, operator, workflow, text, since, until, sort, after, limit, total } =
    session.options;
  const selection = { mine, principal: person, act, intent_type: intent, operator, workflow_id: workflow, text };
  const filter = withoutUnset({ ...selection, since, until, sort, after, limit, total });
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const decisions = await kernel.decisions(filter, caller);
      const { terminal } = session;
      if (session.options.csv === true) return terminal.print(writeDecisions(decisions).trimEnd());
      const last = lastOfPage(decisions, limit);
      const next = last === undefined ? null : decisionCursor(last);
      const counted = withoutUnset({ total: decisions.total });
      if (session.options.json) return printJson(session, { decisions, next, ...counted });
      if (decisions.total !== undefined) terminal.print(`${decisions.total} decisions`);
      if (decisions.length === 0) return terminal.print("no decisions");
      return terminal.print(renderTable(decisions, columnsOf(terminal), terminal));
    },
    { recover: false },
  );
}

const columnsOf = ({ now }: Terminal): readonly Column<Decision>[] => [
  { title: "WHEN", value: ({ at }) => describeTime(at, now()) },
  { title: "BY", value: ({ principal }) => showLine(String(principal.id)) },
  { title: "DID", value: describeAct },
  { title: "WHAT", value: ({ title }) => showLine(title), shrinks: true },
  { title: "WORK", value: ({ work, intent_type }) => showLine(work || intent_type), shrinks: true, labelled: true },
  { title: "COMMENT", value: ({ comment }) => (comment === null ? "-" : showLine(comment)), shrinks: true },
  { title: "AT", value: ({ workflow_id }) => workflow_id },
];

function describeAct({ act, advisory, grant_id }: Decision): string {
  if (advisory === true) return `${act} (advice)`;
  return grant_id === undefined ? act : `${act} (ahead)`;
}
