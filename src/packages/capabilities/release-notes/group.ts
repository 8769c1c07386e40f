/**
 * Group: changes sorted into the sections of the document. Pure.
 *
 * Owns: the default sections, and the commits without an entry.
 * 1.  Each change lands in exactly one group, or among the omissions with the reason.
 * 2.  Within a group the order is the history's, but changes of one scope stand together; an empty group is left out.
 * 3.  A change and the one that undoes it, both of the range, have no entry: the reader never meets either.
 */
import type { Change, ChangeGroup, Omission, Section } from "./change.ts";

export const defaultSections: readonly Section[] = [
  { title: "Breaking changes", breaking: true },
  { title: "Features", kinds: ["feature"] },
  { title: "Fixes", kinds: ["fix"] },
  { title: "Performance", kinds: ["performance"] },
  { title: "Security", kinds: ["security"] },
  { title: "Other changes", kinds: ["other"] },
  { title: "Reverts", kinds: ["revert"] },
  { title: "Documentation", kinds: ["documentation"] },
  { title: "Dependencies", kinds: ["dependency"] },
  { title: "Maintenance", kinds: ["maintenance"] },
  { title: null, kinds: ["ci", "release", "merge"] },
];
/** The sections for histories whose subjects name no kind of change: changes of no other kind are grouped by folder. */
export const sectionsByFolder: readonly Section[] = defaultSections.map((section) =>
  section.kinds?.includes("other") ? { ...section, each: "folder" } : section,
);
/** The section for changes that no configured section takes. */
const lastSection: Section = { title: "Other changes" };
/** The title of that section if no section precedes it. */
const firstTitle = "Changes";

export interface Grouped {
  readonly groups: readonly ChangeGroup[];
  readonly omitted: readonly Omission[];
}

/** Groups changes: each goes to the first section that it fits; sections of one title are one. */
export function groupChanges(changes: readonly Change[], configured: readonly Section[] = defaultSections): Grouped {
  const sections = [...configured, lastSection];
  const titleOf = (change: Change) => (sections.find((section) => fits(change, section)) ?? lastSection).title;
  const lasting = changes.filter(({ undone_by }) => undone_by === null);
  const byTitle = Map.groupBy(lasting, titleOf);
  const titles = [...new Set(sections.map(({ title }) => title))];
  const groups = titles.flatMap((title) => {
    const own = byTitle.get(title) ?? [];
    if (title === null || own.length === 0) return [];
    const isSplit = sections.some((section) => section.title === title && section.each === "folder");
    return isSplit ? splitByFolder(title, own) : [{ title, changes: standTogether(own) }];
  });
  const [first, ...rest] = groups;
  const omitted = new Set([...changes.filter((change) => change.undone_by !== null), ...(byTitle.get(null) ?? [])]);
  return {
    groups: first?.title === lastSection.title ? [{ ...first, title: firstTitle }, ...rest] : groups,
    omitted: changes.filter((change) => omitted.has(change)).map(describeOmission),
  };
}

/**
 * Splits by folder, the largest first; a change that is alone in its folder, or in none, stands under the title itself.
 */
function splitByFolder(title: string, changes: readonly Change[]): readonly ChangeGroup[] {
  const folders = [...Map.groupBy(changes, ({ folder = "" }) => folder)]
    .filter(([folder, { length }]) => folder !== "" && length > 1)
    .sort(([, one], [, other]) => other.length - one.length);
  const placed = new Set(folders.flatMap(([, own]) => own));
  const rest = changes.filter((change) => !placed.has(change));
  return [...folders, ...(rest.length === 0 ? [] : [[title, rest] as const])].map(([name, own]) => ({
    title: name,
    changes: standTogether(own),
  }));
}

const standTogether = (changes: readonly Change[]): Change[] =>
  [...Map.groupBy(changes, ({ scope }) => scope).values()].flat();

const describeOmission = ({ short, kind, undone_by }: Change): Omission => ({
  short,
  why: undone_by === null ? kind : "undone",
});

const fits = (change: Change, { kinds, types, scopes, breaking }: Section): boolean =>
  isAmong(change.kind, kinds) &&
  isAmong(change.type, types) &&
  isAmong(change.scope, scopes) &&
  (breaking === undefined || change.breaking === breaking);

const isAmong = (word: string | null, words: readonly string[] | undefined): boolean =>
  words === undefined || (word !== null && words.includes(word));
