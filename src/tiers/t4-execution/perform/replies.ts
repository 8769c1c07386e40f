/** Who waits for what a command comes to: each is answered once, when what it led to is committed. */
import { type KernelError, KernelErrorException } from "../../../contract/error.ts";
import type { Intention } from "../decide/intention.ts";

export type Reply = Extract<Intention, { readonly do: "answer" | "refuse" }>;

interface Waiting {
  readonly resolve: (data: never) => void;
  readonly reject: (error: unknown) => void;
}

export class Replies {
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Hands out a number to answer under. Rejects with what is refused. */
  await<T>(say: (re: number) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#next += 1;
      this.#waiting.set(this.#next, { resolve, reject });
      say(this.#next);
    });
  }

  answer(said: Reply): void {
    const waiting = this.#waiting.get(said.re);
    this.#waiting.delete(said.re);
    if (said.do === "answer") waiting?.resolve(said.data as never);
    else waiting?.reject(new KernelErrorException(said.error));
  }

  refuseAll(error: KernelError): void {
    const refused = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of refused) reject(new KernelErrorException(error));
  }
}
