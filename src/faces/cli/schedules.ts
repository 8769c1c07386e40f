/**
 * `schedules [ACTION] [NAME]`: lists schedules, shows one with its history, makes, changes, pauses, resumes, triggers,
 * backfills and deletes one.
 *
 * 1.  Work is begun for `trigger` alone, and runs here to its next rest; no other schedule is looked at.
 */
import { Argument, type Command, Option } from "commander";
import type { JsonObject } from "../../contract/json.ts";
import {
  CatchUpPolicy,
  OverlapPolicy,
  type ScheduleEntry,
  type ScheduleRequest,
  type ScheduleView,
} from "../../contract/schedule.ts";
import { showLine } from "../../protocol/visible-text.ts";
import { type CommandContext, withKernel } from "./open-kernel.ts";
import { addCommonOptions, type CommonOptions, readJsonObject, readLimit, readTime, type Session } from "./options.ts";
import { type Column, renderTable } from "./render-table.ts";
import { describeTime, wrapLines } from "./render-text.ts";
import { UsageError } from "./report-error.ts";
import { printJson, showResult } from "./show-result.ts";
import type { Terminal } from "./terminal.ts";
import { watchRun } from "./watch-run.ts";

const actions = ["list", "show", "set", "pause", "resume", "trigger", "backfill", "delete"] as const;
type Action = (typeof actions)[number];

interface ScheduleOptions extends CommonOptions {
  readonly cron?: string;
  readonly zone?: string;
  readonly every?: number;
  readonly intent?: string;
  readonly input?: JsonObject;
  readonly overlap?: OverlapPolicy;
  readonly catchUp?: CatchUpPolicy;
  readonly window?: number;
  readonly jitter?: number;
  readonly reason?: string;
  readonly from?: string;
  readonly until?: string;
  readonly after?: string;
  readonly limit: number;
}

export function addSchedules(program: Command, terminal: Terminal): void {
  addCommonOptions(program.command("schedules"))
    .description("list schedules, show one with its history, or make, change, pause, resume, trigger or delete one")
    .addArgument(new Argument("[action]", "what to do").choices(actions).default("list"))
    .argument("[name]", "the name of the schedule; not needed for list")
    .option("--cron <expression>", "set: five fields, or six with seconds first")
    .option("--zone <name>", "set: the IANA time zone of --cron; UTC where none is named")
    .option("--every <ms>", "set: the interval in ms, in place of --cron", readLimit)
    .option("--intent <type>", "set: the intent type of the work; list: only those of this type")
    .option("--input <json>", "set: the inputs of the work, a JSON object or @FILE", readJsonObject)
    .addOption(new Option("--overlap <policy>", "set: while earlier work runs").choices(OverlapPolicy.options))
    .addOption(new Option("--catch-up <policy>", "set: which missed instants begin").choices(CatchUpPolicy.options))
    .option("--window <ms>", "set: the age beyond which a missed instant is left out", readLimit)
    .option("--jitter <ms>", "set: the longest delay of a beginning", readLimit)
    .option("--reason <text>", "pause: kept with the pause")
    .option("--from <time>", "backfill: the first instant", readTime(terminal))
    .option("--until <time>", "backfill: the last instant", readTime(terminal))
    .option("--after <name>", "list: only what comes after this name")
    .option("--limit <n>", "list, show: at most so many", readLimit, 50)
    .action((action: Action, name: string | undefined, options: ScheduleOptions) =>
      runAction({ action, name }, { options, terminal }),
    );
}

interface ActionArguments {
  readonly action: Action;
  readonly name: string | undefined;
}

function runAction({ action, name }: ActionArguments, session: Session<ScheduleOptions>): Promise<void> {
  if (action === "list") return withKernel(session, (context) => list(context, session));
  if (name === undefined) throw new UsageError(`schedules ${action} needs the name of a schedule`);
  if (action === "show") return withKernel(session, (context) => show(context, name, session));
  if (action === "trigger") return withKernel(session, (context) => trigger(context, name, session));
  return withKernel(session, async (context) => {
    const answer = await change(context, { action, name }, session.options);
    if (session.options.json) return printJson(session, answer);
    const reported = "schedule" in answer ? describe(answer.schedule, session.terminal) : `${name} is deleted`;
    session.terminal.print(reported);
  });
}

function change(
  { kernel, caller }: CommandContext,
  { action, name }: { readonly action: Exclude<Action, "list" | "show" | "trigger">; readonly name: string },
  options: ScheduleOptions,
) {
  const named = { ...caller, name };
  const { reason, from, until } = options;
  switch (action) {
    case "set":
      return kernel.setSchedule({ ...named, ...chosenBy(options) });
    case "pause":
      return kernel.pauseSchedule({ ...named, ...(reason !== undefined && { reason }) });
    case "resume":
      return kernel.resumeSchedule(named);
    case "backfill":
      if (from === undefined || until === undefined) throw new UsageError("backfill needs --from and --until");
      return kernel.backfillSchedule({ ...named, from, until });
    case "delete":
      return kernel.deleteSchedule(named);
  }
}

function chosenBy(options: ScheduleOptions): Omit<ScheduleRequest, "tenant_id" | "principal" | "name"> {
  const { cron, zone, every, intent, input, overlap, catchUp, window, jitter } = options;
  if (intent === undefined) throw new UsageError("set needs --intent");
  return {
    intent_type: intent,
    ...(cron !== undefined && { cron }),
    ...(zone !== undefined && { time_zone: zone }),
    ...(every !== undefined && { every_ms: every }),
    ...(input !== undefined && { inputs: input }),
    ...(overlap !== undefined && { overlap }),
    ...(catchUp !== undefined && { catch_up: catchUp }),
    ...(window !== undefined && { catch_up_window_ms: window }),
    ...(jitter !== undefined && { jitter_ms: jitter }),
  };
}

async function list({ kernel, caller }: CommandContext, session: Session<ScheduleOptions>): Promise<void> {
  const { intent, after, limit, json } = session.options;
  const filter = {
    limit,
    ...(intent !== undefined && { intent_type: intent }),
    ...(after !== undefined && { after }),
  };
  const schedules = await kernel.schedules(filter, caller);
  if (json) return printJson(session, { schedules });
  const { terminal } = session;
  terminal.print(schedules.length === 0 ? "no schedules" : renderTable(schedules, columnsOf(terminal), terminal));
}

const columnsOf = ({ now }: Terminal): readonly Column<ScheduleView>[] => [
  { title: "SCHEDULE", value: (row) => row.name, shrinks: true, least: 20 },
  { title: "STATE", value: (row) => row.state },
  { title: "TIMES", value: timesOf, shrinks: true, least: 20 },
  { title: "INTENT", value: (row) => row.intent_type, shrinks: true, least: 20 },
  { title: "NEXT", value: (row) => (row.next === null ? "-" : describeTime(row.next, now())), labelled: true },
  { title: "LAST", value: (row) => (row.last === null ? "-" : describeTime(row.last.instant, now())), labelled: true },
];

const timesOf = ({ cron, time_zone, every_ms }: ScheduleView): string =>
  cron === null ? `every ${every_ms} ms` : `${cron} (${time_zone})`;

/** Returns a schedule as lines. */
function describe(schedule: ScheduleView, { now, columns }: Terminal): string {
  const { name, state, intent_type, overlap, catch_up, principal, next, last, refusal, fires_here } = schedule;
  const lines = [
    `${name}: ${state}, ${timesOf(schedule)}`,
    `begins ${intent_type} on behalf of ${principal.type} ${principal.id}; overlap ${overlap}, catch-up ${catch_up}`,
    `next ${next === null ? "-" : describeTime(next, now())}`,
    `last ${last === null ? "-" : `${last.instant} (${last.workflow_id})`}`,
    `fired ${schedule.fired}, skipped ${schedule.skipped}, missed ${schedule.missed}, refused ${schedule.refused}`,
    ...(refusal === null ? [] : [`last refusal ${refusal.instant}: ${refusal.code} ${refusal.message}`]),
    ...(fires_here ? [] : ["its capability is not loaded here: another process begins its work"]),
  ];
  return lines.map((line) => wrapLines(showLine(line), columns)).join("\n");
}

async function show(context: CommandContext, name: string, session: Session<ScheduleOptions>): Promise<void> {
  const { kernel, caller } = context;
  const { limit, json } = session.options;
  const found = await kernel.schedule({ name, limit }, caller);
  if (json) return printJson(session, found);
  const { terminal } = session;
  terminal.print(found.schedule === null ? `${name} is deleted` : describe(found.schedule, terminal));
  for (const entry of found.history) terminal.print(wrapLines(showLine(describeEntry(entry)), terminal.columns));
}

function describeEntry({ at, event_type, by, detail }: ScheduleEntry): string {
  const word = event_type.replace("SCHEDULE_", "").toLowerCase();
  const person = by === null ? "" : ` by ${by.type} ${by.id}`;
  return `  ${at} ${word}${person} ${JSON.stringify(detail)}`;
}

async function trigger(context: CommandContext, name: string, session: Session<ScheduleOptions>): Promise<void> {
  const { kernel, caller } = context;
  const answer = await kernel.triggerSchedule({ ...caller, name });
  const { workflow_id, status, refusal } = answer;
  if (workflow_id !== null)
    return showResult(session, await watchRun({ kernel, workflowId: workflow_id }, session), { answer });
  if (session.options.json) return printJson(session, answer);
  const why = refusal === null ? "" : `: ${refusal.code} ${refusal.message}`;
  session.terminal.print(wrapLines(showLine(`${name} ${answer.instant}: ${status}${why}`), session.terminal.columns));
}
