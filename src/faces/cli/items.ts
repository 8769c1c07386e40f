/** `items WF`: list the items of a workflow's lists and the rounds of its steps. Nothing is run here. */
import type { Command } from "commander";
import type { ListedItem } from "../../contract/listed-item.ts";
import { skipWords } from "../../protocol/skip-words.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readLimit, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface ItemOptions extends CommonOptions {
  readonly of?: string;
  readonly after?: string;
  readonly limit: number;
}

export function addItems(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("items"))
    .description("list the items of a workflow's lists and the rounds of its steps, with outputs, errors and children")
    .argument("<workflow>", "its id")
    .option("--of <step>", "only those of this step")
    .option("--after <item>", "only what comes after this item: next of the page before, as --json shows it")
    .option("--limit <n>", "at most so many", readLimit, 50)
    .action((workflowId: string, options: ItemOptions) => list(workflowId, { options, terminal }));
}

function list(workflowId: string, session: Session<ItemOptions>): Promise<void> {
  const { of, after, limit, json } = session.options;
  const filter = { limit, ...(of !== undefined && { of }), ...(after !== undefined && { after }) };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const page = await kernel.items(workflowId, filter, caller);
      if (json) return printJson(session, page);
      const { terminal } = session;
      return terminal.print(page.items.length === 0 ? "no items" : renderTable(page.items, columns, terminal));
    },
    { recover: false },
  );
}

const columns: readonly Column<ListedItem>[] = [
  { title: "ITEM", value: (row) => row.step_id },
  { title: "KEY", value: (row) => showLine(row.key), shrinks: true, labelled: true },
  { title: "STATE", value: (row) => row.phase ?? row.state },
  { title: "CHILD", value: (row) => row.child ?? "-", labelled: true },
  { title: "RESULT", value: describeResult, shrinks: true, least: 20 },
];

function describeResult({ output, error, skip_reason, truncated }: ListedItem): string {
  if (error !== null) return showLine(`${error.code}: ${error.message}`);
  if (skip_reason !== null) return skipWords[skip_reason];
  if (truncated === true) return "too long for a page: --limit 1 shows it";
  return output === null ? "-" : showLine(JSON.stringify(output));
}
