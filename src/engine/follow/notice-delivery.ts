/**
 * Notifies people: gate changes in the log become deliveries, and each notifier receives its own until it has accepted
 * them.
 *
 * Owns: the loop of each notifier, its pauses and its limits. Never: makes a workflow wait; decides anything.
 * 1.  Deliveries come from the log alone, behind a cursor in the store: changes while no process ran are delivered
 *     later, and a delivery that was not settled before a crash is repeated under the same id.
 * 2.  Notices of one gate are delivered in order: the next when the previous one was accepted, or has failed for good.
 * 3.  A failed delivery is tried again after a pause that doubles, up to `maxDeliveryAttempts`; each failure is logged
 *     and marked.
 * 4.  `stop` aborts deliveries under way; they are then pending again.
 */

import type { KernelError } from "../../contract/error.ts";
import { isOpenGate } from "../../contract/gate.ts";
import { type GateNotice, noticeKinds } from "../../contract/gate-notice.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { NoticeTaken } from "../../contract/notice-taken.ts";
import type { Delivery, DeliveryStore, Settlement } from "../../ports/delivery-store.ts";
import type { LedgerStore } from "../../ports/ledger-store.ts";
import type { NoticeCall, Notifier } from "../../ports/notifier.ts";
import { outside } from "../actors/async-context.ts";
import type { Runtime } from "../actors/runtime.ts";
import type { Timers } from "../actors/timers.ts";
import { callWithin, errorOf } from "../actors/within.ts";
import { readNotice, readWaitNotice } from "../follow/read-notice.ts";
import type { LedgerWatch } from "./ledger-watch.ts";
import { NoticeCollector } from "./notice-collector.ts";

export interface DeliveryParts {
  readonly store: LedgerStore;
  readonly deliveries: DeliveryStore;
  readonly watch: LedgerWatch;
  readonly timers: Timers;
  readonly runtime: Runtime;
  /** Adds to the gates of a notice who is away. */
  readonly withAway: (notice: GateNotice) => Promise<GateNotice>;
  /** Names this process in leases. */
  readonly owner: string;
}

export interface NoticeDelivery {
  readonly start: () => void;
  /** Resolves when no delivery is under way any more. */
  readonly stop: () => Promise<void>;
  /** Looks for deliveries at once. */
  readonly wake: () => void;
}

const deliverRef = moduleRef(6, "notice_delivery", "deliver");
const firstPauseMs = 1_000;

export function createNoticeDelivery(notifiers: readonly Notifier[], parts: DeliveryParts): NoticeDelivery {
  const loops = notifiers.map((notifier) => new NotifierLoop(notifier, parts));
  let unlisten = (): void => undefined;
  const wake = (): void => {
    for (const loop of loops) loop.wake();
  };
  return {
    wake,
    start() {
      if (loops.length > 0) unlisten = parts.watch.listen(null, wake);
      wake();
    },
    async stop() {
      unlisten();
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** A delivery under way: the call that passes it on, and its notice if it is about a gate. */
interface Work {
  readonly notice: GateNotice | null;
  readonly pass: (call: NoticeCall) => unknown;
}

class NotifierLoop {
  readonly #notifier: Notifier;
  readonly #parts: DeliveryParts;
  readonly #collector: NoticeCollector;
  readonly #underWay = new Set<Promise<void>>();
  readonly #abort = new AbortController();
  #pass: Promise<void> | null = null;
  #isAsked = false;

  constructor(notifier: Notifier, parts: DeliveryParts) {
    this.#notifier = notifier;
    this.#parts = parts;
    const { clock, limits } = parts.runtime;
    const given = notifier.kinds ?? noticeKinds;
    const kinds = notifier.remind === undefined ? given.filter((kind) => kind !== "wait_reminded") : given;
    const updates = { kinds, dueSoonMs: limits.dueSoonMs };
    this.#collector = new NoticeCollector({ ...parts, notifier: notifier.name, clock, updates });
  }

  /** Starts a pass; only one runs at a time, and a request during a pass leads to another. */
  wake(): void {
    this.#isAsked = true;
    if (this.#pass !== null || this.#abort.signal.aborted) return;
    this.#pass = outside(() => this.#passAll()).finally(() => {
      this.#pass = null;
      if (this.#isAsked) this.wake();
    });
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#pass;
    await Promise.all(this.#underWay);
  }

  async #passAll(): Promise<void> {
    const { runtime } = this.#parts;
    while (this.#isAsked && !this.#abort.signal.aborted) {
      this.#isAsked = false;
      try {
        await this.#collector.collect(this.#abort.signal);
        await this.#tell();
        this.#armFor(await this.#parts.deliveries.nextAt(this.#notifier.name));
      } catch (error) {
        runtime.logger.error({ error, notifier: this.#notifier.name }, "deliveries cannot be read or written");
        this.#armFor(runtime.clock.now() + firstPauseMs);
      }
    }
  }

  #armFor(at: number | null): void {
    if (this.#abort.signal.aborted) return;
    const { timers, runtime } = this.#parts;
    // A due delivery without a free slot waits for the end of another, which wakes the loop.
    const isAhead = at !== null && (at > runtime.clock.now() || this.#underWay.size === 0);
    timers.alarm(`notices:${this.#notifier.name}`, isAhead ? at : null, () => this.wake());
  }

  /** Gives away as many as may be under way; the end of each wakes the loop. */
  async #tell(): Promise<void> {
    const { deliveries, runtime, owner } = this.#parts;
    const { maxDeliveriesInFlight, deliveryTimeoutMs } = runtime.limits;
    const now = runtime.clock.now();
    const limit = maxDeliveriesInFlight - this.#underWay.size;
    const next = await deliveries.nextAt(this.#notifier.name);
    if (limit <= 0 || next === null || next > now) return;
    const taken = await deliveries.take(this.#notifier.name, { owner, now, until: now + 2 * deliveryTimeoutMs, limit });
    for (const delivery of taken) {
      const work: Promise<void> = this.#settle(delivery).finally(() => {
        this.#underWay.delete(work);
        this.wake();
      });
      this.#underWay.add(work);
    }
  }

  async #settle(delivery: Delivery): Promise<void> {
    const { deliveries, runtime, owner } = this.#parts;
    const { name } = this.#notifier;
    try {
      const settled = await this.#attempt(delivery);
      await deliveries.settle(name, delivery.delivery_id, { owner, now: runtime.clock.now(), ...settled });
    } catch (error) {
      // The delivery's lease expires, and it is repeated.
      runtime.logger.error({ error, notifier: name }, "a delivery could not be settled");
    }
  }

  async #attempt(delivery: Delivery): Promise<Settlement> {
    const { runtime } = this.#parts;
    const { name } = this.#notifier;
    const { workflow_id, gate_id, kind } = delivery;
    const about = { notifier: name, workflow_id, gate_id, kind };
    try {
      const work = await this.#workOf(delivery);
      if (work === null) return { state: "dropped" };
      const receipts = await this.#parts.deliveries.receipts(name, delivery);
      const taken = this.#readTaken(await this.#deliver(work, receipts), about);
      const { remark } = taken;
      if (remark !== undefined) runtime.logger.warn({ ...about, remark }, "a notice did not reach everybody");
      runtime.telemetry.mark?.("notice", { ...about, outcome: "delivered" });
      return { state: "delivered", receipt: this.#receiptToKeep(taken, work.notice) };
    } catch (thrown) {
      return this.#putBack(delivery, thrown);
    }
  }

  /** Returns the notice of a delivery, and the call that passes it on; null if there is nothing to report any more. */
  async #workOf(delivery: Delivery): Promise<Work | null> {
    const { store, withAway } = this.#parts;
    if (delivery.kind === "wait_reminded") {
      const reminder = await readWaitNotice(store, delivery);
      return reminder && { notice: null, pass: async (call) => this.#notifier.remind?.(reminder, call) };
    }
    const read = await readNotice(store, delivery);
    const notice = read && (await withAway(read));
    return notice && { notice, pass: (call) => this.#notifier.deliver(notice, call) };
  }

  #putBack(delivery: Delivery, thrown: unknown): Settlement {
    const { runtime } = this.#parts;
    const { workflow_id, gate_id, kind, attempts: before } = delivery;
    // If the delivery was stopped here, another process, or the next start, repeats it.
    if (this.#abort.signal.aborted)
      return { state: "pending", attempts: before, next_at: runtime.clock.now(), error: null };
    const attempts = before + 1;
    const error = errorOf(thrown, "T6_NOTICE_FAILED", deliverRef);
    const state = attempts < runtime.limits.maxDeliveryAttempts ? "pending" : "failed";
    const about = { notifier: this.#notifier.name, workflow_id, gate_id, kind, attempts, code: error.code };
    const log = state === "failed" ? runtime.logger.error : runtime.logger.warn;
    log({ ...about, error }, state === "failed" ? "a notice is given up" : "a notice could not be delivered");
    runtime.telemetry.mark?.("notice", { ...about, outcome: state === "failed" ? "failed" : "put_back" });
    const next_at = runtime.clock.now() + pauseMs(attempts, error, runtime.limits.maxDeliveryPauseMs);
    return { state, attempts, next_at, error: error.message };
  }

  async #deliver({ pass }: Work, receipts: readonly string[]): Promise<unknown> {
    const { clock, limits } = this.#parts.runtime;
    const stopping = this.#abort.signal;
    const cut = new AbortController();
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(stopping.reason);
    stopping.addEventListener("abort", stop);
    try {
      const signal = AbortSignal.any([cut.signal, stopping]);
      const delivered = pass({ signal, receipts });
      // A notifier that ignores the abort signal is not waited for any longer.
      return await callWithin(() => Promise.race([delivered, stopped.promise]), {
        clock,
        timeoutMs: limits.deliveryTimeoutMs,
        source: deliverRef,
        onTimeout: "T6_NOTICE_TIMEOUT",
        onThrow: "T6_NOTICE_FAILED",
        what: `the notifier ${this.#notifier.name}`,
      });
    } finally {
      stopping.removeEventListener("abort", stop);
      cut.abort();
    }
  }

  /** Reads the notifier's answer. An invalid answer cannot undo the delivery, so it is only logged. */
  #readTaken(given: unknown, about: object): NoticeTaken {
    const read = NoticeTaken.safeParse(given ?? {});
    if (read.success) return read.data;
    const { logger } = this.#parts.runtime;
    logger.warn({ ...about, issues: read.error.issues }, "a notifier gave neither a remark nor a receipt");
    return {};
  }

  /**
   * Returns the receipt to keep. A receipt is used until the decision is reported; a notifier that receives no
   * decisions would keep it for ever.
   */
  #receiptToKeep({ receipt }: NoticeTaken, notice: GateNotice | null): string | null {
    if (notice === null) return null;
    const { kind, gate_now } = notice;
    const hearsOfDecisions = this.#notifier.kinds?.includes("decided") ?? true;
    return hearsOfDecisions && kind !== "decided" && isOpenGate(gate_now) ? (receipt ?? null) : null;
  }
}

/** Returns the pause before the next attempt, which doubles each time; longer if the notifier asked for it. */
function pauseMs(attempts: number, { detail }: KernelError, most: number): number {
  const asked = detail["retry_after_ms"];
  return Math.max(Math.min(most, firstPauseMs * 2 ** (attempts - 1)), typeof asked === "number" ? asked : 0);
}
