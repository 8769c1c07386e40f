/**
 * The executor: the workflows that are awake in this process, and the waking of a workflow from the ledger.
 *
 * Owns: the mailboxes. Never: decides in one.
 * 1.  A workflow has one mailbox, which takes all of its inputs.
 * 2.  A workflow at rest leaves memory; the next input folds it again from the ledger. A few logs are kept in memory
 *     and used again if the ledger has nothing newer; head and lease are read in any case.
 * 3.  A session (marks `session.open`, `session.close`) lasts from waking to resting and contains all of its ledger
 *     writes.
 * 4.  A process claims a workflow before it works on it: in the store before the workflow continues by itself, and in
 *     the row of a person's command to a workflow at rest, if this process continues it.
 */
import { KernelErrorException, raise } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import type { LedgerEvent } from "../../contract/event.ts";
import { typesWhere } from "../../contract/events.ts";
import { isAtRest, type WorkflowRecord } from "../../contract/workflow.ts";
import { currentContext, outside } from "../../engine/actors/async-context.ts";
import type { LifecycleHost } from "../../engine/actors/lifecycle-host.ts";
import type { Runtime } from "../../engine/actors/runtime.ts";
import type { KernelRegistration } from "../../engine/log/kernel-registration.ts";
import type { LedgerWriter } from "../../engine/log/ledger-writer.ts";
import type { FoldedLog, LogServices, NewWorkflow } from "../../engine/log/log-services.ts";
import { foldInSlices } from "../../engine/log/read-pages.ts";
import { RestingLogs } from "../../engine/log/resting-logs.ts";
import { WorkflowLog } from "../../engine/log/workflow-log.ts";
import type { Lease, LedgerStore, TakenUp, WorkflowHead } from "../../ports/ledger-store.ts";
import { notFound } from "./decide/plan/decide.ts";
import type { Input } from "./decide/run/input.ts";
import { oodaRef, type Settings } from "./decide/run/run.ts";
import { Mailbox, type Origin } from "./mailbox.ts";
import type { MailboxHost } from "./mailbox-host.ts";
import { Children } from "./perform/children.ts";
import type { Services } from "./perform/services.ts";

export interface ExecutorOptions {
  readonly store: LedgerStore;
  readonly writer: LedgerWriter;
  readonly runtime: Runtime;
  readonly settings: Settings;
  readonly services: Omit<Services, "children" | "command">;
  /** Reads the committed record of a workflow. */
  readonly readRecord: (workflowId: string) => Promise<WorkflowRecord>;
  readonly lifecycles: LifecycleHost;
  readonly registration: KernelRegistration;
  readonly halts: LogServices["halts"];
  /** Returns whether somebody reads what is committed of the workflow at once; `rests`: it rests then. */
  readonly isAwaited: (workflowId: string, rests: boolean) => boolean;
  /**
   * Whether this process continues a workflow without an owner after a command; if not, its host decides where it is
   * driven.
   */
  readonly goesOn: boolean;
  /** Whether other processes continue the workflows of some types, and whether they continue those of this one. */
  readonly leavesAny: boolean;
  readonly isElsewhere: (intentType: string) => boolean;
  /** Called after each commit; `own` is false for rows of another process. */
  readonly onCommitted: (log: WorkflowLog, events: readonly LedgerEvent[], own: boolean) => void;
  /** Called when a workflow has ended or rests. */
  readonly onRest: (mailbox: Mailbox) => void;
}

const executorRef = oodaRef("execute");
const maxTries = 8;

/** The errors with which a log is lost to another process. */
const overtaken: ReadonlySet<string> = new Set(["T0_LEDGER_CONFLICT", "T4_WORKFLOW_LEASED"]);

export class Executor {
  readonly #options: ExecutorOptions;
  readonly #services: LogServices;
  readonly #host: MailboxHost;
  readonly #children: Children;
  readonly #awake = new Map<string, Mailbox>();
  readonly #resting: RestingLogs;
  readonly #waking = new Map<string, Promise<Mailbox>>();
  #isStopping = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { runtime, settings, services, store, writer, registration, halts } = options;
    this.#resting = new RestingLogs(runtime.limits.maxRestingEvents);
    const command: Services["command"] = (workflowId, given) =>
      outside(() => this.command(workflowId, null, (re) => ({ type: "commanded", command: given, re })));
    this.#children = new Children({ store, runtime, read: options.readRecord, command });
    this.#host = {
      runtime,
      settings,
      services: { ...services, command, children: this.#children },
      isStopping: () => this.#isStopping,
      isAwaited: (log) => options.isAwaited(log.identity.workflow_id, log.exists && isAtRest(log.record.state)),
      onOver: (mailbox) => this.#tellOver(mailbox),
      onRest: (mailbox) => this.#rest(mailbox),
    };
    this.#services = {
      runtime,
      writer,
      registration,
      halts,
      mayBeLazy: settings.durability === "effects",
      read: async (id, after) => store.read(id, after),
      onCommitted: (log, events) => this.#committed(log, events, true),
      onForeign: (log, events) => this.#committed(log, events, false),
    };
  }

  /** Creates the mailbox of a workflow that has no events yet. */
  begin(identity: NewWorkflow, intentType: string, parentId: string | null): Mailbox {
    const log = new WorkflowLog(identity, this.#services);
    if (!this.#goesOn(intentType)) log.markOwnedElsewhere();
    return this.#adopt(log, { parentId, context: currentContext() });
  }

  /**
   * Gives a command to a workflow, wakes it if necessary, and returns the answer. If its log is lost to another process
   * meanwhile, it is folded again and the command repeated. @throws KernelErrorException T4_WORKFLOW_NOT_FOUND, or the
   * refusal of the command.
   */
  async command<T>(workflowId: string, parentId: string | null, make: (re: number) => Input): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      const { mailbox, given } = await this.#hand(workflowId, parentId, (open) => open.command<T>(make));
      try {
        return await given;
      } catch (thrown) {
        if (!overtaken.has(mailbox.log.lost?.code ?? "") || tries === maxTries) throw thrown;
      }
    }
  }

  /** Lets a workflow continue by itself, if this process may own it; returns null if another process does. */
  async wake(workflowId: string): Promise<Mailbox | null> {
    const isAwake = this.#awake.has(workflowId);
    const lease = isAwake ? null : await this.#claim(workflowId);
    if (!isAwake && lease === null) return null;
    return this.#wakeHere(workflowId, lease);
  }

  /** Returns whether this process continues a workflow of this type that has no owner. */
  #goesOn(intentType: string): boolean {
    const { goesOn, isElsewhere } = this.#options;
    return goesOn && !isElsewhere(intentType);
  }

  async #claim(workflowId: string): Promise<Lease | null> {
    const { store, registration, runtime, leavesAny, isElsewhere } = this.#options;
    await registration.confirm();
    const head = leavesAny ? await store.head(workflowId) : null;
    if (head !== null && isElsewhere(head.intent_type)) return null;
    return store.claim(workflowId, registration.owner, runtime.clock.now());
  }

  /** Lets a workflow continue that was claimed for this process; an earlier lease of this process no longer counts. */
  async goOn({ head: { workflow_id }, lease }: TakenUp): Promise<void> {
    const awake = this.#awake.get(workflow_id);
    if (awake?.log.lease === null) awake.log.setLease(lease);
    else if (awake !== undefined) {
      awake.log.abandon(kernelError("T4_WORKFLOW_LEASED", "its lease was given up meanwhile", executorRef));
      awake.interrupt();
    }
    await this.#wakeHere(workflow_id, lease);
  }

  /**
   * Wakes a workflow here. Rows of a later release are left to a process of that release: the lease is released for it.
   */
  async #wakeHere(workflowId: string, lease: Lease | null): Promise<Mailbox> {
    try {
      return (await this.#hand(workflowId, null, (open) => open.wake())).mailbox;
    } catch (thrown) {
      const isLater = thrown instanceof KernelErrorException && thrown.error.code === "T0_LEDGER_FORMAT";
      if (isLater && lease !== null) await this.#options.store.release(workflowId, lease).catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Gives an input to the workflow's open mailbox at the moment at which it is found; after any wait in between the
   * mailbox may have come to rest.
   */
  async #hand<T>(workflowId: string, parentId: string | null, hand: (open: Mailbox) => T): Promise<Handed<T>> {
    for (;;) {
      const mailbox = this.#awake.get(workflowId);
      if (mailbox?.isOpen === true) return { mailbox, given: hand(mailbox) };
      await this.#wakeOnce(workflowId, parentId);
    }
  }

  awake(workflowId: string): Mailbox | null {
    return this.#awake.get(workflowId) ?? null;
  }

  /** Returns the mailbox that works with this log; null once another mailbox works with a log of its own. */
  mailboxOf(log: WorkflowLog): Mailbox | null {
    const mailbox = this.awake(log.identity.workflow_id);
    return mailbox?.log === log ? mailbox : null;
  }

  /** Counts the mailboxes that may still do something; the others only wait for the ends of calls. */
  count(): number {
    return this.mailboxes().filter(({ interrupted, isOver }) => !interrupted && !isOver).length;
  }

  mailboxes(): readonly Mailbox[] {
    return [...this.#awake.values()];
  }

  /**
   * Stops all work in this process: mailboxes that are awake, and those that are woken or begun until the last answers
   * arrive.
   */
  stop(): readonly Mailbox[] {
    this.#isStopping = true;
    const awake = this.mailboxes();
    for (const mailbox of awake) mailbox.interrupt();
    return awake;
  }

  /**
   * Drops all mailboxes and returns the ids of their workflows, which are folded again when needed (after a crash of
   * T4).
   */
  dropAll(): readonly string[] {
    const dropped = [...this.#awake];
    const error = kernelError("T0_TIER_CRASHED", "the execution tier was restarted", executorRef);
    this.#awake.clear();
    this.#resting.clear();
    for (const [, mailbox] of dropped) {
      mailbox.log.abandon(error);
      mailbox.interrupt();
    }
    this.#options.lifecycles.clear();
    return dropped.map(([id]) => id);
  }

  #committed(log: WorkflowLog, events: readonly LedgerEvent[], own: boolean): void {
    const { lifecycles, onCommitted } = this.#options;
    const { workflow_id } = log.identity;
    if (this.#awake.get(workflow_id)?.log === log) lifecycles.deliver(workflow_id, events);
    onCommitted(log, events, own);
    if (own && events.some(({ event_type }) => ends.has(event_type))) this.#children.ended(log.record);
  }

  #rest(mailbox: Mailbox): void {
    const { lifecycles, runtime, onRest } = this.#options;
    const id = mailbox.log.identity.workflow_id;
    if (this.#awake.get(id) !== mailbox) return;
    this.#awake.delete(id);
    if (mayBeKept(mailbox)) void this.#keep(mailbox.log);
    lifecycles.sleep(id);
    runtime.telemetry.mark?.("session.close", { workflow_id: id });
    onRest(mailbox);
  }

  /**
   * Reports the end of a workflow. One that has ended for good needs no actors; a failed one may be restarted by the
   * same mailbox.
   */
  #tellOver(mailbox: Mailbox): void {
    const { lifecycles, onRest } = this.#options;
    const { log } = mailbox;
    if (log.record.state !== "failed") lifecycles.sleep(log.identity.workflow_id);
    onRest(mailbox);
  }

  #adopt(log: WorkflowLog, origin: Origin, version?: number): Mailbox {
    const mailbox = new Mailbox(log, this.#host, origin);
    this.#awake.set(log.identity.workflow_id, mailbox);
    this.#resting.follow(log, version);
    this.#options.runtime.telemetry.mark?.("session.open", { workflow_id: log.identity.workflow_id });
    return mailbox;
  }

  #wakeOnce(workflowId: string, parentId: string | null): Promise<Mailbox> {
    const begin = (): Promise<Mailbox> =>
      outside(() => this.#fold(workflowId, parentId)).finally(() => this.#waking.delete(workflowId));
    const waking = this.#waking.get(workflowId) ?? begin();
    this.#waking.set(workflowId, waking);
    return waking;
  }

  async #fold(workflowId: string, parentId: string | null): Promise<Mailbox> {
    const { store, lifecycles } = this.#options;
    const head = (await store.head(workflowId)) ?? raise(notFound(workflowId));
    const version = await this.#dataVersion();
    const { record, end, events } = (await this.#takeKept(workflowId, version)) ?? (await this.#readAll(workflowId));
    const log = new WorkflowLog(identityOf(record), this.#services, { record, end, head });
    await this.#adoptLease(log, head);
    const mailbox = this.#adopt(log, { parentId, context: outside }, version);
    lifecycles.wake(record, events);
    return mailbox;
  }

  /**
   * Sets the lease of a log. A lease of this process is kept. If another living process or host drives the workflow,
   * this process records commands but does not continue the workflow.
   */
  async #adoptLease(log: WorkflowLog, { workflow_id, owner, epoch, intent_type }: WorkflowHead): Promise<void> {
    const { registration } = this.#options;
    const goesOn = this.#goesOn(intent_type);
    if (owner === null && goesOn) return;
    const isOwn = owner === registration.owner;
    const lease = isOwn ? { owner, epoch } : goesOn ? await this.#claim(workflow_id) : null;
    if (lease === null) log.markOwnedElsewhere();
    else log.setLease(lease);
  }

  async #keep(log: WorkflowLog): Promise<void> {
    const version = await this.#dataVersion().catch(() => undefined);
    if (version !== undefined && log.lost === null) this.#resting.keep(log, version);
  }

  /** Returns the store's data version; undefined if no logs are kept. */
  async #dataVersion(): Promise<number | undefined> {
    const { runtime, store } = this.#options;
    return runtime.limits.maxRestingEvents === 0 ? undefined : store.dataVersion?.();
  }

  /** Returns the state of a kept log, if nothing has been appended since. */
  async #takeKept(workflowId: string, version: number | undefined): Promise<Folded | null> {
    const kept = version === undefined ? null : this.#resting.take(workflowId, version);
    if (kept === null || (await this.#options.store.read(workflowId, kept.confirmed)).length > 0) return null;
    const given = kept.handOver(goneOn);
    return given === null ? null : { ...given, events: [] };
  }

  async #readAll(workflowId: string): Promise<Folded> {
    const { store } = this.#options;
    const read = async (after: number, limit: number) => store.read(workflowId, after, limit);
    const { record, end, events } = await foldInSlices(workflowId, read);
    return { record: record ?? raise(notFound(workflowId)), end, events };
  }
}

/** The types of the events that end a workflow. */
const ends = typesWhere((facts) => facts.ends === "workflow");

interface Handed<T> {
  readonly mailbox: Mailbox;
  readonly given: T;
}

interface Folded extends Pick<FoldedLog, "record" | "end"> {
  /** The events from which it was just folded. */
  readonly events: readonly LedgerEvent[];
}

const goneOn = kernelError("T0_LEDGER_CONFLICT", "another log goes on from where this one rested", executorRef);

/** Returns whether a log may be kept at rest: no call of it can still end in this process. */
const mayBeKept = ({ log, handles, interrupted }: Mailbox): boolean =>
  !interrupted && handles.size === 0 && log.lost === null && !log.isOwnedElsewhere && log.isSettled && isParked(log);

const isParked = (log: WorkflowLog): boolean =>
  log.exists && (log.record.state === "waiting_for_user" || log.record.state === "waiting");

function identityOf(record: WorkflowRecord): NewWorkflow {
  const { tenant_id, workflow_id, thread_id, correlation_id, intent } = record;
  return {
    tenant_id,
    workflow_id,
    thread_id,
    correlation_id,
    intent_id: intent.intent_id,
    plan_id: record.plans[0]?.plan_id ?? record.plan_id,
  };
}
