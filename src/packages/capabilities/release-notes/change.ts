/**
 * Change: a commit as the reader of release notes sees it, and the records of the steps between history and draft.
 *
 * Owns: the kinds of change, and the criteria of a section. Never: decides a commit's kind (classify.ts does) or
 * renders it (draft.ts does).
 */
import { z } from "zod";

export const changeKinds = [
  "feature",
  "fix",
  "performance",
  "security",
  "other",
  "revert",
  "documentation",
  "dependency",
  "maintenance",
  "ci",
  "release",
  "merge",
] as const;
export const ChangeKind = z.enum(changeKinds);
export type ChangeKind = z.infer<typeof ChangeKind>;

/**
 * `type` is the word before the colon of a conventional subject; `closes` the issues that its body closes; `undone_by`
 * the short hash of its undoing or undone other.
 */
export const Change = z.object({
  hash: z.string(),
  short: z.string(),
  author: z.string(),
  kind: ChangeKind,
  type: z.string().nullable(),
  scope: z.string().nullable(),
  summary: z.string(),
  breaking: z.boolean(),
  breaking_note: z.string().nullable(),
  closes: z.array(z.string()),
  undone_by: z.string().nullable(),
  folder: z.string().optional(),
});
export type Change = Readonly<z.infer<typeof Change>>;

/**
 * A section takes the changes that match all its criteria; without a title its changes are counted and not listed. With
 * `each`, those of one folder have a section of their own, and a change that is alone in its folder stays.
 */
export const Section = z.strictObject({
  title: z.string().min(1).max(100).nullable(),
  kinds: z.array(ChangeKind).min(1).optional(),
  types: z.array(z.string().min(1)).min(1).optional(),
  scopes: z.array(z.string().min(1)).min(1).optional(),
  breaking: z.boolean().optional(),
  each: z.literal("folder").optional(),
});
export type Section = Readonly<z.infer<typeof Section>>;

export const ChangeGroup = z.object({ title: z.string(), changes: z.array(Change) });
export type ChangeGroup = Readonly<z.infer<typeof ChangeGroup>>;

/** A commit without an entry of its own, and why: its kind, or that it was undone in the same range. */
export const Omission = z.object({ short: z.string(), why: z.enum([...changeKinds, "undone"]) });
export type Omission = Readonly<z.infer<typeof Omission>>;

/**
 * The outcome: the document that a person reads, edits and countersigns. `commits` is the number of commits that it
 * accounts for.
 */
export const ReleaseNotesDraft = z.object({
  markdown: z.string().min(1),
  version: z.string().min(1),
  commits: z.int().nonnegative(),
});
export type ReleaseNotesDraft = Readonly<z.infer<typeof ReleaseNotesDraft>>;

/** The same for programs, as JSON. */
export const ReleaseNotesData = z.object({ json: z.string().min(1) });
