/** Asking a tier a message of its catalogue. */
import type { KernelError } from "../../contract/error.ts";
import type { Message } from "../../contract/messages/message.ts";
import type { ModuleRef } from "../../contract/module-ref.ts";
import type { Signal, Tags } from "../../contract/signal.ts";
import { consume, dataOf, type Runtime } from "./runtime.ts";

/** The origin of a question. */
export interface AskedBy {
  readonly source: ModuleRef;
  readonly traceId: string;
  readonly parentId?: string | null;
  readonly tags?: Tags | null;
  /** Hears of the warning of a partial answer. */
  readonly onWarning?: (warning: KernelError) => void;
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

/** Asks, and returns the answer at the end of the message's route. @throws KernelErrorException the error of the answer. */
export async function askTier<Question, Final>(
  runtime: Runtime,
  message: Message<Question, unknown, Final>,
  question: Question,
  by: AskedBy,
): Promise<Final> {
  const result = await runtime.ask(message.to, signalFor(runtime, message, question, by));
  return dataOf<Final>(result, by.onWarning);
}

/** Asks a tier for its consent alone: an answer without data is one as well. @throws KernelErrorException the error of the answer. */
export async function requireTier<Question>(
  runtime: Runtime,
  message: Message<Question>,
  question: Question,
  by: AskedBy,
): Promise<void> {
  consume(await runtime.ask(message.to, signalFor(runtime, message, question, by)), by.onWarning ?? (() => undefined));
}
