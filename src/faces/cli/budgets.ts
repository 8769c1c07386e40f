/** `budgets`: lists the ceilings of the kernel with what is used of each. Nothing is run here. */

import { type Command, Option } from "commander";
import { budgetCursor, type ListedBudget, listedScopes } from "../../contract/budget-page.ts";
import { lastOfPage } from "../../contract/list-filter.ts";
import { limitedAmounts, tellLimited, tellWindow } from "../../protocol/budget-words.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readLimit, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface BudgetOptions extends CommonOptions {
  readonly scope?: ListedBudget["scope"];
  readonly after?: string;
  readonly limit: number;
}

export function addBudgets(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("budgets"))
    .description("list the ceilings and what is used of each, the nearest to its ceiling first")
    .addOption(new Option("--scope <scope>", "only ceilings of this scope").choices(listedScopes))
    .option("--after <cursor>", "only what comes after: next of the page before, as --json shows it")
    .option("--limit <n>", "at most so many", readLimit, 50)
    .action((options: BudgetOptions) => list({ options, terminal }));
}

function list(session: Session<BudgetOptions>): Promise<void> {
  const { scope, after, limit, json } = session.options;
  const { terminal } = session;
  const filter = { limit, ...(scope !== undefined && { scope }), ...(after !== undefined && { after }) };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const budgets = await kernel.budgets(filter, caller);
      const last = lastOfPage(budgets, limit);
      if (json) return printJson(session, { budgets, next: last === undefined ? null : budgetCursor(last) });
      if (budgets.length === 0) return terminal.print("no ceilings are configured");
      return terminal.print(renderTable(budgets, columnsOf(terminal), terminal));
    },
    { recover: false },
  );
}

const columnsOf = ({ now }: Terminal): readonly Column<ListedBudget>[] => [
  { title: "SCOPE", value: ({ scope }) => scope },
  { title: "OF", value: ({ id }) => (id === null ? "each" : showLine(String(id))), shrinks: true },
  { title: "USED", value: (row) => limitedAmounts(row).map(tellLimited).join(", ") || "nothing is limited" },
  { title: "PER", value: tellWindow },
  { title: "LEFT", value: ({ share }) => tellLeft(share) },
  {
    title: "RESETS",
    value: ({ resets_at }) => (resets_at === null ? "-" : describeTime(resets_at, now())),
    labelled: true,
  },
];

/** Returns the part that is left: never 0 % unless nothing is. */
function tellLeft(share: number | null): string {
  if (share === null) return "-";
  return share >= 1 ? "none" : `${Math.max(1, Math.floor(100 * (1 - share)))} %`;
}
