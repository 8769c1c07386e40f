/** Draws from a seed: the same, in the same order, whenever it is asked. */
import { seededRandom } from "../../src/adapters/seeded-random.ts";

export interface Draw {
  readonly random: () => number;
  readonly chance: (share: number) => boolean;
  readonly upTo: (n: number) => number;
  readonly pick: <T>(list: readonly T[]) => T;
}

export function drawing(seed: number): Draw {
  const random = seededRandom(Math.imul(seed, 2_654_435_761));
  const upTo = (n: number): number => Math.floor(random() * n);
  return { random, upTo, chance: (share) => random() < share, pick: (list) => list[upTo(list.length)] as never };
}
