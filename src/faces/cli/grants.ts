/** `grant`, `revoke` and `grants`: approve calls ahead, end that, and list what stands. Nothing is run here. */

import type { Command } from "commander";
import type { GrantStanding } from "../../contract/grant.ts";
import type { GrantRequest } from "../../contract/grant-orders.ts";
import { lastOfPage } from "../../contract/list-filter.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import {
  addCommonOptions,
  type CommonOptions,
  readCount,
  readInstant,
  readJson,
  readLimit,
  type Session,
} from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface GiveOptions extends CommonOptions {
  readonly when?: unknown;
  readonly until?: string;
  readonly uses?: number;
  readonly money?: number;
  readonly reason?: string;
}

interface RevokeOptions extends CommonOptions {
  readonly reason?: string;
}

interface ListOptions extends CommonOptions {
  readonly after?: string;
  readonly limit: number;
}

export function addGrants(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("grant"))
    .description("approve ahead what the rule of a gate asks about; --uses or --money limits it")
    .argument("<workflow>", "its id")
    .argument("<gate>", "its id; the grant takes over its operator, rules and people")
    .option("--when <json>", 'tests of the params, as in [{"value":"order.total","at_most":100}]', readJson)
    .option("--until <instant>", "for all work until then; without it for this workflow", readInstant)
    .option("--uses <n>", "at most so many calls", readCount)
    .option("--money <sum>", "at most so much of estimated cost", Number)
    .option("--reason <text>", "kept with the grant")
    .action((workflowId: string, gateId: string, options: GiveOptions) =>
      give({ workflow_id: workflowId, gate_id: gateId }, { options, terminal }),
    );
  addCommonOptions(program.command("revoke"))
    .description("end a grant: later calls ask a person again")
    .argument("<grant>", "its id, as grants shows it")
    .option("--reason <text>", "kept with the end of the grant")
    .action((grantId: string, options: RevokeOptions) => revoke(grantId, { options, terminal }));
  addCommonOptions(program.command("grants"))
    .description("list what people have approved ahead, and what was used of it")
    .option("--after <grant>", "only what was given after this one: next of the page before, as --json shows it")
    .option("--limit <n>", "at most so many", readLimit, 50)
    .action((options: ListOptions) => list({ options, terminal }));
}

const quiet = { recover: false } as const;

type Context = Parameters<Parameters<typeof withKernel>[1]>[0];
type Answer = { readonly grant_id: string; readonly status: string };

function order(session: Session, send: (context: Context) => Promise<Answer>): Promise<void> {
  return withKernel(
    session,
    async (context) => {
      const answer = await send(context);
      if (session.options.json) return printJson(session, answer);
      return session.terminal.print(`${answer.grant_id} ${answer.status}`);
    },
    quiet,
  );
}

function give(at: Pick<GrantRequest, "workflow_id" | "gate_id">, session: Session<GiveOptions>): Promise<void> {
  const { when, until, uses, money, reason } = session.options;
  const terms = {
    ...(when !== undefined && { when }),
    ...(until !== undefined && { until }),
    ...(uses !== undefined && { uses }),
    ...(money !== undefined && { money }),
    ...(reason !== undefined && { reason }),
  };
  return order(session, ({ kernel, caller }) => kernel.grant({ ...caller, ...at, ...terms } as GrantRequest));
}

function revoke(grant_id: string, session: Session<RevokeOptions>): Promise<void> {
  const { reason } = session.options;
  const why = reason === undefined ? {} : { reason };
  return order(session, ({ kernel, caller }) => kernel.revokeGrant({ ...caller, grant_id, ...why }));
}

function list(session: Session<ListOptions>): Promise<void> {
  const { after, limit, json } = session.options;
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const grants = await kernel.grants({ limit, ...(after !== undefined && { after }) }, caller);
      const last = lastOfPage(grants, limit);
      if (json) return printJson(session, { grants, next: last?.grant_id ?? null });
      const { terminal } = session;
      return terminal.print(grants.length === 0 ? "no grants" : renderTable(grants, columnsOf(terminal), terminal));
    },
    quiet,
  );
}

const columnsOf = ({ now }: Terminal): readonly Column<GrantStanding>[] => [
  { title: "GRANT", value: (row) => row.grant_id },
  { title: "CALLS", value: (row) => showLine(row.operator), shrinks: true },
  { title: "WHEN", value: (row) => (row.when === undefined ? "-" : showLine(JSON.stringify(row.when))), shrinks: true },
  { title: "BY", value: (row) => showLine(String(row.by.id)), labelled: true },
  {
    title: "UNTIL",
    value: ({ until, workflow_id }) => (until === undefined ? `end of ${workflow_id}` : describeTime(until, now())),
    labelled: true,
  },
  { title: "USED", value: describeUse, labelled: true },
];

function describeUse({ used, uses, money }: GrantStanding): string {
  const calls = uses === undefined ? `${used.uses} calls` : `${used.uses} of ${uses} calls`;
  return money === undefined ? calls : `${calls}, cost ${used.money} of ${money}`;
}
