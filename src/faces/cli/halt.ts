/**
 * `halt`, `lift` and `halts`: stop work of the tenant, let it go on, and show what is stopped. A process that runs the
 * work acts on it before its next call; nothing is run here.
 */
import type { Command } from "commander";
import type { HaltFilter, HaltStanding } from "../../contract/halt.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readId, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime } from "./render-text.ts";
import { printJson } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";

interface HaltOptions extends CommonOptions {
  readonly capability?: string;
  readonly operator?: string;
  readonly of?: string | number;
  readonly reason: string;
}

interface LiftOptions extends CommonOptions {
  readonly reason?: string;
}

export function addHalts(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("halt"))
    .description("stop work of the tenant until it is lifted; needs a role with halt:write, such as --role admin")
    .option("--capability <type>", "only work of this intent type")
    .option("--operator <name>", "only steps that would call this operator")
    .option("--of <principal>", "only work that this principal asked for", readId)
    .requiredOption("--reason <text>", "kept with the halt")
    .action((options: HaltOptions) => halt({ options, terminal }));
  addCommonOptions(program.command("lift"))
    .description("lift a halt: what it held goes on where the work is run; needs a role with halt:write")
    .argument("<halt>", "its id, as halts shows it")
    .option("--reason <text>", "kept with the end of the halt")
    .action((haltId: string, options: LiftOptions) => lift(haltId, { options, terminal }));
  addCommonOptions(program.command("halts"))
    .description("list the halts that hold, and how much each holds")
    .action((options: CommonOptions) => list({ options, terminal }));
}

/** Nothing is taken up here: the work goes on where it is run. */
const quiet = { recover: false } as const;

function halt(session: Session<HaltOptions>): Promise<void> {
  const { capability, operator, of, reason } = session.options;
  const filter: HaltFilter = {
    ...(capability !== undefined && { capability }),
    ...(operator !== undefined && { operator }),
    ...(of !== undefined && { principal: { id: of } }),
  };
  return give(session, ({ kernel, caller }) => kernel.halt({ ...caller, of: filter, reason }));
}

function lift(halt_id: string, session: Session<LiftOptions>): Promise<void> {
  const { reason } = session.options;
  return give(session, ({ kernel, caller }) =>
    kernel.lift({ ...caller, halt_id, ...(reason !== undefined && { reason }) }),
  );
}

type Context = Parameters<Parameters<typeof withKernel>[1]>[0];

function give(
  session: Session,
  order: (context: Context) => Promise<{ readonly halt_id: string; readonly status: string }>,
): Promise<void> {
  return withKernel(
    session,
    async (context) => {
      const answer = await order(context);
      if (session.options.json) return printJson(session, answer);
      return session.terminal.print(`${answer.halt_id} ${answer.status}`);
    },
    quiet,
  );
}

function list(session: Session): Promise<void> {
  return withKernel(
    session,
    async ({ kernel, caller }) => {
      const halts = await kernel.halts(caller.tenant_id, caller);
      if (session.options.json) return printJson(session, { halts });
      const { terminal } = session;
      return terminal.print(halts.length === 0 ? "no halts" : renderTable(halts, columns(terminal), terminal));
    },
    quiet,
  );
}

/** Returns what a halt concerns, in words. */
export function describeHalt({ capability, operator, principal }: HaltFilter): string {
  const named = [
    ...(capability === undefined ? [] : [capability]),
    ...(operator === undefined ? [] : [`calls of ${operator}`]),
    ...(principal === undefined ? [] : [`asked for by ${principal.id}`]),
  ];
  return named.length === 0 ? "everything" : named.join(", ");
}

const columns = ({ now }: Terminal): readonly Column<HaltStanding>[] => [
  { title: "HALT", value: (row) => row.halt_id },
  { title: "OF", value: (row) => showLine(describeHalt(row.of)), shrinks: true },
  { title: "REASON", value: (row) => showLine(row.reason), shrinks: true },
  { title: "BY", value: (row) => showLine(String(row.by.id)), labelled: true },
  { title: "SET", value: (row) => describeTime(row.at, now()), labelled: true },
  { title: "HOLDS", value: ({ held }) => `${held.workflows} workflows, ${held.steps} steps`, labelled: true },
];
