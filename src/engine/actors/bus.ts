/**
 * The bus: every Signal and every Result between tiers, in one order for all subscribers.
 *
 * Owns: the drain queue, the routes, the asks that wait for an answer. Never: looks into a body, keeps history.
 * 1.  One queue, drained by one loop: an item that is published during a delivery is delivered after it, to every
 *     subscriber.
 * 2.  A subscriber that throws, at once or later, is logged; it stops neither the loop nor the process.
 * 3.  Only a branded Signal is accepted; an ask is answered exactly once, by a Result.
 */
import { Observable, type Observer, Subject, type Subscription } from "rxjs";
import type { KernelError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { callAside } from "../../contract/maybe-promise.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import { fail, metricsOf, type Result } from "../../contract/result.ts";
import { isSignal, type Signal } from "../../contract/signal.ts";
import { currentContext, type RunIn } from "./async-context.ts";

export const tiers = [0, 1, 2, 3, 4, 5, 6, 7] as const;
export type Tier = (typeof tiers)[number];

/** Addressing stays outside the Signal: the receiving tier, and the ask that the final answer belongs to. */
export interface Delivery {
  readonly to: Tier;
  readonly signal: Signal;
  readonly reply: string | null;
}

export interface Answer {
  readonly from: Tier;
  readonly in_reply_to: string;
  readonly result: Result;
  /**
   * Whether the content has not been checked yet: the asker gets it, observers see only that there was an answer
   * (SEC-04).
   */
  readonly held?: boolean;
}

/** A Signal on its way, or its answer. */
export type BusItem = Delivery | Answer;

/** The bus as tiers and their doors see it. */
export type Bus = Pick<SignalBus, "publish" | "ask" | "askNow" | "connect">;

interface Waiting {
  readonly item: BusItem;
  /** The context of the publisher, which the draining loop may not share. */
  readonly context: RunIn;
  next: Waiting | null;
}

interface Asking {
  readonly id: string;
  answered: Result | null;
}

const busRef = moduleRef(0, "bus", "publish");
const stopped = kernelError("T0_KERNEL_STOPPED", "the kernel has stopped", busRef);
const notASignal = kernelError(
  "T0_VALIDATION_SCHEMA_MISMATCH",
  "only a Signal made by a factory may be published",
  busRef,
);

export interface BusOptions {
  readonly onSubscriberError: (error: unknown) => void;
  readonly maxWaiting: number;
}

export class SignalBus {
  readonly #options: BusOptions;
  readonly #subject = new Subject<BusItem>();
  readonly #routes: (((item: Delivery) => void) | undefined)[] = [];
  readonly #waiters = new Map<string, (result: Result) => void>();
  /** The ask whose Signal is being drained: a handler that answers at once answers here, without a promise. */
  #asking: Asking | null = null;
  /** The first item that waits behind the one that is being delivered. */
  #first: Waiting | null = null;
  #last: Waiting | null = null;
  #draining = false;
  #closed = false;
  /** Signals in publication order, those that a Result carries included; read only. */
  readonly signals: Observable<Signal>;
  readonly items: Observable<BusItem>;

  constructor(options: BusOptions) {
    this.#options = options;
    const tell = (observer: Observer<Signal>) => (item: BusItem) => {
      for (const signal of signalsOf(item)) observer.next(signal);
    };
    this.items = new GuardedObservable((observer) => this.#subject.subscribe(observer), options.onSubscriberError);
    this.signals = new GuardedObservable(
      (observer) => this.#subject.subscribe(tell(observer)),
      options.onSubscriberError,
    );
  }

  publish(item: BusItem): void {
    if (this.#closed) return;
    if ("signal" in item && !isSignal(item.signal))
      throw new TypeError("only a Signal made by a factory may be published; use createSignal");
    if (this.#draining) this.#enqueue({ item, context: currentContext(), next: null });
    else this.#drain(item);
  }

  #enqueue(waiting: Waiting): void {
    if (this.#last === null) this.#first = waiting;
    else this.#last.next = waiting;
    this.#last = waiting;
  }

  #dequeue(): Waiting | undefined {
    const waiting = this.#first;
    this.#first = waiting?.next ?? null;
    if (this.#first === null) this.#last = null;
    return waiting ?? undefined;
  }

  /** Publishes a Signal and waits for the Result at the end of its route. Never rejects. */
  ask(to: Tier, signal: Signal): Promise<Result> {
    return Promise.resolve(this.askNow(to, signal));
  }

  /**
   * Publishes as `ask` does; if every handler on the route answers at once, and no delivery is under way, the Result is
   * returned itself.
   */
  askNow(to: Tier, signal: Signal): Result | Promise<Result> {
    const refusal = this.#refusal(signal);
    if (refusal !== null) return fail(refusal, metricsOf(busRef));
    const asking: Asking = { id: signal.id, answered: null };
    const outer = this.#asking;
    this.#asking = asking;
    try {
      this.publish({ to, signal, reply: signal.id });
    } finally {
      this.#asking = outer;
    }
    return asking.answered ?? this.#wait(signal.id);
  }

  #wait(id: string): Promise<Result> {
    return new Promise((resolve) => this.#waiters.set(id, resolve));
  }

  #refusal(signal: Signal): KernelError | null {
    if (this.#closed) return stopped;
    if (!isSignal(signal)) return notASignal;
    const { maxWaiting } = this.#options;
    if (this.#waiters.size < maxWaiting) return null;
    return kernelError(
      "T5_IN_FLIGHT_LIMIT",
      `more than limits.maxBusWaiting = ${maxWaiting} asks are unanswered`,
      busRef,
    );
  }

  connect(tier: Tier, route: (item: Delivery) => void): void {
    this.#routes[tier] = route;
  }

  observers(): number {
    return this.#subject.observed ? 1 : 0;
  }

  waiting(): number {
    return this.#waiters.size;
  }

  close(): void {
    this.#closed = true;
    this.#first = this.#last = null;
    if (this.#asking !== null) this.#asking.answered ??= fail(stopped, metricsOf(busRef));
    for (const resolve of this.#waiters.values()) resolve(fail(stopped, metricsOf(busRef)));
    this.#waiters.clear();
    this.#subject.complete();
  }

  #drain(first: BusItem): void {
    this.#draining = true;
    try {
      this.#deliver(first);
      for (let next = this.#dequeue(); next !== undefined; next = this.#dequeue()) this.#deliverIn(next);
    } finally {
      this.#draining = false;
    }
  }

  #deliverIn({ context, item }: Waiting): void {
    context(() => this.#deliver(item));
  }

  #deliver(item: BusItem): void {
    const isDelivery = "to" in item;
    if (this.#subject.observed) this.#subject.next(!isDelivery && item.held === true ? withoutSignals(item) : item);
    if (isDelivery) this.#routes[item.to]?.(item);
    else this.#settle(item);
  }

  #settle({ in_reply_to, result }: Answer): void {
    if (this.#asking?.id === in_reply_to) {
      this.#asking.answered ??= result;
      return;
    }
    const resolve = this.#waiters.get(in_reply_to);
    this.#waiters.delete(in_reply_to);
    resolve?.(result);
  }
}

const signalsOf = (item: BusItem): readonly Signal[] => ("to" in item ? [item.signal] : item.result.signals);

const withoutSignals = (item: Answer): Answer => ({ ...item, result: { ...item.result, signals: [] } });

/** An Observable that catches the errors of its subscribers one by one, also behind operators. */
class GuardedObservable<T> extends Observable<T> {
  readonly #report: (error: unknown) => void;

  constructor(subscribe: (observer: Observer<T>) => Subscription, report: (error: unknown) => void) {
    super((subscriber) => subscribe(subscriber));
    this.#report = report;
  }

  override lift<R>(operator?: Parameters<Observable<T>["lift"]>[0]): Observable<R> {
    const lifted = new GuardedObservable<R>(() => undefined as never, this.#report);
    lifted.source = this as unknown as Observable<unknown>;
    lifted.operator = operator as never;
    return lifted;
  }

  override subscribe(observerOrNext?: Partial<Observer<T>> | ((value: T) => void) | null): Subscription {
    if (observerOrNext !== null && typeof observerOrNext === "object" && "isStopped" in observerOrNext)
      return super.subscribe(observerOrNext);
    const observer = typeof observerOrNext === "function" ? { next: observerOrNext } : (observerOrNext ?? {});
    // Each subscriber runs in its own context, whoever sent the Signal.
    const here = currentContext();
    const guard =
      <A extends unknown[]>(call: ((...args: A) => void) | undefined) =>
      (...args: A): void =>
        here(() => callAside(() => call?.apply(observer, args), this.#report));
    return super.subscribe({
      next: guard(observer.next),
      error: observer.error === undefined ? this.#report : guard(observer.error),
      complete: guard(observer.complete),
    });
  }
}
