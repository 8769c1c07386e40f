/** Finishes the steps of all builders: their references are written, and the steps before them named by their ids. */
import { outputOf, writeReferences } from "../contract/reference.ts";
import type { CommonDraft, SettledStep } from "./quiet-steps.ts";

/** A step with the members of its kind. */
export interface Written extends CommonDraft {
  readonly params: unknown;
  readonly [member: string]: unknown;
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
