/** Who waits for what a command comes to: each is answered once, when what it led to is committed. */
import { type KernelError, KernelErrorException } from "../../../contract/error.ts";
import type { Input } from "../decide/run/input.ts";
import type { IntentionOf } from "../decide/run/intention.ts";

export type Reply = IntentionOf<"answer" | "refuse">;

interface Waiting {
  readonly resolve: (data: never) => void;
  readonly reject: (error: unknown) => void;
}

type Told = Extract<Input, { readonly type: "told" }>;

const isBound = (input: Input): input is Told =>
  input.type === "told" && input.drafts.some(({ ceilings }) => ceilings !== undefined);

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

  answer(reply: Reply): void {
    const waiting = this.#waiting.get(reply.re);
    this.#waiting.delete(reply.re);
    if (reply.do === "answer") waiting?.resolve(reply.data as never);
    else waiting?.reject(new KernelErrorException(reply.error));
  }

  /**
   * Of what is to be decided again: what was to stay within a ceiling is asked for anew by its call, which is told `false`;
   * of several the first is tried alone.
   */
  askAnew(inputs: readonly Input[]): readonly Input[] {
    const bound = inputs.filter(isBound);
    const anew = bound.slice(bound.length === 1 ? 0 : 1);
    for (const { re } of anew) this.answer({ do: "answer", re, data: false });
    return inputs.filter((input) => !anew.includes(input as Told));
  }

  refuseAll(error: KernelError): void {
    const refused = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of refused) reject(new KernelErrorException(error));
  }
}
