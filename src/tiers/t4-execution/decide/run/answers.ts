/**
 * The scopes of passes and their answers. A pass may wait for an answer and then begins anew, so each pass has a name:
 * one for each step, one for planning, one for each command.
 *
 * Owns: the answers of passes that are not finished. Never: puts a question itself.
 * 1.  A question is put once in a scope; later passes get the same answer, until the scope is finished or forgotten.
 * 2.  An answer that arrives after its scope was forgotten is ignored.
 */
import { raise } from "../../../../contract/error.ts";
import type { Answered, Input } from "./input.ts";
import { type Question, type TypedQuestion, toHost } from "./intention.ts";
import { pending } from "./run.ts";

interface Entry {
  /** The number of the question that this entry waits for. */
  readonly nr: number;
  answer: Answered | null;
  received: boolean;
}

/** The place of an answer: its scope, its key in the scope, and the number of its question. */
export type Place = Pick<Extract<Input, { readonly type: "answered" }>, "scope" | "key" | "nr">;

/** Returns the name under which a row records a question and its answer. */
export const questionName = (scope: string, key: string): string => `${scope} ${key}`;

interface Scope {
  readonly name: string;
  entries: Map<string, Entry> | null;
  kept: Map<string, unknown> | null;
  /** The number of marks in earlier passes, and in this one; a repeated mark is not reported again. */
  marked: number;
  marks: number;
}

export class PassScopes {
  /** Puts a question; returns its answer, or null if the answer comes later. */
  readonly #put: (place: Place, question: Question) => Answered | null;
  #asked = 0;
  /** The scopes whose pass waits. */
  readonly #scopes = new Map<string, Scope>();
  #current: Scope | null = null;

  constructor(put: (place: Place, question: Question) => Answered | null) {
    this.#put = put;
  }

  /**
   * Runs a pass; returns false if it waits. Its answers are kept for the next pass, and forgotten when a pass finishes.
   */
  pass(name: string, work: () => void): boolean {
    const before = this.#current;
    const scope: Scope = this.#scopes.get(name) ?? { name, entries: null, kept: null, marked: 0, marks: 0 };
    this.#scopes.delete(name);
    this.#current = scope;
    scope.marks = 0;
    try {
      work();
      return true;
    } catch (thrown) {
      if (thrown !== pending) throw thrown;
      this.#scopes.set(name, scope);
      return false;
    } finally {
      this.#current = before;
    }
  }

  /** Returns whether the scope has an unanswered question. */
  waits(name: string): boolean {
    return this.#hasOpen(name);
  }

  /** Returns whether a pass of the scope has begun and is not finished. */
  hasBegun(name: string): boolean {
    return this.#scopes.has(name);
  }

  #hasOpen(name: string): boolean {
    for (const { answer } of this.#scopes.get(name)?.entries?.values() ?? []) if (answer === null) return true;
    return false;
  }

  anyWaits(): boolean {
    for (const name of this.#scopes.keys()) if (this.#hasOpen(name)) return true;
    return false;
  }

  clear(): void {
    this.#scopes.clear();
  }

  /** Returns the answer, and whether this pass is the first to read it. @throws pending if there is no answer yet. */
  ask<Answer>(
    key: string,
    { question }: TypedQuestion<Answer>,
  ): { readonly answer: Answered<Answer>; readonly isNew: boolean } {
    const scope = this.#here();
    scope.entries ??= new Map();
    const known = scope.entries.get(key);
    if (known?.answer === null) throw pending;
    if (known !== undefined) {
      const isNew = !known.received;
      known.received = true;
      return { answer: known.answer as Answered<Answer>, isNew };
    }
    this.#asked += 1;
    const entry: Entry = { nr: this.#asked, answer: null, received: false };
    scope.entries.set(key, entry);
    entry.answer = this.#put({ scope: scope.name, key, nr: entry.nr }, question);
    if (entry.answer === null) throw pending;
    entry.received = true;
    return { answer: entry.answer as Answered<Answer>, isNew: true };
  }

  /**
   * Returns a value that is computed from something that no ledger may hold, such as a person's edit. The result is
   * recorded like an answer, and a replay reads it from the record. @throws KernelErrorException if `make` throws it.
   */
  derive<T>(key: string, make: () => T): T {
    const { error, data } = this.ask(key, toHost("derive", { make })).answer;
    return error === null ? (data as T) : raise(error);
  }

  /** Returns a value that is the same in every pass of the scope. */
  keep<T>(key: string, make: () => T): T {
    const scope = this.#here();
    scope.kept ??= new Map();
    const { kept } = scope;
    if (!kept.has(key)) kept.set(key, make());
    return kept.get(key) as T;
  }

  #here(): Scope {
    if (this.#current === null) throw new Error("a question outside a pass");
    return this.#current;
  }

  /** Returns whether an earlier pass has set this mark already, and counts it. */
  isMarked(): boolean {
    const scope = this.#current;
    if (scope === null) return false;
    scope.marks += 1;
    if (scope.marks <= scope.marked) return true;
    scope.marked = scope.marks;
    return false;
  }

  /** Takes an answer; returns false if no pass waits for its question any more. */
  answered({ scope, key, nr, answer }: Extract<Input, { readonly type: "answered" }>): boolean {
    const entry = this.#scopes.get(scope)?.entries?.get(key);
    if (entry?.nr !== nr || entry.answer !== null) return false;
    entry.answer = answer;
    return true;
  }
}
