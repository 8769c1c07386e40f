/** `queues`: lists the queues in which workflows run or wait. Nothing is run here. */
import type { Command } from "commander";
import { type ListedQueue, lineOf } from "../../contract/queue.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readLimit, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface QueueOptions extends CommonOptions {
  readonly name?: string;
  readonly after?: string;
  readonly limit: number;
}

export function addQueues(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("queues"))
    .description("list the queues in which workflows run or wait, and how many do")
    .option("--name <queue>", "only the keys of this queue")
    .option("--after <cursor>", "only what comes after this queue: next of the page before, as --json shows it")
    .option("--limit <n>", "at most so many", readLimit, 50)
    .action((options: QueueOptions) => list({ options, terminal }));
}

function list(session: Session<QueueOptions>): Promise<void> {
  const { name, after, limit, json } = session.options;
  const { terminal } = session;
  const filter = { limit, ...(name !== undefined && { name }), ...(after !== undefined && { after }) };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const queues = await kernel.queues(filter, caller);
      const last = queues.length < limit ? undefined : queues.at(-1);
      if (json) return printJson(session, { queues, next: last === undefined ? null : lineOf(last) });
      return terminal.print(queues.length === 0 ? "no queues" : renderTable(queues, columnsOf(terminal), terminal));
    },
    { recover: false },
  );
}

const columnsOf = ({ now }: Terminal): readonly Column<ListedQueue>[] => [
  { title: "QUEUE", value: (row) => showLine(row.name), shrinks: true, least: 20 },
  { title: "KEY", value: (row) => (row.key === "" ? "-" : showLine(row.key)), shrinks: true },
  { title: "RUNNING", value: (row) => `${row.running} of ${row.concurrency}` },
  { title: "WAITING", value: (row) => String(row.waiting) },
  {
    title: "OLDEST",
    value: ({ oldest_waiting }) => (oldest_waiting === null ? "-" : describeTime(oldest_waiting, now())),
    labelled: true,
  },
];
