/**
 * The operations on schedules: the commands that make, change and trigger them, and the reads of one and of all.
 */
import { z } from "zod";
import { Caller, commandScopes } from "../contract/auth-context.ts";
import {
  ScheduleAnswer,
  ScheduleBackfill,
  ScheduleCommand,
  ScheduleDeleted,
  ScheduleFilter,
  ScheduleHistory,
  SchedulePage,
  SchedulePause,
  ScheduleQuestion,
  ScheduleRequest,
  ScheduleTriggered,
} from "../contract/schedule.ts";
import type { Kernel } from "../kernel/kernel-interface.ts";
import { type KernelCommand, type List, type Offered, type Operation, promised, type Table } from "./operation.ts";

/** The kernel copies a request as plain JSON and reads it with its schema, so the check of arguments skips it. */
const command = { ...promised({ request: z.unknown() }), scope: commandScopes.schedule };
const named = { name: "weekly-report" };
const caller = Caller.optional();

/** The commands to schedules. */
export const scheduleCommands = {
  setSchedule: {
    ...command,
    id: "setSchedule",
    word: "schedules/set",
    summary: "Makes a schedule, or changes the one of this name; its work begins on behalf of the caller",
    request: ScheduleRequest,
    answer: ScheduleAnswer,
    example: {
      ...named,
      cron: "0 9 * * MON-FRI",
      time_zone: "Europe/Berlin",
      intent_type: "Report.Weekly",
      inputs: { region: "north" },
    },
    isIdempotent: true,
    run: (kernel, given) => kernel.setSchedule(given as never),
  },
  pauseSchedule: {
    ...command,
    id: "pauseSchedule",
    namesOne: true,
    word: "schedules/pause",
    summary: "Pauses a schedule: none of its instants begins until it is resumed",
    request: SchedulePause,
    answer: ScheduleAnswer,
    example: { ...named, reason: "the source is being moved" },
    isIdempotent: true,
    run: (kernel, given) => kernel.pauseSchedule(given as never),
  },
  resumeSchedule: {
    ...command,
    id: "resumeSchedule",
    namesOne: true,
    word: "schedules/resume",
    summary: "Resumes a schedule with its next instant; those of the pause are left out",
    request: ScheduleCommand,
    answer: ScheduleAnswer,
    example: named,
    isIdempotent: true,
    run: (kernel, given) => kernel.resumeSchedule(given as never),
  },
  triggerSchedule: {
    ...command,
    id: "triggerSchedule",
    namesOne: true,
    word: "schedules/trigger",
    summary: "Begins the work of a schedule now, whether or not it is paused",
    request: ScheduleCommand,
    answer: ScheduleTriggered,
    example: named,
    run: (kernel, given) => kernel.triggerSchedule(given as never),
  },
  backfillSchedule: {
    ...command,
    id: "backfillSchedule",
    namesOne: true,
    word: "schedules/backfill",
    summary: "Begins the instants of a span in the past, one after another",
    request: ScheduleBackfill,
    answer: ScheduleAnswer,
    example: { ...named, from: "2026-01-01T00:00:00.000Z", until: "2026-01-31T23:59:59.000Z" },
    run: (kernel, given) => kernel.backfillSchedule(given as never),
  },
  deleteSchedule: {
    ...command,
    id: "deleteSchedule",
    namesOne: true,
    word: "schedules/delete",
    summary: "Deletes a schedule; its history and what it began stay",
    request: ScheduleCommand,
    answer: ScheduleDeleted,
    example: named,
    run: (kernel, given) => kernel.deleteSchedule(given as never),
  },
} as const satisfies Table<Kernel, KernelCommand>;

const offered = { scope: commandScopes.readSchedules };

/** The list of schedules. */
export const scheduleList: List<typeof ScheduleFilter, SchedulePage> = {
  ...promised({ filter: z.unknown(), caller }),
  ...offered,
  id: "listSchedules",
  word: "schedules",
  summary: "The tenant's schedules by name, each with its next instant and its newest work",
  filter: ScheduleFilter,
  answer: SchedulePage,
  read: async (kernel, filter, caller) => {
    const schedules = await kernel.schedules(filter, caller);
    const last = schedules.length < filter.limit ? undefined : schedules.at(-1);
    return { schedules: [...schedules], next: last?.name ?? null };
  },
};

/** The read of one schedule. */
export const scheduleRead: Operation<"promise"> &
  Offered & {
    readonly question: typeof ScheduleQuestion;
    readonly read: (kernel: Kernel, question: ScheduleQuestion, caller: Caller) => Promise<ScheduleHistory>;
  } = {
  ...promised({ question: z.unknown(), caller }),
  ...offered,
  id: "readSchedule",
  word: "schedule",
  summary: "A schedule with its history, newest first: what it began, what was left out or refused, who changed it",
  question: ScheduleQuestion,
  answer: ScheduleHistory,
  read: (kernel, question, caller) => kernel.schedule(question, caller),
};
