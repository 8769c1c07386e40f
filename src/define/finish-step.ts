/** Finishes the steps of all builders: their references are written, and the steps before them named by their ids. */
import { outputOf, writeReferences } from "../contract/reference.ts";
import type { CommonDraft, SettledStep } from "./quiet-steps.ts";

/** A step with the members of its kind. */
export interface Written extends CommonDraft {
  readonly params: unknown;
  readonly [member: string]: unknown;
}

/** The call that undoes a step, as its author writes it: its params are made from the output of that step. */
export interface WrittenUndo {
  readonly operator: string;
  readonly params: (made: never) => unknown;
}

/** Finishes the call that undoes a step: in its params the id of that step refers to its output. */
export function finishUndo<U extends WrittenUndo>(
  undo: U,
  stepId: string,
  { refersTo, mayLack }: { readonly refersTo: (id: string) => void; readonly mayLack: (at: string) => boolean },
) {
  const named = (id: string): void => {
    if (id !== stepId) refersTo(id);
  };
  return { ...undo, params: writeReferences(undo.params(outputOf(stepId) as never), named, mayLack) };
}

/** Finishes a step: its references are written, its dependencies named by id, and its output can be referred to. */
export function finishStep<S>(draft: Written, mayLack: (at: string) => boolean = () => false): S {
  const { step_id, params, depends_on = [], when } = draft;
  const named = new Map<string, string | SettledStep>(
    depends_on.map((one) => [one.step_id, "settled" in one ? one : one.step_id]),
  );
  const refersTo = (id: string): void => {
    if (!named.has(id)) named.set(id, id);
  };
  const plain = {
    ...draft,
    params: writeReferences(params, refersTo, mayLack),
    ...(when !== undefined && { when: writeReferences(when, refersTo) }),
    depends_on: [...named.values()],
  };
  return Object.defineProperty(plain, "output", { get: () => outputOf(step_id) }) as unknown as S;
}
