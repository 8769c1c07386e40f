// Change: what a commit is to the reader of release notes, and the words of the steps between history and draft.
// Owns: the kinds of change and their order in the document.
// Never: decides a commit's kind (classify.ts does) or renders it (draft.ts does).

import { z } from "zod";

/** In the order of their sections. A breaking change of any kind comes before all of them. */
export const changeKinds = [
  "feature",
  "fix",
  "performance",
  "security",
  "revert",
  "documentation",
  "dependency",
  "maintenance",
  "other",
  "merge",
] as const;
export const ChangeKind = z.enum(changeKinds);
export type ChangeKind = z.infer<typeof ChangeKind>;

/** `reverted_by` is the short hash of a later commit among the same that undoes this one. */
export const Change = z.object({
  hash: z.string(),
  short: z.string(),
  kind: ChangeKind,
  scope: z.string().nullable(),
  summary: z.string(),
  breaking: z.boolean(),
  breaking_note: z.string().nullable(),
  reverted_by: z.string().nullable(),
});
export type Change = Readonly<z.infer<typeof Change>>;

export const ChangeGroup = z.object({ key: z.string(), title: z.string(), changes: z.array(Change) });
export type ChangeGroup = Readonly<z.infer<typeof ChangeGroup>>;

/** The outcome: what a person reads, edits and countersigns. `commits` is how many the document accounts for. */
export const ReleaseNotesDraft = z.object({
  markdown: z.string().min(1),
  version: z.string().min(1),
  commits: z.int().nonnegative(),
});
export type ReleaseNotesDraft = Readonly<z.infer<typeof ReleaseNotesDraft>>;
