/** The replies to commands: each caller is answered once, when the events of its command are committed. */
import { type KernelError, KernelErrorException } from "../../../contract/error.ts";
import type { Input } from "../decide/run/input.ts";
import type { IntentionOf } from "../decide/run/intention.ts";

export type Reply = IntentionOf<"answer" | "refuse">;

interface Waiting {
  readonly resolve: (data: never) => void;
  readonly reject: (error: unknown) => void;
}

type ReportedInput = Extract<Input, { readonly type: "reported" }>;

const isBound = (input: Input): input is ReportedInput =>
  input.type === "reported" && input.drafts.some(({ ceilings }) => ceilings !== undefined);

export class Replies {
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Waits for the reply under a new number, which `say` receives. Rejects if the command is refused. */
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
   * Handles inputs that are to be decided again after a conflicting append. Reports with ceilings are refused with
   * `false`, so that their calls ask again; if there is just one, it is refused too, and else the first is decided
   * again alone.
   */
  askAnew(inputs: readonly Input[]): readonly Input[] {
    const bound = inputs.filter(isBound);
    const anew = bound.slice(bound.length === 1 ? 0 : 1);
    for (const { re } of anew) this.answer({ do: "answer", re, data: false });
    return inputs.filter((input) => !anew.includes(input as ReportedInput));
  }

  refuseAll(error: KernelError): void {
    const refused = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of refused) reject(new KernelErrorException(error));
  }
}
