/** Asking a tier a message of its catalogue. */
import type { KernelError } from "../../contract/error.ts";
import type { Message } from "../../contract/messages/message.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import type { Result } from "../../contract/result.ts";
import type { Signal, Tags } from "../../contract/signal.ts";
import { dataOf, type Runtime } from "./runtime.ts";

/** The origin of a question. */
export interface AskedBy {
  readonly source: ModuleRef;
  readonly traceId: string;
  readonly parentId?: string | null;
  readonly tags?: Tags | null;
}

/** Returns the DATA Signal that carries a question. */
export function signalFor<Question>(
  { signals }: Pick<Runtime, "signals">,
  { name }: Message<Question>,
  question: Question,
  { source, traceId, parentId = null, tags = null }: AskedBy,
): Signal {
  return signals.createDataSignal(question, name, source, traceId, tags, { parentId });
}

/** Sends a question; the caller reads its Result with `finalOf`. */
export const sendQuestion = <Question>(
  runtime: Runtime,
  message: Message<Question>,
  question: Question,
  by: AskedBy,
): Promise<Result> => runtime.ask(message.to, signalFor(runtime, message, question, by));

/**
 * Returns the answer in the Result at the end of the message's route. @throws KernelErrorException the error of the
 * Result.
 */
export const finalOf = <Final>(
  _message: Message<never, unknown, Final>,
  result: Result,
  onWarning?: (warning: KernelError) => void,
): Final => dataOf<Final>(result, onWarning);

/**
 * Asks, and returns the answer at the end of the message's route. @throws KernelErrorException the error of the answer.
 */
export async function askTier<Question, Final>(
  runtime: Runtime,
  message: Message<Question, unknown, Final>,
  question: Question,
  by: AskedBy,
): Promise<Final> {
  return finalOf(message, await sendQuestion(runtime, message, question, by));
}
