/**
 * Drives schedules: one alarm for the earliest instant of all, and the submits of the instants that are due.
 *
 * Owns: when schedules are looked at in this process.
 * Never: decides what follows from the time (`tiers/t7-orchestration/schedule/`).
 * 1.  An instant is submitted once its beginning is in the tenant's log; of several processes one appends it. A process
 *     that dies leaves it to the others, who submit it under the same key.
 * 2.  A process begins work of capabilities that are registered in it, and of no others.
 * 3.  `stop` leaves no alarm, and waits for no submit.
 */
import { type KernelError, KernelErrorException } from "../../contract/error.ts";
import { draft, type EventDraft } from "../../contract/event.ts";
import type { Principal } from "../../contract/intent.ts";
import { firingKey, type ScheduleOrigin, type SubmitRequest, type SubmitResponse } from "../../contract/intent.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import type { StoredSchedule } from "../../contract/schedule.ts";
import { singleFlight } from "../../contract/single-flight.ts";
import { isTerminal } from "../../contract/workflow.ts";
import type { Registry } from "../../engine/actors/registry.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { Timers } from "../../engine/actors/timers.ts";
import { heartbeatMs } from "../../engine/log/kernel-registration.ts";
import type { TenantAppend } from "../../engine/log/tenant-log.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import { loadInstants } from "../../protocol/schedule-instants.ts";
import { type Looked, type Looking, lookAt } from "../../tiers/t7-orchestration/schedule/look-at-schedule.ts";
import { type InstantEnd, settleInstant } from "../../tiers/t7-orchestration/schedule/settle-instant.ts";

export interface DriverParts {
  readonly store: LedgerStore;
  readonly tenantLog: TenantAppend;
  readonly runtime: Runtime;
  readonly registry: Registry;
  readonly timers: Timers;
  readonly submit: (request: SubmitRequest, origin: ScheduleOrigin) => Promise<SubmitResponse>;
  readonly cancel: (workflowId: string, tenantId: string | number, principal: Principal) => Promise<unknown>;
}

type Id = string | number;

/** An instant whose beginning is in the log, and whose work is submitted now. */
export interface Begun {
  readonly schedule: StoredSchedule;
  readonly instant: string;
}

/** A decision about one schedule: its events, and what follows once they are in the log. */
interface Decided {
  readonly drafts: readonly EventDraft[];
  readonly begun: readonly Begun[];
  readonly cancels: readonly { readonly schedule: StoredSchedule; readonly workflow_id: string }[];
}

const page = 100;

export class ScheduleDriver {
  readonly #parts: DriverParts;
  #started = false;
  #stopped = false;

  constructor(parts: DriverParts) {
    this.#parts = parts;
  }

  /** Begins to look, now and from then on; other processes may make schedules, or die, unnoticed here. */
  start(): void {
    const { timers, runtime } = this.#parts;
    if (this.#stopped) return;
    this.#started = true;
    const again = runtime.clock.now() + heartbeatMs(runtime.limits.leaseMs);
    timers.upkeep("schedules", again, () => this.start());
    this.wake();
  }

  /**
   * Looks at what is due: a schedule was changed, or the work of one has ended. A process that takes up no work does
   * not look.
   */
  wake(): void {
    const failed = (error: unknown): void =>
      this.#parts.runtime.logger.error({ error }, "schedules could not be looked at");
    if (this.#started && !this.#stopped) callAside(() => this.#look(), failed);
  }

  stop(): void {
    this.#stopped = true;
    this.#parts.timers.alarm("schedule", null, () => undefined);
  }

  /** Returns whether the capability of a schedule is registered in this process. */
  fires({ definition }: Pick<StoredSchedule, "definition">): boolean {
    const [type = "", version] = definition.intent_type.split("@");
    try {
      return this.#parts.registry.getCapability(type, version) !== undefined;
    } catch {
      return false;
    }
  }

  /** Returns whether the newest work of a schedule has not ended. */
  async isRunning({ standing: { last } }: Pick<Looked, "standing">): Promise<boolean> {
    const head = last === null ? null : await this.#parts.store.head(last.workflow_id);
    return head !== null && !isTerminal(head.state);
  }

  /** Decides what follows for a schedule from the time, and from the end of the submit that it had begun. */
  async decide(given: StoredSchedule, end?: InstantEnd): Promise<Decided> {
    const times = await this.#times();
    const settled = end === undefined ? null : settleInstant(given, end, times);
    const schedule = settled === null ? given : { ...given, standing: settled.standing };
    const isRunning = await this.isRunning(schedule);
    const due = lookAt(schedule, { ...times, isRunning });
    const drafts = settled === null ? [] : [settled.event];
    if (due === null) return { drafts, begun: [], cancels: [] };
    const after = { ...schedule, standing: due.standing };
    return {
      drafts: [...drafts, draft("SCHEDULE_DUE", due)],
      begun: due.begun === undefined ? [] : [{ schedule: after, instant: due.begun.instant }],
      cancels: due.cancels === undefined ? [] : [{ schedule: after, workflow_id: due.cancels }],
    };
  }

  /** Does what follows from a decision that is in the log; resolves once the submits have ended. */
  async follow({ begun, cancels }: Pick<Decided, "begun" | "cancels">): Promise<void> {
    await Promise.all([this.#submitAll(begun), ...cancels.map((one) => this.#cancel(one))]);
  }

  async #times(): Promise<Omit<Looking, "isRunning">> {
    const instantsOf = await loadInstants();
    const { clock, limits } = this.#parts.runtime;
    return { now: clock.now(), takeOverMs: limits.leaseMs, missedAfterMs: limits.missedAfterMs, instantsOf };
  }

  get #types(): readonly string[] {
    const named = this.#parts.registry
      .capabilities()
      .flatMap(({ intentType, version }) => [intentType, `${intentType}@${version}`]);
    return [...new Set(named)];
  }

  readonly #lookOnce = singleFlight(() => this.#lookAll());
  #again = false;

  /** Looks once more if it is asked to while it looks: what was changed then may not have been read. */
  async #look(): Promise<void> {
    this.#again = true;
    await this.#lookOnce();
  }

  async #lookAll(): Promise<void> {
    const { store, runtime } = this.#parts;
    const types = this.#types;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const due = await store.dueSchedules(types, runtime.clock.now(), page);
      for (const [tenant, names] of namesByTenant(due)) if (await this.#turn(tenant, names)) this.#again = true;
    }
    this.#arm(await store.nextScheduleDue(types));
  }

  #arm(due: number | null): void {
    const { timers, runtime } = this.#parts;
    if (this.#stopped) return;
    // What is due although it was just looked at cannot go on now: it is looked at after a pause.
    const soonest = runtime.clock.now() + runtime.limits.tailPollMs;
    timers.alarm("schedule", due === null ? null : Math.max(due, soonest), () => this.wake(), false);
  }

  /** Decides on schedules of one tenant in one row; returns whether anything followed. */
  async #turn(tenant: Id, names: readonly string[], ends: ReadonlyMap<string, InstantEnd> = new Map()) {
    const { store, tenantLog, runtime } = this.#parts;
    const { answer } = await tenantLog(tenant, async () => {
      const schedules = await store.schedules({ tenant_id: tenant, names });
      const decided = await Promise.all(schedules.map((one) => this.decide(one, ends.get(one.name))));
      return { drafts: decided.flatMap(({ drafts }) => drafts), answer: decided };
    });
    const follows = {
      begun: answer.flatMap(({ begun }) => begun),
      cancels: answer.flatMap(({ cancels }) => cancels),
    };
    const failed = (error: unknown): void =>
      runtime.logger.error({ error }, "what followed from a schedule could not be recorded; it is taken over");
    callAside(() => this.follow(follows), failed);
    return answer.some(({ drafts }) => drafts.length > 0);
  }

  async #submitAll(begun: readonly Begun[]): Promise<void> {
    const ended = await Promise.all(begun.map(async (one) => ({ one, end: await this.#submit(one) })));
    const ends = ended.flatMap(({ one, end }) => (end === null ? [] : [{ one, end }]));
    for (const [tenant, ofTenant] of Map.groupBy(ends, ({ one }) => one.schedule.tenant_id)) {
      if (this.#stopped) return;
      const byName = new Map(ofTenant.map(({ one, end }) => [one.schedule.name, end]));
      await this.#turn(tenant, [...byName.keys()], byName);
    }
  }

  /** Submits the work of an instant; null if its end is not known, so that it is taken over. */
  async #submit({ schedule, instant }: Begun): Promise<InstantEnd | null> {
    const { name, tenant_id, definition } = schedule;
    const { principal, intent_type, inputs } = definition;
    const origin = { name, instant };
    const request = {
      tenant_id,
      principal,
      intent_hint: { intent_type, inputs },
      idempotency_key: firingKey(origin),
    };
    try {
      const { workflow_id } = await this.#parts.submit(request, origin);
      return { instant, workflow_id };
    } catch (thrown) {
      if (thrown instanceof KernelErrorException) return endOf(instant, thrown.error);
      this.#parts.runtime.logger.error({ error: thrown, schedule: name }, "the work of an instant was not submitted");
      return null;
    }
  }

  async #cancel({ schedule, workflow_id }: Decided["cancels"][number]): Promise<void> {
    const { logger } = this.#parts.runtime;
    const { tenant_id, definition } = schedule;
    await this.#parts
      .cancel(workflow_id, tenant_id, definition.principal)
      .catch((error: unknown) => logger.error({ error, workflow_id }, "work could not be cancelled to make way"));
  }
}

/** Returns the end of a refused submit. A key that began a workflow under an earlier definition began that one. */
function endOf(instant: string, error: KernelError): InstantEnd {
  const workflow_id = error.code === "T4_IDEMPOTENCY_PAYLOAD_MISMATCH" ? error.detail?.["workflow_id"] : undefined;
  return typeof workflow_id === "string" ? { instant, workflow_id } : { instant, error };
}

const namesByTenant = (due: readonly StoredSchedule[]): ReadonlyMap<Id, readonly string[]> =>
  new Map(
    [...Map.groupBy(due, ({ tenant_id }) => tenant_id)].map(([tenant, schedules]) => [
      tenant,
      [...new Set(schedules.map(({ name }) => name))],
    ]),
  );
