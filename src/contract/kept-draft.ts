/**
 * The version of a step that another workflow has made, and whose calls answer in a workflow that repeats its work.
 */
export interface KeptDraft {
  readonly draft_version: number;
  /** The workflow that began this version, and whose id its keys contain; absent if they contain none. */
  readonly workflow_id?: string;
  /** The id that the step had there, which its keys contain; absent if it is the same. */
  readonly step_id?: string;
}

/** The kept versions by the base ids of their steps. */
export type KeptDrafts = Readonly<Record<string, KeptDraft>>;

const first: KeptDraft = { draft_version: 1 };

/** Returns the version of a step that other workflows have made: the first where none is named. */
export const keptDraftOf = (kept: KeptDrafts | null, base: string): KeptDraft =>
  (kept !== null && Object.hasOwn(kept, base) ? kept[base] : undefined) ?? first;
