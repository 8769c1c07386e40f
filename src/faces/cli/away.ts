/** `away`: names who stands in at gates while one is away, ends that, and lists who is away. Nothing is run here. */

import { type Command, Option } from "commander";
import { lastOfPage } from "../../contract/list-filter.ts";
import type { StandInRequest, StandInStanding } from "../../contract/stand-in-orders.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readId, readInstant, readLimit, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface AwayOptions extends CommonOptions {
  readonly to?: string | number;
  readonly from?: string;
  readonly until?: string;
  readonly reason?: string;
  readonly end?: string;
  readonly list?: boolean;
  readonly mine?: boolean;
  readonly after?: string;
  readonly limit: number;
}

export function addAway(program: Command, terminal: Terminal): void {
  const naming = ["to", "from", "until"];
  addCommonOptions(program.command("away"))
    .description("name who stands in at all gates while one is away; --list shows who is")
    .option("--to <id>", "the user who takes one's seats", readId)
    .option("--until <instant>", "when it ends, at most 90 days ahead", readInstant)
    .option("--from <instant>", "when it begins; now by default", readInstant)
    .option("--reason <text>", "kept with the order, or with its end; everybody sees it")
    .addOption(new Option("--end <id>", "end this order before its time").conflicts([...naming, "list"]))
    .addOption(new Option("--list", "list who is away, now or later").conflicts([...naming, "reason"]))
    .option("--mine", "with --list: only one's own orders, and those by which one stands in")
    .option("--after <id>", "with --list: only what was named after this one: next of the page before")
    .option("--limit <n>", "with --list: at most so many", readLimit, 50)
    .action((options: AwayOptions) => goAway({ options, terminal }));
}

const quiet = { recover: false } as const;

function goAway(session: Session<AwayOptions>): Promise<void> {
  const { to, from, until, reason, end, list = false } = session.options;
  if (list) return listAway(session);
  const why = reason === undefined ? {} : { reason };
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const times = { ...(from !== undefined && { from }), ...(until !== undefined && { until }) };
      const order = { ...caller, ...(to !== undefined && { to: { id: to } }), ...times, ...why };
      const answer =
        end === undefined
          ? await kernel.standIn(order as StandInRequest)
          : await kernel.endStandIn({ ...caller, stand_in_id: end, ...why });
      if (session.options.json) return printJson(session, answer);
      return session.terminal.print(`${answer.stand_in_id} ${answer.status}`);
    },
    quiet,
  );
}

function listAway(session: Session<AwayOptions>): Promise<void> {
  const { after, limit, json, mine = false } = session.options;
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const filter = { limit, ...(mine && { mine }), ...(after !== undefined && { after }) };
      const orders = await kernel.standIns(filter, caller);
      const last = lastOfPage(orders, limit);
      if (json) return printJson(session, { stand_ins: orders, next: last?.stand_in_id ?? null });
      const { terminal } = session;
      return terminal.print(
        orders.length === 0 ? "nobody is away" : renderTable(orders, columnsOf(terminal), terminal),
      );
    },
    quiet,
  );
}

const columnsOf = ({ now }: Terminal): readonly Column<StandInStanding>[] => [
  { title: "ORDER", value: (row) => row.stand_in_id },
  { title: "AWAY", value: (row) => showLine(String(row.by.id)), shrinks: true },
  { title: "STANDS IN", value: (row) => showLine(String(row.to.id)), shrinks: true },
  { title: "FROM", value: (row) => describeTime(row.from, now()), labelled: true },
  { title: "UNTIL", value: (row) => describeTime(row.until, now()), labelled: true },
  { title: "REASON", value: (row) => showLine(row.reason), shrinks: true },
];
