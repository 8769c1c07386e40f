// Group: changes sorted into the sections of the document. Pure.
// Owns: the sections' titles and order.
// INV-1  Each change lands in exactly one group; a breaking change lands in the first.
// INV-2  Within a group the order is the history's; an empty group is left out.

import { type Change, type ChangeGroup, type ChangeKind, changeKinds } from "./change.ts";

const titles: Readonly<Record<ChangeKind, string>> = {
  feature: "Features",
  fix: "Fixes",
  performance: "Performance",
  security: "Security",
  revert: "Reverts",
  documentation: "Documentation",
  dependency: "Dependencies",
  maintenance: "Maintenance",
  other: "Other changes",
  merge: "Merges",
};

export function groupChanges(changes: readonly Change[]): readonly ChangeGroup[] {
  const breaking = { key: "breaking", title: "Breaking changes", changes: changes.filter((change) => change.breaking) };
  const calm = Map.groupBy(
    changes.filter((change) => !change.breaking),
    (change) => change.kind,
  );
  const rest = changeKinds.map((kind) => ({ key: kind, title: titles[kind], changes: calm.get(kind) ?? [] }));
  return [breaking, ...rest].filter((group) => group.changes.length > 0);
}
