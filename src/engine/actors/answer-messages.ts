/**
 * The doors of a tier, made from the messages that it answers and one handler for each.
 *
 * 1.  The compiler checks that each message has a handler, and that the handler answers the declared shape.
 * 2.  The body of a Signal becomes the question here and nowhere else.
 */
import type { KernelError } from "../../contract/error.ts";
import { follow } from "../../contract/maybe-promise.ts";
import type { AnswerOf, Message, QuestionOf, Relayed } from "../../contract/messages/message.ts";
import { type ModuleRef, moduleRef } from "../../contract/module-ref.ts";
import { metricsOf, ok, partial, type Result } from "../../contract/result.ts";
import type { Signal, Tags } from "../../contract/signal.ts";
import type { Door } from "./define-tier.ts";
import type { Runtime } from "./runtime.ts";

/** The Signal that carries a question, and the runtime of the tier that answers. */
export interface Visit {
  readonly signal: Signal;
  readonly runtime: Runtime;
}

interface Beside {
  readonly tags?: Tags;
  /** Makes the answer a partial one. */
  readonly warning?: KernelError | null;
  readonly metrics?: Parameters<typeof metricsOf>[1];
}

/** An answer with tags, a warning or metrics beside it. */
export class Reply<Answer> {
  readonly data: Answer;
  readonly beside: Beside;

  constructor(data: Answer, beside: Beside) {
    this.data = data;
    this.beside = beside;
  }
}

type Handled<Answer> = [Answer] extends [Relayed] ? Result : Answer | Reply<Answer>;

/** One handler for each message of a catalogue. */
export type Handlers<Catalogue> = {
  readonly [Name in keyof Catalogue]: (
    question: QuestionOf<Catalogue[Name]>,
    visit: Visit,
  ) => Handled<AnswerOf<Catalogue[Name]>> | Promise<Handled<AnswerOf<Catalogue[Name]>>>;
};

/** Properties of a door that no message declares. */
type DoorOptions<Catalogue> = { readonly [Name in keyof Catalogue]?: Pick<Door, "held" | "check"> };

type AnyHandler = (question: unknown, visit: Visit) => unknown;

/** Returns the doors of a tier. */
export function answerMessages<Catalogue extends Readonly<Record<string, Message>>>(
  messages: Catalogue,
  handlers: Handlers<Catalogue>,
  options: DoorOptions<Catalogue> = {},
): Readonly<Record<string, Door>> {
  const doors = Object.entries(messages).map(([name, message]) => {
    const handler = handlers[name] as unknown as AnyHandler;
    return [`${message.carrier}:${message.name}`, { ...doorOf(message, handler), ...options[name] }] as const;
  });
  return Object.fromEntries(doors);
}

function doorOf(message: Message, handler: AnyHandler): Door {
  const { module, function: fn, next, carrier } = message;
  const source = moduleRef(message.to, module, fn);
  const door = { module, function: fn, ...(next === undefined ? {} : { next }) };
  return {
    ...door,
    handle(signal, runtime) {
      const question = carrier === "data" ? signal.body["data"] : signal.body;
      const visit = { signal, runtime };
      return follow(handler(question, visit), (handled) => resultOf(message.answer, source, { handled, visit }));
    },
  };
}

function resultOf(
  schema: string | null,
  source: ModuleRef,
  { handled, visit }: { readonly handled: unknown; readonly visit: Visit },
): Result {
  if (schema === null) return handled as Result;
  const { data, beside } = handled instanceof Reply ? handled : { data: handled, beside: {} };
  const { tags = null, warning = null, metrics } = beside as Beside;
  const { signal, runtime } = visit;
  const parent = { parentId: signal.id };
  const out = Object.freeze([runtime.signals.createDataSignal(data, schema, source, signal.trace_id, tags, parent)]);
  const measured = metricsOf(source, metrics);
  return warning === null ? ok(out, measured) : partial(out, warning, measured);
}
