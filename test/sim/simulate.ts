/**
 * `npm run sim -- --seeds N`: plays N stories, dealt in turn over the families that draw all kinds of steps and orders;
 * `--from S` plays those of the seeds from S on. Prints how many of each family, how fast, what was met, and of each
 * failure its seed and its shortest story. Exit code 1 when any failed; one that does not end fails.
 * `--jobs N` of them are played at once, as many as there are processors unless it says. `--shrink no` leaves the
 * stories as they are; `--store postgres-like` plays them on a store as in Postgres, with two to five processes;
 * `--store power-cut` on a machine that loses its power now and then. `--most N`: ends after so many failures.
 */
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { draws } from "./story.ts";
import { type Dealt, dealSeeds } from "./story-families.ts";
import { StoryPlayer } from "./story-player.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "200" },
    from: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    shrink: { type: "string", default: "yes" },
    most: { type: "string", default: "5" },
    store: { type: "string", default: "any" },
  },
});
const { store } = values;
const [seeds, jobs, most] = [values.seeds, values.jobs, values.most].map(Number) as [number, number, number];
const from = values.from === undefined ? undefined : Number(values.from);
if (![seeds, from ?? 1, jobs, most].every((n) => Number.isInteger(n) && n >= 0))
  throw new RangeError("--seeds, --from, --jobs and --most take whole numbers");
if (!Object.hasOwn(draws, store)) throw new RangeError(`--store takes ${Object.keys(draws).join(", ")}`);

const met = new Map<string, number>();
const ofFamily = new Map<string, number>();
let failed = 0;
let played = 0;
const left = dealSeeds(seeds, from).values();

async function playOne(player: StoryPlayer, { seed, family }: Dealt): Promise<void> {
  const { failure, met: marks } = await player.play(seed);
  played += 1;
  ofFamily.set(family, (ofFamily.get(family) ?? 0) + 1);
  for (const name of marks) met.set(name, (met.get(name) ?? 0) + 1);
  if (played % 1000 === 0) console.error(`${played} stories, ${failed} failed`);
  if (failure === null) return;
  failed += 1;
  const short = values.shrink === "no" || failure.startsWith("ends: ") ? "" : `\n${await player.shrink()}`;
  console.log(`seed ${seed}: ${failure} (again: npm run sim -- --store ${store} --from ${seed} --seeds 1)${short}`);
}

async function playOn(): Promise<void> {
  const player = new StoryPlayer(store);
  for (const dealt of left) {
    if (failed >= most) break;
    await playOne(player, dealt);
  }
  await player.close();
}

const count = (of: ReadonlyMap<string, number>): string => [...of].map(([name, n]) => `${name} ${n}`).join(", ");

const begun = performance.now();
await Promise.all(Array.from({ length: Math.max(1, jobs) }, playOn));
const seconds = (performance.now() - begun) / 1000;
console.log(`met: ${count(new Map([...met].sort()))}`);
console.log(`families: ${count(ofFamily)}`);
console.log(`${played} stories, ${failed} failed, ${seconds.toFixed(1)} s, ${(played / seconds).toFixed(1)} stories/s`);
process.exitCode = failed === 0 ? 0 : 1;
