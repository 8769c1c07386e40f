/**
 * The families of stories: seeds from a base on draw what was added up to there, so each base begins a family. A run
 * without a first seed plays all of them.
 *
 * 1.  Families take turns by their shares of the stories. A family whose stories take longer has a smaller share.
 * 2.  Each family is played from its base on, one seed after another: a seed is a story, whatever run it is played in.
 */
import { drawBases } from "./draw-bases.ts";

export interface Family {
  readonly name: string;
  /** The first seed. */
  readonly base: number;
  /** The number of its stories in a round of all families. */
  readonly share: number;
}

export const families: readonly Family[] = [
  { name: "plain", base: 1, share: 5 },
  { name: "lifecycle", base: drawBases.lifecycle, share: 2 },
  { name: "orders", base: drawBases.orders, share: 3 },
  { name: "growth", base: drawBases.growth, share: 3 },
  { name: "undo", base: drawBases.undo, share: 2 },
  { name: "queues", base: drawBases.queues, share: 1 },
  { name: "forks", base: drawBases.forks, share: 2 },
  { name: "grants", base: drawBases.grants, share: 2 },
  { name: "schedules", base: drawBases.schedules, share: 2 },
  { name: "desk", base: drawBases.desk, share: 2 },
];

/** A seed and the family that it is of. */
export interface Dealt {
  readonly seed: number;
  readonly family: string;
}

/** Returns so many seeds from `from` on, each with its family; without a first seed, those of all families in turn. */
export function dealSeeds(count: number, from?: number): readonly Dealt[] {
  if (from !== undefined)
    return Array.from({ length: count }, (_, i) => ({ seed: from + i, family: familyOf(from + i) }));
  const turns = turnsOfRound();
  const dealt = new Map<string, number>();
  return Array.from({ length: count }, (_, i) => {
    const { name, base } = turns[i % turns.length] as Family;
    const before = dealt.get(name) ?? 0;
    dealt.set(name, before + 1);
    return { seed: base + before, family: name };
  });
}

/** Returns the name of the family that a seed is of. */
const familyOf = (seed: number): string => families.findLast(({ base }) => base <= seed)?.name ?? "none";

/** Returns the families in the order of their turns; each as often as its share says. */
function turnsOfRound(): readonly Family[] {
  const most = Math.max(...families.map(({ share }) => share));
  return Array.from({ length: most }, (_, n) => families.filter(({ share }) => share > n)).flat();
}
