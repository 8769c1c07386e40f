/** The questions of perception and judgement to a host: classifying, scoring, validating, all pure or nearly so. */

/** Types a request that carries no hint. `confidence` is 0 to 1. */
export interface Classifier {
  /** Finds the intent type of a text among the candidates, and how sure that is. */
  readonly classify: (question: {
    readonly text: string;
    readonly candidates: readonly { readonly intent_type: string; readonly keywords: readonly string[] }[];
  }) =>
    | { readonly intent_type: string | null; readonly domain: string; readonly confidence: number }
    | Promise<{ readonly intent_type: string | null; readonly domain: string; readonly confidence: number }>;
}

/** Measures of a request and of an output; each has a default. */
export interface Scorers {
  /** Returns the urgency of a request. */
  readonly urgency: (text: string) => "low" | "normal" | "high" | "critical";
  /** Returns the complexity of a request; the pipeline depends on it. */
  readonly complexity: (question: {
    readonly text: string;
    readonly inputs: unknown;
  }) => "trivial" | "simple" | "moderate" | "complex";
  /** 0 to 1: how sure the output may be of itself. */
  readonly confidence: (question: {
    readonly text: string;
    readonly evidence: readonly string[];
    readonly stated: number | null;
  }) => number;
  /** Returns, from 0 to 1, how far the steps' results support the output. */
  readonly grounding: (question: { readonly text: string; readonly evidence: readonly string[] }) => number;
}

/** Whether a value may pass, the reason if not, and the value that may pass instead. */
export type Verdict<T> =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string; readonly sanitized?: T };

/** The three validations; `validateChunk` lets streams pass before the whole output is checked. */
export interface Security {
  /** Checks the text of a request before it is classified. */
  readonly validate: (userInput: string) => Verdict<string> | Promise<Verdict<string>>;
  /** Checks the params of an operator's call. */
  readonly validateParams: (resolved: unknown) => Verdict<unknown> | Promise<Verdict<unknown>>;
  /** Checks the output of an operator, as text. */
  readonly validateOutput: (output: string) => Verdict<string> | Promise<Verdict<string>>;
  /** Checks a piece of a stream before it is shown. */
  readonly validateChunk?: (chunk: string) => Verdict<string> | Promise<Verdict<string>>;
}
