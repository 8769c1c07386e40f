/**
 * The commands to schedules: each is one row of the tenant's log, in the name of the person who gave it.
 *
 * 1.  `schedule:write:own` reaches the schedules that the principal has made or changed last, under any of their names.
 * 2.  A schedule that nobody of its tenant made does not exist, to the byte of the answer.
 */
import type { z } from "zod";
import type { Same } from "../../../machines/quorum.ts";
import { type AuthContext, commandScopes, reachOf } from "../../contract/auth-context.ts";
import { canonicalJson } from "../../contract/digest.ts";
import { raise } from "../../contract/error.ts";
import { type ErrorCode, kernelError } from "../../contract/error-codes.ts";
import { draft, type EventDraft } from "../../contract/event.ts";
import { type PrincipalRef, refOf } from "../../contract/gate-vote.ts";
import { instantText } from "../../contract/instant.ts";
import type { Principal } from "../../contract/intent.ts";
import { messageOf } from "../../contract/kernel-error.ts";
import { readRequest } from "../../contract/known-keys.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import {
  type ParsedScheduleRequest,
  type ScheduleAnswer,
  ScheduleBackfill,
  ScheduleCommand,
  type ScheduleDefinition,
  type ScheduleDeleted,
  SchedulePause,
  ScheduleRequest,
  type ScheduleStanding,
  type ScheduleTriggered,
  type StoredSchedule,
} from "../../contract/schedule.ts";
import { takeJson } from "../../engine/actors/take-json.ts";
import { type Instants, loadInstants } from "../../protocol/schedule-instants.ts";
import type { Gateway } from "../../tiers/t0-foundation/gateway.ts";
import { readInputs } from "../../tiers/t1-perception/normalize-intent.ts";
import { maxWaiting, withDue } from "../../tiers/t7-orchestration/schedule/look-at-schedule.ts";
import type { Kernel } from "../kernel-interface.ts";
import type { DriverParts, ScheduleDriver } from "./schedule-driver.ts";
import { viewOf } from "./schedule-reads.ts";

export interface CommandParts extends Pick<DriverParts, "store" | "tenantLog" | "runtime" | "registry"> {
  readonly driver: ScheduleDriver;
  readonly gateway: Gateway;
  readonly same: Same;
}

type Commands =
  | "setSchedule"
  | "pauseSchedule"
  | "resumeSchedule"
  | "triggerSchedule"
  | "backfillSchedule"
  | "deleteSchedule";

const commandRef = moduleRef(7, "schedule", "command");
const refuse = (code: ErrorCode, message: string): never => raise(kernelError(code, message, commandRef));

export function createScheduleCommands(parts: CommandParts): Pick<Kernel, Commands> {
  return {
    setSchedule: (raw) => setSchedule(parts, parseRequest(parts, ScheduleRequest, raw)),
    pauseSchedule: (raw) => {
      const asked = parseRequest(parts, SchedulePause, raw);
      return changeOf(parts, asked, ({ standing }, by) =>
        standing.state === "paused"
          ? null
          : {
              type: "SCHEDULE_PAUSED",
              standing: { ...standing, state: "paused" },
              facts: { by, reason: asked.reason },
            },
      );
    },
    resumeSchedule: (raw) =>
      changeOf(parts, parseRequest(parts, ScheduleCommand, raw), ({ standing }, by, now) =>
        standing.state === "active"
          ? null
          : {
              type: "SCHEDULE_RESUMED",
              standing: { ...standing, state: "active", ...seenAt(standing, now) },
              facts: { by },
            },
      ),
    triggerSchedule: (raw) => triggerSchedule(parts, parseRequest(parts, ScheduleCommand, raw)),
    backfillSchedule: (raw) => backfillSchedule(parts, parseRequest(parts, ScheduleBackfill, raw)),
    deleteSchedule: (raw) => deleteSchedule(parts, parseRequest(parts, ScheduleCommand, raw)),
  };
}

interface OrderRequest {
  readonly tenant_id: string | number;
  readonly principal: Principal;
  readonly name: string;
}

const parseRequest = <S extends z.ZodType>({ runtime }: CommandParts, schema: S, raw: unknown): z.output<S> => {
  const plain = takeJson(raw, { what: "request", source: commandRef, maxDepth: runtime.limits.maxDepth });
  return readRequest(schema, plain, { what: "request", source: commandRef });
};

/** Returns the change by which all instants up to now are decided on: those of a pause, or before a schedule. */
const seenAt = ({ seen }: Pick<ScheduleStanding, "seen">, now: number): Pick<ScheduleStanding, "seen"> => ({
  seen: instantText(Math.max(now, Date.parse(seen))),
});

/** The event of a command: its type, the standing after it, and its own members. */
interface Change {
  readonly type: EventDraft["type"];
  readonly standing: ScheduleStanding;
  readonly definition?: ScheduleDefinition;
  readonly facts: object;
}

type DecideChange = (schedule: StoredSchedule, by: PrincipalRef, now: number) => Change | null | Promise<Change | null>;

/** Appends the event of a command, and what follows from the time with it. Null changes nothing. */
async function append(
  parts: CommandParts,
  asked: OrderRequest,
  decide: (before: StoredSchedule | null, by: PrincipalRef, now: number) => Promise<Change | null>,
) {
  const { store, tenantLog, runtime, driver } = parts;
  const { tenant_id, principal, name } = asked;
  const auth = await authorizeWriter(parts, asked);
  const by = refOf(principal);
  const { answer } = await tenantLog(
    tenant_id,
    async () => {
      const [before = null] = await store.schedules({ tenant_id, names: [name] });
      if (before !== null) requireReach(parts, auth, before, asked);
      const change = await decide(before, by, runtime.clock.now());
      const nothing = { begun: [], cancels: [] };
      if (change === null) return { drafts: [], answer: { schedule: before as StoredSchedule, ...nothing } };
      const definition = change.definition ?? (before as StoredSchedule).definition;
      const given = { tenant_id, name, definition, standing: change.standing };
      const standing = withDue(given, { takeOverMs: runtime.limits.leaseMs, instantsOf: await loadInstants() });
      const schedule = { ...given, standing };
      const payload = { ...change.facts, name, standing: schedule.standing };
      const followed = await driver.decide(schedule);
      const drafts = [draft(change.type, payload as never), ...followed.drafts];
      const after = followed.begun[0]?.schedule ?? schedule;
      return { drafts, answer: { schedule: after, begun: followed.begun, cancels: followed.cancels } };
    },
    by,
  );
  return answer;
}

async function authorizeWriter(
  { gateway }: CommandParts,
  { tenant_id, principal }: OrderRequest,
): Promise<AuthContext> {
  return (await gateway.authorize({ tenant_id, principal }, commandScopes.schedule)) as AuthContext;
}

function requireReach(
  { same }: CommandParts,
  { role, scopes }: AuthContext,
  before: StoredSchedule,
  asked: OrderRequest,
): void {
  const scope = commandScopes.schedule;
  if (reachOf(scopes, scope) !== "own" || same(before.definition.principal, asked.principal)) return;
  const message = `role ${role} has ${scope}:own, and the schedule ${asked.name} is somebody else's`;
  raise(kernelError("T5_AUTHZ_FORBIDDEN", message, commandRef, { detail: { scope: `${scope}:own` } }));
}

const requireThere = (before: StoredSchedule | null, { name }: OrderRequest): StoredSchedule =>
  before ?? refuse("T7_SCHEDULE_NOT_FOUND", `there is no schedule ${name}`);

async function changeOf(parts: CommandParts, asked: OrderRequest, decide: DecideChange): Promise<ScheduleAnswer> {
  const { schedule, ...follows } = await append(parts, asked, async (before, by, now) =>
    decide(requireThere(before, asked), by, now),
  );
  goOn(parts, follows);
  return { schedule: viewOf(schedule, parts.driver) };
}

/** Does what follows from a command beside its answer, and looks again. */
function goOn({ driver, runtime }: CommandParts, follows: Parameters<ScheduleDriver["follow"]>[0]): void {
  driver
    .follow(follows)
    .catch((error: unknown) => runtime.logger.error({ error }, "the work of a schedule could not be recorded"));
  driver.wake();
}

const unset: Omit<ScheduleStanding, "seen"> = {
  state: "active",
  next: null,
  due_at: null,
  begun: null,
  waiting: [],
  backfill: null,
  last: null,
  refusal: null,
  refused_in_row: 0,
  fired: 0,
  missed: 0,
  skipped: 0,
  refused: 0,
};

async function setSchedule(parts: CommandParts, asked: ParsedScheduleRequest): Promise<ScheduleAnswer> {
  const definition = definitionOf(asked);
  const instants = await requireInstants(definition);
  await authorizeWriter(parts, asked);
  requireCapability(parts, definition);
  const { schedule, ...follows } = await append(parts, asked, async (before, by, now) => {
    if (before !== null && canonicalJson(before.definition) === canonicalJson(definition)) return null;
    if (instants.after(now) === null) refuse("T7_SCHEDULE_INVALID", `"${definition.cron}" has no instant after now`);
    const standing = before?.standing ?? { ...unset, seen: instantText(now) };
    return {
      type: "SCHEDULE_SET",
      definition,
      standing: { ...standing, ...seenAt(standing, now), refused_in_row: 0 },
      facts: { by, definition },
    };
  });
  goOn(parts, follows);
  return { schedule: viewOf(schedule, parts.driver) };
}

function definitionOf({ tenant_id: _tenant, name: _name, cron, every_ms, ...rest }: ParsedScheduleRequest) {
  if ((cron === undefined) === (every_ms === undefined))
    refuse("T7_SCHEDULE_INVALID", "request: name either cron or every_ms");
  return { cron: cron ?? null, every_ms: every_ms ?? null, ...rest };
}

/** Returns the instants of a definition. @throws KernelErrorException T7_SCHEDULE_INVALID. */
async function requireInstants(definition: ScheduleDefinition): Promise<Instants> {
  const instantsOf = await loadInstants();
  try {
    return instantsOf(definition);
  } catch (thrown) {
    return refuse("T7_SCHEDULE_INVALID", messageOf(thrown));
  }
}

/**
 * Requires the capability and valid inputs when a schedule is made, so that a mistake is found by its author.
 * @throws KernelErrorException T1_NORMALIZE_UNKNOWN_INTENT, T1_NORMALIZE_INPUTS_INVALID.
 */
function requireCapability({ registry }: CommandParts, { intent_type, inputs }: ScheduleDefinition): void {
  const [type = "", version] = intent_type.split("@");
  readInputs(registry.getCapability(type, version), inputs);
}

async function triggerSchedule(parts: CommandParts, asked: OrderRequest): Promise<ScheduleTriggered> {
  const { driver, store } = parts;
  let instant = "";
  const { schedule: _, ...follows } = await append(parts, asked, async (found, by, now) => {
    const schedule = requireThere(found, asked);
    const { standing, definition } = schedule;
    requireCapability(parts, definition);
    const isBusy = standing.begun !== null || standing.waiting.length > 0 || (await driver.isRunning(schedule));
    if (definition.overlap === "skip" && isBusy)
      refuse("T7_SCHEDULE_OVERLAP", `the work that ${asked.name} began has not ended, and its overlap is skip`);
    if (standing.waiting.length >= maxWaiting)
      refuse("T7_SCHEDULE_OVERLAP", `${maxWaiting} instants of ${asked.name} wait already`);
    instant = instantText(freeInstant(standing, now));
    const waiting = [...standing.waiting, { instant, cause: "trigger" as const }];
    return { type: "SCHEDULE_TRIGGERED", standing: { ...standing, waiting }, facts: { by, instant } };
  });
  await driver.follow(follows);
  driver.wake();
  const [after] = await store.schedules({ tenant_id: asked.tenant_id, names: [asked.name] });
  const { last = null, refusal = null } = after?.standing ?? {};
  const base = { name: asked.name, instant, refusal: null };
  if (last?.instant === instant) return { ...base, status: "fired", workflow_id: last.workflow_id };
  if (refusal?.instant === instant) return { ...base, status: "refused", workflow_id: null, refusal };
  return { ...base, status: "waiting", workflow_id: null };
}

/** Returns the first instant from now on that stands for no other beginning. */
function freeInstant({ begun, waiting, last }: ScheduleStanding, now: number): number {
  const taken = new Set([begun?.instant, last?.instant, ...waiting.map(({ instant }) => instant)]);
  let at = now;
  while (taken.has(instantText(at))) at += 1;
  return at;
}

async function backfillSchedule(
  parts: CommandParts,
  asked: OrderRequest & { readonly from: string; readonly until: string },
): Promise<ScheduleAnswer> {
  const { maxBackfill } = parts.runtime.limits;
  const instantsOf = await loadInstants();
  return changeOf(parts, asked, ({ standing, definition }, by, now) => {
    requireCapability(parts, definition);
    const [from, until] = [Date.parse(asked.from), Date.parse(asked.until)];
    if (until > now) refuse("T7_SCHEDULE_BACKFILL", "request: until: it is in the future");
    if (standing.backfill !== null) refuse("T7_SCHEDULE_BACKFILL", `a backfill of ${asked.name} is under way`);
    const instants = instantsOf(definition);
    const first = instants.after(from - 1);
    let count = 0;
    for (let at = first; at !== null && at <= until && count <= maxBackfill; count += 1) at = instants.after(at);
    if (first === null || count === 0) refuse("T7_SCHEDULE_BACKFILL", "the schedule has no instant in the span");
    if (count > maxBackfill)
      refuse("T7_SCHEDULE_BACKFILL", `the span has more instants than limits.maxBackfill = ${maxBackfill}`);
    const backfill = { next: instantText(first as number), until: instantText(until) };
    const facts = { by, from: instantText(from), until: instantText(until), count };
    return { type: "SCHEDULE_BACKFILLED", standing: { ...standing, backfill }, facts };
  });
}

async function deleteSchedule(parts: CommandParts, asked: OrderRequest): Promise<ScheduleDeleted> {
  const { store, tenantLog, driver } = parts;
  const { tenant_id, name } = asked;
  const auth = await authorizeWriter(parts, asked);
  const by = refOf(asked.principal);
  const decide = async () => {
    const [before = null] = await store.schedules({ tenant_id, names: [name] });
    requireReach(parts, auth, requireThere(before, asked), asked);
    return { drafts: [draft("SCHEDULE_DELETED", { name, by })], answer: null };
  };
  await tenantLog(tenant_id, decide, by);
  driver.wake();
  return { name, status: "deleted" };
}
