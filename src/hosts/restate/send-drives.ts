/**
 * Asks Restate for drives, through its ingress.
 *
 * Owns: the requests that wait to be sent. Never: keeps a request that could not be sent; it is in the ledger, where
 * the sweep finds it.
 * 1.  The numbers of requests under way and waiting are limited; further ones are left to the sweep.
 * 2.  If one is not accepted, those behind it are dropped with it: Restate is unavailable, and the sweep asks again.
 */
import { connect, HttpCallError, type Ingress, SendOpts } from "@restatedev/restate-sdk-clients";
import type { KernelError } from "../../contract/error.ts";
import { kernelError } from "../../contract/error-codes.ts";
import { moduleRef } from "../../contract/module-ref.ts";
import type { ReadOptions } from "./index.ts";

/** A drive to ask for; a request with a key that Restate knows is not accepted a second time. */
export interface DriveRequest {
  readonly workflow_id: string;
  readonly key: string;
  readonly delayMs?: number;
}

export interface Sending extends Pick<ReadOptions, "ingress" | "headers" | "service"> {
  readonly onTaken: () => void;
  readonly onMissed: (error: KernelError) => void;
}

const maxAtOnce = 64;
const maxWaiting = 10_000;
const timeoutMs = 5_000;

export class DriveSender {
  readonly #options: Sending;
  readonly #ingress: Ingress;
  #waiting: DriveRequest[] = [];
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: Sending) {
    this.#options = options;
    this.#ingress = connect({ url: options.ingress.replace(/\/$/, ""), headers: options.headers });
  }

  post(asked: DriveRequest): void {
    if (this.#waiting.length >= maxWaiting) return this.#options.onMissed(tooMany());
    this.#waiting.push(asked);
    this.#sendNext();
  }

  /** Resolves when no request is under way and none waits. */
  async drained(): Promise<void> {
    while (this.#underWay.size > 0) await Promise.all(this.#underWay);
  }

  #sendNext(): void {
    if (this.#underWay.size >= maxAtOnce) return;
    const asked = this.#waiting.shift();
    if (asked === undefined) return;
    const sending: Promise<void> = this.#send(asked).finally(() => {
      this.#underWay.delete(sending);
      this.#sendNext();
    });
    this.#underWay.add(sending);
  }

  async #send({ workflow_id, key, delayMs = 0 }: DriveRequest): Promise<void> {
    const { service, onTaken, onMissed } = this.#options;
    const opts = SendOpts.from({ idempotencyKey: key, delay: delayMs, timeout: timeoutMs });
    try {
      await this.#ingress.send({ service, handler: "drive", key: workflow_id, parameter: null, opts });
      onTaken();
    } catch (thrown) {
      this.#waiting = [];
      onMissed(failureOf(thrown, "send"));
    }
  }
}

const tooMany = (): KernelError =>
  kernelError("T4_DISPATCHER_UNAVAILABLE", `the dispatcher has not taken ${maxWaiting} drives yet`, refOf("send"));

const refOf = (fn: string) => moduleRef(4, "restate_host", fn);

/** Returns the error of a failed request to Restate: it answered and refused, or it could not be reached. */
export function failureOf(thrown: unknown, fn: string): KernelError {
  const source = refOf(fn);
  const { message, cause } = thrown as Error;
  if (thrown instanceof HttpCallError)
    return kernelError("T4_DISPATCHER_REFUSED", `the dispatcher answers ${thrown.status}`, source, {
      detail: { status: thrown.status, answer: thrown.responseText.slice(0, 1000) },
    });
  const reason = cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code : message;
  return kernelError("T4_DISPATCHER_UNAVAILABLE", `the dispatcher cannot be asked: ${reason}`, source);
}
