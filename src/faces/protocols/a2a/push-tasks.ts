/**
 * Notifications of tasks: each change of a task's status is posted to the addresses that its callers named.
 *
 * 1.  An address is told in the name of the caller who gave it, for as long as that caller may read the task.
 * 2.  No private address is reached, and no redirect to another host followed, unless the host allows it.
 * 3.  A notification is told at least once, in the order of the task, under an id that stays, and again after pauses
 *     that double. One that is given up ends the notifications of its address for that task.
 * 4.  How far an address was told stands in the store: another process goes on from there.
 */
import type { ScopedCaller } from "../../../contract/auth-context.ts";
import { kernelError } from "../../../contract/error-codes.ts";
import { KernelErrorException, raise } from "../../../contract/kernel-error.ts";
import { moduleRef } from "../../../contract/module-ref.ts";
import { isTerminal } from "../../../contract/workflow.ts";
import type { Kernel } from "../../../index.ts";
import { postText } from "../../../observers/notifiers/post-text.ts";
import { webhookHeaders } from "../../../observers/notifiers/standard-webhooks.ts";
import type { StreamPlaces } from "../../http/stream-places.ts";
import { type AgentContext, readWorkflow } from "../agent-context.ts";
import type { PushConfig } from "./a2a-messages.ts";
import type { A2aOptions } from "./a2a-options.ts";
import { type NotifiedAddress, type NotifiedAddresses, sealedPushes } from "./sealed-pushes.ts";
import { contextIdOf, statusOf } from "./task-view.ts";

/** The answers to the methods about notifications, and the work of sending them. */
export interface PushTasks {
  /** Refuses an address before anything else happens. @throws T0_A2A_PUSH_OFF, T0_VALIDATION_SCHEMA_MISMATCH. */
  readonly check: (config: PushConfig) => void;
  readonly create: (context: AgentContext, taskId: string, config: PushConfig) => Promise<object>;
  readonly get: (context: AgentContext, taskId: string, id: string) => Promise<object>;
  readonly list: (context: AgentContext, taskId: string) => Promise<readonly object[]>;
  readonly drop: (context: AgentContext, taskId: string, id: string) => Promise<void>;
  readonly close: () => Promise<void>;
}

const pushRef = moduleRef(0, "a2a", "push_tasks");
const firstPauseMs = 1_000;
const longestPauseMs = 300_000;

const refuseOff = (): never => raise(kernelError("T0_A2A_PUSH_OFF", "this agent sends no notifications", pushRef));

interface Sending {
  readonly kernel: Kernel;
  readonly options: A2aOptions;
  readonly places: StreamPlaces;
}

/** The addresses that are being told. */
interface Running {
  readonly begin: (record: NotifiedAddress) => void;
  /** Ends one, and resolves once nothing of it is left. */
  readonly end: (key: string) => Promise<void>;
  readonly count: () => number;
  readonly close: () => Promise<void>;
}

/** Follows tasks for addresses. A record whose task has ended, or that was given up, leaves the store. */
function createRunning(sending: Sending, store: NotifiedAddresses): Running {
  const { kernel, options } = sending;
  const running = new Map<string, { readonly stop: AbortController; readonly ended: Promise<void> }>();
  const end = async (key: string): Promise<void> => {
    const one = running.get(key);
    one?.stop.abort();
    await one?.ended;
  };
  return {
    begin(record) {
      const stop = new AbortController();
      const contextOf = (caller: ScopedCaller): AgentContext => ({ ...sending, caller, gone: stop.signal });
      const warn = (thrown: unknown): void =>
        options.logger?.warn({ thrown, task: record.workflow_id }, "notifications of a task stopped");
      const ended = follow({ record, store, options, kernel, contextOf, stop: stop.signal })
        .then(async () => {
          if (!stop.signal.aborted) await store.drop(record.key);
        })
        .catch(warn)
        .finally(() => running.delete(record.key));
      running.set(record.key, { stop, ended });
    },
    end,
    count: () => running.size,
    close: async () => void (await Promise.all([...running.keys()].map(end))),
  };
}

/** Creates the notifications of one handler; those that the store holds go on. */
export function createPushTasks(sending: Sending): PushTasks {
  const { push, limits, logger } = sending.options;
  if (push === undefined)
    return { check: refuseOff, create: refuse, get: refuse, list: refuse, drop: refuse, close: async () => undefined };
  const store = sealedPushes({ ...push, logger });
  const running = createRunning(sending, store);
  const opened = store
    .list()
    .then((records) => records.forEach(running.begin))
    .catch((thrown: unknown) => logger?.error({ thrown }, "the notifications of tasks could not be read"));
  const ofTask = async (context: AgentContext, taskId: string): Promise<readonly NotifiedAddress[]> => {
    const state = await readWorkflow(context, taskId);
    const records = (await store.list()).filter(({ workflow_id }) => workflow_id === state.workflow_id);
    return records.filter(({ caller }) => isSameCaller(caller, context.caller));
  };
  const find = async (context: AgentContext, taskId: string, id: string): Promise<NotifiedAddress> =>
    (await ofTask(context, taskId)).find((record) => record.id === id) ??
    raise(kernelError("T0_A2A_PUSH_UNKNOWN", "the task has no such notifications", pushRef));
  const check: PushTasks["check"] = ({ url }) => requirePostable(url, push.allowPrivate);
  return {
    check,
    async create(context, taskId, { url, token, authentication, ...config }) {
      check({ url, token, authentication, ...config });
      await opened;
      const own = await ofTask(context, taskId);
      const { sequence: told } = await readWorkflow(context, taskId);
      const id = config.id ?? `push-${own.length + 1}`;
      if (!own.some((record) => record.id === id)) requireRoom(own.length, running.count(), limits);
      const { caller } = context;
      const key = JSON.stringify([taskId, caller.tenant_id, caller.principal, id]);
      const record = { key, id, workflow_id: taskId, caller, url, token, authentication, told };
      await running.end(key);
      await store.keep(record);
      running.begin(record);
      return toConfig(record);
    },
    get: async (context, taskId, id) => toConfig(await find(context, taskId, id)),
    list: async (context, taskId) => (await ofTask(context, taskId)).map(toConfig),
    async drop(context, taskId, id) {
      const { key } = await find(context, taskId, id);
      await running.end(key);
      await store.drop(key);
    },
    async close() {
      await opened;
      await running.close();
    },
  };
}

const refuse = async (): Promise<never> => refuseOff();

const isSameCaller = (one: ScopedCaller, other: ScopedCaller): boolean =>
  one.tenant_id === other.tenant_id &&
  one.principal.type === other.principal.type &&
  one.principal.id === other.principal.id;

function requireRoom(ofTask: number, all: number, { maxPushPerTask, maxPush }: A2aOptions["limits"]): void {
  if (ofTask < maxPushPerTask && all < maxPush) return;
  const detail = ofTask < maxPushPerTask ? { maxPush } : { maxPushPerTask };
  raise(kernelError("T0_A2A_PUSH_LIMIT", "there are as many notifications as may be", pushRef, { detail }));
}

function requirePostable(url: string, allowPrivate: boolean): void {
  const { protocol, username, password } = new URL(url);
  if (username === "" && password === "" && (protocol === "https:" || allowPrivate)) return;
  const message = "url: is https, and carries no name and no password";
  raise(kernelError("T0_VALIDATION_SCHEMA_MISMATCH", message, pushRef));
}

/** Returns the notifications as their caller reads them, without the credentials. */
const toConfig = ({ id, workflow_id, url, authentication }: NotifiedAddress): object => ({
  id,
  taskId: workflow_id,
  url,
  ...(authentication !== undefined && { authentication: { scheme: authentication.scheme, credentials: "" } }),
});

interface Following {
  readonly record: NotifiedAddress;
  readonly store: NotifiedAddresses;
  readonly options: A2aOptions;
  readonly kernel: Kernel;
  readonly contextOf: (caller: ScopedCaller) => AgentContext;
  readonly stop: AbortSignal;
}

/** Posts each change of the task's status, until the task has ended or the signal aborts. */
async function follow({ record, store, options, kernel, contextOf, stop }: Following): Promise<void> {
  const context = contextOf(record.caller);
  let last = "";
  const { told: after, workflow_id } = record;
  const changes = kernel.channel("progress", workflow_id, { after, signal: stop }, callerOf(record));
  for await (const { sequence } of changes) {
    const state = await readWorkflow(context, workflow_id);
    const status = await statusOf(context, state);
    const { timestamp: _, ...shown } = status;
    const now = JSON.stringify([status.state, isTerminal(state.state) ? null : shown]);
    if (now === last) continue;
    last = now;
    const statusUpdate = { taskId: workflow_id, contextId: contextIdOf(state), status };
    const isTaken = await post({ record, options, stop }, `${record.id}-${workflow_id}-${sequence}`, { statusUpdate });
    if (!isTaken || stop.aborted) return;
    await store.keep({ ...record, told: sequence });
    if (isTerminal(state.state)) return;
  }
}

const callerOf = ({ caller: { tenant_id, principal } }: NotifiedAddress) => ({ tenant_id, principal });

/** Posts until it is taken; returns whether it was. It is given up after `limits.maxPushAttempts`. */
async function post(
  { record, options, stop }: Pick<Following, "record" | "options" | "stop">,
  id: string,
  content: object,
): Promise<boolean> {
  const { push, clock, limits, logger } = options;
  if (push === undefined) return false;
  const { token, authentication, url } = record;
  const body = JSON.stringify(content);
  const address = { url: new URL(url), allowPrivate: push.allowPrivate };
  const own = {
    ...(authentication !== undefined && { authorization: `${authentication.scheme} ${authentication.credentials}` }),
    ...(token !== "" && { "x-a2a-notification-token": token }),
  };
  for (let attempt = 1; !stop.aborted; attempt += 1) {
    try {
      const signed = webhookHeaders(push.secret, { id, body, now: clock.now() });
      const headers = { ...own, "content-type": "application/a2a+json", ...signed };
      await postText(address, { headers, body, signal: AbortSignal.any([stop, AbortSignal.timeout(postMs)]) });
      return true;
    } catch (thrown) {
      if (stop.aborted) return false;
      if (isFinal(thrown) || attempt >= limits.maxPushAttempts) {
        logger?.warn({ thrown, task: record.workflow_id, attempt }, "a notification of a task is given up");
        return false;
      }
    }
    await pause(options, Math.min(firstPauseMs * 2 ** (attempt - 1), longestPauseMs), stop);
  }
  return false;
}

const postMs = 10_000;

/** Returns whether an address is not tried again: a private one, or one that says that it is gone. */
const isFinal = (thrown: unknown): boolean =>
  thrown instanceof KernelErrorException &&
  (thrown.error.code === "T6_NOTICE_ADDRESS" || thrown.error.detail["status"] === 410);

function pause({ clock }: A2aOptions, ms: number, stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      stop.removeEventListener("abort", end);
      resolve();
    };
    const cancel = clock.setTimer(clock.now() + ms, end, true);
    stop.addEventListener("abort", end);
    if (stop.aborted) end();
  });
}
