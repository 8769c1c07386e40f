/**
 * Which mutations a run tries: drawn by a seed, the same for one seed and one state of the sources.
 * Owns: the draw. Never: reads a file.
 */
import { seededRandom } from "../../src/adapters/seeded-random.ts";
import type { Mutation } from "./mutations.ts";

/**
 * All of them in the order of the draw. First a kind is drawn, then one of that kind: there are more properties to drop
 * than all else together, and most of those the compiler notices.
 */
export function drawMutations(all: readonly Mutation[], seed: number): readonly Mutation[] {
  const random = seededRandom(seed);
  const below = (length: number): number => Math.floor(random() * length);
  const kinds = [...Map.groupBy(all, ({ kind }) => kind)].sort(([a], [b]) => (a < b ? -1 : 1));
  const left = kinds.map(([, same]) => [...same]);
  const drawn: Mutation[] = [];
  while (left.length > 0) {
    const at = below(left.length);
    const same = left[at] ?? [];
    drawn.push(...same.splice(below(same.length), 1));
    if (same.length === 0) left.splice(at, 1);
  }
  return drawn;
}
