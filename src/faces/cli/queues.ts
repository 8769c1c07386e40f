/** `queues` and `limit`: list the queues in which workflows run or wait, and set their limits. Nothing is run here. */

import { type Command, InvalidArgumentError } from "commander";
import { lastOfPage } from "../../contract/list-filter.ts";
import { lineOf } from "../../contract/queue.ts";
import type { QueueLimits } from "../../contract/queue-limits.ts";
import type { ListedQueue } from "../../contract/queue-page.ts";
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
  addCommonOptions(program.command("limit"))
    .description("set the limits of a queue in place of those of its capabilities; needs a role with halt:write")
    .argument("<queue>", "its name")
    .option("--concurrency <n>", "how many of its workflows run at once, of each key", readLimit)
    .option(
      "--rate <n/ms>",
      "how many begin within so many milliseconds, such as 10/60000; none for any number",
      readRate,
    )
    .option("--lift", "let the limits of capabilities and requests hold again", false)
    .requiredOption("--reason <text>", "kept with the limits")
    .action((name: string, options: LimitOptions) => limit(name, { options, terminal }));
}

interface LimitOptions extends CommonOptions {
  readonly concurrency?: number;
  readonly rate?: QueueLimits["rate"];
  readonly lift: boolean;
  readonly reason: string;
}

const ratePattern = /^(\d{1,4})\/(\d{1,10})$/;

/** Reads the bound of an option: `10/60000`, or `none`. @throws InvalidArgumentError. */
function readRate(text: string): QueueLimits["rate"] {
  const [, limit, per] = ratePattern.exec(text) ?? [];
  if (text === "none") return null;
  if (limit === undefined || per === undefined)
    throw new InvalidArgumentError("it is <workflows>/<milliseconds>, such as 10/60000, or none");
  return { limit: Number(limit), per_ms: Number(per) };
}

function limit(name: string, session: Session<LimitOptions>): Promise<void> {
  const { concurrency, rate, lift, reason, json } = session.options;
  const given = { ...(concurrency !== undefined && { concurrency }), ...(rate !== undefined && { rate }) };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const answer = await kernel.limitQueue({ ...caller, name, limits: lift ? null : given, reason });
      if (json) return printJson(session, answer);
      return session.terminal.print(`${showLine(name)}: limits ${answer.status}`);
    },
    { recover: false },
  );
}

function list(session: Session<QueueOptions>): Promise<void> {
  const { name, after, limit, json } = session.options;
  const { terminal } = session;
  const filter = { limit, ...(name !== undefined && { name }), ...(after !== undefined && { after }) };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const queues = await kernel.queues(filter, caller);
      const last = lastOfPage(queues, limit);
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
  { title: "SET BY", value: ({ set }) => (set === null ? "-" : showLine(String(set.by.id))), labelled: true },
];
