/**
 * A message: a question that a tier answers, declared once for both ends.
 *
 * Owns: the Signal that carries the question, the tier that answers it, and the shapes of question and answer. Never:
 * the answer. The shapes are types: the compiler checks both ends against them. A door checks the Signal itself, which
 * may come from a host.
 */

/** The number of a tier. */
export type TierNumber = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** The kind of Signal that carries a message: DATA under its schema, or a COMMAND under its action. */
export type Carrier = "data" | "command";

/**
 * `Answer` is the return type of the handler. `Final` is the type that the asker receives: another tier's answer if the
 * message has a route (`next`).
 */
export interface Message<Question = never, Answer = unknown, Final = unknown> {
  /** The tier that answers. */
  readonly to: TierNumber;
  readonly carrier: Carrier;
  /** The schema of the DATA Signal, or the action of the COMMAND, that carries the question. */
  readonly name: string;
  /** The schema of the DATA Signal that carries the answer. Null where the handler makes the Signals itself. */
  readonly answer: string | null;
  /** The module and the function that answer: the origin of the answer's Signal. */
  readonly module: string;
  readonly function: string;
  /** The tier that receives the answer in place of the asker. */
  readonly next?: TierNumber;
  /** Carries the types alone; no message has this member at run time. */
  readonly shapes?: (question: Question) => { readonly answer: Answer; readonly final: Final };
}

type Declared = Pick<Message, "module" | "function" | "next">;

/** The answer of a message whose handler makes the Signals itself. */
export interface Relayed {
  readonly relayed: true;
}

/** Returns the ways to declare the messages that one tier answers. */
export function messagesOf(to: TierNumber) {
  return {
    /** DATA that is answered by DATA. */
    data: <Question, Answer, Final = Answer>(
      name: string,
      answer: string,
      declared: Declared,
    ): Message<Question, Answer, Final> => ({ to, carrier: "data", name, answer, ...declared }),
    /** DATA for which the handler makes the Signals that go on, if any. */
    relay: <Question, Final = void>(name: string, declared: Declared): Message<Question, Relayed, Final> => ({
      to,
      carrier: "data",
      name,
      answer: null,
      ...declared,
    }),
    /** A COMMAND that is answered by DATA. */
    command: <Question, Answer>(
      name: string,
      answer: string,
      declared: Declared,
    ): Message<Question, Answer, Answer> => ({
      to,
      carrier: "command",
      name,
      answer,
      ...declared,
    }),
    /** A COMMAND for which the handler makes the Signals that go on. */
    relayCommand: <Question>(name: string, declared: Declared): Message<Question, Relayed, unknown> => ({
      to,
      carrier: "command",
      name,
      answer: null,
      ...declared,
    }),
  };
}

type Shapes<M> = M extends {
  readonly shapes?: (question: infer Question) => { answer: infer Answer; final: infer Final };
}
  ? { question: Question; answer: Answer; final: Final }
  : never;
export type QuestionOf<M> = Shapes<M>["question"];
export type AnswerOf<M> = Shapes<M>["answer"];
